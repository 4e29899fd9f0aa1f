"""groups: lines regrouped by (trace_id, node_id), texts from catalogues, subsets, and the order of ids."""

import io
import json
import pickle
import random
import re
from itertools import chain, pairwise

import numpy as np
import pytest

from ltr import Groups, read_groups
from ltr.catalogues import Graph, GraphEntry, ToolText
from ltr.errors import DataError, SampleError
from ltr.files import write_lines
from ltr.samples import Candidates
from tests.made import tool_rows, written


def line(trace="t1", node="n1", name="a", label=0, **fields: object) -> bytes:
    query = f"query of {trace} {node}"
    sample = {"trace_id": trace, "node_id": node, "query": query, "tool": name, "label": label}
    return json.dumps(sample | fields).encode()


def graph_line(name="g0", **fields: object) -> bytes:
    sample = {"trace_id": "t1", "node_id": "n1", "query": "q", "candidate_id": name, "label": 0}
    return json.dumps(sample | fields).encode()


def read(tmp_path, *lines, **options) -> Groups:
    (tmp_path / "s.jsonl").write_bytes(b"\n".join([*lines, b""]))
    return read_groups(tmp_path / "s.jsonl", **options)


def refusal(tmp_path, *lines, **options) -> str:
    with pytest.raises(DataError) as error:
        read(tmp_path, *lines, **options)
    return str(error.value).replace(f"{tmp_path}/", "")


def names(candidates: Candidates) -> list[list[str]]:
    texts = [candidates.name_texts[code] for code in candidates.names]
    offsets = candidates.offsets.tolist()
    return [texts[start:end] for start, end in pairwise(offsets)]


def keys(candidates: Candidates) -> list[tuple[str, str, str]]:
    return [
        (candidates.trace_ids[trace], node_id, candidates.query_texts[query])
        for trace, node_id, query in zip(candidates.traces, candidates.node_ids, candidates.queries, strict=True)
    ]


def test_interleaved_lines_are_regrouped_in_order_of_first_appearance(tmp_path):
    lines = [
        line("t2", name="c"),
        line("t1", name="b", label=1),
        line("t2", name="a", label=2),
        line("t1", name="a"),
    ]
    groups = read(tmp_path, *lines)
    assert keys(groups.candidates) == [("t2", "n1", "query of t2 n1"), ("t1", "n1", "query of t1 n1")]
    assert names(groups.candidates) == [["c", "a"], ["b", "a"]]
    assert groups.labels.tolist() == [0, 2, 1, 0]
    assert groups.offsets.tolist() == groups.candidates.offsets.tolist() == [0, 2, 4]
    assert [groups.candidates.place(row)[1] for row in range(4)] == [1, 3, 2, 4]


def test_groups_of_one_trace_share_its_code(tmp_path):
    groups = read(tmp_path, line("t1", "n1"), line("t2", "n1"), line("t1", "n2"))
    assert groups.candidates.traces.tolist() == [0, 1, 0]
    assert groups.candidates.trace_ids == ("t1", "t2")
    assert groups.candidates.node_ids == ("n1", "n1", "n2")


def test_a_group_may_be_spread_over_files_and_globs(tmp_path):
    write_lines(tmp_path / "2.jsonl.zst", [b"", line(name="b", label=1)])
    write_lines(tmp_path / "1.jsonl.gz", [line(name="a")])
    groups = read_groups([tmp_path / "*.jsonl.*"])
    assert names(groups.candidates) == [["a", "b"]]
    assert [groups.candidates.place(row) for row in (0, 1)] == [
        (f"{tmp_path}/1.jsonl.gz", 1),
        (f"{tmp_path}/2.jsonl.zst", 2),
    ]


def test_samples_are_read_from_stdin(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(line() + b"\n" + line(name="b"))))
    groups = read_groups("-")
    assert names(groups.candidates) == [["a", "b"]]
    assert groups.candidates.place(1) == ("<stdin>", 2)


def test_groups_survive_a_trip_between_processes(tmp_path):
    groups = read(tmp_path, line(weight=1), line(name="b", weight=1))
    assert decoded(pickle.loads(pickle.dumps(groups))) == decoded(groups)


def test_features_keep_to_their_rows(tmp_path):
    rows = [("t1", "a", [1, 2]), ("t2", "a", [3, 4]), ("t1", "b", [5, 6])]
    groups = read(tmp_path, *(line(trace, name=name, features=numbers) for trace, name, numbers in rows))
    assert groups.candidates.features.tolist() == [[1, 2], [5, 6], [3, 4]]
    assert groups.candidates.feature_names == ("x1", "x2")


def test_a_candidate_that_comes_twice_in_a_group_is_refused_with_both_lines(tmp_path):
    lines = [line(name="b"), line(name="a"), line("t2", name="a"), line(name="a"), line(name="b")]
    problem = "s.jsonl:4: tool: found 'a' again; s.jsonl:2 has it for the same group: keep one of them"
    assert refusal(tmp_path, *lines) == problem
    problem = "s.jsonl:2: candidate_id: found 'g0' again; s.jsonl:1 has it for the same group: keep one of them"
    assert refusal(tmp_path, graph_line(tree={}), graph_line(tree={})) == problem


def test_a_tool_has_the_text_of_the_catalogue_else_its_own(tmp_path):
    lines = [line(name="a", tool_description="own"), line(name="b", tool_description="own"), line(name="c")]
    groups = read(tmp_path, *lines, tools={"a": ToolText("listed", "city"), "c": ToolText(), "z": ToolText()})
    texts = [groups.candidates.tool_texts[code] for code in groups.candidates.texts]
    assert texts == [ToolText("listed", "city"), ToolText("own"), ToolText()]


def test_a_catalogue_that_names_fewer_than_half_of_the_tools_is_refused(tmp_path):
    lines = [line(name=name) for name in ("a", "b", "c")]
    problem = "s.jsonl: the catalogue names 1 of 3 tools; name one that has at least half of them, or none"
    assert refusal(tmp_path, *lines, tools={"a": ToolText("does a"), "x": ToolText("does x")}) == problem
    assert len(read(tmp_path, *lines, tools={"a": ToolText("does a"), "b": ToolText("does b")}).labels) == 3


def test_a_graph_has_the_tree_and_type_of_the_catalogue_else_its_own(tmp_path):
    own = {"nodes": [{"id": 1, "name": "own"}]}
    listed = Graph(("x",), ("x",), ("",), ())
    lines = [
        graph_line("g0", tree=own, candidate_type="chain"),
        graph_line("g1", tree={"nodes": 3}, candidate_type="chain"),
        graph_line("g2", tree=own, candidate_type="star"),
    ]
    catalogue = {
        ("t1", "n1", "g1"): GraphEntry(listed, "tree"),
        ("t1", "n1", "g2"): GraphEntry(listed, None),
    }
    groups = read(tmp_path, *lines, graphs=catalogue)
    candidates = groups.candidates
    assert [candidates.type_texts[code] for code in candidates.types] == ["chain", "tree", "star"]
    assert [candidates.distinct_graphs[code].names for code in candidates.graphs] == [
        ("own",),
        ("x",),
        ("x",),
    ]


def test_equal_trees_are_one_graph_however_they_are_spelled(tmp_path):
    spaced = graph_line("g1", tree={"nodes": [{"id": "a"}]}).replace(b"[", b"[ ")
    groups = read(tmp_path, graph_line("g0", tree={"nodes": [{"id": 1}]}), spaced)
    assert groups.candidates.graphs.tolist() == [0, 0]


def test_a_graph_without_a_tree_is_refused_unless_it_has_features(tmp_path):
    problem = "missing, here and in the graph catalogue; an object"
    assert refusal(tmp_path, graph_line()).startswith(f"s.jsonl:1: tree: {problem}")
    groups = read(tmp_path, graph_line(features=[1]))
    assert groups.candidates.distinct_graphs == (Graph(),)


def test_a_tree_that_does_not_hold_together_is_refused_with_its_line(tmp_path):
    dangling = {"nodes": [{"id": "a"}], "edges": [["a", "b"]]}
    problem = "s.jsonl:2: tree.edges[0]: found 'b'; the id of a node is needed"
    assert refusal(tmp_path, graph_line("g0", tree={}), graph_line("g1", tree=dangling)) == problem


def decoded(groups: Groups) -> list[object]:
    candidates = groups.candidates
    texts = [candidates.tool_texts[code] for code in candidates.texts]
    rows = zip(chain(*names(candidates)), texts, groups.labels, candidates.lines, strict=True)
    return [keys(candidates), groups.offsets.tolist(), groups.weights.tolist(), list(rows)]


def test_a_selection_is_what_reading_only_those_groups_gives(tmp_path):
    generator = random.Random(0)
    lines = [
        line(f"t{trace}", f"n{node}", f"tool{name}", tool_description=f"d{name % 3}", weight=1 + node)
        for trace in range(5)
        for node in range(3)
        for name in generator.sample(range(20), 4)
    ]
    groups = read(tmp_path, *lines)
    indices = np.array([13, 2, 7])
    selected = groups.select(indices)
    kept = read(tmp_path, *(row if start // 4 in {2, 7, 13} else b"" for start, row in enumerate(lines)))
    assert decoded(selected) == decoded(kept.select(np.array([2, 0, 1])))
    tables = [selected.candidates.name_texts, selected.candidates.query_texts, selected.candidates.trace_ids]
    assert [set(table) for table in tables] == [
        set(kept.candidates.name_texts),
        set(kept.candidates.query_texts),
        set(kept.candidates.trace_ids),
    ]
    assert selected.candidates.names[0] == selected.candidates.queries[0] == selected.candidates.traces[0] == 0


def test_a_selection_of_graphs_keeps_their_types_and_features(tmp_path):
    trees = [{"nodes": [{"id": n, "name": str(n)}]} for n in range(3)]
    lines = [
        graph_line(trace_id=n, candidate_type=f"c{n}", tree=tree, features=[n], time=n) for n, tree in enumerate(trees)
    ]
    selected = read(tmp_path, *lines).select(np.array([2, 1]))
    assert selected.candidates.type_texts == ("c2", "c1")
    assert [graph.names for graph in selected.candidates.distinct_graphs] == [("2",), ("1",)]
    assert selected.candidates.features.tolist() == [[2], [1]]
    assert selected.times.tolist() == [2, 1]


def test_selecting_nothing_gives_no_groups(tmp_path):
    selected = read(tmp_path, line()).select(np.array([], dtype=np.int64))
    assert selected.offsets.tolist() == [0]
    assert selected.candidates.name_texts == ()


def test_the_order_of_ids_is_the_order_of_their_utf8_bytes(tmp_path):
    given = ["b", "Z", "a", "é", "\U0001f600", "\uff5e", "a1"]
    groups = read(tmp_path, *(line(name=name) for name in given))
    in_order = sorted(given, key=lambda name: name.encode())
    assert groups.candidates.key_order().tolist() == [in_order.index(name) for name in given]


def test_reading_does_not_depend_on_the_order_of_lines_of_different_groups(tmp_path):
    generator = random.Random(1)
    lines = [line(f"t{n % 7}", f"n{n % 3}", f"tool{n}", label=n, weight=1) for n in range(210)]
    expected = dict(zip(*by_key(read(tmp_path, *lines)), strict=True))
    for _ in range(5):
        shuffled = lines.copy()
        generator.shuffle(shuffled)
        groups = read(tmp_path, *shuffled)
        assert {key: sorted(group) for key, group in zip(*by_key(groups), strict=True)} == expected


def by_key(groups: Groups) -> tuple[list[object], list[list[object]]]:
    labels = np.split(groups.labels, groups.offsets[1:-1])
    rows = [
        sorted(zip(group, of_group.tolist(), strict=True))
        for group, of_group in zip(names(groups.candidates), labels, strict=True)
    ]
    return keys(groups.candidates), rows


@pytest.mark.parametrize(
    "change, field, found",
    [({"label": 1e308}, "label", "1e+308"), ({"features": [1.0, -1e308]}, "features[1]", "-1e+308")],
)
def test_numbers_whose_sums_overflow_are_refused_with_their_line(tmp_path, change, field, found):
    rows = [row | {"features": [1.0, 2.0]} for row in tool_rows(range(2))]
    rows[7] |= change
    with pytest.raises(SampleError, match=rf"s.jsonl:8: {re.escape(field)}: found {re.escape(found)}; .*1e300"):
        read_groups(written(tmp_path / "s.jsonl", rows))


def test_a_drawn_row_bears_its_rule_and_its_probability_and_is_not_logged(tmp_path):
    groups = read(
        tmp_path,
        line(name="a", label=1),
        line("t2", name="a", label=1),
        line(name="b", drawn="random", draw_probability=0.25),
        line(name="c", drawn="near"),
        line(name="d", drawn="random"),
    )
    assert names(groups.candidates) == [["a", "b", "c", "d"], ["a"]]
    assert groups.candidates.is_logged.tolist() == [True, False, False, False, True]
    assert groups.candidates.draws.rules.tolist() == [0, 1, 2, 1, 0]
    assert str(groups.candidates.draws.probabilities.tolist()) == "[1.0, 0.25, 1.0, nan, 1.0]"
    second = groups.select(np.array([1])).candidates
    assert second.draws.rules.tolist() == [0]


def test_a_row_of_the_log_may_say_how_probably_it_would_have_been_drawn(tmp_path):
    candidates = read(tmp_path, line(name="a", label=1, draw_probability=0.25), line(name="b", drawn="near")).candidates
    assert candidates.is_logged.tolist() == [True, False]
    assert candidates.draws.probabilities.tolist() == [0.25, 1.0]


def test_samples_of_a_log_have_no_draws(tmp_path):
    candidates = read(tmp_path, line(name="a"), line(name="b")).candidates
    assert candidates.draws is None
    assert candidates.is_logged.tolist() == [True, True]


@pytest.mark.parametrize(
    "fields, problem",
    [
        ({"drawn": "best"}, "s.jsonl:1: drawn: found 'best'; random or near is needed"),
        ({"drawn": "random", "draw_probability": 1.5}, "s.jsonl:1: draw_probability: found 1.5; a probability above 0"),
    ],
)
def test_a_draw_that_says_nothing_is_refused(tmp_path, fields, problem):
    assert refusal(tmp_path, line(**fields)).startswith(problem)
