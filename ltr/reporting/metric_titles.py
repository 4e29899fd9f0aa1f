"""What people read instead of the names of metrics and baselines."""

from ltr.evaluation.baselines import NEED_NO_TRAINING, RANDOM, baseline_title
from ltr.evaluation.metrics.ranking_measures import MRR, TOP1, TOP3
from ltr.evaluation.metrics.registry import CATALOGUE
from ltr.storage.evaluation_records import MetricsRecord

TITLES = {TOP1: "top-1", TOP3: "top-3", MRR: "MRR"}
WITHOUT_TRAINING = (RANDOM, *NEED_NO_TRAINING)  # what stands beside a result wherever there is little room


def title_of(metric: str) -> str:
    """The short name of a metric, where it has one.

    >>> title_of("top1_accuracy"), title_of("ndcg@5")
    ('top-1', 'ndcg@5')
    >>> title_of("mrr@catalogue")
    'MRR@catalogue'
    """
    plain = metric.removesuffix(CATALOGUE)
    return TITLES.get(plain, plain) + metric[len(plain) :]


def shown_baselines(record: MetricsRecord) -> dict[str, dict[str, float | None]]:
    """Return by title what needs no training, and whatever else the result is compared with."""
    shown = dict.fromkeys((*WITHOUT_TRAINING, *([record.best_baseline] if record.best_baseline else [])))
    return {
        baseline_title(name, record.best_feature): record.baselines[name] for name in shown if name in record.baselines
    }


def lead_title(name: str, record: MetricsRecord) -> str:
    """Return what a difference in Top-1 to a baseline is called."""
    return f"{TITLES[TOP1]} over {baseline_title(name, record.best_feature)}"
