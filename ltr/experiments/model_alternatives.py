"""The alternatives among which folds choose for the recommended recipe: columns, their curves and products, and l2."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ltr.data.schema import Kind
from ltr.errors import count
from ltr.features.presets import ALL, FIRST, MORE, PAST, SINGLES
from ltr.training.config import COLUMNS, KNOTS, L2, PRODUCTS, TrainConfig
from ltr.training.feature_products import MOST_FEATURES
from ltr.training.significant_gain_rule import Level

CURVES = 7  # knots
STRENGTH, STRENGTHS = 1.0, (10.0, 3.0, 1.0, 0.3)  # l2 times training traces; those of a weight for each column


class Shape(NamedTuple):
    """What the score has beside a weight for each column."""

    knots: int
    products: bool


@dataclass(frozen=True, slots=True)
class Alternative:
    """One way to train."""

    columns: tuple[str, ...]
    shape: Shape
    strength: float | None  # l2 times training traces; None: the l2 of the config
    level: Level

    def trained(self, config: TrainConfig, traces: int) -> TrainConfig:
        """The settings of its training on so many traces."""
        l2 = config.penalty if self.strength is None else self.strength / max(traces, 1)
        return replace(config, **self.shape._asdict(), l2=l2, choose=())

    @property
    def title(self) -> str:
        """How it is named to people.

        >>> Alternative(("a",), Shape(0, False), 1.0, Level.SINGLE).title
        'a alone, l2 1 / traces'
        >>> Alternative(("a", "b"), Shape(7, True), 10.0, Level.OTHER).title
        '2 columns, 7 knots, products, l2 10 / traces'
        """
        (knots, products), several = self.shape, len(self.columns) > 1
        parts = [f"{len(self.columns)} columns" if several else f"{self.columns[0]} alone"]
        parts += [count(knots, "knot")] if knots else ["lines"] if several else []
        parts += ["products"] if products else []
        parts += [] if self.strength is None else [f"l2 {self.strength:g} / traces"]
        return ", ".join(parts)


def alternatives(config: TrainConfig, kind: Kind, names: Sequence[str]) -> tuple[Alternative, ...]:
    """The alternatives of columns with these names, from simple to rich: at most 13, and each other column alone.

    What is beyond a line of the recommended columns, products, knots or more columns, comes last, where folds choose
    it. Products are left out where there are too many columns to multiply.

    >>> config = TrainConfig(trainer="newton", standardize=True, choose=("columns",))
    >>> [alternative.columns for alternative in alternatives(config, "tool", ["tool.proto", "tool.ridge", "mine"])]
    [('tool.proto',), ('tool.ridge',), ('tool.proto', 'tool.ridge', 'mine'), ('mine',)]
    """
    names, past = tuple(names), tuple(name for name in PAST if name in names)
    sets = (*((name,) for name in SINGLES[kind]), FIRST[kind], (*FIRST[kind], *past), ALL[kind])
    sets = tuple(dict.fromkeys(sets)) if COLUMNS in config.choose else ()
    recommended = tuple(name for name in names if not (sets and name in MORE[kind]))
    strength, strengths = (STRENGTH, STRENGTHS) if L2 in config.choose else (None, (None,))
    plain = Shape(0 if KNOTS in config.choose else config.knots, config.products and PRODUCTS not in config.choose)
    knots = CURVES if KNOTS in config.choose else config.knots
    alone = Shape(plain.knots, products=False)
    fewer = [
        Alternative(some, plain if len(some) > 1 else alone, strength, _level(some))
        for some in sets
        if set(some) < set(recommended)
    ]
    lines = [Alternative(recommended, plain, l2, _level(recommended)) for l2 in strengths]
    usual = {way.columns for way in fewer}
    others = [(name,) for name in names if sets and (name,) not in {*usual, recommended}]
    rich = dict.fromkeys(
        (columns, Shape(number, plain.products or (PRODUCTS in config.choose and 1 < len(columns) <= MOST_FEATURES)))
        for columns, number in ((recommended, plain.knots), (recommended, knots), (names, knots))
    )
    rich.pop((recommended, plain), None)
    more = (Alternative(*way, strength, Level.OTHER) for way in (*((one, alone) for one in others), *rich))
    return (*fewer, *lines, *more)


def _level(columns: tuple[str, ...]) -> Level:
    return Level.SEVERAL if len(columns) > 1 else Level.SINGLE


def default_of(listed: Sequence[Alternative]) -> Alternative:
    """The recommended columns with a weight each, pulled most: what is taken where nothing can be proved."""
    return max((one for one in listed if one.level < Level.OTHER), key=lambda one: len(one.columns))


def paths(listed: Sequence[Alternative]) -> dict[tuple[tuple[str, ...], Shape], list[int]]:
    """The places of the alternatives that differ in l2 alone, by their columns and shape.

    >>> line, both = Shape(0, False), ("a", "b")
    >>> one, several = Level.SINGLE, Level.SEVERAL
    >>> listed = Alternative(("a",), line, 1.0, one), *(Alternative(both, line, l2, several) for l2 in (9.0, 1.0))
    >>> list(paths(listed).values())
    [[0], [1, 2]]
    """
    places: dict[tuple[tuple[str, ...], Shape], list[int]] = {}
    for place, alternative in enumerate(listed):
        places.setdefault((alternative.columns, alternative.shape), []).append(place)
    return places
