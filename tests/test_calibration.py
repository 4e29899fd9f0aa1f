"""The ranks of right candidates and the reliability of the first choice, as a page shows them."""

from dataclasses import replace

import msgspec
import pytest

from ltr import RunConfig
from ltr.report.answers import calibration_section, ranks, reliability, reliability_error
from ltr.runs import RunContents
from tests.made import DataConfig, save_run, tool_rows, written


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The files of a run."""
    home = tmp_path_factory.mktemp("calibration")
    written(home / "train.jsonl", tool_rows(range(6)))
    save_run(RunConfig(data=DataConfig(train=str(home / "train.jsonl"))), home / "run")
    return RunContents.read(home / "run")


def of_ranks(run, *places):
    """The histogram of queries whose best right candidates have these ranks."""
    figure = ranks(replace(run, queries=[msgspec.structs.replace(run.queries[0], rank=place) for place in places]))
    return figure, figure and figure.table.rows


def of_bins(run, **columns):
    """The run with this reliability curve."""
    return replace(run, curves={"reliability_first": {"from": [0.1, 0.6], "to": [0.2, 0.7], **columns}})


CURVE = {"probability": [0.15, 0.65], "right": [0.25, 0.5], "count": [1.0, 3.0]}


def test_queries_are_counted_by_the_rank_of_their_right_candidate(run):
    figure, rows = of_ranks(run, 1, 1, 3, 1)
    assert rows == (("1", 3, 3 / 4), ("2", 0, 0), ("3", 1, 1 / 4))
    tips = [mark.tip for mark in figure.marks if mark.tip]
    assert tips == ["rank 1: 3 queries", "rank 2: 0 queries", "rank 3: 1 query"]


def test_ranks_beyond_the_tenth_and_queries_without_a_right_candidate_have_a_column_each(run):
    rows = of_ranks(run, 10, 11, 300, None)[1]
    assert [label for label, _, _ in rows] == [*(str(rank) for rank in range(1, 11)), "11+", "none"]
    assert [counted for _, counted, _ in rows] == [0] * 9 + [1, 2, 1]


def test_without_queries_there_are_no_ranks_to_show(run):
    assert of_ranks(run) == (None, None)


def test_the_error_of_the_first_choice_is_the_mean_distance_by_queries(run):
    assert reliability_error(of_bins(run, **CURVE)) == pytest.approx((1 * 0.1 + 3 * 0.15) / 4)
    assert reliability_error(of_bins(run, probability=[], right=[], count=[])) is None


def test_the_reliability_curve_has_a_row_and_a_point_for_each_bin(run):
    figure = reliability(of_bins(run, **CURVE))
    assert figure.table.rows == (("0.1 to 0.2", 0.15, 0.25, 1.0), ("0.6 to 0.7", 0.65, 0.5, 3.0))
    tips = [mark.tip for mark in figure.marks if mark.tip]
    assert tips == ["mean probability 0.150, right 0.250, 1 query", "mean probability 0.650, right 0.500, 3 queries"]
    assert [mark.tag for mark in figure.marks if mark.tip] == ["circle", "circle"]
    assert reliability(replace(run, curves={})) is None


def test_the_section_holds_what_there_is(run):
    titles = ["Rank of the right candidate", "Probability and truth of the first choice"]
    blocks = list(filter(None, calibration_section(of_bins(run, **CURVE))))
    assert [block.title for block in blocks[:-1]] == titles
    assert blocks[-1].endswith("(mean distance from the line, by queries): 0.138.")
    assert [block.title for block in calibration_section(replace(run, curves={})) if block] == titles[:1]
