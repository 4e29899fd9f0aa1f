"""Sets of metrics that belong together, by the kind of task."""

from dataclasses import dataclass
from typing import Literal

PresetName = Literal["ltr", "recall", "ranking", "end-to-end", "ctr"]


@dataclass(frozen=True, slots=True)
class Preset:
    """The metrics of a task beside top1_accuracy, top3_accuracy and mrr."""

    metrics: tuple[str, ...]
    recall_cutoffs: tuple[int, ...] = ()  # recall@k is measured for each k below the length of the longest list
    beside_recall: tuple[str, ...] = ()  # measured where at least one recall@k is


PRESETS: dict[PresetName, Preset] = {
    "ltr": Preset(()),
    "recall": Preset(
        ("hit@10", "hit@20", "hit@50", "ndcg@10", "ndcg@20"), recall_cutoffs=(100, 200, 1000), beside_recall=("mrr@10",)
    ),
    "ranking": Preset(("ndcg@5", "ndcg@10", "hit@5", "precision@5")),
    "end-to-end": Preset(("hit@5", "ndcg@5", "hit@10", "ndcg@10")),
    "ctr": Preset(("auc", "logloss", "gauc", "ece")),
}


def preset_metrics(name: PresetName, longest: int) -> tuple[str, ...]:
    """The metrics of a preset; without recall@k where no list is longer than k, for it is 1 in any order.

    >>> preset_metrics("recall", longest=150)[-2:]
    ('recall@100', 'mrr@10')
    """
    preset = PRESETS[name]
    recall = tuple(f"recall@{k}" for k in preset.recall_cutoffs if k < longest)
    return (*preset.metrics, *recall, *(preset.beside_recall if recall else ()))
