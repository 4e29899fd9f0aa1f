"""The measures of calibration: how far probabilities are from how often they come true."""

import numpy as np

from ltr.evaluation.metrics.classification_counts import (
    BINS,
    AnyCandidates,
    Calibration,
    calibration_error_of_bins,
    calibration_of,
    first_calibration_of,
)
from ltr.evaluation.metrics.registry import Curve, Drawn, Pooled, measure


@measure(
    "ece",
    f"expected calibration error: distance of mean p to the share right, {BINS} bins of p, by candidates",
    range="0 to 1, 0 is best",
    less_is_better=True,
    kind=Pooled,
)
def expected_calibration_error(candidates: AnyCandidates) -> float | None:
    """sum over bins of n_b / N * |mean p - share right|.

    >>> from ltr.evaluation.metrics.classification_measures import of_one_query
    >>> round(of_one_query("ece", [0.75, 0.25], [1, 0])["ece"], 12)  # (0.25 + 0.25) / 2
    0.25
    """
    return _curve_error(reliability_curve(candidates))


@measure(
    "reliability",
    f"a curve: of {BINS} equal bins of p those with candidates: mean p, share right, how many",
    is_number=False,
    kind=Drawn,
)
def reliability_curve(candidates: AnyCandidates) -> Curve:
    """Of each bin from, to, mean probability, share right and count; a bin holds its lower edge.

    >>> from ltr.evaluation.metrics.classification_measures import of_one_query
    >>> of_one_query("reliability", [0.75, 0.25], [1, 0])["right"]
    [0.0, 1.0]
    """
    return _reliability(calibration_of(candidates))


@measure(
    "ece_first",
    f"calibration error of the first choice: distance of its mean p to how often it is right, {BINS} bins, by queries",
    range="0 to 1, 0 is best",
    less_is_better=True,
    kind=Pooled,
)
def first_choice_error(candidates: AnyCandidates) -> float | None:
    """sum over bins of n_b / N * |mean p - share right|, over the first choice of each query alone.

    >>> from ltr.evaluation.metrics.classification_measures import of_one_query
    >>> round(of_one_query("ece_first", [0.75, 0.25], [1, 0])["ece_first"], 12)
    0.25
    """
    return _curve_error(first_choice_curve(candidates))


@measure(
    "reliability_first",
    f"a curve: of {BINS} equal bins of the first choice's p those with queries: mean p, share right, how many",
    is_number=False,
    kind=Drawn,
)
def first_choice_curve(candidates: AnyCandidates) -> Curve:
    """As reliability, of the greatest p of each query alone; of candidates level there the share that is right.

    >>> from ltr.evaluation.metrics.classification_measures import of_one_query
    >>> of_one_query("reliability_first", [0.4, 0.4, 0.2], [1, 0, 0])["right"]
    [0.5]
    """
    return _reliability(first_calibration_of(candidates))


def _reliability(calibration: Calibration) -> Curve:
    """The columns of a reliability curve: the bins that hold something."""
    filled = np.flatnonzero(calibration.count)
    count = calibration.count[filled]
    edges = {"from": filled / BINS, "to": (filled + 1) / BINS}
    means = {"probability": calibration.probability[filled] / count, "right": calibration.right[filled] / count}
    columns = edges | means | {"count": count}
    return {name: column.tolist() for name, column in columns.items()}


def _curve_error(curve: Curve) -> float | None:
    return calibration_error_of_bins(*(np.array(curve[name]) for name in ("count", "probability", "right")))
