import json

import pytest

from ltr import RunConfig, read_groups
from ltr.errors import DataError, UsageError
from ltr.results.breakdown import break_down, part_means
from ltr.results.scores import evaluate_groups
from tests.made import EvaluateConfig, graph_rows, grouped, tool_rows, written
from tests.stored import flat_metrics as metrics


def sample(query, tool, label, **more):
    return {"trace_id": f"t{query}", "node_id": f"n{query % 2}", "query": "q", "tool": tool, "label": label} | more


ROWS = [
    sample(0, "a", 1, topic="north", level=1),
    sample(0, "b", 0, topic="south", level=1),
    sample(1, "a", 0, topic="south", level=2),
    sample(1, "b", 1, topic="north", level=2),
    sample(2, "a", 1, topic="south", level=2),
    sample(2, "b", 0, topic="south", level=2),
]


def values(field, rows=ROWS, directory=None):
    groups = read_groups(written(directory / "s.jsonl", rows))
    breakdown = break_down(groups, field)
    return [breakdown.names[code] for code in breakdown.codes.tolist()]


@pytest.mark.parametrize(
    "field, expected",
    [
        ("trace_id", ["t0", "t1", "t2"]),
        ("node_id", ["n0", "n1", "n0"]),
        ("query", ["q", "q", "q"]),
        ("tool", ["a", "b", "a"]),
        ("topic", ["north", "north", "south"]),
        ("level", ["1", "2", "2"]),
    ],
)
def test_a_query_belongs_to_what_the_line_of_its_right_candidate_says(tmp_path, field, expected):
    assert values(field, directory=tmp_path) == expected


def test_of_several_right_candidates_the_highest_label_speaks_then_the_first_name(tmp_path):
    rows = [sample(0, name, label, topic=name) for name, label in (("b", 2), ("c", 2), ("a", 1))]
    assert values("topic", rows, tmp_path) == values("topic", rows[::-1], tmp_path) == ["b"]


def test_a_query_without_a_right_candidate_goes_by_its_first_name(tmp_path):
    assert values("topic", [sample(0, "b", 0, topic="x"), sample(0, "a", 0, topic="y")], tmp_path) == ["y"]


def test_graphs_are_sorted_by_the_type_of_the_right_one(tmp_path):
    groups = read_groups(written(tmp_path / "g.jsonl", graph_rows(range(20))))
    breakdown = break_down(groups, "candidate_type")
    assert set(breakdown.names) == {"chain", "star"}


def test_a_line_of_a_whole_group_speaks_for_its_group(tmp_path):
    rows = [row | {"topic": row["trace_id"]} for row in grouped(tool_rows(range(3)))]
    assert values("topic", rows, tmp_path) == ["t0", "t0", "t1", "t1", "t2", "t2"]


def test_a_line_without_the_key_is_a_part_without_a_name(tmp_path):
    rows = [row | ({} if row["trace_id"] == "t1" else {"seen": True}) for row in ROWS]
    assert values("seen", rows, tmp_path) == ["true", "", "true"]


def test_a_field_of_several_files_is_found_in_each(tmp_path):
    files = [written(tmp_path / f"{place}.jsonl", ROWS[2 * place : 2 * place + 2]) for place in range(3)]
    breakdown = break_down(read_groups(files), "topic")
    assert [breakdown.names[code] for code in breakdown.codes.tolist()] == ["north", "north", "south"]


def test_an_unknown_field_is_refused_with_the_known_ones(tmp_path):
    with pytest.raises(UsageError, match=r"group_by trace: no sample has that key; did you mean trace_id\?; known"):
        values("trace", directory=tmp_path)


def test_a_field_that_is_no_plain_value_is_refused_with_its_place(tmp_path):
    with pytest.raises(DataError, match=r"s\.jsonl:1: tags: found \[\"x\"\]; a text, a number or a truth value"):
        values("tags", [row | {"tags": ["x"]} for row in ROWS], tmp_path)


def test_a_file_that_changes_in_between_is_refused(tmp_path):
    path = written(tmp_path / "s.jsonl", ROWS)
    groups = read_groups(path)
    written(path, ROWS[:4])
    with pytest.raises(DataError, match="was changed while it was read"):
        break_down(groups, "topic")


def test_the_metrics_of_a_part_are_those_of_its_queries_alone(tmp_path):
    rows = list(tool_rows(range(12)))
    scores = [float((index * 7) % 11) for index in range(len(rows))]
    config = RunConfig(evaluate=EvaluateConfig(metrics=("ndcg@3",), group_by="node_id"))
    groups = read_groups(written(tmp_path / "s.jsonl", rows))
    phi = groups.candidates.lines[:, None].astype(float)
    whole = evaluate_groups(groups, phi, phi[:, 0] * 7 % 11, config)
    for part in part_means(whole.evaluation, whole.breakdown):
        chosen = [(row, score) for row, score in zip(rows, scores, strict=True) if row["node_id"] == part.name]
        alone = read_groups(written(tmp_path / "p.jsonl", [row for row, _ in chosen]))
        lines = [index + 1 for index, row in enumerate(rows) if row["node_id"] == part.name]
        own = groups.candidates.lines[:1].astype(float).repeat(len(lines)) * 0 + lines
        expected = evaluate_groups(alone, own[:, None], own * 7 % 11, config).evaluation
        assert part.metrics == pytest.approx(expected.means, abs=1e-15)
        assert part.num_queries == expected.num_queries


def test_queries_without_a_right_candidate_do_not_count_in_their_part(tmp_path):
    rows = [sample(0, "a", 1), sample(1, "a", 0), sample(2, "a", 1)]
    groups = read_groups(written(tmp_path / "s.jsonl", rows))
    config = RunConfig(evaluate=EvaluateConfig(group_by="node_id"))
    found = evaluate_groups(groups, groups.labels[:, None], groups.labels, config)
    assert [
        (part.name, part.num_queries, part.metrics["mrr"]) for part in part_means(found.evaluation, found.breakdown)
    ] == [
        ("n0", 2, 1.0),
        ("n1", 0, None),
    ]
    flat = metrics(found)
    assert (flat["group_by"], flat["node_id=n0.mrr"], flat["node_id=n1.num_queries"]) == ("node_id", 1.0, 0)


def test_the_command_shows_parts_and_keeps_them(cli):
    written("train.jsonl", tool_rows(range(20)))
    written("test.jsonl", ({**row, "city": row["trace_id"]} for row in tool_rows(range(30, 60), seed=1)))
    cli.good("train", "train.jsonl", "-o", "run", "-q")
    shown = cli.good("evaluate", "run", "test.jsonl", "--group-by", "city", "--format", "human")
    assert "city  queries" in shown
    assert "and 10 more: --format json shows all" in shown
    flat = json.loads(cli.good("evaluate", "run", "test.jsonl", "--group-by", "city", "--format", "json", "-o", "out"))
    assert flat["city=t30.num_queries"] == 2
    assert flat == json.loads(cli.good("evaluate", "run", "test.jsonl", "--group-by", "city", "--format", "json"))
    assert cli.refused("evaluate", "run", "test.jsonl", "--group-by", "town")[0] == 2
