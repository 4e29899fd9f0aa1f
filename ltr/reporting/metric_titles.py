"""What people read instead of the names of metrics and baselines."""

from ltr.evaluation.metrics.ranking_measures import MRR, TOP1, TOP3
from ltr.evaluation.metrics.registry import CATALOGUE
from ltr.storage.evaluation_records import MetricsRecord

TITLES = {TOP1: "top-1", TOP3: "top-3", MRR: "MRR"}
RANDOM, BEST_FEATURE = "random", "best_feature"
BASELINES = {
    RANDOM: "random order",
    BEST_FEATURE: "best feature",
    "untrained": "untrained, w = 1",
    "oracle": "oracle",
}


def title_of(metric: str) -> str:
    """The short name of a metric, where it has one.

    >>> title_of("top1_accuracy"), title_of("ndcg@5")
    ('top-1', 'ndcg@5')
    >>> title_of("mrr@catalogue")
    'MRR@catalogue'
    """
    plain = metric.removesuffix(CATALOGUE)
    return TITLES.get(plain, plain) + metric[len(plain) :]


def baseline_title(name: str, record: MetricsRecord) -> str:
    """What a baseline of the record is called; of the best feature also which it is."""
    best = record.best_feature
    if name != BEST_FEATURE or best is None:
        return BASELINES[name]
    return f"{BASELINES[name]}: {'-' if best.sign < 0 else ''}{best.name}"
