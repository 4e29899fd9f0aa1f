"""ltr pack: what serving needs of a run and nothing else."""

import json
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest

import ltr
from ltr import RunConfig
from ltr.errors import DiskError, FileError, UsageError
from ltr.serving import catalogue, packs, router
from ltr.serving.packs import recall_of
from tests.made import DataConfig, graph_rows, save_run, told, tool_rows, written

CHECKOUT = Path(ltr.__file__).parents[1]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A run of tools and one of graphs."""
    home = tmp_path_factory.mktemp("packing")
    for name, rows in (("tools", tool_rows(range(25))), ("graphs", graph_rows(range(25)))):
        samples = written(home / f"{name}.jsonl", rows)
        save_run(RunConfig(data=DataConfig(train=str(samples)), encoder="hash"), home / name)
    return home


def pack(run, out, *flags):
    """What `ltr pack` says of a pack."""
    return json.loads(told("pack", run, "-o", out, *flags, "--format", "json"))


def test_a_pack_ranks_as_the_run(home, tmp_path):
    packed = pack(home / "tools", tmp_path / "pack")
    assert ltr.load(tmp_path / "pack").rank("mail?", k=None) == ltr.load(home / "tools").rank("mail?", k=None)
    assert sorted(packed["files"]) == sorted(path.name for path in (tmp_path / "pack").iterdir())
    learned = {"model.json", "model.npz", "training.npz", "tools.jsonl"}
    assert set(packed["files"]) == {"README.md", "example.py", "run.json", *learned}
    assert "recall@10" not in packed
    assert ltr.audit_run(tmp_path / "pack").findings == ()


def test_a_zip_holds_the_same_files_and_has_the_same_bytes_twice(home, tmp_path):
    pack(home / "tools", tmp_path / "pack")
    for name in ("a.zip", "b.zip"):
        pack(home / "tools", tmp_path / name)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == {
            path.name: path.read_bytes() for path in (tmp_path / "pack").iterdir()
        }
    with pytest.raises(UsageError, match="a packed router; unzip it, then name the directory"):
        ltr.load(tmp_path / "a.zip")


def test_the_example_runs_and_is_short(home, tmp_path):
    pack(home / "tools", tmp_path / "pack")
    example = tmp_path / "pack" / "example.py"
    own = ltr.load(tmp_path / "pack").tools
    for words, best in ((["what is the weather?"], "get_weather"), ([], next(iter(own)))):
        command = [sys.executable, str(example), *words]
        environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        assert done.stdout.startswith(f"1 {best} ")
        assert done.stdout.splitlines()[-1].removeprefix("of two tools: ") in list(own)[:2]
    assert len(example.read_text(encoding="utf-8").splitlines()) <= 15


def test_a_pack_of_graphs_has_an_example_that_takes_graphs(home, tmp_path):
    pack(home / "graphs", tmp_path / "pack")
    graphs = written(tmp_path / "graphs.jsonl", list(graph_rows(range(1))))
    command = [sys.executable, str(tmp_path / "pack" / "example.py"), str(graphs), "solve it"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(CHECKOUT)}
    )
    assert len(done.stdout.splitlines()) == 3


def test_another_catalogue_may_be_packed(home, tmp_path):
    tools = written(tmp_path / "other.jsonl", [{"name": "get_mail"}, {"name": "new", "description": "x"}])
    pack(home / "tools", tmp_path / "pack", "--tools", tools)
    assert {choice.candidate for choice in ltr.load(tmp_path / "pack").rank("mail?")} == {"get_mail", "new"}


def test_changed_tools_of_a_pack_are_refused(home, tmp_path):
    pack(home / "tools", tmp_path / "pack")
    with (tmp_path / "pack" / "tools.jsonl").open("a") as tools:
        tools.write('{"name": "smuggled"}\n')
    with pytest.raises(FileError, match="its checksum is not the one in run.json"):
        ltr.load(tmp_path / "pack")


def test_what_is_there_is_replaced_only_when_asked(home, tmp_path):
    for out in (tmp_path / "pack", tmp_path / "pack.zip"):
        pack(home / "tools", out)
        with pytest.raises(UsageError, match="add --overwrite"):
            pack(home / "tools", out)
        pack(home / "tools", out, "--overwrite")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "thesis.txt").write_text("x")
    with pytest.raises(UsageError, match=r"holds other things, such as 'thesis\.txt'"):
        pack(home / "tools", tmp_path / "own", "--overwrite")


def test_no_room_for_temporary_files_is_told_and_leaves_nothing(home, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(DiskError, match="gone"):
        pack(home / "tools", tmp_path / "pack.zip")
    assert not list(tmp_path.iterdir())


def test_a_failed_write_leaves_the_earlier_pack(home, tmp_path, monkeypatch):
    for out in (tmp_path / "pack", tmp_path / "pack.zip"):
        pack(home / "tools", out)
        before = sorted((path.name, path.stat().st_size) for path in tmp_path.rglob("*"))

        def fail(*arguments):
            raise DiskError("x", "No space left on device")

        with monkeypatch.context() as patched:
            patched.setattr(packs.RunDirectory, "complete", fail)
            with pytest.raises(DiskError):
                pack(home / "tools", out, "--overwrite")
        assert sorted((path.name, path.stat().st_size) for path in tmp_path.rglob("*")) == before


def test_the_recall_of_a_cut_is_measured_and_stands_on_the_card(home, tmp_path, monkeypatch):
    monkeypatch.setattr(packs, "MOST_SCORED", 5)
    monkeypatch.setattr(router, "MOST_SCORED", 5)
    monkeypatch.setattr(catalogue, "LISTED", 1)
    packed = pack(home / "tools", tmp_path / "pack")
    assert 0 < packed["recall@10"] < 1
    assert packed["queries"] > 0
    assert f"{packed['recall@10']:.1%} are among" in (tmp_path / "pack" / "README.md").read_text(encoding="utf-8")


def test_recall_is_the_share_of_exact_choices_that_stay(home):
    loaded = ltr.load(home / "tools")
    exact = loaded.rank_many(["mail?", "weather?"], k=4)
    cut = [loaded.rank("mail?", k=4), loaded.rank("weather?", k=2)]
    assert recall_of(cut, exact) == (1 + 2 / 4) / 2


def test_the_command_says_what_it_packed(home, tmp_path):
    said = told("pack", home / "tools", "-o", tmp_path / "pack", "--format", "human")
    assert "7 files" in said
    assert "10 tools" in said


def test_rank_drops_what_is_less_probable_than_asked(home):
    arguments = ["rank", home / "tools", "what is the weather?", "--format"]
    for kind, line in (("human", "no candidate is as probable as --at-least asks for"), ("json", '"ranking":[]')):
        assert line in told(*arguments, kind, "--at-least", "1").replace(" []", "[]")
    with pytest.raises(UsageError, match="Invalid value for '--at-least'"):
        told(*arguments, "json", "--at-least", "2")


def test_the_command_says_what_a_pack_holds_in_each_format(home, tmp_path, cli):
    said = json.loads(cli.good("pack", home / "tools", "-o", tmp_path / "of-tools", "--format", "json"))
    assert said["files"].keys() == {path.name for path in (tmp_path / "of-tools").iterdir()}
    assert sum(said["files"].values()) == said["bytes"]
    told = cli.good("pack", home / "tools", "-o", tmp_path / "again", "--format", "tsv")
    assert f"bytes\t{said['bytes']}" in told
