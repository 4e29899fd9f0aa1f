"""A run over a directory of columns: what the same samples give in memory, shard by shard."""

from dataclasses import replace

import numpy as np
import pytest

import ltr
from ltr import RunConfig, TrainConfig, load
from ltr.errors import DataError, FileError, UsageError
from tests.builders import graph_lines, tool_lines
from tests.made import DataConfig, EngineConfig, EvaluateConfig, close, document, featurized, save_run, written

pytestmark = pytest.mark.contract

CLOSE = {"rtol": 1e-11, "atol": 1e-12}


def columns(folder, lines, *, shard_rows=72, **extra):
    """A directory of columns with so many candidates a part, and the same columns in a file."""
    raw = written(folder / "raw.jsonl", [line | extra for line in lines])
    config = RunConfig(data=DataConfig(train=str(raw)), encoder="hash")
    featurized(config, f"{folder}/columns/", shard_rows=shard_rows)
    featurized(config, folder / "whole.npz")
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
    return [
        save_run(newton(samples, **settings), tmp_path / name / "run")
        for name, samples in (("shards", folder / "columns"), ("whole", folder / "whole.npz"))
    ]


@pytest.mark.parametrize("settings", [{}, {"standardize": True, "l2": 0.01}, {"knots": 3, "l2": 0.01}])
def test_a_run_over_shards_is_the_run_in_memory_but_for_last_digits(tools, tmp_path, settings):
    shards, whole = both(tools, tmp_path, **settings)
    np.testing.assert_allclose(load(shards).w, load(whole).w, **CLOSE)
    close(*(document(home, "model.json")["training"] for home in (shards, whole)))
    for name in ("metrics.json", "per_query.jsonl", "examples.jsonl", "by_tool.jsonl", "history.jsonl", "curves.json"):
        close(*(document(home, name) for home in (shards, whole)), name)
    assert (shards / "tools.jsonl").read_bytes() == (whole / "tools.jsonl").read_bytes()
    assert {path.name for path in shards.iterdir()} == {path.name for path in whole.iterdir()}
    assert "<svg" in (shards / "report.html").read_text()


def test_graphs_and_weights_are_learned_as_in_memory(tmp_path_factory, tmp_path):
    graphs = columns(tmp_path_factory.mktemp("graphs"), list(graph_lines(seed=2, traces=14)), shard_rows=40, weight=1.5)
    shards, whole = both(graphs, tmp_path)
    assert load(shards).kind == "graph"
    np.testing.assert_allclose(load(shards).w, load(whole).w, **CLOSE)


def test_groups_in_which_none_is_right_are_left_out_of_every_part(tmp_path_factory, tmp_path):
    folder, lines, without = tmp_path_factory.mktemp("none"), [], []
    for line in tool_lines(seed=7, traces=12, groups=2):
        is_none = line["trace_id"] in ("t3", "t4", "t5") or (line["trace_id"] == "t8" and line["node_id"] == "n0")
        lines.append(line | {"label": 0} if is_none else line)
        without += [] if is_none else [line]
        none = {name: line[name] for name in ("trace_id", "node_id", "query")} | {"none": True, "label": 1}
        lines += [none] if is_none and none not in lines else []
    homes = {}
    for name, rows in (("columns", lines), ("answered", without)):
        samples = written(folder / f"{name}.jsonl", rows)
        config = RunConfig(data=DataConfig(train=str(samples)), features=("tool.rel", "tool.coop"), encoder="hash")
        featurized(config, f"{folder / name}/", shard_rows=16)
        homes[name] = save_run(newton(folder / name), tmp_path / name)
    made, answered = (document(home, "metrics.json") for home in homes.values())
    assert (made["counts"]["num_none"], made["counts"]["num_queries"]) == (7, 17)
    none = load(homes["columns"]).none
    assert (none.source, none.groups, none.none_groups) == ("log", 24, 7)
    assert load(homes["answered"]).none is None
    assert answered["rules"]["fingerprint"] == made["rules"]["fingerprint"]


def test_test_samples_are_a_directory_or_files(tools, tmp_path):
    measured = []
    for test in (tools / "columns", tools / "whole.npz"):
        home = save_run(with_data(newton(tools / "columns"), test=(str(test),)), tmp_path / test.stem)
        measured.append(document(home, "metrics.json"))
    assert measured[0]["rules"]["split"] == "test"
    close(*measured)
    assert measured[0]["metrics"] == measured[1]["metrics"]
    assert measured[0]["rules"]["fingerprint"] == measured[1]["rules"]["fingerprint"]


def with_data(config, **data):
    """The config with other data."""
    return replace(config, data=replace(config.data, **data))


def test_the_same_run_again_is_left_as_it_is(tools, cli, tmp_path):
    train = ("train", tools / "columns", "--trainer", "newton", "-o", "run", "--resume")
    cli.good(*train)
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "run").iterdir()}
    cli.good(*train)
    assert {path.name: path.stat().st_mtime_ns for path in (tmp_path / "run").iterdir()} == before
    inputs = document(tmp_path / "run", "run.json")["inputs"]
    assert [entry["path"].rpartition("/")[2] for entry in inputs] == ["manifest.json"]


def test_a_run_of_other_columns_is_not_gone_on_with(tools, cli):
    cli.good("train", tools / "columns", "--trainer", "newton", "-o", "run")
    cli.good("featurize", tools / "raw.jsonl", "--features", "tool.rel", "-o", "other/", "-q")
    assert cli.run("train", "other", "--trainer", "newton", "-o", "run", "--resume") == 5


def test_what_a_run_over_shards_does_not_do_is_refused_by_name(tools, tmp_path):
    directory = tools / "columns"
    with pytest.raises(UsageError, match="test is a share"):
        save_run(with_data(newton(directory), test=0.2), tmp_path / "run")
    with pytest.raises(UsageError, match="is read alone"):
        ltr.train([directory, tools / "whole.npz"], trainer="newton")
    with pytest.raises(DataError, match="the config says kind graph"):
        save_run(RunConfig(**{**vars(newton(directory)), "kind": "graph"}), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_run_that_is_broken_off_leaves_nothing(tools, tmp_path):
    def stop(step):
        if step.stage == "measuring" and step.done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ltr.train(tools / "columns", trainer="newton", out=tmp_path / "run", on_progress=stop)
    assert list(tmp_path.iterdir()) == []


def test_python_trains_from_a_directory_without_keeping_anything(tools, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = ltr.train(tools / "columns", trainer="newton")
    assert set(result.router.names) == {"tool.rel", "tool.hist", "tool.coop", "tool.struct"}
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileError, match="a directory; name the files in it"):
        ltr.train(tools, trainer="newton")


def files_without_times(home):
    """The bytes of each file that holds no time of day."""
    return {file.name: file.read_bytes() for file in home.iterdir() if file.name not in ("run.json", "log.jsonl")}


@pytest.mark.parametrize("settings", [{}, {"knots": 3}])
def test_a_run_and_an_evaluation_have_the_same_bytes_however_many_work(tools, cli, tmp_path, settings):
    for workers in (1, 2):
        config = replace(newton(tools / "columns", **settings), engine=EngineConfig(workers=workers))
        home = save_run(config, tmp_path / f"by-{workers}" / "run")
        at_work = () if workers == 1 else ("--workers", workers)
        cli.good("evaluate", home, tools / "columns", "-o", home.parent / "measured", *at_work)
    for name in ("run", "measured"):
        files = files_without_times(tmp_path / "by-1" / name)
        assert "per_query.jsonl" in files
        other = files_without_times(tmp_path / "by-2" / name)
        assert other.keys() == files.keys()
        assert {name for name in files if files[name] != other[name]} <= {"config.yaml", "report.html"}  # the engine


@pytest.mark.filterwarnings("default::ltr.errors.LtrWarning")
def test_an_engine_without_shards_is_warned_of(tools, cli):
    cli.good("train", tools / "whole.npz", "--workers", "2", "-o", "run")
    assert "warning: the engine works on shards, and has none here" in cli.err
