"""How to read the numbers: short notes, where they apply."""

from collections.abc import Iterator

import numpy as np

from ltr.arrays import FloatArray
from ltr.evaluation.evaluation import Evaluation
from ltr.evaluation.metrics import CATALOGUE, MRR, TOP1, TOP3, named
from ltr.evaluation.probabilities import Probability

BANDS = ((0.9, "excellent"), (0.7, "good"), (0.5, "usable"))  # of Top-1, each above its bound
LOW, HIGH = 0.5, 0.7
LOW, HIGH = 0.5, 0.7
FEWEST = 100
COMPLETE = 0.9  # share of the right candidates that a search should find


def notes(result: Evaluation, *, is_seen: bool = False) -> list[str]:
    """What the numbers say, for a first reader, of whatever metrics there are; nothing without a query.

    `is_seen`: the model was trained on some of the queries, so that no band is given.
    """
    if not result.num_queries:
        return []
    top1, top3, mrr = (result.means[name] or 0.0 for name in (TOP1, TOP3, MRR))
    verdict = f"{band(top1)} (usable above 0.5, good above 0.7, excellent above 0.9)"
    texts = [f"top-1 {top1:.3f}: {'no verdict, training saw some of these traces' if is_seen else verdict}"]
    if max(top1, top3, mrr) <= LOW:
        texts.append("all are low: look at the features and at the data")
    else:
        if mrr <= LOW:
            texts.append("MRR is low: look at the features")
        if top1 <= LOW and top3 > HIGH:
            texts.append("top-1 is low and top-3 high: the right one is near the top; look at the weights")
    if result.num_queries < FEWEST:
        texts.append(f"fewer than {FEWEST} queries: differences of a few hundredths are chance")
    return [*texts, *_hit_notes(result), *_recall_notes(result), *_probability_notes(result)]


def band(top1: float) -> str:
    """The band of a Top-1.

    >>> band(0.95), band(0.7), band(0.2)
    ('excellent', 'usable', 'not usable yet')
    """
    return next((word for bound, word in BANDS if top1 > bound), "not usable yet")


def even_log_loss(result: Evaluation) -> float:
    """The logloss of a model without any knowledge: p = 1/n for each of n candidates.

    Where the probabilities of a query need not sum to 1, it is that of p = the share right of all candidates.
    """
    counted = ~np.isnan(result.values[TOP1])
    sizes, right = result.num_candidates[counted].astype(float), result.num_found[counted].astype(float)
    if result.rules.probability is not Probability.SOFTMAX:
        sizes, right = sizes.sum(keepdims=True), right.sum(keepdims=True)
        return float(_entropy(right / sizes)[0])
    wrong = np.where(sizes > right, (sizes - right) * -np.log1p(-1 / np.maximum(sizes, 2)), 0.0)
    return float((right * np.log(np.maximum(sizes, 1)) + wrong).sum() / sizes.sum())


def _entropy(share: FloatArray) -> FloatArray:
    """-p log p - (1 - p) log(1 - p), 0 at both ends.

    >>> _entropy(np.array([0.0, 0.5]))
    array([0.        , 0.69314718])
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.array([-share * np.log(share), -(1 - share) * np.log1p(-share)])
    summed: FloatArray = np.nan_to_num(terms).sum(axis=0)
    return summed


def _hit_notes(result: Evaluation) -> Iterator[str]:
    """That hit@1 is strict, where nothing deeper was asked for beside it."""
    deeper = [name for name in result.means if name.startswith(("hit@", "ndcg")) and name != "hit@1" and is_own(name)]
    if "hit@1" in result.means and not deeper:
        yield "hit@1 alone is strict: read it with hit@5 or hit@10, or with ndcg@5"


def is_own(metric: str) -> bool:
    """Whether a metric is of the queries' own lists, and not of the whole catalogue."""
    return not metric.endswith(CATALOGUE)


def _recall_notes(result: Evaluation) -> Iterator[str]:
    """Cutoffs that cannot miss; and what the deepest recall and an MRR of fewer places say together."""
    longest, is_all_listed = int(result.num_candidates.max()), bool((result.num_found == result.num_positives).all())
    cut_off = ("hit@", "recall@", "mrr@")
    cutoffs = {name: k for name in result.means if name.startswith(cut_off) and (k := named(name).k) and is_own(name)}
    cannot_miss = [
        name for name, k in cutoffs.items() if k >= longest and is_all_listed and not name.startswith("mrr@")
    ]
    if cannot_miss:
        yield f"no list is longer than {longest}: {', '.join(cannot_miss)} cannot miss"
    recalls = [name for name in cutoffs if name.startswith("recall@") and name not in cannot_miss]
    deepest = max(recalls, key=cutoffs.__getitem__, default="")
    cut = next((name for name in cutoffs if name.startswith("mrr@") and cutoffs[name] < cutoffs.get(deepest, 0)), "")
    if not cut:
        return
    recall, first = result.means[deepest] or 0.0, result.means[cut] or 0.0
    words = {
        (True, True): "what is right is found, and stands first",
        (True, False): "what is right is found, but not put first: look at the ranking",
        (False, True): "what is found stands first, but much of what is right is missing: look at the search",
        (False, False): "much of what is right is missing, and what is found does not stand first",
    }[recall >= COMPLETE, first > LOW]
    yield f"{deepest} {recall:.3f} with {cut} {first:.3f}: {words}"


def _probability_notes(result: Evaluation) -> Iterator[str]:
    """What AUC and LogLoss say together: LogLoss is low when it beats even probabilities."""
    auc, loss = result.means.get("auc"), result.means.get("logloss")
    if auc is None or loss is None:
        return
    even, knows_nothing, knows_less = even_log_loss(result), "even probabilities", "even ones"
    if result.rules.probability is not Probability.SOFTMAX:
        knows_nothing, knows_less = "the share right for each candidate", "the share right"
    words = {
        (True, True): f"orders well, and its probabilities say more than {knows_less}",
        (True, False): "orders well, but its probabilities are off: calibrate them",
        (False, True): f"orders badly, though its probabilities say more than {knows_less}; look at parts of the data",
        (False, False): "neither orders well nor knows how sure it is: look at features and data",
    }[auc > HIGH, loss < even]
    yield f"auc {auc:.3f} with logloss {loss:.3f} ({knows_nothing}: {even:.3f}): {words}"
    floor = result.means.get("logloss_floor") or 0.0
    if floor > 0:
        yield f"queries with several right candidates: no scores bring logloss below {floor:.3f}"
