"""Sets of metrics that belong together, by the kind of task."""

from dataclasses import dataclass
from typing import Literal

PresetName = Literal["ltr", "recall", "ranking", "end-to-end", "ctr"]


@dataclass(frozen=True, slots=True)
class Preset:
    """The metrics of a task beside top1_accuracy, top3_accuracy and mrr."""

    metrics: tuple[str, ...]
    together: tuple[str, ...] = ()  # read together, where lists are long enough
    deepest: tuple[int, ...] = ()  # the cutoffs of recall@k of these


PRESETS: dict[PresetName, Preset] = {
    "ltr": Preset(()),
    "recall": Preset(
        ("hit@10", "hit@20", "hit@50", "ndcg@10", "ndcg@20"), together=("mrr@10",), deepest=(100, 200, 1000)
    ),
    "ranking": Preset(("ndcg@5", "ndcg@10", "hit@5", "precision@5")),
    "end-to-end": Preset(("hit@5", "ndcg@5", "hit@10", "ndcg@10")),
    "ctr": Preset(("auc", "logloss", "gauc", "ece")),
}


def preset_metrics(name: PresetName, longest: int) -> tuple[str, ...]:
    """The metrics of a preset. Where no list is longer than k, recall@k is 1 whatever the order: it is left out.

    >>> preset_metrics("recall", longest=150)[-2:]
    ('recall@100', 'mrr@10')
    """
    preset = PRESETS[name]
    deep = tuple(f"recall@{k}" for k in preset.deepest if k < longest)
    return (*preset.metrics, *deep, *(preset.together if deep else ()))
