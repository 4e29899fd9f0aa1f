"""validate a run: whole and unchanged, or the file that is not is named."""

import pytest

from ltr.audit.audit import validate_run
from ltr.config.run import DataConfig, RunConfig
from ltr.experiments.runs import run_and_save
from ltr.training.config import TrainConfig
from tests.builders import tool_lines, write_lines


@pytest.fixture
def kept(tmp_path):
    samples = write_lines(tmp_path / "s.jsonl", tool_lines())
    config = RunConfig(data=DataConfig(train=str(samples)), encoder="hash", train=TrainConfig(trainer="newton"))
    return run_and_save(config, tmp_path / "run").directory


def codes(directory):
    return [(finding.severity, finding.code) for finding in validate_run(directory).findings]


def test_a_finished_run_is_whole(kept):
    assert codes(kept) == []


@pytest.mark.parametrize("name", ["metrics.json", "per_query.jsonl", "history.jsonl", "log.jsonl", "tools.jsonl"])
def test_a_changed_file_is_named(kept, name):
    path = kept / name
    path.write_bytes(path.read_bytes() + b"\n")
    (finding,) = validate_run(kept).findings
    assert (finding.severity, finding.code, finding.where) == ("error", "checksum", (path.as_posix(),))


def test_a_missing_file_is_named(kept):
    (kept / "metrics.json").unlink()
    assert codes(kept) == [("error", "missing-file")]


def test_a_model_or_config_that_cannot_be_read_is_told_besides(kept):
    (kept / "model.json").write_text("{}")
    (kept / "config.yaml").write_text("nmae: x\n")
    assert codes(kept) == [("error", "checksum")] * 2 + [("error", "unreadable")] * 2


@pytest.mark.parametrize("content", [None, "", "[]", "{", "{}", '{"artifacts": [1]}', '{"artifacts": {"a": 1}}'])
def test_a_run_that_did_not_finish_is_incomplete(kept, content):
    (kept / "run.json").unlink()
    if content is not None:
        (kept / "run.json").write_text(content)
    assert codes(kept) == [("error", "incomplete")]


def test_nothing_outside_the_run_is_read_whatever_the_record_says(kept):
    outside = kept.parent / "outside.txt"
    outside.write_text("x")
    record = (kept / "run.json").read_text().replace('"metrics.json"', '"../outside.txt"')
    (kept / "run.json").write_text(record)
    assert codes(kept) == [("error", "missing-file")]


def test_inputs_that_changed_or_left_since_are_told(kept):
    samples = kept.parent / "s.jsonl"
    samples.write_text(samples.read_text() + "\n")
    assert codes(kept) == [("warning", "input-changed")]
    samples.unlink()
    assert codes(kept) == [("info", "input-missing")]
