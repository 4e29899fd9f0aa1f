"""Sums of metrics over parts, and which metrics can be added up."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ltr.errors import UsageError
from ltr.evaluation.evaluate import Evaluation, Rules, asked_measures
from ltr.evaluation.metrics.classification_counts import CandidateCounts
from ltr.evaluation.metrics.registry import Drawn, Measure, Pooled
from ltr.plugins import OURS, source_of


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Of each metric the sum over the queries of some shards, and how many of them it is defined for."""

    sums: dict[str, float]
    numbers: dict[str, int]
    counted: CandidateCounts | None  # where a metric is of candidates

    @classmethod
    def of(cls, evaluation: Evaluation, counted: CandidateCounts | None) -> "Sums":
        """Those of one shard."""
        defined = {name: values[~np.isnan(values)] for name, values in evaluation.values.items()}
        sums = {name: float(values.sum()) for name, values in defined.items()}
        return cls(sums, {name: len(values) for name, values in defined.items()}, counted)

    def __add__(self, other: "Sums") -> "Sums":
        """Those of both."""
        counted = None if self.counted is None or other.counted is None else self.counted + other.counted
        sums = {name: value + other.sums[name] for name, value in self.sums.items()}
        return Sums(sums, {name: number + other.numbers[name] for name, number in self.numbers.items()}, counted)

    def means(self, measures: Sequence[Measure]) -> dict[str, float | None]:
        """The means of the measures, in their order."""
        means: dict[str, float | None] = {}
        for measure in measures:
            if isinstance(measure, Pooled) and self.counted is not None:
                means |= measure.of(self.counted)
            elif measure.name in self.sums:
                number = self.numbers[measure.name]
                means[measure.name] = self.sums[measure.name] / number if number else None
        return means


def measures_of(rules: Rules) -> list[Measure]:
    """The measures that the rules name, after the three of every evaluation; one that cannot be added up is refused."""
    measures = list(asked_measures(rules).values())
    for measure in measures:
        if isinstance(measure, Pooled | Drawn) and source_of(measure.function) != OURS:
            raise UsageError(
                f"metric {measure.name!r} takes all candidates at once, and shards are in memory one by one: name files"
            )
    return measures


def is_of_candidates(measure: Measure) -> bool:
    """Whether a measure has no value for each query."""
    return isinstance(measure, Pooled | Drawn)


def by_query(rules: Rules, measures: Sequence[Measure]) -> Rules:
    """The rules with those of the measures that have a value for each query."""
    return replace(rules, metrics=tuple(measure.name for measure in measures if not is_of_candidates(measure)))
