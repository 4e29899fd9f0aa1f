"""The measures over candidates: each is right or wrong, and has a probability.

They follow no tie rule: candidates of equal probability are treated alike. In auc and roc so are candidates whose
probabilities may differ by rounding alone (`CandidateProbabilities.blocks`): scores 0.1, 0.2 and 0.3, 0.4 make the
same two.
"""

from typing import Any, cast

import numpy as np

from ltr.arrays import FloatArray, code_sums, groups_of
from ltr.evaluation.metrics import ByQuery, Curve, Drawn, Pooled, measure, named
from ltr.evaluation.probabilities import (
    BINS,
    AnyCandidates,
    CandidateProbabilities,
    calibration_error_of_bins,
    candidate_probabilities,
)
from ltr.evaluation.ranking import Ties, rank
from ltr.evaluation.ties import tied_ranks

FLOOR = "logloss_floor"
LOSS = "0 upwards, 0 is best"
COUNT = "whole numbers"


ERROR = "0 to 1, 0 is best"
OUTCOMES = ("true_positive", "false_positive", "false_negative", "true_negative")


@measure("confusion", "candidates by p >= threshold and by being right", range=COUNT, is_number=False, kind=Pooled)
def confusion(candidates: AnyCandidates) -> dict[str, float | None]:
    """true_positive, false_positive, false_negative, true_negative: candidates chosen or not, right or not.

    >>> of_one_query("confusion", [0.6, 0.3, 0.1], [1, 1, 0])["confusion.false_negative"]
    1
    """
    return dict(zip(OUTCOMES, candidates.confusion.tolist(), strict=True))


@measure("accuracy", "candidates with p >= threshold that are right, or below it and wrong / all", kind=Pooled)
def accuracy(candidates: AnyCandidates) -> float | None:
    """(TP + TN) / (TP + FP + TN + FN).

    >>> of_one_query("accuracy", [0.6, 0.3, 0.1, 0.0], [1, 1, 0, 0])
    {'accuracy': 0.75}
    """
    tp, _, _, tn = candidates.confusion.tolist()
    return ratio(tp + tn, candidates.number)


@measure("precision", "right candidates with p >= threshold / all with p >= threshold", kind=Pooled)
def precision(candidates: AnyCandidates) -> float | None:
    """TP / (TP + FP); none where nothing is chosen.

    >>> of_one_query("precision", [0.6, 0.3, 0.1], [1, 1, 0]), of_one_query("precision", [0.4, 0.3, 0.3], [1, 1, 0])
    ({'precision': 1.0}, {'precision': None})
    """
    tp, fp, _, _ = candidates.confusion.tolist()
    return ratio(tp, tp + fp)


@measure("recall", "right candidates with p >= threshold / all right candidates", kind=Pooled)
def recall(candidates: AnyCandidates) -> float | None:
    """TP / (TP + FN).

    >>> of_one_query("recall", [0.6, 0.3, 0.1], [1, 1, 0])
    {'recall': 0.5}
    """
    tp, _, fn, _ = candidates.confusion.tolist()
    return ratio(tp, tp + fn)


@measure("fB", "(1 + B^2) * precision * recall / (B^2 * precision + recall), at the threshold", kind=Pooled)
def f_beta(candidates: AnyCandidates, beta: float) -> float | None:
    """(1 + B^2) TP / ((1 + B^2) TP + B^2 FN + FP).

    >>> round(of_one_query("f2", [0.6, 0.3, 0.1], [1, 1, 0])["f2"], 6)  # 5 / (5 + 4)
    0.555556
    """
    tp, fp, fn, _ = candidates.confusion.tolist()
    return ratio((1 + beta**2) * tp, (1 + beta**2) * tp + beta**2 * fn + fp)


@measure(
    "auc",
    "chance that a right candidate has a greater p than a wrong one, of any query; a tie, up to rounding, counts 1/2",
    kind=Pooled,
)
def area_under_curve(candidates: AnyCandidates) -> float | None:
    """sum over right candidates of (wrong below + wrong level / 2) / (right * wrong).

    >>> of_one_query("auc", [0.25, 0.5, 0.25], [1, 0, 0])  # below one, level with the other
    {'auc': 0.25}
    """
    level = candidates.blocks
    wrong = level.count - level.right
    below = np.cumsum(wrong) - wrong
    halves = int((level.right * (2 * below + wrong)).sum())  # whole numbers: exact
    return ratio(halves, 2 * int(level.right.sum()) * int(wrong.sum()))


@measure(
    "gauc",
    "mean over queries of auc inside the query; a tie 1/2; without a wrong candidate left out, without a right one 0",
    kind=ByQuery,
)
def grouped_area(candidates: CandidateProbabilities) -> FloatArray:
    """1 - (sum over right i of (above_i + (level_i - 1) / 2) - R (R - 1) / 2) / (R * wrong), pairs of one query.

    >>> of_one_query("gauc", [0.25, 0.5, 0.25], [1, 0, 0])
    array([0.25])
    """
    offsets, rows = candidates.ranking.offsets, np.flatnonzero(candidates.right)
    query = groups_of(rows, offsets)
    ranks = tied_ranks(candidates.ranking, rows, Ties.EXPECTED, candidates.right.astype(float))
    right = np.bincount(query, minlength=candidates.queries)
    pairs = right * (np.diff(offsets) - right)
    lost = code_sums(query, ranks.above + (ranks.span - 1) / 2, candidates.queries) - right * (right - 1) / 2
    area = 1 - lost / np.maximum(pairs, 1)
    return np.where(pairs > 0, area, np.where(right > 0, np.nan, 0.0))


@measure(
    "logloss",
    "mean over candidates of -log p where right, -log(1 - p) where wrong",
    range=LOSS,
    less_is_better=True,
    kind=Pooled,
)
def log_loss(candidates: AnyCandidates) -> float | None:
    """-1/N sum y log p + (1 - y) log(1 - p); a term above 745, as of a lone wrong candidate, counts 745.

    >>> round(of_one_query("logloss", [0.99, 0.01], [1, 0])["logloss"], 6)  # -log 0.99
    0.01005
    """
    return ratio(candidates.loss, candidates.number)


@measure(FLOOR, "the least logloss that any scores reach", range=LOSS, less_is_better=True, kind=Pooled)
def log_loss_floor(candidates: AnyCandidates) -> float | None:
    """1/N sum over queries of R log R, or of -n log(1 - 1/n) where R = 0: a group's p sums to 1, its labels to R.

    Probabilities that do not sum to 1 in a query, given ones and those of a sigmoid, can reach 0.

    >>> round(of_one_query("logloss_floor", [0.5, 0.5, 0.0, 0.0], [1, 1, 0, 0])["logloss_floor"], 6)  # 2 log 2 / 4
    0.346574
    """
    return ratio(candidates.least_loss, candidates.number)


@measure(
    "roc",
    "a curve: the corners of the true positive rate over the false positive rate, from the greatest p; ties as in auc",
    is_number=False,
    kind=Drawn,
)
def roc_curve(candidates: AnyCandidates) -> Curve:
    """TPR = TP / (TP + FN) and FPR = FP / (FP + TN) of p >= threshold; it starts at 0, 0 above all p (threshold 2).

    >>> of_one_query("roc", [0.5, 0.3, 0.2], [1, 0, 1])["true_positive_rate"]
    [0.0, 0.5, 0.5, 1.0]
    """
    level = candidates.blocks
    right, wrong = level.right[::-1], (level.count - level.right)[::-1]
    if not right.sum() or not wrong.sum():
        return {"false_positive_rate": [], "true_positive_rate": [], "threshold": []}
    tp, fp = (np.concatenate(([0], np.cumsum(counts))) for counts in (right, wrong))
    turns = (np.diff(tp)[1:] * np.diff(fp)[:-1]) != (np.diff(tp)[:-1] * np.diff(fp)[1:])
    corner = np.concatenate(([True], turns, [True]))
    columns = (fp / fp[-1], tp / tp[-1], np.concatenate(([2.0], level.probability[::-1])))
    names = ("false_positive_rate", "true_positive_rate", "threshold")
    return {name: column[corner].tolist() for name, column in zip(names, columns, strict=True)}


@measure(
    "ece",
    f"expected calibration error: distance of mean p to the share right, {BINS} bins of p, by candidates",
    range=ERROR,
    less_is_better=True,
    kind=Pooled,
)
def expected_calibration_error(candidates: AnyCandidates) -> float | None:
    """sum over bins of n_b / N * |mean p - share right|.

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

    >>> of_one_query("reliability", [0.75, 0.25], [1, 0])["right"]
    [0.0, 1.0]
    """
    return _reliability(candidates.calibration)


@measure(
    "ece_first",
    f"calibration error of the first choice: distance of its mean p to how often it is right, {BINS} bins, by queries",
    range=ERROR,
    less_is_better=True,
    kind=Pooled,
)
def first_choice_error(candidates: AnyCandidates) -> float | None:
    """sum over bins of n_b / N * |mean p - share right|, over the first choice of each query alone.

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

    >>> of_one_query("reliability_first", [0.4, 0.4, 0.2], [1, 0, 0])["right"]
    [0.5]
    """
    return _reliability(candidates.first_calibration)


def _reliability(calibration: FloatArray) -> Curve:
    """The columns of a reliability curve: the bins that hold something."""
    filled = np.flatnonzero(calibration[0])
    count, probability, right = calibration[:, filled]
    edges = {"from": filled / BINS, "to": (filled + 1) / BINS}
    columns = edges | {"probability": probability / count, "right": right / count, "count": count}
    return {name: column.tolist() for name, column in columns.items()}


def _curve_error(curve: Curve) -> float | None:
    return calibration_error_of_bins(*(np.array(curve[name]) for name in ("count", "probability", "right")))


def of_one_query(name: str, probabilities: list[float], labels: list[int]) -> Any:
    """The measure of one query with these probabilities, for the examples above."""
    scores = np.log(np.maximum(probabilities, 1e-300))
    ranking, counted = rank(scores, [0, len(scores)]), np.ones(1, dtype=bool)
    measure_of_name = cast("Pooled | ByQuery | Drawn", named(name))
    return measure_of_name.of(candidate_probabilities(ranking, np.array(labels) > 0, counted, 0.5))


def ratio(part: float, total: float) -> float | None:
    """part / total, or None without a total; math.fsum gives parts that are the same in any order of the rows."""
    return part / total if total else None
