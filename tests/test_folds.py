"""Cross-validation and splits: what is left out teaches nothing, and every group is left out once."""

from dataclasses import replace

import numpy as np
import pytest

from ltr import RunConfig, TrainConfig, evaluate, fit, rank, read_groups, run
from ltr.errors import DataError, DivergedError, UsageError
from ltr.features import FeatureConfig, Presets, fit_features
from ltr.folds import path_weights
from ltr.samples import Whole
from ltr.splits import split_off
from ltr.training import Design
from tests.builders import tool_lines, write_lines
from tests.made import DataConfig, EvaluateConfig, fold_indices
from tests.oracles import random_groups
from tests.stored import flat_metrics as metrics

L2S = (0.0001, 0.01, 1.0)


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    """24 traces whose time falls with their number."""
    lines = [line | {"time": 1e9 - int(line["trace_id"][1:])} for line in tool_lines(seed=3, traces=24)]
    return write_lines(tmp_path_factory.mktemp("data") / "train.jsonl", lines)


@pytest.fixture
def config(samples):
    train = TrainConfig(trainer="newton", folds=4, l2=L2S)
    return RunConfig(data=DataConfig(train=str(samples)), encoder="hash", train=train, evaluate=EvaluateConfig())


@pytest.mark.parametrize("metric", ["loss", "mrr"])
def test_each_fold_is_ranked_by_what_was_learned_and_featurised_without_it(config, metric):
    config = replace(config, train=replace(config.train, metric=metric))
    groups = read_groups(config.data.train)
    names = [FeatureConfig(name) for name in Presets.SPECIFICATION["tool"]]
    values, ranks = np.empty((3, 4)), []
    for fold, (inside, outside) in enumerate(fold_indices(groups, 4, seed=0, by="trace")):
        learned, held = groups.select(inside), groups.select(outside)
        features, phi = fit_features(names, learned, "hash")
        held_phi, each = features(held.candidates), []
        for place, l2 in enumerate(L2S):
            w = fit(phi, learned.labels, learned.offsets, TrainConfig(trainer="newton", l2=l2)).w
            result = evaluate(rank(held_phi @ w, held.offsets, keys=held.candidates.key_order()), held.labels)
            s = held_phi @ w
            total = np.log(np.add.reduceat(np.exp(s), held.offsets[:-1]))
            values[place, fold] = (s[held.labels > 0] - total).mean() if metric == "loss" else result.means["mrr"]
            each.append(result.values["mrr"])
        ranks.append(each)
    result = run(config)
    best = int(np.argmax(values.mean(axis=1)))
    np.testing.assert_allclose(result.measured.folds.values, values, atol=1e-7)
    assert result.measured.folds.l2 == L2S[best]
    assert result.measured.folds.pooled["mrr"] == pytest.approx(np.mean(np.concatenate([r[best] for r in ranks])))
    assert result.router.trainer.penalty == L2S[best]
    single = run(replace(config, train=TrainConfig(trainer="newton", l2=L2S[best])))
    np.testing.assert_array_equal(single.router.w, result.router.w)


def a_few_heavy_queries_with_another_answer(path):
    """Samples of one column: the greater is right, but in every tenth query, of weight 100, the least."""
    rng = np.random.default_rng(0)
    groups = [(number, sorted(rng.normal(size=3).tolist(), reverse=number % 10 > 0)) for number in range(200)]
    return write_lines(
        path,
        (
            {"trace_id": f"t{number}", "node_id": "n", "query": "q", "tool": f"tool{place}", "features": [value]}
            | {"label": int(place == 0), "weight": 1.0 if number % 10 else 100.0}
            for number, values in groups
            for place, value in enumerate(values)
        ),
    )


@pytest.mark.parametrize("by, told_by", [({"folds": 4}, "folds"), ({}, "validated")])
def test_l2_is_chosen_by_the_loss_that_training_lowers_that_of_weighted_queries(tmp_path, by, told_by):
    path = str(a_few_heavy_queries_with_another_answer(tmp_path / "a.jsonl"))
    train = TrainConfig(trainer="newton", l2=(1e3, 1e-3), **by)
    told = run(RunConfig(data=DataConfig(train=path, valid=None if by else 0.25), train=train)).router.training
    assert getattr(told, told_by).l2 == 1e-3


def test_metrics_tell_the_folds_and_model_json_the_path(config):
    result = run(config)
    flat = metrics(result.measured)
    assert flat["folds.mrr"] == result.measured.folds.pooled["mrr"]
    assert [flat[f"folds.{n}.mrr"] for n in (1, 2, 3, 4)] == [means["mrr"] for means in result.measured.folds.each]
    said = result.router.training.folds
    assert (said.folds, said.metric, [each.l2 for each in said.path]) == (4, "loss", list(L2S))
    np.testing.assert_allclose([each.value for each in said.path], -result.measured.folds.values.mean(axis=1))


def test_folds_are_measured_as_the_test_data_are(config):
    rules = EvaluateConfig(preset="ctr", metrics=(), threshold=0.9)
    folds = run(replace(config, evaluate=rules)).measured.folds
    assert folds.rules.threshold == 0.9
    assert "auc" in folds.pooled


def test_folds_choose_the_least_of_what_is_better_the_less(config):
    result = run(replace(config, train=replace(config.train, metric="logloss")))
    path = result.router.training.folds.path
    assert min(path, key=lambda each: each.value).l2 == result.router.trainer.penalty
    assert min(each.value for each in path) > 0


@pytest.mark.parametrize("metric", ["loss", "mrr"])
def test_a_fold_that_nothing_can_be_measured_on_is_named(tmp_path, metric):
    lines = [line | {"label": int(line["label"] and line["trace_id"] == "t1")} for line in tool_lines(traces=8)]
    data = DataConfig(train=str(write_lines(tmp_path / "train.jsonl", lines)))
    train = TrainConfig(trainer="newton", folds=4, metric=metric)
    with pytest.raises(DataError, match=r"the groups that fold \d (leaves out|learns from): "):
        run(RunConfig(data=data, encoder="hash", train=train))


def test_descent_is_cross_validated_too(config):
    result = run(replace(config, train=TrainConfig(epochs=2, folds=3)))
    assert len(result.measured.folds.each) == 3


def test_every_trace_is_left_out_once_and_never_on_both_sides(samples):
    groups = read_groups(samples)
    traces, seen = groups.candidates.traces, []
    for inside, outside in fold_indices(groups, 5, seed=1, by="trace"):
        assert not set(traces[inside]) & set(traces[outside])
        assert sorted([*inside, *outside]) == list(range(len(traces)))
        seen += outside.tolist()
    assert sorted(seen) == list(range(len(traces)))


def test_folds_by_time_learn_from_what_came_before(samples):
    groups = read_groups(samples)
    for inside, outside in fold_indices(groups, 3, seed=1, by="time"):
        assert groups.times[inside].max() < groups.times[outside].min()


def parted(groups, share, name, **options):
    """The groups that stay, and those that are split off."""
    return [part.groups for part in split_off(Whole(groups), share, name, **options)]


def test_a_share_by_time_is_the_latest_traces(samples):
    groups = read_groups(samples)
    stay, out = parted(groups, 0.25, "test", seed=0, by="time", of=24)
    assert len(out.candidates.trace_ids) == 6
    assert stay.times.max() < out.times.min()


@pytest.mark.parametrize("times, share, out", [([1, 1, 1, 1, 2, 2, 2, 2], 0.25, 4), ([1, 1, 1, 2, 2, 3, 3, 3], 0.5, 5)])
def test_no_instant_stands_on_both_sides_of_a_split_by_time(tmp_path, times, share, out):
    lines = [line | {"time": times[int(line["trace_id"][1:])]} for line in tool_lines(traces=8)]
    groups = read_groups(write_lines(tmp_path / "a.jsonl", lines))
    stay, later = parted(groups, share, "test", seed=0, by="time", of=8)
    assert len(later.candidates.trace_ids) == out
    assert stay.times.max() < later.times.min()
    with pytest.raises(UsageError, match="folds is 3; 8 traces are at too few different times for them"):
        list(fold_indices(groups, 3, seed=0, by="time"))


def lasting(path):
    """24 traces of three queries, the first at the number of the trace, each other 10 later."""
    lines = list(tool_lines(seed=3, traces=24))
    times = [int(line["trace_id"][1:]) + 10 * int(line["node_id"][1:]) for line in lines]
    return write_lines(path, [line | {"time": time} for line, time in zip(lines, times, strict=True)])


def test_held_out_queries_of_traces_that_began_before_the_border_in_time_are_told(config, tmp_path):
    data = DataConfig(train=str(lasting(tmp_path / "a.jsonl")), test=0.25, valid=0.25, split="time")
    told = run(replace(config, data=data, train=TrainConfig(trainer="newton", folds=2))).warnings
    early = ": traces stay whole, and theirs began before"
    newest = "are no later than the newest training query"  # that of trace 11, at 31
    assert f"data.test: 10 of 18 queries {newest}{early}" in told  # traces 18-23: at 18 to 23, and at 28 to 31
    assert f"data.valid: 12 of 18 queries {newest}{early}" in told
    assert f"folds: 16 of 24 queries {newest}{early}" in told  # traces 4-7 and 8-11, all but the last ones


def test_of_traces_of_one_time_each_nothing_is_told(config):
    data = replace(config.data, test=0.25, split="time")
    told = run(replace(config, data=data, train=TrainConfig(trainer="newton", folds=2))).warnings
    assert not any("no later than" in each for each in told)


def test_traces_of_one_time_cannot_be_split_by_it(tmp_path):
    groups = read_groups(write_lines(tmp_path / "a.jsonl", [line | {"time": 5} for line in tool_lines(traces=8)]))
    with pytest.raises(UsageError, match="test 0.5: all 8 traces end at the same time; drop data.split: time"):
        parted(groups, 0.5, "test", seed=0, by="time", of=8)


def test_a_split_by_time_needs_times(tmp_path):
    path = write_lines(tmp_path / "a.jsonl", tool_lines(traces=4))
    with pytest.raises(DataError, match=r"a.jsonl:1: time: missing; data.split is time, and every group needs one"):
        parted(read_groups(path), 0.5, "test", seed=0, by="time", of=4)


def test_test_and_validation_shares_leave_each_other_alone(config):
    shares = replace(config.data, test=0.25, valid=0.25)
    result = run(replace(config, data=shares, train=TrainConfig(trainer="newton", l2=L2S)))
    assert len(result.measured.groups.candidates.trace_ids) == 6
    assert len(result.train.candidates.trace_ids) == 12
    assert not set(result.measured.groups.candidates.trace_ids) & set(result.train.candidates.trace_ids)
    assert result.router.trainer.penalty in L2S


def test_the_l2_that_validation_data_chose_is_told_with_the_others(config):
    result = run(replace(config, data=replace(config.data, valid=0.25), train=TrainConfig(trainer="newton", l2=L2S)))
    said = result.router.training.validated
    assert [each.l2 for each in said.path] == list(L2S)
    assert said.l2 == min(said.path, key=lambda each: each.value).l2 == result.router.trainer.penalty


def test_descent_is_stopped_by_validation_data_while_they_choose_its_l2(config):
    train = TrainConfig(epochs=80, learning_rate=0.5, patience=2, l2=L2S)
    result = run(replace(config, data=replace(config.data, valid=0.25), train=train))
    said, watched = result.router.training.validated, result.router.training.watched
    assert min(each.value for each in said.path) == pytest.approx(watched.best)


def test_one_standard_error_of_validation_data_is_refused(config):
    train = TrainConfig(trainer="newton", l2=L2S, l2_rule="one_se")
    with pytest.raises(UsageError, match=r"train.l2_rule one_se needs train.folds"):
        run(replace(config, data=replace(config.data, valid=0.25), train=train))


@pytest.mark.parametrize("l2, folds, idle", [(0.001, None, True), (L2S, 3, True), (L2S, None, False)])
def test_validation_data_that_decide_nothing_are_told(config, l2, folds, idle):
    train = TrainConfig(trainer="newton", l2=l2, folds=folds)
    told = run(replace(config, data=replace(config.data, valid=0.25), train=train)).warnings
    assert any(each.startswith("validation data decide nothing: newton") for each in told) == idle


def test_validation_data_stop_descent(config):
    train = TrainConfig(epochs=200, learning_rate=0.5, patience=2, metric="mrr")
    result = run(replace(config, data=replace(config.data, valid=0.25), train=train))
    watched = result.router.training.watched
    assert watched.metric == "mrr"
    assert result.router.training.epochs == watched.best_epoch + 2 < 200


def test_folds_that_run_on_where_validation_data_stopped_descent_are_told(config):
    data = replace(config.data, valid=0.25)
    train = TrainConfig(epochs=200, learning_rate=0.5, patience=2, metric="mrr", folds=2)
    result = run(replace(config, data=data, train=train))
    kept = result.router.training.watched.best_epoch
    assert f"its folds ran 200 epochs, early stopping took epoch {kept}; " in " ".join(result.warnings)
    unstopped = run(replace(config, data=data, train=TrainConfig(epochs=3, folds=2)))
    assert not any("folds measure" in each for each in unstopped.warnings)


@pytest.mark.parametrize("epochs, metric, is_last", [(3, "loss", True), (200, "mrr", False)])
def test_a_best_epoch_that_is_the_last_is_told(config, epochs, metric, is_last):
    train = TrainConfig(epochs=epochs, learning_rate=0.5, patience=2, metric=metric)
    told = run(replace(config, data=replace(config.data, valid=0.25), train=train)).warnings
    said = f"the best epoch on validation data is the last of {epochs}: more epochs may do better"
    assert (said in told) == is_last


def test_several_l2_need_something_to_choose_by(config):
    with pytest.raises(UsageError, match=r"train.l2 names several values: set train.folds or data.valid"):
        run(replace(config, train=TrainConfig(trainer="newton", l2=L2S)))


def test_more_folds_than_traces_are_refused(config):
    with pytest.raises(UsageError, match="folds is 30; 24 traces are too few for them"):
        run(replace(config, train=TrainConfig(trainer="newton", folds=30)))


def test_the_fold_and_the_l2_of_a_descent_that_diverges_are_named(config):
    train = TrainConfig(folds=3, l2=(0.001, 1000.0))
    with pytest.raises(
        DivergedError, match=r"fold 1: l2 1000: descent diverged in epoch \d+; lower l2 or learning_rate"
    ):
        run(replace(config, train=train))


@pytest.mark.parametrize("l2s, end", [((1e-9, 1e3, 1e4), "least"), ((0.0, 1e3, 1e4), None), ((1e-9, 1e3), None)])
def test_a_chosen_l2_at_an_end_of_its_list_is_told(config, l2s, end):
    told = run(replace(config, train=replace(config.train, l2=l2s, l2_rule="best"))).warnings
    said = [each for each in told if each.startswith("the l2 that was chosen, ")]
    assert [each.split(" is the ")[1].split()[0] for each in said] == ([end] if end else [])


def test_the_command_line_takes_folds_and_validation(cli, samples):
    said = cli.good(
        "train", samples, "-o", "r", "--folds", 3, "--valid", 0.2, "--encoder", "hash", "--format", "human", "-v"
    )
    assert "3 folds by trace: top-1" in said
    assert "the best on validation data: loss" in said


def test_queries_weigh_in_the_fits_of_several_penalties_whatever_the_trainer():
    rng = np.random.default_rng(4)
    phi, labels, offsets = random_groups(rng, 60, sizes=(2, 5))
    weights = rng.uniform(0.1, 10, 60)
    design = Design(phi, labels, offsets, weights)
    for trainer in ("newton", "descent"):
        config = TrainConfig(trainer=trainer, l2=(0.1, 0.01), epochs=3)
        for l2, w in zip(config.l2, path_weights(config, (design,))[0], strict=True):
            alone = fit(phi, labels, offsets, replace(config, l2=l2), weights=weights)
            np.testing.assert_allclose(w, alone.w, rtol=1e-6, atol=1e-9)
