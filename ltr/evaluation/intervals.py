"""How sure the means of an evaluation are."""

import numpy as np

from ltr.arrays import IntArray
from ltr.evaluation.bootstrap import Interval, bootstrap_means
from ltr.evaluation.evaluate import Evaluation


def intervals(evaluation: Evaluation, clusters: IntArray | None = None, *, seed: int = 0) -> dict[str, Interval]:
    """The 95 % bootstrap interval of each mean over the queries that count in it; a mean of none has none.

    Queries are resampled, or whole clusters: (queries,) codes, such as those of the traces they belong to.

    >>> from ltr.evaluation.evaluate import evaluate
    >>> from ltr.evaluation.ranking import rank
    >>> result = evaluate(rank([2.0, 1.0, 2.0, 1.0], [0, 2, 4]), [1, 0, 0, 1])
    >>> found = intervals(result)["mrr"]
    >>> found.mean, found.low, found.high
    (0.75, 0.5, 1.0)
    """
    alike: dict[bytes, list[str]] = {}  # metrics that count the same queries are resampled together
    for name, values in evaluation.values.items():
        alike.setdefault(np.isnan(values).tobytes(), []).append(name)
    found: dict[str, Interval] = {}
    for names in alike.values():
        columns = np.column_stack([evaluation.values[name] for name in names])
        counted = ~np.isnan(columns[:, 0])
        if counted.any():
            drawn = None if clusters is None else clusters[counted]
            each = bootstrap_means(columns[counted], np.random.default_rng(seed), clusters=drawn)
            found |= dict(zip(names, each, strict=True))
    return {name: found[name] for name in evaluation.values if name in found}


def resampled_units(clusters: IntArray) -> IntArray | None:
    """The clusters, where one holds several queries; else None: each query is a unit of its own.

    >>> resampled_units(np.array([0, 1, 2])), resampled_units(np.array([0, 1, 1]))
    (None, array([0, 1, 1]))
    """
    return clusters if len(np.unique(clusters)) < len(clusters) else None
