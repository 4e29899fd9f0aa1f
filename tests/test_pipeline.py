from dataclasses import replace

import numpy as np
import pytest

from ltr import RunConfig, TrainConfig, evaluate, fit, rank, read_groups, run
from ltr.columns import prepare
from ltr.encoders import best_installed
from ltr.errors import DataError, UsageError
from ltr.evaluation import Baseline
from ltr.features import FeatureConfig, fit_features
from ltr.featurized import read
from ltr.read import read_data
from ltr.results import evaluate_router
from tests.builders import graph_lines, tool_lines, write_lines
from tests.made import DataConfig, EvaluateConfig

NEWTON = TrainConfig(trainer="newton")


@pytest.fixture
def tools(tmp_path):
    """A config over 30 training traces and 10 others."""
    train = write_lines(tmp_path / "train.jsonl", tool_lines(seed=1, traces=30))
    renamed = ({**line, "trace_id": f"u{line['trace_id']}"} for line in tool_lines(seed=2, traces=10))
    test = write_lines(tmp_path / "test.jsonl", renamed)
    return RunConfig(data=DataConfig(train=str(train), test=str(test)), encoder="hash", train=NEWTON)


def with_data(config, **changes):
    fields = {"train": config.data.train, "test": config.data.test, **changes}
    return RunConfig(data=DataConfig(**fields), encoder="hash", train=NEWTON, seed=config.seed)


def test_a_run_is_features_then_fit_then_rank_then_evaluate(tools):
    result = run(tools)
    train, test = read_groups(tools.data.train), read_groups(tools.data.test)
    names = ("tool.rel", "tool.hist", "tool.coop", "tool.struct")
    features, phi = fit_features([FeatureConfig(name) for name in names], train, "hash")
    w = fit(phi, train.labels, train.offsets, NEWTON).w
    np.testing.assert_array_equal(result.router.w, w)
    by_hand = evaluate(rank(features(test.candidates) @ w, test.offsets), test.labels).means
    assert result.measured.evaluation.means == pytest.approx(by_hand, abs=1e-12)
    assert result.measured.split == "test"


def test_graphs_run_the_same_way(tmp_path):
    train = write_lines(tmp_path / "graphs.jsonl", graph_lines(traces=30))
    result = run(RunConfig(data=DataConfig(train=str(train)), encoder="hash", train=NEWTON))
    assert result.router.names == ("graph.rel", "graph.hist", "graph.coop", "graph.struct")
    assert result.config.kind == "graph"


def test_without_test_data_the_training_groups_are_measured_by_their_cross_fitted_columns(tools):
    result = run(with_data(tools, test=None))
    assert result.measured.split == "train"
    train = read_groups(tools.data.train)
    names = ("tool.rel", "tool.hist", "tool.coop", "tool.struct")
    phi = fit_features([FeatureConfig(name) for name in names], train, "hash")[1]
    np.testing.assert_array_equal(result.measured.phi, phi)


def test_the_trained_w_beats_the_baselines_it_is_shown_beside(tools):
    measured = run(tools).measured
    mrr = {name: each.means["mrr"] for name, each in measured.baselines.items()}
    assert list(mrr) == ["random", *Baseline.NEED_NO_TRAINING, "best_feature", "untrained", "oracle"]
    assert mrr["random"] < measured.evaluation.means["mrr"] <= mrr["oracle"] == 1


def test_the_config_comes_back_with_everything_decided(tools):
    decided = run(RunConfig(data=tools.data)).config
    assert (decided.kind, decided.encoder) == ("tool", best_installed())
    assert decided.features == ("tool.rel", "tool.hist", "tool.coop", "tool.struct")


def test_a_share_of_the_traces_is_taken_out_by_the_seed(tools):
    loaded = read_data(with_data(tools, test=0.2))
    train, test = loaded.train.groups, loaded.test.groups
    held = set(train.candidates.trace_ids), set(test.candidates.trace_ids)
    assert (len(held[0]), len(held[1]), held[0] & held[1]) == (24, 6, set())
    again = read_data(with_data(tools, test=0.2)).test.groups
    assert set(again.candidates.trace_ids) == held[1]
    other = read_data(RunConfig(data=DataConfig(train=tools.data.train, test=0.2), seed=1)).test.groups
    assert set(other.candidates.trace_ids) != held[1]


def test_the_share_does_not_depend_on_the_order_of_the_lines(tools, tmp_path):
    lines = list(tool_lines(seed=1, traces=30))
    shuffled = write_lines(tmp_path / "shuffled.jsonl", np.random.default_rng(0).permutation(lines).tolist())
    drawn = [
        set(read_data(with_data(tools, train=str(path), test=0.3)).test.groups.candidates.trace_ids)
        for path in (tools.data.train, shuffled)
    ]
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize("share", [0.001, 0.999])
def test_a_share_that_leaves_a_side_empty_is_refused(tools, share):
    with pytest.raises(UsageError, match="of 30 traces is .*: nothing is left to"):
        read_data(with_data(tools, test=share))


def test_texts_of_the_test_share_are_not_learned_from(tools):
    loaded = read_data(with_data(tools, test=0.2))
    train, test = loaded.train.groups, loaded.test.groups
    lines = list(tool_lines(seed=1, traces=30))
    held = set(test.candidates.trace_ids)
    own = {line["query"] for line in lines if line["trace_id"] not in held}
    assert {line["query"] for line in lines} - own  # there are some that must not be seen
    assert set(train.candidates.query_texts) == own
    assert train.candidates.query_texts == tuple(
        dict.fromkeys(train.candidates.query_texts[code] for code in train.candidates.queries)
    )


def codes_of_warnings(config):
    return [warning.partition(":")[0] for warning in read_data(config).warnings]


def test_what_training_and_test_data_share_is_warned_about(tools, tmp_path):
    assert codes_of_warnings(with_data(tools, test=tools.data.train)) == ["overlap-file"]
    lines = [{**line, "node_id": f"new {line['node_id']}"} for line in tool_lines(seed=1, traces=2)]
    part = write_lines(tmp_path / "part.jsonl", lines)
    assert codes_of_warnings(with_data(tools, test=str(part)))[0] == "overlap-trace"
    assert codes_of_warnings(tools) == ["overlap-query"]  # "help me out" stands in every trace


def test_ids_that_tell_the_label_are_warned_about_when_they_are_learned_from(tmp_path):
    lines = [{**line, "tool": line["tool"] + "_gold" * line["label"]} for line in tool_lines()]
    config = RunConfig(data=DataConfig(train=str(write_lines(tmp_path / "s.jsonl", lines))), train=NEWTON)
    assert [warning.partition(":")[0] for warning in run(config).warnings] == ["leak-id"]


def test_ready_numbers_are_trained_on_as_they_are(tmp_path):
    lines = [{**line, "features": [float(place), 1.5]} for place, line in enumerate(tool_lines(traces=4))]
    config = RunConfig(data=DataConfig(train=str(write_lines(tmp_path / "f.jsonl", lines))), train=NEWTON)
    result = run(config)
    assert result.router.names == ("x1", "x2")
    assert result.router.features is None


def test_a_model_of_ready_numbers_refuses_raw_samples(tmp_path, tools):
    lines = [{**line, "features": [float(place)]} for place, line in enumerate(tool_lines(traces=4))]
    config = RunConfig(data=DataConfig(train=str(write_lines(tmp_path / "f.jsonl", lines))), train=NEWTON)
    with pytest.raises(DataError, match="the model was trained on ready numbers; it ranks featurised samples only"):
        evaluate_router(run(config).router, read(tools.data.test, tools.data)[0], config)


def test_ready_numbers_of_another_count_than_the_model_are_refused(tmp_path, tools):
    router = run(tools).router
    lines = [{**line, "features": [1.0, 2.0]} for line in tool_lines(traces=2)]
    groups, _ = read(str(write_lines(tmp_path / "f.jsonl", lines)), tools.data)
    with pytest.raises(DataError, match="the samples bear the features x1, x2; the model has tool.rel, tool.hist"):
        evaluate_router(router, groups, tools)


def test_ready_numbers_do_not_take_other_features_from_the_config(tmp_path):
    lines = [{**line, "features": [1.0]} for line in tool_lines(traces=2)]
    config = RunConfig(data=DataConfig(train=str(write_lines(tmp_path / "f.jsonl", lines))), features=("tool.rel",))
    with pytest.raises(UsageError, match="the samples bear the ready features x1; the config names tool.rel"):
        prepare(config, read_data(config))


def test_a_kind_that_is_not_that_of_the_samples_is_refused(tools):
    with pytest.raises(DataError, match="the config says kind graph; the samples are tools"):
        read_data(RunConfig(data=tools.data, kind="graph"))


def test_a_model_of_tools_refuses_graphs(tools, tmp_path):
    graphs, _ = read(str(write_lines(tmp_path / "g.jsonl", graph_lines(traces=2))), tools.data)
    with pytest.raises(DataError, match="the model ranks tools; the candidates are graphs"):
        evaluate_router(run(tools).router, graphs, tools)


def test_without_training_samples_there_is_nothing_to_run():
    with pytest.raises(UsageError, match="no training samples: name files, or set data.train in the config"):
        run(RunConfig())


def test_ties_of_served_scores_fall_by_the_configured_rule(tools):
    config = RunConfig(data=tools.data, features=("tool.coop",), evaluate=EvaluateConfig(ties="worst"), train=NEWTON)
    worst = run(config).measured.evaluation
    best = run(RunConfig(data=tools.data, features=("tool.coop",), evaluate=EvaluateConfig(ties="best"), train=NEWTON))
    assert worst.num_tied > 0
    assert worst.means["mrr"] < best.measured.evaluation.means["mrr"]


def test_group_weights_of_the_samples_reach_the_trainer(tools, tmp_path):
    lines = [{**line, "weight": 5.0 if line["trace_id"] == "t0" else 1.0} for line in tool_lines(seed=1, traces=30)]
    weighted = with_data(tools, train=str(write_lines(tmp_path / "weighted.jsonl", lines)))
    assert not np.array_equal(run(weighted).router.w, run(tools).router.w)


def test_recommended_features_are_fewer_for_few_traces_and_the_run_says_so(tools, tmp_path):
    every = run(replace(tools, features=("recommended",)))
    assert len(every.router.training.weights) == 11
    assert not any("recommended" in warning for warning in every.warnings)
    assert every.config.features == every.router.names
    few = write_lines(tmp_path / "few.jsonl", tool_lines(seed=3, traces=4))
    fewer = run(replace(with_data(tools, train=str(few)), features=("recommended",)))
    assert fewer.router.names == ("tool.proto", "tool.lift", "tool.clause_char", "tool.name", "tool.zero_shot")
    told = "only 4 training traces: 5 of the 11 recommended features are used; all from 10 traces on"
    assert told in fewer.warnings


@pytest.mark.parametrize("side", ["test", "valid"])
def test_a_share_of_the_training_files_is_not_told_to_share_them(tools, side):
    assert "overlap-file" not in codes_of_warnings(with_data(tools, **{"test": None, side: 0.2}))
