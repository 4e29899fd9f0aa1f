"""A run directory: its record, whose files it may replace, and what is left when a run fails."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from ltr import RunConfig, load, read_groups
from ltr.catalogues import ToolText
from ltr.errors import DataError, DiskError, UsageError
from ltr.experiments.featurize import refuse_output
from ltr.experiments.single_run import run_and_save
from ltr.runs import EVALUATION_KIND, RUN_KIND
from tests import warm
from tests.made import ENVIRONMENT, WORDS, DataConfig, process, save_run, tool_rows, written


def test_the_record_comes_last_and_its_checksums_fit(trained):
    directory, _ = trained
    record = json.loads((directory / "run.json").read_bytes())
    assert record["status"] == "complete"
    assert set(record["artifacts"]) == {path.name for path in directory.iterdir()} - {"run.json"}
    for name, checksum in record["artifacts"].items():
        assert hashlib.sha256((directory / name).read_bytes()).hexdigest() == checksum
    times = {path.name: path.stat().st_mtime_ns for path in directory.iterdir()}
    assert times["run.json"] == max(times.values())


def test_the_record_says_what_was_read(trained):
    directory, _ = trained
    record, content = json.loads((directory / "run.json").read_bytes()), (directory.parent / "train.jsonl").read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    assert record["inputs"] == [{"path": "../train.jsonl", "bytes": len(content), "sha256": digest}]


def test_the_record_names_catalogues_too(tmp_path):
    samples = written(tmp_path / "train.jsonl", tool_rows(range(25)))
    tools = written(tmp_path / "tools.jsonl", [{"name": f"get_{word}", "description": "rain or sun"} for word in WORDS])
    save_run(RunConfig(data=DataConfig(train=str(samples), tools=str(tools))), tmp_path / "run")
    record = json.loads((tmp_path / "run" / "run.json").read_bytes())
    assert [each["path"] for each in record["inputs"]] == ["../train.jsonl", "../tools.jsonl"]


def test_the_record_knows_neither_absolute_paths_nor_a_home(tmp_path):
    written(tmp_path / "train.jsonl", tool_rows(range(25)))
    environment = ENVIRONMENT | {"HOME": str(tmp_path)}
    words = ("train", tmp_path / "train.jsonl", "-o", tmp_path / "run")
    done = warm.command(*words, cwd=tmp_path, environment=environment)
    assert done.returncode == 0, done.stderr
    for path in (tmp_path / "run").iterdir():
        assert str(tmp_path).encode() not in path.read_bytes(), path.name


def test_a_file_at_home_is_named_from_there_in_a_run_elsewhere(tmp_path, monkeypatch):
    for name in ("alice", "runs"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "alice"))
    samples = written(tmp_path / "alice" / "train.jsonl", tool_rows(range(25)))
    for place, told in (("runs", "~/train.jsonl"), ("alice", "../train.jsonl")):
        save_run(RunConfig(data=DataConfig(train=str(samples))), tmp_path / place / "a")
        assert json.loads((tmp_path / place / "a" / "run.json").read_bytes())["inputs"][0]["path"] == told


def test_paths_lead_from_where_a_linked_directory_really_is(tmp_path):
    samples = written(tmp_path / "train.jsonl", tool_rows(range(25)))
    (tmp_path / "far" / "away").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "far" / "away")
    save_run(RunConfig(data=DataConfig(train=str(samples))), tmp_path / "link" / "run")
    assert "train: ../../../train.jsonl\n" in (tmp_path / "link" / "run" / "config.yaml").read_text()


def contents(directory):
    """The bytes of each file but those that hold times."""
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.name not in ("run.json", "log.jsonl")}


def test_the_same_input_gives_the_same_bytes_in_any_environment(tmp_path):
    for side in ("a", "b"):
        (tmp_path / side).mkdir()
        for part in range(3) if side == "a" else (2, 1, 0):  # another order in the directory listing
            rows = list(tool_rows(range(10 * part, 10 * part + 10), seed=part))
            written(tmp_path / side / f"part{part}.jsonl", rows)
    here = {"PYTHONHASHSEED": "0", "TZ": "UTC"}
    there = {"PYTHONHASHSEED": "1", "TZ": "Asia/Tokyo", "LC_ALL": "tr_TR.UTF-8"}
    arguments = ("--test", "0.3", "--metrics", "ndcg@3", "-q")
    first = process("train", "part*.jsonl", "-o", "run", *arguments, cwd=tmp_path / "a", environment=here)
    second = process("train", "b/part*.jsonl", "-o", "b/run", *arguments, cwd=tmp_path, environment=there)
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert contents(tmp_path / "a" / "run") == contents(tmp_path / "b" / "run")


@pytest.mark.parametrize("name", ["notes.txt", "checkpoints/weights.pt"])
def test_a_run_with_something_of_others_in_it_is_left_alone(trained, tmp_path, name):
    home = tmp_path / "run"
    shutil.copytree(trained[0], home)
    (home / name).parent.mkdir(exist_ok=True)
    (home / name).write_text("mine")
    with pytest.raises(UsageError, match=f"run: holds other things, such as '{name}'; name another directory"):
        RUN_KIND.refuse_taken(home, overwrite=True)


@pytest.mark.parametrize(
    "names",
    [
        ["config.yaml"],
        ["notes.txt"],
        ["config.yaml", "metrics.json"],
        ["metrics.json", "x"],
        ["run.json"],
        ["model.json"],
        ["config.yaml", "model.json"],
    ],
)
def test_a_directory_of_somebody_else_is_never_emptied(tmp_path, names):
    for name in names:
        (tmp_path / name).write_text("{}")
    with pytest.raises(UsageError, match="holds other things, such as "):
        RUN_KIND.refuse_taken(tmp_path, overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)


def test_an_evaluation_never_takes_the_place_of_a_run(trained):
    with pytest.raises(UsageError, match="holds other things"):
        EVALUATION_KIND.refuse_taken(trained[0], overwrite=True)


def test_where_nothing_can_be_written_is_known_before_the_work(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="file: not a directory; one of its own is needed"):
        RUN_KIND.refuse_taken(tmp_path / "file", overwrite=True)
    with pytest.raises(UsageError, match="not a directory; one of its own is needed"):
        RUN_KIND.refuse_taken(tmp_path / "file" / "run", overwrite=True)
    with pytest.raises(DiskError, match="file is not a directory"):
        refuse_output(tmp_path / "file" / "x.npz", overwrite=True)
    with pytest.raises(DiskError, match="file name too long; 242 bytes are the most for a directory"):
        RUN_KIND.refuse_taken(tmp_path / ("x" * 300), overwrite=True)
    with pytest.raises(DiskError, match="null"):
        RUN_KIND.refuse_taken(tmp_path / "a\0b", overwrite=True)


def test_a_failed_run_leaves_the_old_one(trained, tmp_path):
    home, samples = tmp_path / "run", written(tmp_path / "train.jsonl", tool_rows(range(25)))
    save_run(RunConfig(data=DataConfig(train=str(samples))), home)
    before = contents(home)
    samples.write_text("{}")
    with pytest.raises(DataError):
        run_and_save(RunConfig(data=DataConfig(train=str(samples))), home, overwrite=True)
    assert contents(home) == before


def test_a_tool_keeps_the_first_text_it_has(tmp_path):
    rows = [
        {"trace_id": trace, "node_id": 0, "query": "q", "tool": tool, "tool_description": text, "label": 1}
        for trace, tool, text in ((1, "a", "first"), (1, "b", ""), (2, "a", "second"))
    ]
    groups = read_groups(written(tmp_path / "s.jsonl", rows))
    assert groups.candidates.first_texts() == {"a": ToolText("first"), "b": ToolText("")}


def test_a_model_is_loaded_though_a_kill_came_between_the_two_renames(trained, tmp_path):
    shutil.copytree(trained[0], tmp_path / ".run.old")
    assert load(tmp_path / "run").names == load(trained[0]).names
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_run_of_an_earlier_version_is_replaced_with_what_it_kept_for_updates(cli):
    written("s.jsonl", tool_rows(range(12)))
    train = "train", "s.jsonl", "--encoder", "hash", "-o", "run", "-q"
    cli.good(*train)
    for name in ("update.npz", "compacted.npz"):
        (Path("run") / name).write_bytes(b"of an earlier version")
    cli.good(*train, "--overwrite")
    assert not {path.name for path in Path("run").iterdir()} & {"update.npz", "compacted.npz"}
