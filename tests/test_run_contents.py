"""The records of a run: what is written is what is read again, and the page of a run needs no file."""

from dataclasses import replace

import pytest

from ltr import RunConfig
from ltr.report import run_page
from ltr.runs import RunContents
from tests.made import DataConfig, save_run, tool_rows, written

WRITTEN = (
    "config.yaml",
    "history.jsonl",
    "metrics.json",
    "curves.json",
    "per_query.jsonl",
    "by_tool.jsonl",
    "examples.jsonl",
)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A run of the tools."""
    home = tmp_path_factory.mktemp("run_files")
    samples = str(written(home / "s.jsonl", tool_rows(range(25))))
    save_run(RunConfig(data=DataConfig(train=(samples,)), encoder="hash"), home / "run")
    return home / "run"


def test_a_run_read_and_written_elsewhere_has_the_same_bytes(home, tmp_path):
    replace(RunContents.read(home), path=str(tmp_path)).write()
    assert {path.name for path in tmp_path.iterdir()} == set(WRITTEN)
    for name in WRITTEN:
        assert (tmp_path / name).read_bytes() == (home / name).read_bytes()


def test_the_page_written_with_a_run_is_the_page_of_its_files_without_machine_and_times(home):
    run = RunContents.read(home)
    for values in (run.record.machine, run.record.timings):
        values.clear()  # they are known once the page is written
    assert run_page(run) == (home / "report.html").read_text("utf-8")


def test_a_directory_without_run_json_is_an_evaluation_named_after_its_directory(home, tmp_path):
    directory = tmp_path / "evaluation"
    directory.mkdir()
    for name in ("metrics.json", "per_query.jsonl"):
        (directory / name).write_bytes((home / name).read_bytes())
    run = RunContents.read(directory)
    assert (run.name, run.is_recorded, run.model, run.examples) == ("evaluation", False, None, [])
    assert run.metrics == RunContents.read(home).metrics
