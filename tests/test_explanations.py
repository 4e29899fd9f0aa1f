import numpy as np
import pytest

from ltr import Router, RunConfig, TrainConfig, read_groups, run
from ltr.evaluation import TOP1, BestFeature
from ltr.records.training import TrainingRecord
from ltr.results import evaluate_router
from ltr.results.queries import rescued, wrong
from tests.builders import graph_lines, tool_lines, write_lines
from tests.made import DataConfig


def measured(tmp_path, lines):
    path = write_lines(tmp_path / "train.jsonl", lines)
    test = write_lines(tmp_path / "test.jsonl", ({**line, "trace_id": f"u{line['trace_id']}"} for line in lines))
    config = RunConfig(data=DataConfig(train=str(path), test=str(test)), train=TrainConfig(trainer="newton"))
    result = run(config)
    return result.measured, result.router


def taken(explained):
    """How many there are, and the first of them."""
    return explained.number, [explanation for _, explanation in explained.first]


@pytest.fixture
def tools(tmp_path):
    return measured(tmp_path, list(tool_lines(seed=3, traces=40)))


def test_wrong_queries_are_counted_and_the_least_trusted_come_first(tools):
    found, explanations = taken(wrong(*tools, most=1000))
    assert found == len(explanations) == int((tools[0].evaluation.rank > 1).sum()) > 3
    trusts = [each.probability for each in explanations]
    assert trusts == sorted(trusts)
    assert all(each.rank > 1 for each in explanations)


def test_the_parts_of_a_side_add_up_to_its_score(tools):
    for each in taken(wrong(*tools, most=5))[1]:
        first, right = (sum(side.contributions.values()) for side in each.sides)
        assert first >= right
        assert [side.role for side in each.sides] == ["first", "right"]


def test_rescued_queries_are_right_where_the_best_baseline_is_wrong(tools):
    by_baseline = tools[0].baselines[tools[0].best_baseline].values[TOP1]
    both = (tools[0].evaluation.rank == 1) & (by_baseline == 0)
    found, explanations = taken(rescued(*tools, most=1000))
    assert found == int(both.sum())
    trusts = [each.probability for each in explanations]
    assert trusts == sorted(trusts, reverse=True)
    assert all(each.sides[0].candidate != each.sides[1].candidate for each in explanations)


def test_without_baselines_nothing_is_rescued(tools):
    from dataclasses import replace

    bare = replace(tools[0], baselines={}, best_baseline=None, ranked=replace(tools[0].ranked, compared=None))
    assert taken(rescued(bare, tools[1], most=3)) == (0, [])


def test_a_graph_is_named_with_its_first_nodes(tmp_path):
    shown, _ = measured(tmp_path, list(graph_lines(traces=20)))
    candidates = shown.groups.candidates
    row = int(np.argmax([len(candidates.distinct_graphs[code].texts) for code in candidates.graphs]))
    texts = candidates.distinct_graphs[candidates.graphs[row]].texts
    assert candidates.text(row) == f"{candidates.name_texts[candidates.names[row]]} ({', '.join(texts)})"


def test_a_best_feature_whose_smallest_value_comes_first_is_asked_for_its_smallest(tmp_path):
    training = TrainingRecord(best_feature=BestFeature("x1", -1))
    router = Router("tool", ("x1", "x2"), np.array([1.0, 2.0]), None, TrainConfig(), training)
    numbers = {"right": [0, 2], "least": [-1, 0], "most": [3, 0]}  # scores 4, -1 and 3
    lines = [
        {"trace_id": "t", "node_id": "n", "query": "q", "tool": tool, "label": int(tool == "right"), "features": values}
        for tool, values in numbers.items()
    ]
    shown = evaluate_router(router, read_groups(write_lines(tmp_path / "s.jsonl", lines)), RunConfig())
    found, (explanation,) = taken(rescued(shown, router, most=3))
    assert (found, explanation.sides[0].candidate) == (1, "least")
