"""Tool pools and calling graphs: each trap of the format, with hand counts."""

import json

import pytest

from ltr import import_samples
from ltr.errors import UsageError
from tests import reasons as why
from tests.chats import labels

pytestmark = pytest.mark.contract

POOL = {"tools": {"search": {"description": "Searches.", "inputs": "query"}, "mail": {"description": "Mails."}}}


def trace(decisions, nodes=("a", "b", "c"), edges=(("a", "b"), ("b", "c")), trace_id="t1"):
    """A trace whose nodes stand in a row."""
    listed = {node: {"task": f"do {node}", "input_spec": "", "output_spec": ""} for node in nodes}
    return {"trace_id": trace_id, "nodes": listed, "edges": [list(edge) for edge in edges], "decisions": decisions}


def decision(node, chosen, candidates=("search", "mail")):
    return {"node": node, "candidates": list(candidates), "chosen": chosen}


def imported(directory, document, pool=POOL):
    (directory / "pool.json").write_text(json.dumps(pool))
    (directory / "graphs.json").write_text(document if isinstance(document, str) else json.dumps(document, indent=1))
    files = [directory / "graphs.json", directory / "pool.json"]
    summary = import_samples("calling-trees", files, directory / "out.jsonl", overwrite=True)
    counts = [{entry.reason: entry.number for entry in of} for of in (summary.kept, summary.skipped, summary.remarks)]
    return [json.loads(line) for line in (directory / "out.jsonl").read_text().splitlines()], *counts


def test_a_decision_at_a_node_is_a_group_and_the_nodes_before_it_are_its_past(tmp_path):
    chosen = [decision("a", "search"), decision("c", "mail"), decision("b", "search")]
    groups, kept, skipped, remarks = imported(tmp_path, {"traces": [trace(chosen)]})
    assert groups[0] == {
        "trace_id": "t1",
        "node_id": "a",
        "query": "do a",
        "candidates": [
            {"tool": "search", "tool_description": "Searches.", "label": 1},
            {"tool": "mail", "tool_description": "Mails.", "label": 0},
        ],
    }
    assert [(group["node_id"], group.get("previous")) for group in groups[1:]] == [
        ("c", ["search", "search"]),
        ("b", ["search"]),
    ]
    assert (kept, skipped, remarks) == ({why.ONE_TOOL: 3}, {}, {})


def test_every_decision_that_cannot_be_used_is_counted_under_its_reason(tmp_path):
    chosen = [
        decision("a", "fly"),  # not among the candidates
        decision("b", ["search", "mail"]),
        decision("b", "mail"),  # again
        decision("c", None),
        decision("x", "mail"),
    ]
    blank = trace(
        [decision("a", "mail"), decision("b", "mail", ["mail", "lamp", " ", None]), decision("c", "mail", ["mail"])]
    )
    blank["nodes"]["a"]["task"] = None
    traces = [trace(chosen), blank | {"trace_id": 2}, trace([], trace_id=""), {"trace_id": "t4"}, 7]
    groups, kept, skipped, remarks = imported(tmp_path, {"traces": traces})
    assert [(group["trace_id"], group["node_id"], labels(group)) for group in groups] == [
        ("t1", "b", {"search": 1, "mail": 1}),
        ("2", "b", {"mail": 1, "lamp": 0}),
        ("2", "c", {"mail": 1}),
    ]
    assert kept == {why.SEVERAL_TOOLS: 1, why.ONE_TOOL: 2}
    assert skipped == {
        why.NOT_ON_TABLE: 1,
        why.SEEN_BEFORE: 1,
        why.NO_CHOICE: 1,
        why.NO_NODE: 1,
        why.NO_QUERY: 1,
        why.TRACE_WITHOUT_ID: 1,
        why.NO_GRAPHS: 1,
    }
    assert remarks == {why.NOT_A_TOOL: 2, why.NOT_IN_POOL: 1, why.LONE: 1}


def test_nodes_without_a_decision_are_counted_and_edges_may_run_in_a_circle(tmp_path):
    circle = trace([decision("a", "mail")], edges=[("a", "b"), ("b", "a"), ("a",), ("a", None)])
    groups, _, _, remarks = imported(tmp_path, {"traces": [circle]})
    assert ("previous" in groups[0], remarks) == (False, {why.UNDECIDED: 2})


def test_a_trace_may_stand_on_a_line_of_its_own(tmp_path):
    lines = [json.dumps(trace([decision("a", "mail")], trace_id=name)) for name in ("t1", "t2")]
    groups, *_ = imported(tmp_path, "\n".join(lines))
    assert [group["trace_id"] for group in groups] == ["t1", "t2"]


def test_a_pool_alone_is_refused_and_graphs_alone_say_that_texts_are_missing(tmp_path):
    (tmp_path / "pool.json").write_text(json.dumps(POOL))
    with pytest.raises(
        UsageError, match=r"pool.json: a tool pool alone; name the file of the calling graphs beside it"
    ):
        import_samples("calling-trees", [tmp_path / "pool.json"], tmp_path / "x.jsonl")
    (tmp_path / "graphs.json").write_text(json.dumps({"traces": [trace([decision("a", "mail")])]}))
    summary = import_samples("calling-trees", [tmp_path / "graphs.json"], tmp_path / "x.jsonl")
    assert summary.notes == ("no tool pool among the files: the tools have no texts",)
