"""Tables become samples: columns, guesses, separators, labels, and what is refused."""

import gzip
import json
from pathlib import Path

import pytest

from ltr import import_samples, read_groups
from ltr.errors import DataError, UsageError
from ltr.files.reading import zstd_module
from ltr.importers import Count, recognise


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def imported(text, *, name="x.csv", **options):
    """The summary of an import of the text, and the samples that it wrote."""
    content = text if isinstance(text, bytes) else text.encode()
    Path(name).write_bytes(content)
    summary = import_samples("csv", [name], "x.jsonl", options=options, overwrite=True)
    return summary, [json.loads(line) for line in Path("x.jsonl").read_text(encoding="utf-8").splitlines()]


def test_a_row_is_a_candidate_in_named_columns():
    summary, samples = imported(
        "id,step,q,api,ok\n7,a,rain?,get_weather,1\n7,a,rain?,send_mail,0\n",
        query="q", tool="api", label="ok", trace="id", node="step",
    )  # fmt: skip
    key = {"trace_id": "7", "node_id": "a", "query": "rain?"}
    assert samples == [key | {"tool": "get_weather", "label": 1.0}, key | {"tool": "send_mail", "label": 0.0}]
    assert (summary.notes, summary.kept) == ((), (Count("rows, each a candidate", 2),))


def test_rows_of_a_group_that_lie_apart_count_as_one_group(monkeypatch):
    monkeypatch.setattr("ltr.importers.frame.DIGESTS_AT_ONCE", 2)  # groups are added up in the middle
    summary, _ = imported("query,tool,label,trace,node\nq,a,1,s,1\nr,a,1,s,2\nq,b,0,s,1\nr,b,0,s,2\nr,c,0,t,2\n")
    assert (summary.samples, summary.groups) == (5, 3)
    assert len(read_groups("x.jsonl").offsets) == 3 + 1


def test_guesses_by_the_header_are_said_aloud():
    summary, samples = imported("Question,Tool_Name,is_correct,session\nq,t,1,s\n")
    guesses = "query=Question, tool=Tool_Name, label=is_correct, trace=session"
    assert summary.notes == (f"guessed by the header: {guesses}; --option MEANING=COLUMN names another",)
    assert samples == [{"trace_id": "s", "node_id": "2", "query": "q", "tool": "t", "label": 1.0}]


def test_without_labels_the_tool_of_a_row_is_right_and_that_is_said():
    summary, samples = imported("query,tool\nq,t\n")
    assert samples[0]["label"] == 1.0
    assert "no column of labels: the tool of each row is taken to be the right one (label 1)" in summary.notes


def test_rows_that_follow_each_other_with_one_query_are_a_group_and_a_repeated_tool_begins_the_next():
    summary, samples = imported("query,tool,label\nq,a,1\nq,b,0\nq,a,1\nr,a,1\nq,a,1\n")
    assert [sample["node_id"] for sample in samples] == ["2", "2", "4", "5", "6"]
    assert len({sample["trace_id"] for sample in samples}) == 2  # equal queries are one trace
    assert "no column of traces: queries with equal texts are one trace" in summary.notes


def test_a_trace_that_is_made_of_a_query_does_not_show_it():
    assert "ann@example.org" not in json.dumps(imported("query,tool\nann@example.org,t\n")[1])


@pytest.mark.parametrize(
    "candidates, right",
    [("a|b|c", "b"), ("a;b;c", "b"), ('"a, b ,c"', "b"), ('"[""a"", ""b"", ""c""]"', "b"), ("a|b|c|a", "b|b")],
)
def test_a_row_is_a_query_with_a_column_of_candidates(candidates, right):
    _, samples = imported(f"query,candidates,answer\nq,{candidates},{right}\n")
    (sample,) = samples
    assert [(entry["tool"], entry["label"]) for entry in sample["candidates"]] == [("a", 0.0), ("b", 1.0), ("c", 0.0)]


@pytest.mark.parametrize("name", ["label", "answer", "chosen", "tool"])
def test_the_column_of_the_right_ones_is_guessed_beside_a_list_of_candidates(name):
    assert imported(f"query,candidates,{name}\nq,a|b,b\n")[1][0]["candidates"][1] == {"tool": "b", "label": 1.0}


def test_an_answer_beside_one_tool_a_row_is_no_label():
    assert imported("query,tool,answer\nrain?,weather,It rains.\n")[1][0]["label"] == 1.0


def test_several_right_candidates_and_none():
    _, samples = imported("query,candidates,label\nq,a|b|c,a|c\nr,a|b,\n")
    assert [[entry["label"] for entry in sample["candidates"]] for sample in samples] == [[1.0, 0.0, 1.0], [0.0, 0.0]]


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_the_separator_is_what_stands_most_often_in_the_header(mark):
    _, samples = imported(f"query{mark}tool{mark}label\nq{mark}t{mark}1\n")
    assert (samples[0]["query"], samples[0]["tool"]) == ("q", "t")


def test_quotes_hold_separators_quotes_and_line_ends():
    _, samples = imported('query,tool,label\r\n"say ""hi"",\r\nplease",t,1\r\nnext,t,0\r\n')
    assert [(sample["query"], sample["node_id"]) for sample in samples] == [('say "hi",\nplease', "2"), ("next", "4")]


def test_a_byte_order_mark_blank_lines_and_empty_rows_are_no_data():
    summary, samples = imported("\ufeff\nquery,tool,label\n\nq,t,1\n,,\n")
    assert len(samples) == 1
    assert summary.skipped == (Count("an empty row", 1, ("x.csv:5",)),)


@pytest.mark.parametrize(
    "name, pack", [("x.csv.gz", gzip.compress), ("x.tsv.zst", lambda c: zstd_module().compress(c))]
)
def test_a_packed_table_is_read(name, pack):
    assert len(imported(pack(b"query\ttool\nq\tt\n"), name=name)[1]) == 1


@pytest.mark.parametrize(
    "text, label",
    [("1", 1.0), ("0", 0.0), ("True", 1.0), ("FALSE", 0.0), ("yes", 1.0), ("No", 0.0), ("2.5", 2.5), (" 1 ", 1.0)],
)
def test_labels_are_numbers_or_words(text, label):
    assert imported(f"query,tool,label\nq,t,{text}\n")[1][0]["label"] == label


def test_columns_of_numbers_become_features():
    _, samples = imported("query,tool,label,p,n\nq,t,1,0.25,-3\n", features="p,n")
    assert samples[0]["features"] == [0.25, -3.0]


def test_descriptions_and_times_are_kept():
    _, samples = imported("query,tool,tool_description,time\nq,t,Does it,2026-01-02T03:04:05Z\nq,u,,7\n")
    assert (samples[0]["tool_description"], samples[0]["time"]) == ("Does it", "2026-01-02T03:04:05Z")
    assert ("tool_description" in samples[1], samples[1]["time"]) == (False, 7.0)


@pytest.mark.parametrize(
    "row, problem",
    [
        ("q,t", "2 cells where the header has 3 names; quote a cell that holds the separator"),
        ("q,t,1,x", "4 cells where the header has 3 names"),
        (",t,1", "the query is empty"),
        ("q,,1", "the name of the tool is empty"),
        ("q,t,maybe", "found label 'maybe'; 0 or 1, true or false, yes or no, or a grade is needed"),
        ("q,t,-1", "found label '-1'"),
        ("q,t,nan", "found label 'nan'"),
        ("q,t,", "found label ''"),
        ('q,"t,1', "a quote is not closed"),
        ('q,"t"x,1', "expected after"),
    ],
)
def test_a_row_that_cannot_be_read_is_refused_with_its_place(row, problem):
    with pytest.raises(DataError, match=problem) as refused:
        imported(f"query,tool,label\nfine,t,1\n{row}\n")
    assert str(refused.value).startswith("x.csv:3: ")
    assert not Path("x.jsonl").exists()


def test_a_right_tool_outside_the_candidates_is_refused():
    with pytest.raises(DataError, match="x.csv:2: 'z' is right and not among the candidates"):
        imported("query,candidates,label\nq,a|b,z\n")


@pytest.mark.parametrize(
    "text, problem",
    [
        ("", "no line; a header"),
        ("x,y\n1,2\n", "no column of queries is known; name one of 'x', 'y': --option query=COLUMN"),
        ("query,y\n1,2\n", "no column of names of tools is known; name one of 'query', 'y': --option tool=COLUMN"),
        ("query,tool,tool\n1,2,3\n", "x.csv:1: the header names 'tool' twice"),
        (b"query,tool\n\xff,t\n", "x.csv:2: byte 1 is not UTF-8"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused(text, problem):
    with pytest.raises(DataError, match=problem):
        imported(text)


def test_a_column_that_is_not_there_is_refused_with_the_nearest():
    with pytest.raises(UsageError, match="x.csv: no column 'quary'; did you mean query.; known: 'query', 'tool'"):
        imported("query,tool\nq,t\n", query="quary")


def test_several_tables_may_have_their_columns_in_another_order():
    Path("a.csv").write_text("query,tool\nq,t\n")
    Path("b.csv").write_text("tool;query\nu;r\n")
    import_samples("csv", ["a.csv", "b.csv"], "x.jsonl")
    samples = [json.loads(line) for line in Path("x.jsonl").read_text().splitlines()]
    assert [(row["query"], row["tool"], row["node_id"]) for row in samples] == [
        ("q", "t", "a.csv:2"),
        ("r", "u", "b.csv:2"),
    ]


def test_what_was_imported_can_be_read():
    imported("query,tool,label\nq,a,1\nq,b,0\nr,a,0\n")
    assert read_groups("x.jsonl").offsets.tolist() == [0, 2, 3]


@pytest.mark.parametrize(
    "content, is_one",
    [(b"query,tool\n", True), (b'\xef\xbb\xbf"Query";"Tool"\n', True), (b"prompt\tcandidates\r\n", True),
     (b"a,b\n", False), (b"query,tool", False), (b"\xff\xfe\n", False)],
)  # fmt: skip
def test_a_table_is_known_by_its_header(content, is_one):
    Path("x").write_bytes(content)
    assert ("csv" in recognise("x")) is is_one


def by_command(cli, text, *flags):
    """The samples that `ltr import csv` writes for the text, and the numbers of its summary by reason."""
    Path("x.csv").write_text(text)
    summary = json.loads(cli.good("import", "csv", "x.csv", "-o", "x.jsonl", "--overwrite", "--format", "json", *flags))
    counted = {entry["reason"]: entry["number"] for part in ("skipped", "remarks") for entry in summary[part]}
    samples = [json.loads(line) for line in Path("x.jsonl").read_text(encoding="utf-8").splitlines()]
    return [(sample["node_id"], sample["tool"], sample["label"]) for sample in samples], counted


CONTRADICTED = "rows that give a tool another label than a row of the same query: the highest counts"
AGAIN = "groups whose query is that of the group before"


@pytest.mark.parametrize(
    "rows, samples, counted",
    [
        ("w,yes w,no m,no", [("2", "w", 1), ("2", "m", 0)], {CONTRADICTED: 1}),
        ("w,no m,no w,yes", [("2", "w", 1), ("2", "m", 0)], {CONTRADICTED: 1}),
        ("w,yes w,no", [("2", "w", 1)], {CONTRADICTED: 1}),
        ("w,1 m,0 w,3 w,2", [("2", "w", 3), ("2", "m", 0)], {CONTRADICTED: 2}),
        ("w,yes m,no w,no m,yes", [("2", "w", 1), ("2", "m", 0), ("4", "w", 0), ("4", "m", 1)], {AGAIN: 1}),
        ("w,yes m,no w,no x,yes", [("2", "w", 1), ("2", "m", 0), ("4", "w", 0), ("4", "x", 1)], {AGAIN: 1}),
        ("w,no w,yes w,no m,no", [("2", "w", 1), ("2", "m", 0)], {CONTRADICTED: 2}),
        ("w,yes m,no w,yes m,no", [("2", "w", 1), ("2", "m", 0), ("4", "w", 1), ("4", "m", 0)], {AGAIN: 1}),
        ("w,yes w,yes", [("2", "w", 1), ("3", "w", 1)], {AGAIN: 1}),
    ],
)
def test_rows_of_one_query_that_contradict_each_other_are_one_group_and_are_counted(cli, rows, samples, counted):
    text = "query,tool,label\n" + "".join(f"q1,{row}\n" for row in rows.split())
    assert by_command(cli, text) == (samples, counted)
    assert len(read_groups("x.jsonl").offsets) - 1 == len({node for node, *_ in samples})


def test_a_contradiction_is_said_with_its_line(cli):
    Path("x.csv").write_text("query;tool;label\nq1;w;yes\nq1;w;no\nq1;m;no\n")
    shown = cli.good("import", "csv", "x.csv", "-o", "x.jsonl")
    assert shown.startswith("wrote 2 samples in 1 group to x.jsonl\n")
    assert f"skipped\n  1  {CONTRADICTED} (x.csv:3)\n" in shown


def test_rows_of_another_time_or_another_node_contradict_nothing(cli):
    samples, counted = by_command(cli, "query,tool,label,time\nq1,w,yes,1\nq1,w,no,2\n")
    assert (samples, counted) == ([("2", "w", 1), ("3", "w", 0)], {AGAIN: 1})
    samples, counted = by_command(cli, "query,tool,label,node\nq1,w,yes,a\nq1,w,no,b\nq1,w,yes,b\nq1,w,yes,b\n")
    assert samples == [("a", "w", 1), ("b", "w", 1)]
    assert counted == {CONTRADICTED: 1, "rows that repeat a row of the same query": 1}
