"""Folds over a directory of columns: what the same samples give in memory, where each fold learns its features anew."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from ltr import RunConfig, TrainConfig, run
from ltr.errors import DataError, UsageError
from ltr.experiments.featurize import featurize_and_save
from ltr.featurized import open_columns, read
from ltr.samples import Whole
from ltr.splits import fold_sides
from tests.made import WORDS, DataConfig, EngineConfig, EvaluateConfig, fold_indices, tool_rows, written

FEATURES = ("tool.rel", "tool.hist", "tool.proto")


def featurised(folder, rows, *, features=FEATURES, shard_rows=90, **data):
    """A config of the samples, and one of the directory of their columns."""
    samples = DataConfig(train=(str(written(folder / "samples.jsonl", rows)),), **data)
    config = RunConfig(data=samples, features=features, encoder="hash", train=TrainConfig(trainer="newton"))
    featurize_and_save(config, f"{folder / 'columns'}/", rows=shard_rows)
    return config, replace(config, data=replace(samples, train=(str(folder / "columns"),)))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Both configs of tools, some of which are right by chance alone."""
    return featurised(tmp_path_factory.mktemp("folds"), tool_rows(range(23)))


def both(made, evaluate=None, **train):
    """The run in memory, and that over the directory."""
    settings = TrainConfig(trainer="newton", **train)
    whole, shards = (replace(config, train=settings, evaluate=evaluate or EvaluateConfig()) for config in made)
    return run(whole), run(shards)


@pytest.mark.parametrize(
    "settings",
    [
        {"folds": 3, "l2": 0.01},
        {"folds": 4, "l2": (0.001, 10.0), "standardize": True},
        {"folds": 3, "l2": (0.01, 0.5), "metric": "mrr", "knots": 3, "l2_rule": "one_se"},
        {"folds": 2, "l2": (0.01, 0.5), "metric": "logloss", "targets": "onehot"},
    ],
)
def test_folds_over_shards_are_those_in_memory_but_for_last_digits(made, settings):
    whole, shards = both(made, evaluate=EvaluateConfig(preset="ctr", metrics=("err", "ndcg@3")), **settings)
    np.testing.assert_allclose(shards.model.w, whole.model.w, rtol=1e-8, atol=1e-9)
    ours, theirs = shards.measured.folds, whole.measured.folds
    assert (ours.l2s, ours.l2, ours.num_groups, ours.earlier) == (theirs.l2s, theirs.l2, theirs.num_groups, 0)
    np.testing.assert_allclose(ours.values, theirs.values, rtol=1e-9)
    for found, expected in zip((ours.pooled, *ours.each), (theirs.pooled, *theirs.each), strict=True):
        assert found == pytest.approx(expected, rel=1e-9, abs=2e-3 if "auc" in found else 0)  # auc is of bins
    of_shards, of_whole = (msgspec.to_builtins(result.router.training.folds) for result in (shards, whole))
    assert [of_shards.pop("path")] != []
    of_whole.pop("path")
    assert of_shards == of_whole


def test_each_trace_is_left_out_of_one_fold_the_same_as_in_memory(made):
    groups, _ = read(made[0].data.train, made[0].data)
    columns = open_columns(made[1].data.train[0])
    in_memory = fold_sides(Whole(groups), 4, seed=5, by="trace")
    for sides, others in zip(fold_sides(columns, 4, seed=5, by="trace"), in_memory, strict=True):
        for side, other in zip(sides, others, strict=True):
            found = [trace for number in range(len(columns)) for trace in side(columns[number]).candidates.trace_ids]
            assert len(found) == len(set(found))
            assert set(found) == set(other(groups).candidates.trace_ids)


def test_columns_of_a_fold_know_nothing_of_what_it_leaves_out(made, tmp_path):
    rows = list(tool_rows(range(23)))
    groups, _ = read(made[0].data.train, made[0].data)
    _, left_out = next(fold_indices(groups, 2, seed=0, by="trace"))
    held = {groups.candidates.trace_ids[trace] for trace in groups.candidates.traces[left_out].tolist()}
    for first in range(0, len(rows), 5):  # another tool is right in what the first fold leaves out
        if rows[first]["trace_id"] in held:
            labels = [row["label"] for row in rows[first : first + 5]]
            for row, label in zip(rows[first : first + 5], [*labels[1:], labels[0]], strict=True):
                row["label"] = label
    other = featurised(tmp_path, rows)
    results = [run(replace(of[1], train=TrainConfig(trainer="newton", folds=2))) for of in (made, other)]
    first, second = (result.measured.folds.values[0] for result in results)
    assert first[0] != second[0]  # its own groups have other answers
    whole = run(replace(other[0], train=TrainConfig(trainer="newton", folds=2)))
    np.testing.assert_allclose(second, whole.measured.folds.values[0], rtol=1e-9)


def test_processes_give_the_folds_of_one(made):
    config = replace(made[1], train=TrainConfig(trainer="newton", folds=2, l2=(0.01, 1.0), metric="mrr"))
    many, one = (run(replace(config, engine=EngineConfig(workers=workers))) for workers in (2, 1))
    assert many.model.w.tobytes() == one.model.w.tobytes()
    assert many.measured.folds.values.tobytes() == one.measured.folds.values.tobytes()
    assert many.measured.folds.pooled == one.measured.folds.pooled


def test_draws_and_weights_count_in_the_loss_of_folds(tmp_path):
    rows = [row | {"weight": 1.0 + len(row["trace_id"])} for row in tool_rows(range(24))]
    tools = written(tmp_path / "tools.jsonl", [{"name": f"get_{w}", "description": w} for w in [*WORDS, *"abcdefgh"]])
    made = featurised(tmp_path, rows, features=("tool.rel", "tool.hist"), tools=str(tools), negatives=3)
    made = made[0], replace(made[1], data=replace(made[1].data, negatives=None, tools=None))
    whole, shards = both(made, folds=2, l2=(0.01, 1.0))
    np.testing.assert_allclose(shards.measured.folds.values, whole.measured.folds.values, rtol=1e-9)


def test_folds_that_cannot_be_are_refused(made, tmp_path):
    def folded(**settings):
        return replace(made[1], train=TrainConfig(trainer="newton", **settings))

    with pytest.raises(UsageError, match="folds is 40; 23 traces are too few for them"):
        run(folded(folds=40))
    with pytest.raises(UsageError, match="train.l2 names several values: set train.folds or data.valid"):
        run(folded(l2=(0.1, 1.0)))
    rows = [row | {"label": int(row["label"] and row["trace_id"] == "t1")} for row in tool_rows(range(8))]
    _, config = featurised(tmp_path, rows)
    with pytest.raises(DataError, match="the groups that fold 1 leaves out: mrr has no value"):
        run(replace(config, train=TrainConfig(trainer="newton", folds=4, metric="mrr")))
