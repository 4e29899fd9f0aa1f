"""Weights that recommended columns had on other sets of data: what the penalty of few traces pulls towards.

Made by `scripts/study priors` from sample sets, never from the data of this project: their figures would else rest on
weights that have seen them.
"""

from collections.abc import Sequence
from types import MappingProxyType

import numpy as np

from ltr.arrays import FloatArray
from ltr.training.config import TrainConfig

# of columns divided by their deviation, learned from 30 traces: means over draws, then over sets
WEIGHTS = MappingProxyType(
    {
        "tool.proto": 0.27,
        "tool.lift": 0.26,
        "tool.clause_char": 0.06,
        "tool.name": 0.15,
        "tool.zero_shot": 0.39,
        "tool.clause_words": 0.12,
        "tool.words": 0.04,
        "tool.known": -0.01,
        "tool.talk": 0.10,
        "tool.ridge": 0.26,
        "tool.clause": 0.27,
        "graph.proto": 0.95,
        "graph.near_edges": -0.17,
        "graph.edges": 0.36,
        "graph.cover": 1.32,
        "graph.start": 0.44,
        "graph.size": 0.35,
        "graph.clauses": 0.41,
        "graph.order": 0.09,
    }
)


def prior_weights(names: Sequence[str]) -> FloatArray:
    """The weight of each column, in units of its deviation; 0 for a column that the table lacks.

    >>> prior_weights(["tool.proto", "mine"]).tolist() == [WEIGHTS["tool.proto"], 0.0]
    True
    """
    return np.array([WEIGHTS.get(name, 0.0) for name in names])


def prior_of(config: TrainConfig, names: Sequence[str]) -> FloatArray | None:
    """What the penalty pulls the weights of these columns towards; None: 0."""
    if config.prior == "zero":
        return None
    config.refuse_other_scale("prior")
    return prior_weights(names)
