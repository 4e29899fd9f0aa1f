"""The audit of a run: whole and unchanged, or the file that is not is named."""

import pytest

from ltr import RunConfig, TrainConfig, audit_run
from ltr.errors import FileError
from ltr.records.metrics import MetricsRecord
from ltr.records.run import read_record
from tests.builders import tool_lines, write_lines
from tests.made import DataConfig, save_run


@pytest.fixture
def run(tmp_path, filled):
    def run_of_tools():
        samples = write_lines(tmp_path / "s.jsonl", tool_lines())
        config = RunConfig(data=DataConfig(train=str(samples)), encoder="hash", train=TrainConfig(trainer="newton"))
        save_run(config, tmp_path / "run")

    filled(tmp_path, run_of_tools)
    return tmp_path / "run"


def codes(directory):
    return [(finding.severity, finding.code) for finding in audit_run(directory).findings]


def test_a_finished_run_is_whole(run):
    assert codes(run) == []


@pytest.mark.parametrize("name", ["metrics.json", "per_query.jsonl", "history.jsonl", "log.jsonl", "tools.jsonl"])
def test_a_changed_file_is_named(run, name):
    path = run / name
    path.write_bytes(path.read_bytes() + b"\n")
    (finding,) = audit_run(run).findings
    assert (finding.severity, finding.code, finding.where) == ("error", "checksum", (path.as_posix(),))


def test_a_missing_file_is_named(run):
    (run / "metrics.json").unlink()
    assert codes(run) == [("error", "missing-file")]


@pytest.mark.parametrize("name", ["x" * 300, "a\\u0000b"])
def test_a_file_of_a_name_that_no_file_can_have_is_missing(run, name):
    record = (run / "run.json").read_text()
    (run / "run.json").write_text(record.replace('"history.jsonl"', f'"{name}"'))
    assert ("error", "missing-file") in codes(run)


def test_a_record_with_a_wrong_value_before_what_is_no_json_is_refused_in_one_line(run):
    (run / "metrics.json").write_text('{"format": 3, "metrics": [}')
    with pytest.raises(FileError, match="metrics.json: not what ltr writes: "):
        read_record(run / "metrics.json", MetricsRecord)


def test_a_model_or_config_that_cannot_be_read_is_told_besides(run):
    (run / "model.json").write_text("{}")
    (run / "config.yaml").write_text("nmae: x\n")
    assert codes(run) == [("error", "checksum")] * 2 + [("error", "unreadable")] * 2


@pytest.mark.parametrize("content", [None, "", "[]", "{", "{}", '{"artifacts": [1]}', '{"artifacts": {"a": 1}}'])
def test_a_run_that_did_not_finish_is_incomplete(run, content):
    (run / "run.json").unlink()
    if content is not None:
        (run / "run.json").write_text(content)
    assert codes(run) == [("error", "incomplete")]


def test_nothing_outside_the_run_is_read_whatever_the_record_says(run):
    outside = run.parent / "outside.txt"
    outside.write_text("x")
    record = (run / "run.json").read_text().replace('"metrics.json"', '"../outside.txt"')
    (run / "run.json").write_text(record)
    assert codes(run) == [("error", "missing-file")]


def test_inputs_that_changed_or_left_since_are_told(run):
    samples = run.parent / "s.jsonl"
    samples.write_text(samples.read_text() + "\n")
    assert codes(run) == [("warning", "input-changed")]
    samples.unlink()
    assert codes(run) == [("info", "input-missing")]


def test_an_input_below_the_home_directory_is_found_by_its_recorded_path(run, monkeypatch):
    monkeypatch.setenv("HOME", str(run.parent))
    record = run / "run.json"
    assert '"../s.jsonl"' in record.read_text()
    record.write_text(record.read_text().replace('"../s.jsonl"', '"~/s.jsonl"'))
    assert codes(run) == []
