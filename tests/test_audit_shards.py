"""The audit of samples in shards: what is found in memory is found, whatever does not fit is said."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from ltr import RunConfig, audit_samples
from ltr.audit import audit, audit_columns
from ltr.cli import app
from ltr.errors import LtrWarning, UsageError
from ltr.experiments.featurize import featurize_and_save
from ltr.samples import scan
from tests.audits import CLEAN, changed, one_group
from tests.builders import tool_lines, write_lines
from tests.made import DataConfig


def reports(tmp_path, lines, rows=40, **options):
    """The findings in memory, and in shards."""
    path = write_lines(tmp_path / "s.jsonl", lines)
    return audit_samples(path, **options), audit_samples(path, rows=rows, **options)


def listed(report, without=()):
    return sorted(
        (each.code, each.severity, each.message, each.where, each.count)
        for each in report.findings
        if each.code not in without
    )


def odd():
    """Tools with every oddity that a group can have."""
    lines = list(tool_lines(traces=40))
    lines += one_group([0, 0]) + one_group([1, 1], trace_id="u") + one_group([1], trace_id="v")
    lines += one_group([0, 3, 40], trace_id="w", query=" ") + one_group([1, 0], trace_id="x", tool_description="same")
    lines += [{"trace_id": "y", "node_id": 1, "query": "q", "tool": "t", "label": 0}]
    lines += [{"trace_id": "y", "node_id": 1, "query": "q", "none": True, "label": 1}]
    return lines


CASES = {
    "clean tools": CLEAN["tool"],
    "clean graphs": CLEAN["graph"],
    "odd": odd(),
    "no labels": changed(CLEAN["tool"], label=lambda line: None),
    "some labels": [{**line, "label": None if place < 50 else line["label"]} for place, line in enumerate(odd())],
    "a leak": changed(CLEAN["tool"], tool_description=lambda line: "right" if line["label"] else "other"),
    "ready numbers": changed(CLEAN["tool"], features=lambda line: [1.0, float(line["label"])]),
    "misspelt keys": changed(CLEAN["tool"], tool_descripton=lambda line: "x"),
}


def test_processes_find_what_one_finds(tmp_path):
    path = str(write_lines(tmp_path / "s.jsonl", odd()))
    config = RunConfig(data=DataConfig(train=path), features=("tool.hist",), encoder="hash")
    featurize_and_save(config, f"{tmp_path / 'columns'}/", rows=90)
    for named, options in ((path, ("--shard-rows", "90")), (str(tmp_path / "columns"), ())):
        one, two = (
            CliRunner().invoke(app, ["validate", named, *options, "--format", "json", "--workers", number])
            for number in ("1", "2")
        )
        assert one.stdout == two.stdout != ""
        assert json.loads(one.stdout)["counts"]["groups"] > 100


def test_an_engine_without_shards_is_said(tmp_path):
    path = str(write_lines(tmp_path / "s.jsonl", CLEAN["tool"]))
    with pytest.warns(LtrWarning, match="the engine works on shards, and has none here"):
        CliRunner().invoke(app, ["validate", path, "--workers", "2"], catch_exceptions=False)


@pytest.mark.parametrize("case", CASES)
def test_what_fits_memory_has_the_same_findings_in_shards(tmp_path, case):
    in_memory, sharded = reports(tmp_path, CASES[case])
    assert listed(sharded) == listed(in_memory)
    assert sharded.counts == in_memory.counts


def test_groups_that_are_spread_over_the_file_are_counted(tmp_path):
    own = odd()
    lines = [own[place] for place in np.random.default_rng(0).permutation(len(own))]
    in_memory, sharded = reports(tmp_path, lines)
    (note,) = [each for each in sharded.findings if each.code == "copied"]
    assert "traces are interleaved" in note.message
    by_code = [{each.code: (each.severity, each.count) for each in report.findings} for report in (in_memory, sharded)]
    assert by_code[1].pop("copied")
    assert by_code[1] == by_code[0]


def test_errors_of_lines_are_all_found_and_leave_the_rest_unexamined(tmp_path):
    lines = list(tool_lines(traces=40))
    for place in (10, 200, 300):
        lines[place] = {**lines[place], "label": "1"}
    in_memory, sharded = reports(tmp_path, lines)
    errors = [[each for each in report.findings if each.severity == "error"] for report in (in_memory, sharded)]
    assert errors[0] == errors[1]
    assert errors[1][0].count == 3
    assert [each.code for each in sharded.findings][1:] == ["not-examined"]


def test_a_contradiction_of_lines_far_apart_is_an_error(tmp_path):
    lines = [*tool_lines(traces=40)]
    lines.append({**lines[0], "tool": "other", "query": "another"})
    in_memory, sharded = reports(tmp_path, lines)
    errors = [[each for each in report.findings if each.severity == "error"] for report in (in_memory, sharded)]
    assert errors[0] == errors[1]


def is_wrong(line):
    return not line["label"]


def test_beyond_what_is_compared_in_memory_the_report_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(audit, "EXAMINED", 400)
    lines = list(tool_lines(traces=40))
    right_first = [line for first in range(0, len(lines), 4) for line in sorted(lines[first : first + 4], key=is_wrong)]
    _, sharded = reports(tmp_path, right_first)
    (said,) = [each.message for each in sharded.findings if each.code == "sampled"]
    assert said.endswith("of the traces with the lowest digests: more than 400 candidates are not compared in memory")
    assert any(each.code == "leak-position" for each in sharded.findings)


def test_what_needs_all_in_memory_is_refused_in_shards(tmp_path):
    path = write_lines(tmp_path / "s.jsonl", tool_lines(traces=4))
    with pytest.raises(UsageError, match="--against compares all texts in memory"):
        audit_samples(path, against=path, rows=10)
    with pytest.raises(UsageError, match="stdin can be read once only"):
        audit_samples("-", rows=10)


def test_the_command_takes_shard_rows(tmp_path):
    path = write_lines(tmp_path / "s.jsonl", tool_lines(traces=40))
    result = CliRunner().invoke(app, ["validate", str(path), "--shard-rows", "50", "--format", "human"])
    assert result.exit_code == 0
    assert "0 errors" in result.output


def test_a_directory_of_columns_is_examined_part_by_part(tmp_path):
    path = write_lines(tmp_path / "s.jsonl", odd())
    config = RunConfig(data=DataConfig(train=str(path)), features=("tool.coop", "tool.hist"), encoder="hash")
    featurize_and_save(config, f"{tmp_path}/parts/", rows=40)
    featurize_and_save(config, tmp_path / "whole.npz")
    result = CliRunner().invoke(app, ["validate", f"{tmp_path}/parts", "--format", "json"])
    assert result.exit_code == 0
    sharded, whole = json.loads(result.output), audit_samples(tmp_path / "whole.npz")
    by_code = {each["code"]: each["count"] for each in sharded["findings"]}
    assert by_code.pop("sampled") == 1
    assert by_code == {each.code: each.count for each in whole.findings}
    assert {key: sharded["counts"][key] for key in ("groups", "candidates", "positives", "none")} == {
        key: whole.counts[key] for key in ("groups", "candidates", "positives", "none")
    }


def test_a_damaged_part_is_named(tmp_path):
    path = write_lines(tmp_path / "s.jsonl", tool_lines(traces=30))
    config = RunConfig(data=DataConfig(train=str(path)), features=("tool.coop",), encoder="hash")
    featurize_and_save(config, f"{tmp_path}/parts/", rows=40)
    part = tmp_path / "parts" / "part-00001.npz"
    part.write_bytes(part.read_bytes()[:-1])
    (finding,) = audit_columns(tmp_path / "parts").findings
    assert (finding.severity, finding.where) == ("error", (str(part),))


def test_a_large_file_of_columns_is_examined_in_memory(tmp_path, monkeypatch):
    path = write_lines(tmp_path / "s.jsonl", tool_lines(traces=30))
    config = RunConfig(data=DataConfig(train=str(path)), features=("tool.coop",), encoder="hash")
    featurize_and_save(config, tmp_path / "s.npz")
    in_memory = audit_samples(tmp_path / "s.npz")
    monkeypatch.setattr(scan, "SHARD_BYTES", 10)
    assert audit_samples(tmp_path / "s.npz") == in_memory
    assert audit_samples(path).counts["groups"] == in_memory.counts["groups"]


def test_ready_numbers_keep_their_names_in_shards(tmp_path):
    path = write_lines(tmp_path / "s.jsonl", tool_lines(traces=30))
    config = RunConfig(data=DataConfig(train=str(path)), features=("tool.rel", "tool.struct"), encoder="hash")
    featurize_and_save(config, tmp_path / "x.jsonl")
    whole, sharded = (audit_samples(tmp_path / "x.jsonl", rows=rows) for rows in (None, 50))
    assert listed(sharded) == listed(whole)
    assert any("tool.struct" in each.message for each in sharded.findings)
