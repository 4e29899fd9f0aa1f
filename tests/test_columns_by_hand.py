"""What training columns know: history by its formula, fold by fold, and no column the answers of its own trace."""

import hashlib
import json
import random

import pytest

from tests.made import graph_rows, told, tool_rows, written

pytestmark = pytest.mark.contract
LEARNED = {
    "tool": ("tool.hist", "tool.hist_share", "tool.proto", "tool.words", "tool.ridge", "tool.query_proto"),
    "graph": ("graph.hist", "graph.proto", "graph.near_edges", "graph.start"),
}
ALIKE = {"tool": ("tool.lift", "tool.known", "tool.talk"), "graph": ("graph.clauses",)}  # may see no answers at all
ROWS = {"tool": tool_rows, "graph": graph_rows}


def featurized(samples, features, *flags):
    """The numbers of each candidate by its trace, query and name, as `ltr featurize` writes them."""
    out = samples.with_suffix(".featurized.jsonl")
    told("featurize", samples, "--features", features, "--encoder", "hash", *flags, "-o", out, "-q", "--overwrite")
    rows = {}
    for line in out.read_text(encoding="utf-8").splitlines():
        sample = json.loads(line)
        for row in sample.get("candidates", [sample]):
            key = (sample["trace_id"], sample["node_id"], row.get("tool") or row["candidate_id"])
            rows[key] = row["features"]
    return rows


def fold(trace):
    """One of ten, by the id of the trace."""
    return int.from_bytes(hashlib.blake2b(trace.encode(), digest_size=8).digest(), "little") % 10


def history(rows, tool, *, without):
    """(wins + prior * strength) / (seen + strength) in the queries that are not left out."""
    seen = [row["label"] for row in rows if row["tool"] == tool and not without(row["trace_id"])]
    return (sum(seen) + 0.5 * 2) / (len(seen) + 2)


@pytest.mark.parametrize("traces", [2, 19, 20, 45])
def test_history_is_that_of_the_other_folds_and_of_few_traces_that_of_all_others(tmp_path, traces):
    rows = list(tool_rows(range(traces)))
    found = featurized(written(tmp_path / "s.jsonl", rows), "tool.hist")
    for row in rows:
        own = row["trace_id"]
        without = (
            (lambda trace, own=own: trace == own) if traces < 20 else (lambda trace, own=own: fold(trace) == fold(own))
        )
        expected = history(rows, row["tool"], without=without)
        assert found[own, row["node_id"], row["tool"]] == pytest.approx([expected], abs=1e-12)


def test_new_queries_have_the_history_of_all_training_queries(tmp_path):
    rows, new = list(tool_rows(range(30))), list(tool_rows(range(50, 53), seed=4))
    new[0] |= {"tool": "never_seen"}
    told("train", written(tmp_path / "s.jsonl", rows), "--features", "tool.hist", "-o", tmp_path / "run", "-q")
    out = tmp_path / "x.jsonl"
    told("featurize", written(tmp_path / "new.jsonl", new), "-m", tmp_path / "run", "-o", out, "-q")
    found = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [row["features"] for row in found] == [
        pytest.approx([history(rows, row["tool"], without=lambda trace: False)]) for row in new
    ]
    assert found[0]["features"] == [0.5]


@pytest.mark.parametrize("traces", [12, 30])
@pytest.mark.parametrize("kind", LEARNED)
def test_the_answers_of_a_trace_move_no_column_of_its_own_and_those_of_others(tmp_path, kind, traces):
    rows = list(ROWS[kind](range(traces)))
    is_own = [row["trace_id"] == "t3" for row in rows]
    labels = [row["label"] for row in rows if row["trace_id"] == "t3"]
    turned = iter([*labels[1:], labels[0]])  # another candidate is right, or the same of another query
    moved = [row | {"label": next(turned)} if own else row for row, own in zip(rows, is_own, strict=True)]
    samples = [written(tmp_path / f"{number}.jsonl", each) for number, each in enumerate((rows, moved))]
    before, after = (featurized(path, ",".join((*LEARNED[kind], *ALIKE[kind]))) for path in samples)
    own = [key for key in before if key[0] == "t3"]
    assert {key: after[key] for key in own} == {key: before[key] for key in own}
    for place, name in enumerate(LEARNED[kind]):
        assert any(before[key][place] != after[key][place] for key in before), name


def chance(traces, seed):
    """Queries of drawn words and tools that are right by chance."""
    generator = random.Random(seed)
    for trace in traces:
        for node in range(2):
            query = {"trace_id": f"t{trace}", "node_id": f"n{node}"}
            query["query"] = " ".join(f"w{word}" for word in generator.sample(range(300), 6))
            for place, number in enumerate(generator.sample(range(20), 5)):
                yield query | {
                    "tool": f"tool_{number}",
                    "tool_description": f"thing {number}",
                    "label": int(place == 0),
                }


@pytest.mark.parametrize("where", ["samples", "columns"])
def test_folds_of_what_is_right_by_chance_are_right_by_chance(tmp_path, where):
    """Columns that know queries by heart would find every answer of a trace that they have seen."""
    samples = written(tmp_path / "s.jsonl", chance(range(60), 5))
    features = ("--features", "tool.proto,tool.ridge,tool.hist", "--encoder", "hash")
    if where == "columns":
        told("featurize", samples, *features, "--shard-rows", "100", "-o", f"{tmp_path}/columns/")
        samples, features = tmp_path / "columns", ()
    told("train", samples, *features, "--trainer", "newton", "--folds", "4", "-o", tmp_path / "run", "-q")
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text(encoding="utf-8"))
    by_chance = sum(1 / rank for rank in range(1, 6)) / 5
    assert metrics["folds"]["pooled"]["mrr"] == pytest.approx(by_chance, abs=0.1)
    assert metrics["metrics"]["mrr"] == pytest.approx(by_chance, abs=0.1)  # the training queries have such columns, too


def test_what_folds_choose_among_is_right_by_chance_where_all_is_chance(tmp_path):
    samples = written(tmp_path / "s.jsonl", chance(range(30), 6))
    told("train", samples, "--recommended", "--encoder", "hash", "-o", tmp_path / "run", "-q")
    choice = json.loads((tmp_path / "run" / "model.json").read_text(encoding="utf-8"))["training"]["choice"]
    by_chance = sum(1 / rank for rank in range(1, 6)) / 5
    assert choice["folds"] == 5
    assert len(choice["alternatives"]) > 15
    assert max(row["mrr"] for row in choice["alternatives"]) < by_chance + 0.2
    assert choice["chosen"] == "tool.zero_shot alone, l2 1 / traces"  # the simplest


@pytest.mark.parametrize("rule", ["best", "one_se"])
def test_the_l2_that_folds_choose_is_that_of_the_rule(tmp_path, rule):
    samples = written(tmp_path / "s.jsonl", tool_rows(range(23)))
    settings = ("train.l2=[0.0001,0.001,0.01,0.1,0.3]", f"train.l2_rule={rule}", "train.standardize=true")
    flags = [word for setting in settings for word in ("--set", setting)]
    columns = ("--features", "tool.rel,tool.hist,tool.proto", "--encoder", "hash", "--trainer", "newton")
    told("train", samples, *columns, "--folds", "4", *flags, "-o", tmp_path / "run", "-q")
    model = json.loads((tmp_path / "run" / "model.json").read_text(encoding="utf-8"))
    choice = model["training"]["folds"]
    losses = {penalty["l2"]: penalty["value"] for penalty in choice["path"]}
    errors = {penalty["l2"]: penalty["standard_error"] for penalty in choice["path"]}
    best = min(losses, key=losses.get)
    limit = losses[best] + (errors[best] if rule == "one_se" else 0)
    assert choice["l2"] == max(l2 for l2, loss in losses.items() if loss <= limit)
    assert choice["l2"] == {"best": 0.0001, "one_se": 0.3}[rule] == model["trainer"]["l2"]


def test_folds_climb_to_what_ranks_better_beyond_noise(tmp_path):
    """Two numbers whose product is right, and neither of them nor a sum."""
    generator, rows = random.Random(3), []
    for trace in range(60):
        numbers = [[generator.choice((-1.0, 1.0)) * generator.uniform(0.5, 1) for _ in range(2)] for _ in range(5)]
        best = max(range(5), key=lambda place: numbers[place][0] * numbers[place][1])
        for place, pair in enumerate(numbers):
            row = {"trace_id": f"t{trace}", "node_id": "n", "query": "q", "tool": f"tool {place}"}
            rows.append(row | {"features": pair, "label": int(place == best)})
    samples = written(tmp_path / "s.jsonl", rows)
    shown = " ".join(told("train", samples, "--recommended", "-o", tmp_path / "run", "--format", "human").split())
    choice = json.loads((tmp_path / "run" / "model.json").read_text(encoding="utf-8"))["training"]["choice"]
    table = {row["title"]: row for row in choice["alternatives"]}
    assert "products" in choice["chosen"]
    assert f"settings that 5-fold cross-validation chose among {len(table)}: {choice['chosen']}" in shown
    assert "above that of 2 columns, lines" in choice["reason"]
    assert max(row["low"] for row in table.values()) <= 0
    assert table[choice["chosen"]]["mrr"] > 0.8 > table["2 columns, lines, l2 1 / traces"]["mrr"]
