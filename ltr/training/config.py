"""The options of a training."""

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Literal

from ltr.arrays import LARGEST
from ltr.errors import RangeError, UsageError
from ltr.training.piecewise_linear_curves import MOST as MOST_KNOTS
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
        problems = list(self._problems())
        if problems:
            raise RangeError(*problems)

    def _problems(self) -> Iterator[str]:
        if self.recipe not in ("specification", "recommended"):
            yield f"recipe is {self.recipe!r}; specification or recommended is needed"
        if not isinstance(self.trainer, str):
            yield f"trainer is {self.trainer!r}; a name is needed"
        if not _is_between(self.learning_rate, 0, LARGEST) or self.learning_rate == 0:
            yield f"learning_rate is {self.learning_rate!r}; it must be above 0, at most {LARGEST:g}"
        yield from _whole_number_problem("epochs", self.epochs, 1, MOST_EPOCHS)
        yield from self._problems_of_shape()
        if not _is_between(self.init, -LARGEST, LARGEST):
            yield f"init is {self.init!r}; it must be finite, from {-LARGEST:g} to {LARGEST:g}"
        wrong_l2s = [l2 for l2 in self.l2s if not _is_between(l2, 0, LARGEST)]
        if wrong_l2s:
            yield f"l2 is {wrong_l2s[0]!r}; it must be 0 or more, at most {LARGEST:g}"
        elif not self.l2s or len(set(self.l2s)) < len(self.l2s):
            yield f"l2 is {list(self.l2s)!r}; different numbers are needed, at least one"
        if self.l2_rule not in ("best", "one_se"):
            yield f"l2_rule is {self.l2_rule!r}; best or one_se is needed"
        yield from self._problems_of_recommended()
        if self.targets not in TARGETS:
            yield f"targets is {self.targets!r}; it must be one of {', '.join(TARGETS)}"
        yield from _whole_number_problem("patience", self.patience, 1, MOST_EPOCHS)
        if not isinstance(self.metric, str):
            yield f"metric is {self.metric!r}; a name is needed"
        if self.folds is not None:
            yield from _whole_number_problem("folds", self.folds, 2, MOST_EPOCHS)

    def _problems_of_shape(self) -> Iterator[str]:
        """Of what the score is made of."""
        yield from _whole_number_problem("knots", self.knots, 0, MOST_KNOTS)
        for key in ("standardize", "products"):
            if not isinstance(getattr(self, key), bool):
                yield f"{key} is {getattr(self, key)!r}; true or false is needed"

    def _problems_of_recommended(self) -> Iterator[str]:
        """Of what the recommended recipe does beside its columns."""
        if not isinstance(self.newcomers, bool):
            yield f"newcomers is {self.newcomers!r}; true or false is needed"
        if self.prior not in ("zero", "shipped"):
            yield f"prior is {self.prior!r}; zero or shipped is needed"
        if not isinstance(self.choose, tuple) or not set(self.choose) <= set(CHOICES):
            yield f"choose is {self.choose!r}; a list of {', '.join(CHOICES)} is needed"
        if self.choose and len(self.l2s) > 1:
            yield "choose needs one l2; without choose, train.folds choose among several"

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


def _whole_number_problem(name: str, value: float, least: int, most: int) -> Iterator[str]:
    if not (_is_between(value, least, most) and isinstance(value, Integral)):
        yield f"{name} is {value!r}; it must be at least {least}, a whole number up to {most:,}"


def _is_between(value: float, least: float, most: float) -> bool:
    """Whether the value is a number in the range; a config read from a file, or a caller, may hold anything."""
    return isinstance(value, Real) and not isinstance(value, bool) and least <= value <= most
