"""A candidate that a group names twice: merged and said where it is right and all is the same, refused elsewhere."""

import json
from pathlib import Path

import pytest

import ltr
from tests.made import ROWS, grouped, written

pytestmark = pytest.mark.contract

KINDS = pytest.mark.parametrize("kind", ["tool", "graph"])


def with_right_ones_twice(kind, traces=range(25)):
    """Samples in which the right candidate of every group stands again, after the others."""
    for group in grouped(ROWS[kind](traces)):
        key = {name: group[name] for name in ("trace_id", "node_id", "query")}
        rows = group["candidates"]
        yield from (key | row for row in (*rows, *(row for row in rows if row["label"])))


def metrics(cli, samples):
    """The metrics of a training on the samples."""
    cli.good("train", samples, "-o", f"of-{samples}", "--encoder", "hash", "--trainer", "newton", "-q")
    record = json.loads(Path(f"of-{samples}", "metrics.json").read_bytes())
    return {name: record[name] for name in ("metrics", "counts", "intervals", "baselines")}


def said(number, first, again):
    """What a command says of so many."""
    rows = f"{number} right candidates stand"
    return f"repeated-candidate: {rows} twice for the same group, such as {first} and {again}: each counts once"


@KINDS
def test_a_right_candidate_that_is_named_twice_counts_once_and_that_is_said(cli, kind):
    once = list(ROWS[kind](range(25)))
    rows = list(with_right_ones_twice(kind))
    number, size = len(rows) - len(once), 5 if kind == "tool" else 4
    first = next(place for place, row in enumerate(rows, start=1) if row["label"])
    name = rows[size].get("tool") or rows[size]["candidate_id"]
    text = said(number, f"{name!r} in twice.jsonl:{first}", f"twice.jsonl:{size + 1}")
    written("once.jsonl", once)
    written("twice.jsonl", rows)
    assert metrics(cli, "twice.jsonl") == metrics(cli, "once.jsonl")
    cli.good("train", "twice.jsonl", "-o", "run", "--encoder", "hash", "--test", "0.2")
    assert cli.err.splitlines()[0] == f"warning: {text}"
    assert cli.err.count("repeated-candidate") == 1
    cli.good("evaluate", "of-once.jsonl", "twice.jsonl")
    assert f"warning: {text}" in cli.err.splitlines()
    shown = cli.good("validate", "twice.jsonl", "--format", "human")
    assert f"warning {text}" in shown
    assert "0 errors" in shown
    assert ltr.read_groups("twice.jsonl").labels.tolist() == ltr.read_groups("once.jsonl").labels.tolist()


def test_samples_in_shards_are_merged_and_counted_alike(cli):
    written("once.jsonl", ROWS["tool"](range(25)))
    rows = list(with_right_ones_twice("tool"))
    written("twice.jsonl", rows)
    written("mixed.jsonl", [*rows[::2], *rows[1::2]])  # traces are interleaved: their lines are regrouped
    weights = []
    for name in ("once", "twice", "mixed"):
        cli.good("featurize", f"{name}.jsonl", "-o", f"{name}/", "--shard-rows", "40", "--encoder", "hash", "-q")
        assert ("repeated-candidate: 50 right candidates stand twice" in cli.err) == (name != "once"), cli.err
        cli.good("train", f"{name}/", "-o", f"run-{name}", "--trainer", "newton", "-q")
        weights.append(ltr.load(f"run-{name}").w.round(9).tolist())
    assert weights[0] == weights[1]
    assert "50 right candidates stand twice" in cli.good(
        "validate", "mixed.jsonl", "--shard-rows", "40", "--format", "human"
    )


def test_two_in_one_line_and_rows_of_a_list_are_merged_too(cli):
    key = {"trace_id": 1, "node_id": 1, "query": "q"}
    a, b = {"tool": "a", "label": 1}, {"tool": "b", "label": 0}
    groups = ltr.read_groups([key | {"candidates": [a, b, a]}])
    assert (groups.labels.tolist(), groups.candidates.name_texts) == ([1.0, 0.0], ("a", "b"))
    assert ltr.read_groups([key | row for row in (a, a, b)]).labels.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    "change",
    [
        {"label": 0},
        {"label": 0, "tool": "b"},
        {"label": 2},
        {"tool_description": "other"},
        {"features": [2.0]},
        {"drawn": "near"},
    ],
)
def test_candidates_that_contradict_each_other_are_refused(cli, change):
    key = {"trace_id": 1, "node_id": 1, "query": "q"}
    a, b = (key | {"tool": name, "label": label, "features": [1.0]} for name, label in (("a", 1), ("b", 0)))
    written("s.jsonl", [a, b, a | change])
    line, name = (2, "b") if "tool" in change else (1, "a")
    told = f"s.jsonl:3: tool: found {name!r} again; s.jsonl:{line} has it for the same group: keep one of them"
    assert cli.refused("train", "s.jsonl", "-o", "run") == (3, told)


def test_what_goes_by_lines_refuses_merged_candidates(cli):
    written("twice.jsonl", with_right_ones_twice("tool"))
    code, message = cli.refused("featurize", "twice.jsonl", "-o", "x.jsonl", "--encoder", "hash")
    assert (code, message.startswith("x.jsonl: repeated-candidate: 50 right candidates")) == (2, True)
    assert message.endswith(": remove the second ones, or name an output that ends in .npz or /")
