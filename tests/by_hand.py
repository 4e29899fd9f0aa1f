"""Rankings small enough to check by hand: groups of (name, label, x1, x2), ranked by w = (1, 2)."""

import numpy as np

from ltr import Router, RunConfig, TrainConfig, read_groups
from ltr.evaluation import BestFeature
from ltr.records.training import TrainingRecord
from ltr.results import evaluate_router
from tests.made import EvaluateConfig, written

BEST = TrainingRecord(best_feature=BestFeature("x1", 1))
ROUTER = Router("tool", ("x1", "x2"), np.array([1.0, 2.0]), None, TrainConfig(), BEST)
WRONG = [("a", 0, 1, 0), ("b", 1, 0, 0), ("c", 0, 0, 1), ("d", 0, -1, 0)]  # scores 1, 0, 2, -1
TIE = [("b", 1, 1, 0), ("a", 0, 1, 0), ("c", 0, 1, 0)]


def evaluated(tmp_path, groups, *, ties="expected", **rules):
    """The ranking of groups of (name, label, x1, x2) by w = (1, 2)."""
    rows = [
        {"trace_id": "t", "node_id": node, "query": f"q{node}", "tool": name, "label": label, "features": [x1, x2]}
        for node, group in enumerate(groups)
        for name, label, x1, x2 in group
    ]
    config = RunConfig(evaluate=EvaluateConfig(ties=ties, **rules))
    return evaluate_router(ROUTER, read_groups(written(tmp_path / "s.jsonl", rows)), config)
