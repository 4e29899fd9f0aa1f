"""The lenient reader: every bad line is an error; a file is refused exactly where the strict reader refuses it."""

import gzip
import json
import random

import pytest

from ltr import audit_samples, read_groups
from ltr.errors import DataError
from tests.audits import CLEAN, alarms, one_group
from tests.builders import graph_lines, tool_lines, write_lines

pytestmark = pytest.mark.contract

READY = [{**line, "features": [float(n % 3), 1.0]} for n, line in enumerate(tool_lines(traces=3))]
BASES = [list(tool_lines(traces=3)), list(graph_lines(traces=3)), READY]
VALUES = [None, True, -1, float("nan"), "", [], {}, "x", 1e308, 10**30, {"nodes": []}, [1.0], "\ud800"]


def damaged(rng):
    """Lines with a few values, bytes, repetitions or places changed."""
    lines = [dict(line) for line in rng.choice(BASES)]
    for line in rng.sample(lines, rng.randrange(3)):
        line[rng.choice([*line, "weight", "time", "candidates"])] = rng.choice(VALUES)
    raw = [bytearray(json.dumps(line).encode()) for line in lines]
    for line in rng.sample(raw, rng.randrange(2)):
        line[rng.randrange(len(line))] = rng.randrange(256)
    if rng.random() < 0.2:
        raw.insert(rng.randrange(len(raw)), rng.choice(raw))
    if rng.random() < 0.2:
        rng.shuffle(raw)
    return b"\n".join(raw)


def refused(path):
    """What the reader says of the file; nothing where it reads it."""
    try:
        read_groups(path, labels_required=False)
    except DataError as refusal:
        return str(refusal)
    return ""


@pytest.mark.parametrize("seed", range(8))
def test_an_error_is_found_where_the_reader_refuses_and_nowhere_else(tmp_path, seed):
    rng, path = random.Random(seed), tmp_path / "s.jsonl"
    for _ in range(12):
        path.write_bytes(damaged(rng))
        report = audit_samples(path)
        errors = [
            each for each in report.findings if each.severity == "error" and "other lines have" not in each.message
        ]
        refusal = refused(path)
        assert bool(errors) == bool(refusal)
        assert not refusal or any(each.message in refusal for each in errors)


def errors(tmp_path, lines, **options):
    report = audit_samples(str(write_lines(tmp_path / "s.jsonl", lines)), **options)
    told = [finding for finding in report.findings if finding.severity == "error"]
    return [(each.where[0].removeprefix(f"{tmp_path}/"), each.message.partition(":")[0]) for each in told], report


def test_every_bad_line_is_an_error_and_the_other_groups_are_examined(tmp_path):
    lines = [dict(line) for line in CLEAN["tool"]]
    lines[0]["label"] = -1
    lines[5]["tool"] = ""
    del lines[9]["query"]
    lines[13]["query"] = "another"
    lines[18]["tool"] = lines[17]["tool"]
    lines[22] = {"node_id": 1}
    told, report = errors(tmp_path, lines)
    assert told == [
        ("s.jsonl:1", "label"),
        ("s.jsonl:6", "tool"),
        ("s.jsonl:10", "query"),
        ("s.jsonl:14", "query"),
        ("s.jsonl:23", "trace_id"),
        ("s.jsonl:19", "tool"),
    ]
    assert report.counts["groups"] == 120 - 5  # the group of the line without a key cannot be known
    assert alarms({each.code: each for each in report.findings}) == {"data-error"} | (
        {"no-positive"} if CLEAN["tool"][22]["label"] else set()
    )


def test_the_same_holds_for_graphs_and_lines_of_whole_groups(tmp_path):
    lines = [dict(line) for line in CLEAN["graph"]]
    lines[1]["tree"] = {"nodes": [{"id": 1}, {"id": 1}]}
    lines[4]["tree"] = None
    assert errors(tmp_path, lines)[0] == [("s.jsonl:2", "tree.nodes[1].id"), ("s.jsonl:5", "tree")] or errors(
        tmp_path, lines
    )[0] == [("s.jsonl:5", "tree"), ("s.jsonl:2", "tree.nodes[1].id")]
    whole = [{"trace_id": n, "node_id": 0, "query": "q", "candidates": one_group([n, 0])[:n]} for n in (0, 1, 2)]
    told, report = errors(tmp_path, whole)
    assert told == [("s.jsonl:1", "candidates")]
    assert report.counts["groups"] == 2


def test_very_many_errors_are_counted(tmp_path):
    keys = [f"{a}{b}" for a in "abcdefghijklmnopqrstuvwxy" for b in "abcdefghijklmnopqrst"]
    lines = [{**CLEAN["tool"][0], key: float("nan")} for key in keys]
    report = audit_samples(str(write_lines(tmp_path / "s.jsonl", lines)))
    assert len(report.findings) == 101
    assert sum(finding.count for finding in report.findings) == 500


def test_keys_that_stand_twice_are_a_warning(tmp_path):
    path = write_lines(tmp_path / "s.jsonl", CLEAN["tool"])
    path.write_text(path.read_text().replace('"label": 1', '"label": 0, "label": 1', 1))
    (finding,) = [each for each in audit_samples(str(path)).findings if each.code == "repeated-key"]
    assert (finding.severity, finding.count) == ("warning", 1)


@pytest.mark.parametrize("content", [b"", b"\n \n", b"PK\x00\x00"])
def test_a_file_without_samples_is_an_error(tmp_path, content):
    (tmp_path / "s.jsonl").write_bytes(content)
    assert [each.code for each in audit_samples(str(tmp_path / "s.jsonl")).findings] == ["data-error"]


def test_what_stands_before_the_damage_of_a_file_is_examined(tmp_path):
    path = tmp_path / "s.jsonl.gz"
    packed = gzip.compress("".join(json.dumps(line) + "\n" for line in CLEAN["tool"]).encode())
    path.write_bytes(packed[:-20])
    report = audit_samples(str(path))
    assert report.counts["errors"] == 1
    assert "damaged" in report.findings[0].message
