"""ltr validate: what it prints, and the exit code."""

import json
from types import SimpleNamespace

import pytest

from tests.builders import graph_lines, tool_lines, write_lines

pytestmark = pytest.mark.contract


@pytest.fixture
def ltr(cli):
    def run(*arguments):
        return SimpleNamespace(returncode=cli.run(*arguments), stdout=cli.out, stderr=cli.err)

    return run


@pytest.fixture
def leaking(tmp_path):
    """Samples without an error and with one warning."""
    lines = [{**line, "candidate_id": line["candidate_id"] + "_gold" * line["label"]} for line in graph_lines()]
    full = [{**line, "tree": {"nodes": [{"id": 0, "name": line["candidate_id"][:2]}]}} for line in lines]
    return write_lines(tmp_path / "leaking.jsonl", full)


def test_a_warning_is_told_and_fails_only_when_strict(ltr, leaking):
    done = ltr("validate", leaking.name, "--format", "human")
    assert (done.returncode, done.stderr) == (0, "")
    first, where, *_, last = done.stdout.splitlines()
    assert first.startswith("warning leak-id: ids with the word 'gold'")
    assert where.startswith("  leaking.jsonl:")
    assert last == "0 errors, 1 warning, 24 groups, 96 candidates"
    strict = ltr("validate", leaking.name, "--strict")
    assert (strict.returncode, strict.stderr) == (3, "error: 1 warning found\n")


def test_an_error_ends_with_3_after_everything_was_told(ltr, tmp_path):
    (tmp_path / "bad.jsonl").write_text('{"trace_id": 1}\n{\n')
    done = ltr("validate", "bad.jsonl", "--format", "json")
    assert (done.returncode, done.stderr) == (3, "error: 2 errors found\n")
    document = json.loads(done.stdout)
    assert document["counts"] == {"errors": 2, "warnings": 0, "infos": 0, "groups": 0}
    assert document["findings"][0] == {
        "severity": "error",
        "code": "data-error",
        "message": "node_id: missing; a text or an integer is needed",
        "where": ["bad.jsonl:1"],
        "count": 1,
    }


def test_a_pipe_gets_a_line_a_finding(ltr, leaking):
    header, line = ltr("validate", leaking.name).stdout.splitlines()
    assert header.split("\t") == ["severity", "code", "count", "where", "message"]
    assert line.split("\t")[:3] == ["warning", "leak-id", "24"]


def test_the_values_of_an_array_on_one_line_have_one_place(ltr, tmp_path):
    rows = [{**line, "tool_description": ""} for line in tool_lines()]
    (tmp_path / "array.json").write_text(json.dumps(rows))
    warning, place, *_ = ltr("validate", "array.json", "--format", "human").stdout.splitlines()
    tools = len({row["tool"] for row in rows})
    assert warning.startswith(f"warning no-text: {tools} of {tools} tools have no text")
    assert place == f"  array.json:1 ({tools} in all)"


def test_test_data_are_held_against_training_data(ltr, tmp_path):
    write_lines(tmp_path / "train.jsonl", tool_lines())
    write_lines(tmp_path / "test.jsonl", list(tool_lines())[:8])
    document = json.loads(ltr("validate", "test.jsonl", "--against", "train.jsonl", "--format", "json").stdout)
    counted = {finding["code"]: finding["count"] for finding in document["findings"]}
    assert counted["overlap-group"] == counted["overlap-query"] == 2


def test_a_run_is_validated_alone(ltr, tmp_path):
    write_lines(tmp_path / "s.jsonl", tool_lines())
    assert ltr("train", "s.jsonl", "-o", "run", "--trainer", "newton").returncode == 0
    whole = ltr("validate", "run", "--format", "human")
    assert (whole.returncode, whole.stdout) == (0, "0 errors, 0 warnings\n")
    (tmp_path / "run" / "metrics.json").write_text("{}")
    changed = ltr("validate", "run")
    assert changed.returncode == 3
    assert "checksum" in changed.stdout
    assert ltr("validate", "run", "s.jsonl").returncode == 2
    assert ltr("validate", "run", "--against", "s.jsonl").returncode == 2


def test_training_warns_of_what_tells_the_label(ltr, leaking):
    done = ltr("train", leaking.name, "-o", "run", "--trainer", "newton")
    assert done.returncode == 0
    assert [line for line in done.stderr.splitlines() if "leak-id: ids with the word 'gold'" in line]
