"""How well P(none) parts queries for which nothing offered is right from the others."""

from dataclasses import dataclass

import numpy as np

from ltr.arrays import BoolArray, FloatArray
from ltr.evaluation.metrics.classification_counts import calibration_error
from ltr.evaluation.sums import AddsUp


@dataclass(frozen=True, slots=True, kw_only=True)
class NoneMeasures:
    """Of queries with a right candidate and queries without; none is said where it is likelier than any choice."""

    none_queries: int
    other_queries: int
    found: float | None  # share of the queries for which none is right where none is said
    said_wrongly: float | None  # share of the others where it is said
    top1_of_rest: float | None  # share of the others whose first choice is right, whatever is said of none
    right: float  # share of all where what is said, a choice or none, is right
    share: float  # of the queries for which none is right
    mean_probability: float  # of none
    calibration_error: float  # of P(none)
    learned_from: str  # log, or removed:SHARE: copies without their right candidates
    for_share: float  # the share that P(none) is for


@dataclass(frozen=True, slots=True)
class NoneQueries(AddsUp):
    """Queries and what a model says of them."""

    none: FloatArray  # P(none)
    first: FloatArray  # the softmax of the first choice
    first_right: FloatArray  # whether that is right; of candidates level there the share that is
    is_none: BoolArray  # whether none is right


def measure_none(queries: NoneQueries, *, learned_from: str, for_share: float) -> NoneMeasures:
    """The measures of the queries, at least one.

    >>> is_none = np.array([True, False, False])
    >>> three = NoneQueries(np.array([0.9, 0.2, 0.6]), np.array([0.5, 0.9, 0.9]), np.array([0.0, 1.0, 1.0]), is_none)
    >>> some = measure_none(three, learned_from="log", for_share=0.3)
    >>> some.found, some.said_wrongly, round(some.right, 3), round(some.calibration_error, 3)
    (1.0, 0.5, 0.667, 0.3)
    """
    p, is_none, is_right = queries.none, queries.is_none, queries.first_right
    says_none = p > (1 - p) * queries.first
    rest = ~is_none
    return NoneMeasures(
        none_queries=int(is_none.sum()),
        other_queries=int(rest.sum()),
        found=_mean(says_none[is_none]),
        said_wrongly=_mean(says_none[rest]),
        top1_of_rest=_mean(is_right[rest]),
        right=float(np.where(says_none, is_none, np.where(is_none, 0.0, is_right)).mean()),
        share=float(is_none.mean()),
        mean_probability=float(p.mean()),
        calibration_error=calibration_error(p, is_none, np.ones(len(p))),
        learned_from=learned_from,
        for_share=for_share,
    )


def _mean(values: FloatArray | BoolArray) -> float | None:
    return float(values.mean()) if len(values) else None
