"""Tool by tool: how often right, found, mistaken for which; and the calibration of the first choice."""

import json

import numpy as np
import pytest

from ltr import RunConfig, evaluate, rank, read_groups
from ltr.report.answers import confused_pairs
from ltr.results import evaluate_groups
from tests.made import graph_rows, tool_rows, written


def evaluated(path, lists):
    """The evaluation of lists of (tool, label, score)."""
    rows = [
        {"trace_id": f"t{n}", "node_id": "n", "query": f"query {n}", "tool": tool, "label": label}
        for n, members in enumerate(lists)
        for tool, label, _ in members
    ]
    scores = np.array([score for members in lists for _, _, score in members], dtype=float)
    return evaluate_groups(read_groups(written(path / "s.jsonl", rows)), scores[:, None], scores, RunConfig())


def counts(record):
    return record.right, record.found, record.first, record.wrongly_first


def test_right_found_first_and_mistaken_are_counted_by_hand(tmp_path):
    lists = [
        [("a", 1, 3), ("b", 0, 1)],
        [("a", 1, 1), ("b", 0, 2)],
        [("a", 1, 1), ("b", 0, 2), ("c", 0, 0)],
        [("a", 1, 1), ("b", 0, 0), ("c", 0, 5)],
        [("b", 1, 4), ("c", 0, 0)],
        [("b", 0, 4), ("c", 0, 0)],  # nothing is right: no query of these counts
    ]
    records = evaluated(tmp_path, lists).by_tool()
    assert {record.tool: counts(record) for record in records} == {
        "a": (4, 1, 1, 0),
        "b": (1, 1, 3, 2),
        "c": (0, 0, 1, 1),
    }
    assert [record.tool for record in records] == ["a", "b", "c"]
    mistakes = [(mistake.tool, mistake.count, mistake.query) for mistake in records[0].mistaken_for]
    assert mistakes == [("b", 2, "query 1"), ("c", 1, "query 3")]
    assert [(tool, mistake.tool) for tool, mistake in confused_pairs(records, 1)] == [("a", "b")]


def test_each_of_several_right_tools_counts_and_a_tie_finds_nothing(tmp_path):
    two, tie = [("a", 1, 2), ("b", 1, 1), ("c", 0, 0)], [("a", 1, 1), ("c", 0, 1)]
    records = {record.tool: counts(record)[:2] for record in evaluated(tmp_path, [two, tie]).by_tool()}
    assert records == {"a": (2, 1), "b": (1, 0)}


def test_evaluate_by_tool_shows_tables_lines_and_fields_and_keeps_a_file(tmp_path, cli):
    rows = [row | {"tool": row["tool"].replace("get_map", "get\x1b[31m<map>")} for row in tool_rows(range(30))]
    written(tmp_path / "s.jsonl", rows)
    run, samples = str(tmp_path / "run"), str(tmp_path / "s.jsonl")
    cli.good("train", samples, "--encoder", "hash", "-o", run)
    kept = [json.loads(line) for line in (tmp_path / "run" / "by_tool.jsonl").read_text(encoding="utf-8").splitlines()]
    assert sum(record["right"] for record in kept) == 60
    fields = json.loads(cli.good("evaluate", run, samples, "--by-tool", "--format", "json"))
    assert fields["by_tool=get\x1b[31m<map>.right"] == next(r["right"] for r in kept if "map" in r["tool"])
    assert "\x1b[31m" not in cli.good("evaluate", run, samples, "--by-tool", "--format", "tsv")
    shown = cli.good("evaluate", run, samples, "--by-tool", "--format", "human")
    assert "mistaken for" in shown
    assert "\x1b[31m<map>" not in shown
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "The most confused pairs" in page
    assert "<map>" not in page
    cli.good("evaluate", run, samples, "-o", str(tmp_path / "kept"), "-q")
    assert (tmp_path / "kept" / "by_tool.jsonl").exists()


def test_graphs_have_no_names_to_show(tmp_path, cli):
    written(tmp_path / "g.jsonl", graph_rows(range(30)))
    cli.good("train", str(tmp_path / "g.jsonl"), "--encoder", "hash", "-o", str(tmp_path / "run"))
    assert not (tmp_path / "run" / "by_tool.jsonl").exists()


def test_the_first_choice_is_judged_by_itself_and_not_flattered_by_the_many_wrong_ones():
    """Always sure with .9, right in half: off by .4, though nine of ten wrong candidates have nearly nothing."""
    scores = np.tile(np.log([0.9, *[0.1 / 9] * 9]), 20)
    labels = np.concatenate([np.eye(10)[0 if query % 2 else 1] for query in range(20)])
    result = evaluate(rank(scores, np.arange(21) * 10), labels, ["ece", "ece_first"])
    assert result.means["ece_first"] == pytest.approx(0.4)
    assert result.means["ece"] == pytest.approx(0.08)


def test_first_choices_that_are_level_share_what_is_right():
    result = evaluate(rank([1.0, 1.0, 3.0, 0.0], [0, 2, 4]), [1, 0, 1, 0], ["reliability_first"])
    curve = result.curves["reliability_first"]
    assert curve["right"] == [0.5, 1.0]
    assert curve["count"] == [1.0, 1.0]


def test_on_a_narrow_terminal_the_last_column_is_folded_and_nothing_is_cut(tmp_path, cli):
    written(tmp_path / "s.jsonl", tool_rows(range(30)))
    cli.good("train", str(tmp_path / "s.jsonl"), "--encoder", "hash", "-o", str(tmp_path / "run"))
    cli.on_terminal(80)
    shown = cli.good("evaluate", str(tmp_path / "run"), str(tmp_path / "s.jsonl"), "--by-tool").splitlines()
    start = next(place for place, line in enumerate(shown) if "mistaken for" in line)
    assert max(map(len, shown[start + 1 :])) <= 80
    assert any("what is the anything in city" in line for line in shown[start:])
