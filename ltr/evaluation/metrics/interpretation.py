"""How to read the numbers: short notes, where they apply."""

from collections.abc import Iterator

import numpy as np

from ltr.evaluation.evaluate import Evaluation
from ltr.evaluation.metrics.presets import PresetName
from ltr.evaluation.metrics.ranked import MRR, TOP1, TOP3

BANDS = ((0.9, "excellent"), (0.7, "good"), (0.5, "usable"))  # of Top-1, each above its bound
LOW, HIGH = 0.5, 0.7
FEWEST = 100
COMPLETE = 0.9  # share of the right candidates that a search should find


def notes(result: Evaluation, preset: PresetName = "ltr") -> list[str]:
    """What the numbers say, for a first reader; nothing without a query."""
    if not result.num_queries:
        return []
    top1, top3, mrr = (result.means[name] or 0.0 for name in (TOP1, TOP3, MRR))
    texts = [f"top-1 {top1:.3f}: {band(top1)} (usable above 0.5, good above 0.7, excellent above 0.9)"]
    if max(top1, top3, mrr) <= LOW:
        texts.append("all are low: look at the features and at the data")
    else:
        if mrr <= LOW:
            texts.append("MRR is low: look at the features")
        if top1 <= LOW and top3 > HIGH:
            texts.append("top-1 is low and top-3 high: the right one is near the top; look at the weights")
    if result.num_queries < FEWEST:
        texts.append(f"fewer than {FEWEST} queries: differences of a few hundredths are chance")
    if preset == "recall":
        texts += _recall_notes(result)
    if preset == "ctr":
        texts += _probability_notes(result)
    return texts


def band(top1: float) -> str:
    """The band of a Top-1.

    >>> band(0.95), band(0.7), band(0.2)
    ('excellent', 'usable', 'not usable yet')
    """
    return next((word for bound, word in BANDS if top1 > bound), "not usable yet")


def even_log_loss(result: Evaluation) -> float:
    """The logloss of p = 1/n for each of n candidates, which is that of a model without any knowledge."""
    counted = ~np.isnan(result.values[TOP1])
    sizes, right = result.num_candidates[counted].astype(float), result.num_found[counted]
    wrong = np.where(sizes > right, (sizes - right) * -np.log1p(-1 / np.maximum(sizes, 2)), 0.0)
    return float((right * np.log(np.maximum(sizes, 1)) + wrong).sum() / sizes.sum())


def _recall_notes(result: Evaluation) -> Iterator[str]:
    """Cutoffs that cannot miss, and what recall at the deepest cutoff and MRR@10 say together."""
    longest = int(result.num_candidates.max())
    full = [name for name in result.means if name.startswith("hit@") and int(name[4:]) >= longest]
    if full and (result.num_found == result.num_positives).all():
        yield f"no list is longer than {longest}: {', '.join(full)} cannot miss"
    deepest = [name for name in result.means if name.startswith("recall@")][-1:]
    for name in deepest:
        recall, first = result.means[name] or 0.0, result.means.get("mrr@10") or 0.0
        words = {
            (True, True): "what is right is found, and stands first",
            (True, False): "what is right is found, but not put first: look at the ranking",
            (False, True): "what is found stands first, but much of what is right is missing: look at the search",
            (False, False): "much of what is right is missing, and what is found does not stand first",
        }[recall >= COMPLETE, first > LOW]
        yield f"{name} {recall:.3f} with mrr@10 {first:.3f}: {words}"


def _probability_notes(result: Evaluation) -> Iterator[str]:
    """What AUC and LogLoss say together: LogLoss is low when it beats even probabilities."""
    auc, loss = result.means.get("auc"), result.means.get("logloss")
    if auc is None or loss is None:
        return
    even = even_log_loss(result)
    words = {
        (True, True): "orders well, and its probabilities say more than even ones",
        (True, False): "orders well, but its probabilities are off: calibrate them",
        (False, True): "orders badly, though its probabilities say more than even ones; look at parts of the data",
        (False, False): "neither orders well nor knows how sure it is: look at features and data",
    }[auc > HIGH, loss < even]
    yield f"auc {auc:.3f} with logloss {loss:.3f} (even probabilities: {even:.3f}): {words}"
    floor = result.means.get("logloss_floor") or 0.0
    if floor > 0:
        yield f"queries with several right candidates: no scores bring logloss below {floor:.3f}"
