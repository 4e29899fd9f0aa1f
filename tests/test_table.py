"""One table in its four forms: what each shows of the same values."""

from dataclasses import replace

import msgspec

from ltr.report.table import Bounds, Column, Guess, Kind, Medium, Table, tsv_line
from ltr.report.training import COLUMNS

METRICS = Table(
    (
        Column("metric", "metric"),
        Column("value", "the model", Kind.SHARE),
        Column("value", "95 %", Kind.INTERVAL),
        Column("random", "random order", Kind.SHARE, brief="random"),
    ),
    (("MRR", 2 / 3, Bounds(0.5, 0.75), None), ("auc", 0.5, Bounds(None, None), Guess(0.25))),
    corner="",
)


def test_a_terminal_shows_rounded_numbers_below_their_titles():
    assert METRICS.lines(80) == [
        "     the model          95 %  random order",
        "MRR      0.667  [.500, .750]             -",
        "auc      0.500             -        0.250?",
    ]


def test_a_turned_table_has_a_line_for_each_column():
    assert replace(METRICS, layout="turned").lines(80) == [
        "                       MRR     auc",
        "the model            0.667   0.500",
        "95 %          [.500, .750]       -",
        "random order             -  0.250?",
    ]


def test_a_turned_table_without_room_stands_as_it_is_under_brief_titles():
    many = Table(METRICS.columns, METRICS.rows * 4, corner="")
    assert replace(many, layout="turned").lines(40)[0] == "     the model          95 %  random"
    assert len(replace(many, layout="turned").lines(40)) == 1 + 8


def test_a_turned_table_without_room_for_either_stands_in_blocks():
    lines = replace(METRICS, layout="turned").lines(30, str.upper)
    assert [line.split() for line in lines if "MODEL" not in line][::4] == [["MRR"], ["AUC"]]
    assert max(map(len, lines)) <= 30


def test_names_give_way_where_lines_are_too_wide():
    table = Table((Column("tool", "tool"), Column("n", "n", Kind.COUNT)), (("a tool with a long name", 1234),))
    assert table.lines(20) == ["tool               n", "a tool with …  1,234"]


def test_a_file_holds_the_values_as_they_are_and_both_ends_of_an_interval():
    assert [tsv_line(row) for row in METRICS.tsv()] == [
        "metric\tvalue\tvalue.low\tvalue.high\trandom",
        f"MRR\t{2 / 3}\t0.5\t0.75\t",
        "auc\t0.5\t\t\t0.25",
    ]


def test_a_page_shows_a_dash_for_a_missing_number():
    assert METRICS.cells()[1:] == [["MRR", "0.667", "[0.500, 0.750]", "–"], ["auc", "0.500", "–", "0.250?"]]


def test_the_first_column_of_texts_names_the_rows_of_a_page():
    table = Table((Column("place", "place", Kind.COUNT), Column("run", "run")), ((1, "first"),))
    assert table.names_at() == 1


def test_a_column_stands_only_in_the_media_it_names():
    columns = (Column("run", "run"), Column("error", "error", media=Medium.TSV))
    table = Table(columns, (("a", "no file"),))
    assert table.lines(80) == ["run", "a"]
    assert table.markdown() == ["| run |", "| --- |", "| a |"]
    assert list(table.tsv()) == [["run", "error"], ["a", "no file"]]


def test_a_text_of_the_data_ends_no_cell_and_moves_no_terminal():
    table = Table((Column("tool", "tool"),), (("a\tb\x1b[31m|<i>\n",),))
    assert table.lines(80)[1] == "a\\tb\\x1b[31m|<i>\\n"
    assert [tsv_line(row) for row in table.tsv()][1] == "a\\tb\\x1b[31m|<i>\\n"
    assert table.markdown()[2] == "| a bU+001B\\[31m\\|&lt;i&gt; |"


def test_every_number_of_a_feature_has_a_column_of_its_own_name():
    for field, shown in msgspec.structs.asdict(COLUMNS).items():
        if shown is None:
            assert field in ("high", "shrinkage")  # beside low; named where it is large
        else:
            assert shown.column.key == ("" if field == "low" else field)
