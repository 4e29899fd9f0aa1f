"""The options of a training."""

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Literal

from ltr.arrays import LARGEST
from ltr.errors import RangeError, UsageError
from ltr.training.curves import Knots
from ltr.training.targets import TARGETS

MOST_EPOCHS = 10**9
LOSS = "loss"  # the mean cross-entropy, as a metric
COLUMNS, KNOTS, PRODUCTS, L2 = CHOICES = ("columns", "knots", "products", "l2")  # what folds may choose


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainConfig:
    """The trainer by name, and the numbers it may read."""

    recipe: Literal["specification", "recommended"] = "specification"
    """The defaults that lie under a config; recommended: learned columns, the exact optimum, one scale."""
    trainer: str = "descent"
    """What learns the weights: descent by steps, newton to the exact optimum (ltr list trainers)."""
    learning_rate: float = 0.01
    """Length of a step of descent."""
    epochs: int = 100
    """Passes of descent over the training data."""
    l2: float | tuple[float, ...] = 0.001
    """Weight of the penalty on the squared weights; of several, folds or validation data choose one."""
    l2_rule: Literal["best", "one_se"] = "best"
    """Which of several l2: the best, or the largest within one standard error of the best."""
    init: float = 1.0
    """Where every weight starts in descent."""
    targets: Literal["onehot", "label", "gain", "apart"] = "label"
    """What the right candidates of a query share the target by: 1 each, their label, or 2^label - 1; or, apart, each
    trains against wrong ones alone."""
    standardize: bool = False
    """Divide each column by its deviation: start, penalty and gap bound hold in that scale."""
    knots: int = 0
    """At how many values, at most, the weight of a column may change; 0: one weight a column."""
    products: bool = False
    """Multiply each two columns, so that how much one counts may depend on the other."""
    prior: Literal["zero", "shipped"] = "zero"
    """What the penalty pulls the weights towards: 0, or weights that were learned on other sets of data."""
    newcomers: bool = False
    """Learn, by holding tools out, how a tool that was never right compares with others."""
    choose: tuple[Literal["columns", "knots", "products", "l2"], ...] = ()
    """What folds choose among the recommended alternatives; the keys that it names are then not read."""
    patience: int = 10
    """Epochs of descent without a better value on validation data before it stops."""
    metric: str = LOSS
    """What validation data and folds judge by: loss, or a metric (ltr list metrics)."""
    folds: int | None = None
    """Folds of the cross-validation; without it, none."""

    def __post_init__(self) -> None:
        wrong = [(key, value, needed) for key, value, is_right, needed in self._rules() if not is_right]
        problems = [f"{key} is {value!r}; {needed}" if key else needed for key, value, needed in wrong]
        if problems:
            raise RangeError(*problems)

    def _rules(self) -> Iterator[tuple[str, object, bool, str]]:
        """Yield each key, its value, whether that may be, and what is needed; a caller may have passed anything."""

        def whole(key: str, least: int, most: int = MOST_EPOCHS) -> tuple[str, object, bool, str]:
            value = getattr(self, key)
            is_right = _is_between(value, least, most) and isinstance(value, Integral)
            return key, value, is_right, f"it must be at least {least}, a whole number up to {most:,}"

        def either(key: str, *names: str) -> tuple[str, object, bool, str]:
            value = getattr(self, key)
            return key, value, value in names, f"{' or '.join(names)} is needed"

        def truth(key: str) -> tuple[str, object, bool, str]:
            return key, getattr(self, key), isinstance(getattr(self, key), bool), "true or false is needed"

        is_positive = _is_between(self.learning_rate, 0, LARGEST) and self.learning_rate != 0
        wrong_l2s = [l2 for l2 in self.l2s if not _is_between(l2, 0, LARGEST)]
        are_different = bool(self.l2s) and (bool(wrong_l2s) or len(set(self.l2s)) == len(self.l2s))
        are_choices = isinstance(self.choose, tuple) and set(self.choose) <= set(CHOICES)
        yield either("recipe", "specification", "recommended")
        yield "trainer", self.trainer, isinstance(self.trainer, str), "a name is needed"
        yield "learning_rate", self.learning_rate, is_positive, f"it must be above 0, at most {LARGEST:g}"
        yield whole("epochs", 1)
        yield whole("knots", 0, Knots.MOST)
        yield from (truth("standardize"), truth("products"))
        finite = f"it must be finite, from {-LARGEST:g} to {LARGEST:g}"
        yield "init", self.init, _is_between(self.init, -LARGEST, LARGEST), finite
        yield from (("l2", l2, False, f"it must be 0 or more, at most {LARGEST:g}") for l2 in wrong_l2s[:1])
        yield "l2", list(self.l2s), are_different, "different numbers are needed, at least one"
        yield either("l2_rule", "best", "one_se")
        yield truth("newcomers")
        yield either("prior", "zero", "shipped")
        yield "choose", self.choose, are_choices, f"a list of {', '.join(CHOICES)} is needed"
        is_open = bool(self.choose) and len(self.l2s) > 1
        yield "", None, not is_open, "choose needs one l2; without choose, train.folds choose among several"
        yield "targets", self.targets, self.targets in TARGETS, f"it must be one of {', '.join(TARGETS)}"
        yield whole("patience", 1)
        yield "metric", self.metric, isinstance(self.metric, str), "a name is needed"
        yield from [] if self.folds is None else [whole("folds", 2)]

    def refuse_other_scale(self, key: str) -> None:
        """Raise for a key that needs the exact optimum on columns of one scale, unless that is asked for."""
        if self.trainer != "newton" or not self.standardize:
            raise UsageError(f"train.{key} needs train.trainer newton and train.standardize true")

    @property
    def l2s(self) -> tuple[float, ...]:
        """Every l2 of the config."""
        return self.l2 if isinstance(self.l2, tuple) else (self.l2,)

    @property
    def penalty(self) -> float:
        """The one l2 of a fit."""
        if len(self.l2s) > 1:
            raise UsageError(f"l2 names {len(self.l2s)} values; a fit has one: choose it on folds or validation data")
        return self.l2s[0]


def remedy(config: TrainConfig) -> str:
    """What keeps w from growing: a step of descent multiplies it by 1 - 2 * learning_rate * l2, then adds.

    >>> remedy(TrainConfig(l2=1000.0))
    'lower l2 or learning_rate: their product is 10, and above 1 a step makes w larger'
    >>> remedy(TrainConfig(trainer="newton"))
    'scale the features or lower l2'
    """
    if config.trainer != "descent":
        return "scale the features or lower l2"
    product = config.learning_rate * config.penalty
    if product > 1:
        return f"lower l2 or learning_rate: their product is {product:g}, and above 1 a step makes w larger"
    return "lower learning_rate or scale the features"


def _is_between(value: float, least: float, most: float) -> bool:
    """Whether the value is a number in the range; a config read from a file, or a caller, may hold anything."""
    return isinstance(value, Real) and not isinstance(value, bool) and least <= value <= most
