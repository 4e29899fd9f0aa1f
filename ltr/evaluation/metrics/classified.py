"""The measures over candidates: each is right or wrong, and has a probability (`metrics/probabilities.py`).

They follow no tie rule: candidates of equal probability are treated alike. In auc and roc so are candidates whose
probabilities may differ by rounding alone (`tied_levels`): scores 0.1, 0.2 and 0.3, 0.4 make the same two.
"""

import math
from typing import Any

import numpy as np

from ltr.arrays import FloatArray, code_sums, groups_of
from ltr.evaluation.metrics.probabilities import (
    CandidateProbabilities,
    Probability,
    candidate_probabilities,
    levels,
    tied_levels,
)
from ltr.evaluation.metrics.registry import ByQuery, Curve, Drawn, Pooled, measure, named
from ltr.evaluation.ranking import Ties, rank
from ltr.evaluation.ties import tied_ranks

FLOOR = "logloss_floor"
BINS = 10
LARGEST_LOSS = 745.0  # -log of the least float above 0: no term of a loss counts more, or one would be infinite
LOSS = "0 upwards, 0 is best"
COUNT = "whole numbers"


@measure("confusion", "candidates by p >= threshold and by being right", range=COUNT, is_number=False, kind=Pooled)
def confusion(candidates: CandidateProbabilities) -> dict[str, float | None]:
    """true_positive, false_positive, false_negative, true_negative: candidates chosen or not, right or not.

    >>> _example("confusion", [0.6, 0.3, 0.1], [1, 1, 0])["confusion.false_negative"]
    1
    """
    tp, fp, fn, tn = _confusion(candidates)
    return {"true_positive": tp, "false_positive": fp, "false_negative": fn, "true_negative": tn}


@measure("accuracy", "candidates with p >= threshold that are right, or below it and wrong / all", kind=Pooled)
def accuracy(candidates: CandidateProbabilities) -> float | None:
    """(TP + TN) / (TP + FP + TN + FN).

    >>> _example("accuracy", [0.6, 0.3, 0.1, 0.0], [1, 1, 0, 0])
    {'accuracy': 0.75}
    """
    tp, _, _, tn = _confusion(candidates)
    return _ratio(tp + tn, len(candidates.right))


@measure("precision", "right candidates with p >= threshold / all with p >= threshold", kind=Pooled)
def precision(candidates: CandidateProbabilities) -> float | None:
    """TP / (TP + FP); none where nothing is chosen.

    >>> _example("precision", [0.6, 0.3, 0.1], [1, 1, 0]), _example("precision", [0.4, 0.3, 0.3], [1, 1, 0])
    ({'precision': 1.0}, {'precision': None})
    """
    tp, fp, _, _ = _confusion(candidates)
    return _ratio(tp, tp + fp)


@measure("recall", "right candidates with p >= threshold / all right candidates", kind=Pooled)
def recall(candidates: CandidateProbabilities) -> float | None:
    """TP / (TP + FN).

    >>> _example("recall", [0.6, 0.3, 0.1], [1, 1, 0])
    {'recall': 0.5}
    """
    tp, _, fn, _ = _confusion(candidates)
    return _ratio(tp, tp + fn)


@measure("fB", "(1 + B^2) * precision * recall / (B^2 * precision + recall), at the threshold", kind=Pooled)
def f_beta(candidates: CandidateProbabilities, beta: float) -> float | None:
    """(1 + B^2) TP / ((1 + B^2) TP + B^2 FN + FP).

    >>> round(_example("f2", [0.6, 0.3, 0.1], [1, 1, 0])["f2"], 6)  # 5 / (5 + 4)
    0.555556
    """
    tp, fp, fn, _ = _confusion(candidates)
    return _ratio((1 + beta**2) * tp, (1 + beta**2) * tp + beta**2 * fn + fp)


@measure(
    "auc",
    "chance that a right candidate has a greater p than a wrong one, of any query; a tie, up to rounding, counts 1/2",
    kind=Pooled,
)
def area_under_curve(candidates: CandidateProbabilities) -> float | None:
    """sum over right candidates of (wrong below + wrong level / 2) / (right * wrong).

    >>> _example("auc", [0.25, 0.5, 0.25], [1, 0, 0])  # below one, level with the other
    {'auc': 0.25}
    """
    level = tied_levels(candidates)
    wrong = level.count - level.right
    below = np.cumsum(wrong) - wrong
    halves = int((level.right * (2 * below + wrong)).sum())  # whole numbers: exact
    return _ratio(halves, 2 * int(level.right.sum()) * int(wrong.sum()))


@measure(
    "gauc",
    "mean over queries of auc inside the query; a tie 1/2; without a wrong candidate left out, without a right one 0",
    kind=ByQuery,
)
def grouped_area(candidates: CandidateProbabilities) -> FloatArray:
    """1 - (sum over right i of (above_i + (level_i - 1) / 2) - R (R - 1) / 2) / (R * wrong), pairs of one query.

    >>> _example("gauc", [0.25, 0.5, 0.25], [1, 0, 0])
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
def log_loss(candidates: CandidateProbabilities) -> float | None:
    """-1/N sum y log p + (1 - y) log(1 - p); a term above 745, as of a lone wrong candidate, counts 745.

    >>> round(_example("logloss", [0.99, 0.01], [1, 0])["logloss"], 6)  # -log 0.99
    0.01005
    """
    losses = -np.where(candidates.right, candidates.log_right, candidates.log_wrong)
    return _ratio(math.fsum(np.minimum(losses, LARGEST_LOSS).tolist()), len(losses))


@measure(FLOOR, "the least logloss that any scores reach", range=LOSS, less_is_better=True, kind=Pooled)
def log_loss_floor(candidates: CandidateProbabilities) -> float | None:
    """1/N sum over queries of R log R, or of -n log(1 - 1/n) where R = 0: a group's p sums to 1, its labels to R.

    Probabilities that do not sum to 1 in a query, given ones and those of a sigmoid, can reach 0.

    >>> round(_example("logloss_floor", [0.5, 0.5, 0.0, 0.0], [1, 1, 0, 0])["logloss_floor"], 6)  # 2 log 2 / 4
    0.346574
    """
    if candidates.meaning is not Probability.SOFTMAX:
        return 0.0 if len(candidates.right) else None
    offsets = candidates.ranking.offsets
    sizes = np.diff(offsets).astype(float)
    right = code_sums(groups_of(np.flatnonzero(candidates.right), offsets), np.ones(candidates.right.sum()), len(sizes))
    none = -sizes * np.log1p(-1 / np.maximum(sizes, 2))
    least = np.where(right > 0, right * np.log(np.maximum(right, 1)), np.where(sizes > 1, none, sizes * LARGEST_LOSS))
    return _ratio(math.fsum(least.tolist()), len(candidates.right))


@measure(
    "ece",
    f"expected calibration error: distance of mean p to the share right, {BINS} bins of p, by candidates",
    range="0 to 1, 0 is best",
    less_is_better=True,
    kind=Pooled,
)
def expected_calibration_error(candidates: CandidateProbabilities) -> float | None:
    """sum over bins of n_b / N * |mean p - share right|.

    >>> round(_example("ece", [0.75, 0.25], [1, 0])["ece"], 12)  # (0.25 + 0.25) / 2
    0.25
    """
    curve = reliability_curve(candidates)
    bins = zip(curve["count"], curve["probability"], curve["right"], strict=True)
    gaps = [count * abs(p - share) for count, p, share in bins]
    return _ratio(math.fsum(gaps), len(candidates.right))


@measure(
    "reliability",
    f"a curve: of {BINS} equal bins of p those with candidates: mean p, share right, how many",
    is_number=False,
    kind=Drawn,
)
def reliability_curve(candidates: CandidateProbabilities) -> Curve:
    """Of each bin from, to, mean probability, share right and count; a bin holds its lower edge.

    >>> _example("reliability", [0.75, 0.25], [1, 0])["right"]
    [0.0, 1.0]
    """
    level = levels(candidates)
    bins = np.minimum((level.probability * BINS).astype(np.int64), BINS - 1)
    count = code_sums(bins, level.count.astype(float), BINS)
    filled = np.flatnonzero(count)
    p = code_sums(bins, level.probability * level.count, BINS)[filled] / count[filled]
    right = code_sums(bins, level.right.astype(float), BINS)[filled] / count[filled]
    edges = {"from": filled / BINS, "to": (filled + 1) / BINS}
    columns = edges | {"probability": p, "right": right, "count": count[filled]}
    return {name: column.tolist() for name, column in columns.items()}


@measure(
    "ece_first",
    f"calibration error of the first choice: distance of its mean p to how often it is right, {BINS} bins, by queries",
    range="0 to 1, 0 is best",
    less_is_better=True,
    kind=Pooled,
)
def first_choice_error(candidates: CandidateProbabilities) -> float | None:
    """sum over bins of n_b / N * |mean p - share right|, over the first choice of each query alone.

    >>> round(_example("ece_first", [0.75, 0.25], [1, 0])["ece_first"], 12)
    0.25
    """
    curve = first_choice_curve(candidates)
    bins = zip(curve["count"], curve["probability"], curve["right"], strict=True)
    return _ratio(math.fsum(count * abs(p - share) for count, p, share in bins), candidates.queries)


@measure(
    "reliability_first",
    f"a curve: of {BINS} equal bins of the first choice's p those with queries: mean p, share right, how many",
    is_number=False,
    kind=Drawn,
)
def first_choice_curve(candidates: CandidateProbabilities) -> Curve:
    """As reliability, of the greatest p of each query alone; of candidates level there the share that is right.

    >>> _example("reliability_first", [0.4, 0.4, 0.2], [1, 0, 0])["right"]
    [0.5]
    """
    ranking, starts = candidates.ranking, candidates.ranking.offsets[:-1]
    if not candidates.queries:
        return {name: [] for name in ("from", "to", "probability", "right", "count")}
    highest = np.repeat(np.maximum.reduceat(ranking.scores, starts), np.diff(ranking.offsets))
    is_first = ranking.scores == highest
    right = np.add.reduceat((is_first & candidates.right).astype(float), starts) / np.add.reduceat(is_first, starts)
    p = np.maximum.reduceat(candidates.probability, starts)
    bins = np.minimum((p * BINS).astype(np.int64), BINS - 1)
    count = code_sums(bins, np.ones(len(p)), BINS)
    filled = np.flatnonzero(count)
    edges = {"from": filled / BINS, "to": (filled + 1) / BINS}
    means = {
        name: code_sums(bins, of, BINS)[filled] / count[filled] for name, of in (("probability", p), ("right", right))
    }
    columns = edges | means | {"count": count[filled]}
    return {name: column.tolist() for name, column in columns.items()}


@measure(
    "roc",
    "a curve: the corners of the true positive rate over the false positive rate, from the greatest p; ties as in auc",
    is_number=False,
    kind=Drawn,
)
def roc_curve(candidates: CandidateProbabilities) -> Curve:
    """TPR = TP / (TP + FN) and FPR = FP / (FP + TN) of p >= threshold; it starts at 0, 0 above all p (threshold 2).

    >>> _example("roc", [0.5, 0.3, 0.2], [1, 0, 1])["true_positive_rate"]
    [0.0, 0.5, 0.5, 1.0]
    """
    level = tied_levels(candidates)
    right, wrong = level.right[::-1], (level.count - level.right)[::-1]
    if not right.sum() or not wrong.sum():
        return {"false_positive_rate": [], "true_positive_rate": [], "threshold": []}
    tp, fp = (np.concatenate(([0], np.cumsum(counts))) for counts in (right, wrong))
    turns = (np.diff(tp)[1:] * np.diff(fp)[:-1]) != (np.diff(tp)[:-1] * np.diff(fp)[1:])
    corner = np.concatenate(([True], turns, [True]))
    columns = (fp / fp[-1], tp / tp[-1], np.concatenate(([2.0], level.probability[::-1])))
    names = ("false_positive_rate", "true_positive_rate", "threshold")
    return {name: column[corner].tolist() for name, column in zip(names, columns, strict=True)}


def _example(name: str, probabilities: list[float], labels: list[int]) -> Any:
    """The measure of one query with these probabilities, for the examples above."""
    scores = np.log(np.maximum(probabilities, 1e-300))
    ranking, counted = rank(scores, [0, len(scores)]), np.ones(1, dtype=bool)
    measure_of_name = named(name)
    if not isinstance(measure_of_name, Pooled | ByQuery | Drawn):
        return None
    return measure_of_name.of(candidate_probabilities(ranking, np.array(labels) > 0, counted, 0.5))


def _confusion(candidates: CandidateProbabilities) -> tuple[int, int, int, int]:
    """TP, FP, FN, TN."""
    chosen, right = candidates.probability >= candidates.threshold, candidates.right
    counts = (chosen & right, chosen & ~right, ~chosen & right, ~chosen & ~right)
    tp, fp, fn, tn = (int(np.count_nonzero(count)) for count in counts)
    return tp, fp, fn, tn


def _ratio(part: float, total: float) -> float | None:
    """part / total, or None without a total; math.fsum gives parts that are the same in any order of the rows."""
    return part / total if total else None
