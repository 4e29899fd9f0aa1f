"""A run over a directory of columns: what the same columns give in memory, shard by shard."""

import json
from dataclasses import replace

import msgspec
import numpy as np
import pytest

import ltr
from ltr.config.run import EvaluateConfig, RunConfig
from ltr.data.config import DataConfig
from ltr.data.groups import select
from ltr.engines.config import EngineConfig
from ltr.errors import DataError, FileError, LtrWarning, UsageError
from ltr.experiments.featurize import featurize_and_save
from ltr.experiments.pipeline import run
from ltr.experiments.shard_evaluation import evaluate_directory
from ltr.experiments.single_run import run_and_save
from ltr.serving.router import load
from ltr.storage.columns_file import save_columns
from ltr.storage.run_contents import read_run
from ltr.storage.sharded_columns import new_columns
from ltr.training.config import TrainConfig
from tests.builders import graph_lines, tool_lines
from tests.made import written

CLOSE = {"rtol": 1e-11, "atol": 1e-12}


def columns(folder, lines, *, traces=6, **extra):
    """A directory of columns with so many traces a part, and the same columns in a file."""
    raw = written(folder / "raw.jsonl", [line | extra for line in lines])
    result = run(RunConfig(data=DataConfig(train=str(raw))))
    groups, phi = result.train, result.measured.phi
    with new_columns(folder / "columns", result.router.features) as writer:
        for first in range(0, len(groups.candidates.trace_ids), traces):
            chosen = np.flatnonzero(np.isin(groups.candidates.traces, np.arange(first, first + traces)))
            rows = slice(groups.offsets[chosen[0]], groups.offsets[chosen[-1] + 1])
            writer.add(select(groups, chosen), phi[rows])
    save_columns(folder / "whole.npz", groups, phi, result.router.features)
    return folder


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    """Columns of tools."""
    lines = list(tool_lines(seed=5, traces=24, groups=3))
    for group in range(0, len(lines), 12):  # of every third group another tool is right: no direction parts them all
        labels = [line["label"] for line in lines[group : group + 4]]
        for line, label in zip(lines[group : group + 4], [*labels[1:], labels[0]], strict=True):
            line["label"] = label
    return columns(tmp_path_factory.mktemp("tools"), lines)


def newton(samples, **settings):
    """A config that learns from the samples by newton."""
    train = TrainConfig(trainer="newton", **settings)
    return RunConfig(data=DataConfig(train=(str(samples),)), train=train, evaluate=EvaluateConfig(metrics=("ndcg@3",)))


def both(folder, tmp_path, **settings):
    """The run over the directory, and over the same columns in memory."""
    made = []
    for name, samples in (("shards", folder / "columns"), ("whole", folder / "whole.npz")):
        run_and_save(newton(samples, **settings), tmp_path / name)
        made.append(read_run(tmp_path / name))
    return made


def close(found, expected, place=""):
    """Whether numbers, in whatever they are nested, agree to the last digits, and all else is equal."""
    if isinstance(expected, dict):
        assert set(found) == set(expected), place
        for key, value in expected.items():
            close(found[key], value, f"{place}.{key}")
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected), place
        for number, (one, other) in enumerate(zip(found, expected, strict=True)):
            close(one, other, f"{place}[{number}]")
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-7, abs=1e-9), place
    else:
        assert found == expected, place


@pytest.mark.parametrize("settings", [{}, {"standardize": True, "l2": 0.01}, {"knots": 3, "l2": 0.01}])
def test_a_run_over_shards_is_the_run_in_memory_but_for_last_digits(tools, tmp_path, settings):
    shards, whole = both(tools, tmp_path, **settings)
    models = [load(tmp_path / name) for name in ("shards", "whole")]
    np.testing.assert_allclose(models[0].w, models[1].w, **CLOSE)
    close(msgspec.to_builtins(shards.metrics), msgspec.to_builtins(whole.metrics))
    close(*(msgspec.to_builtins(of.model.training) for of in (shards, whole)))
    for name in ("queries", "examples", "tools", "history", "curves"):
        close(*(msgspec.to_builtins(list(getattr(of, name))) for of in (shards, whole)), name)
    assert (tmp_path / "shards" / "tools.jsonl").read_bytes() == (tmp_path / "whole" / "tools.jsonl").read_bytes()
    assert {path.name for path in (tmp_path / "shards").iterdir()} == {
        path.name for path in (tmp_path / "whole").iterdir()
    }
    assert "<svg" in (tmp_path / "shards" / "report.html").read_text()


def test_graphs_weights_and_the_queries_of_none_are_learned_as_in_memory(tmp_path_factory, tmp_path):
    graphs = columns(tmp_path_factory.mktemp("graphs"), list(graph_lines(seed=2, traces=14)), weight=1.5)
    both(graphs, tmp_path)
    assert load(tmp_path / "shards").kind == "graph"
    np.testing.assert_allclose(load(tmp_path / "shards").w, load(tmp_path / "whole").w, **CLOSE)


def test_groups_in_which_none_is_right_are_left_out_of_every_part(tmp_path_factory, tmp_path):
    folder, lines, without = tmp_path_factory.mktemp("none"), [], []
    for line in tool_lines(seed=7, traces=12, groups=2):
        is_none = line["trace_id"] in ("t3", "t4", "t5") or (line["trace_id"] == "t8" and line["node_id"] == "n0")
        lines.append(line | {"label": 0} if is_none else line)
        without += [] if is_none else [line]
        none = {name: line[name] for name in ("trace_id", "node_id", "query")} | {"none": True, "label": 1}
        lines += [none] if is_none and none not in lines else []
    config = RunConfig(
        data=DataConfig(train=str(written(folder / "raw.jsonl", lines))), features=("tool.rel", "tool.coop")
    )
    featurize_and_save(config, f"{folder / 'columns'}/", rows=16)
    run_and_save(newton(folder / "columns"), tmp_path / "shards")
    made = read_run(tmp_path / "shards")
    assert (made.metrics.counts.num_none, made.metrics.counts.num_queries) == (7, 17)
    assert "none: 7 groups, not used: nothing offered is right" in made.record.warnings
    assert any("is learned from samples in memory" in warning for warning in made.record.warnings)
    config = RunConfig(data=DataConfig(train=str(written(folder / "without.jsonl", without))), features=config.features)
    featurize_and_save(config, f"{folder / 'answered'}/", rows=16)
    run_and_save(newton(folder / "answered"), tmp_path / "answered")
    assert read_run(tmp_path / "answered").metrics.rules.fingerprint == made.metrics.rules.fingerprint


def test_test_samples_are_a_directory_or_files(tools, tmp_path):
    measured = []
    for test in (tools / "columns", tools / "whole.npz"):
        config = newton(tools / "columns")
        config = with_data(config, test=(str(test),))
        measured.append(run_and_save(config, tmp_path / test.stem).result.measured)
    assert measured[0].split == measured[1].split == "test"
    assert measured[0].evaluation.means == measured[1].evaluation.means
    assert measured[0].fingerprint() == measured[1].fingerprint()


def with_data(config, **data):
    """The config with other data."""
    return replace(config, data=replace(config.data, **data))


def test_the_same_run_again_is_left_as_it_is_until_the_columns_change(tools, tmp_path):
    config = newton(tools / "columns")
    first = run_and_save(config, tmp_path / "run")
    assert not first.is_untouched
    assert run_and_save(config, tmp_path / "run", resume=True).is_untouched
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert [entry["path"].rpartition("/")[2] for entry in record["inputs"]] == ["manifest.json"]


def test_what_a_run_over_shards_does_not_do_is_refused_by_name(tools, tmp_path):
    directory = tools / "columns"
    with pytest.raises(UsageError, match="trainer descent: .*--trainer newton"):
        run_and_save(RunConfig(data=DataConfig(train=str(directory))), tmp_path / "run")
    with pytest.raises(UsageError, match="train.l2 of several"):
        run_and_save(newton(directory, l2=(0.1, 1.0)), tmp_path / "run")
    for data, problem in (({"valid": str(directory)}, "data.valid: not with"), ({"test": 0.2}, "test is a share")):
        with pytest.raises(UsageError, match=problem):
            run_and_save(with_data(newton(directory), **data), tmp_path / "run")
    with pytest.raises(UsageError, match="is read alone"):
        ltr.train([directory, tools / "whole.npz"], trainer="newton")
    with pytest.raises(DataError, match="the config says kind graph"):
        run_and_save(RunConfig(**{**vars(newton(directory)), "kind": "graph"}), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_run_that_is_broken_off_leaves_nothing(tools, tmp_path):
    def stop(step):
        if step.stage == "measuring" and step.done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_and_save(newton(tools / "columns"), tmp_path / "run", on_progress=stop)
    assert list(tmp_path.iterdir()) == []


def test_python_trains_from_a_directory_without_keeping_anything(tools):
    result = ltr.train(tools / "columns", trainer="newton")
    assert result.measured.evaluation.num_queries == 72
    with pytest.raises(FileError, match="a directory; name the files in it"):
        ltr.train(tools, trainer="newton")


def files_without_times(home):
    """The bytes of each file that holds no time of day."""
    return {file.name: file.read_bytes() for file in home.iterdir() if file.name not in ("run.json", "log.jsonl")}


@pytest.mark.parametrize("settings", [{}, {"knots": 3}])
def test_a_run_and_an_evaluation_have_the_same_bytes_however_many_work(tools, tmp_path, settings):
    config = newton(tools / "columns", **settings)
    for workers in (None, 2):
        wanted = replace(config, engine=EngineConfig(workers=workers))
        run_and_save(wanted, tmp_path / f"by-{workers}" / "run")
        router = load(tmp_path / f"by-{workers}" / "run")
        evaluate_directory(router, tools / "columns", wanted, out=tmp_path / f"by-{workers}" / "measured")
    for name in ("run", "measured"):
        files = files_without_times(tmp_path / "by-None" / name)
        assert "per_query.jsonl" in files
        assert files_without_times(tmp_path / "by-2" / name) == files


def test_an_engine_without_shards_is_warned_of(tools, tmp_path):
    wanted = replace(newton(tools / "whole.npz"), engine=EngineConfig(workers=2))
    with pytest.warns(LtrWarning, match="the engine works on shards, and has none here"):
        run_and_save(wanted, tmp_path / "run")
