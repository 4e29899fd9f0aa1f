"""What test data share with training data."""

import json

import numpy as np
import pytest

from ltr.audit.overlap import grams, nearest_cosines
from tests.audits import changed, findings_of
from tests.builders import tool_lines, write_lines


def test_what_stands_in_the_training_data_too_is_counted(tmp_path):
    train = write_lines(tmp_path / "train.jsonl", tool_lines(traces=10))
    other = [{**line, "trace_id": f"new {line['trace_id']}"} for line in tool_lines(seed=5, traces=10)]
    fresh = [{**line, "query": f"{line['query']} {line['trace_id']} {line['node_id']}"} for line in other]
    assert not {code for code in findings_of(tmp_path, fresh, against=str(train)) if code.startswith("overlap")}
    known = [{**line, "query": " Find  MY flights"} for line in tool_lines(traces=1)]
    (tmp_path / "more.jsonl").write_text(json.dumps({**known[0], "trace_id": "z", "query": "find my flights"}))
    findings = findings_of(tmp_path, [*fresh, *known], against=[str(train), str(tmp_path / "more.jsonl")])
    assert findings["overlap-group"].count == 3
    assert findings["overlap-query"].count == 3
    assert findings["overlap-group"].where[0] == f"{tmp_path}/s.jsonl:{len(fresh) + 1}"
    assert findings_of(tmp_path, list(tool_lines(traces=10)), against=str(train))["overlap-file"].count == 1


def test_near_duplicates_are_a_share_of_the_queries(tmp_path):
    long = (
        "find a quiet hotel near the old harbour of Lisbon for three nights with breakfast and a view of the river {}"
    )
    train = write_lines(tmp_path / "t.jsonl", changed(tool_lines(), query=lambda line: long.format(line["trace_id"])))
    lines = changed(
        tool_lines(seed=2),
        trace_id=lambda line: f"z{line['trace_id']}",
        query=lambda line: long.format("x") if line["trace_id"] in ("t0", "t1", "t2") else line["query"],
    )
    finding = findings_of(tmp_path, lines, against=str(train))["near-duplicates"]
    assert finding.count == 3 * 3
    assert finding.message.startswith("25 % of the queries (9 of 36)")


def test_the_nearest_training_query_is_found_as_by_comparing_all_pairs():
    rng = np.random.default_rng(0)
    vocabulary = ["".join(rng.choice(list("abcdefghij"), 6)) for _ in range(60)]
    known = [" ".join(rng.choice(vocabulary, 20)) for _ in range(200)]
    texts = [f"{text} {vocabulary[0]}" for text in known[:50]] + [
        " ".join(rng.choice(vocabulary, 20)) for _ in range(50)
    ]
    pairs = np.divmod(np.arange(len(texts) * len(known)), len(known))
    exact = grams(texts).dots(pairs[0], grams(known), pairs[1]).reshape(len(texts), len(known)).max(axis=1)
    assert nearest_cosines(texts, known)[:50] == pytest.approx(exact[:50], abs=1e-12)
    assert (exact[:50] > 0.9).all()
    assert (nearest_cosines(texts, known)[50:] < 0.9).all()
