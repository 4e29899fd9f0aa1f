"""The leaderboard: who is first, how sure that is, and what failed."""

import json
import re
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from ltr import RunConfig
from ltr.errors import UsageError
from ltr.leaderboard import Entry, leaderboard, read_leaderboard
from ltr.report import lines, write_standings
from ltr.report.batch import leaderboard_markdown, standings
from tests.made import DataConfig, EvaluateConfig, save_run, tool_rows, written
from tests.stored import stored_metrics


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Three runs: on the same data by two features and by one that says nothing, and on other data."""
    home = tmp_path_factory.mktemp("batch")
    good, other = written(home / "a.jsonl", tool_rows(range(30))), written(home / "b.jsonl", tool_rows(range(9)))
    config = RunConfig(data=DataConfig(train=str(good)), encoder="hash")
    save_run(replace(config, features=("tool.coop", "tool.rel")), home / "runs" / "good")
    save_run(replace(config, features=("tool.hist",)), home / "runs" / "weak")
    save_run(replace(config, data=DataConfig(train=str(other))), home / "runs" / "other")
    return home / "runs"


def entries(home, *names):
    return [Entry(name, home / name, {"train.l2": 0.1}) for name in names]


def test_the_best_is_first_with_its_interval_and_what_failed_is_last(home):
    failed = Entry("broken", home / "broken", {}, "a.jsonl:3: no label")
    board = leaderboard([failed, *entries(home, "weak", "good")], home)
    kept = stored_metrics(home / "good")
    assert [(row.place, row.run, row.status) for row in board.rows] == [
        (1, "good", "complete"),
        (2, "weak", "complete"),
        (None, "broken", "failed"),
    ]
    assert board.rows[0].metrics == {name: kept[name] for name in ("top1_accuracy", "top3_accuracy", "mrr")}
    assert (board.rows[0].low, board.rows[0].high) == (kept["mrr.low"], kept["mrr.high"])


def test_the_winner_is_tested_against_the_runner_up(home):
    board = leaderboard(entries(home, "weak", "good"), home)
    first, second = (row.metrics["mrr"] for row in board.rows)
    assert (board.test.winner, board.test.runner_up, board.untested) == ("good", "weak", None)
    assert board.test.difference == pytest.approx(first - second)
    assert 0 < board.test.p < 0.05


def test_one_query_has_a_place_and_no_interval(tmp_path):
    data = DataConfig(train=str(written(tmp_path / "s.jsonl", tool_rows(range(1)))))
    config = RunConfig(data=data, encoder="hash")
    for name, feature in (("one", "tool.rel"), ("two", "tool.coop")):
        save_run(replace(config, features=(feature,)), tmp_path / name)
    board = leaderboard(entries(tmp_path, "one", "two"), tmp_path)
    assert (board.rows[0].low, board.rows[0].high, board.test.low, board.test.high) == (None,) * 4
    assert "(95 % -, p 1.0000)" in leaderboard_markdown(board)[-1]
    write_standings(tmp_path, board)
    assert json.loads((tmp_path / "leaderboard.json").read_text())["test"]["low"] is None
    shown = lines(standings(board), 1_000)
    assert re.search(r" -  +[+-]\S+ -$", shown[1])


def test_runs_on_other_data_are_not_tested_and_the_reason_is_told(home):
    board = leaderboard(entries(home, "good", "other"), home)
    assert board.test is None
    assert board.untested.startswith("different test data: ")
    assert str(home) not in board.untested


def test_equal_runs_stay_in_their_order(home):
    twice = [Entry("b", home / "good", {}), Entry("a", home / "good", {})]
    assert [row.run for row in leaderboard(twice, home).rows] == ["b", "a"]


def test_another_metric_is_one_that_the_runs_have(home):
    board = leaderboard(entries(home, "weak", "good"), home, metric="top3_accuracy")
    assert (board.metric, board.test.metric) == ("top3_accuracy", "top3_accuracy")
    with pytest.raises(UsageError, match="no run has ndcg@7; add it to evaluate.metrics"):
        leaderboard(entries(home, "good"), home, metric="ndcg@7")


def test_a_metric_that_no_single_query_has_is_sorted_by_and_not_tested(home, tmp_path):
    data = DataConfig(train=str(home.parent / "a.jsonl"))
    for name, feature in (("one", "tool.rel"), ("two", "tool.hist")):
        asked = EvaluateConfig(metrics=("auc",))
        save_run(RunConfig(data=data, encoder="hash", features=(feature,), evaluate=asked), tmp_path / name)
    board = leaderboard(entries(tmp_path, "one", "two"), tmp_path, metric="auc")
    assert [row.place for row in board.rows] == [1, 2]
    assert (board.test, board.untested) == (None, "auc is no value of single queries")


def test_the_record_keeps_the_metrics_of_a_row_apart_from_its_other_keys(home):
    record = msgspec.to_builtins(leaderboard(entries(home, "good"), home))
    assert record["format"] == "ltr-leaderboard/3"
    keys = ["place", "run", "directory", "status", "error", "sweep", "split", "num_queries"]
    counts = ["candidates_median", "candidates_least", "candidates_most"]
    answers = ["known_top1", "unseen_top1", "num_unseen"]
    leads = ["best_baseline", "over_best_baseline", "best_feature", "over_best_feature"]
    assert list(record["rows"][0]) == [*keys, *counts, "metrics", *answers, "low", "high", "baselines", *leads]
    assert list(record["rows"][0]["metrics"]) == ["top1_accuracy", "top3_accuracy", "mrr"]
    assert record["rows"][0]["directory"] == "good"
    assert (record["test"], record["untested"]) == (None, "a test needs two complete runs")


def test_the_baselines_of_a_row_are_those_of_its_run_and_come_back_from_the_file(home, tmp_path):
    board = leaderboard(entries(home, "good"), home)
    stored = stored_metrics(home / "good")
    row = board.rows[0]
    assert row.baselines["oracle"]["mrr"] == stored["oracle.mrr"] == 1
    assert (row.best_feature.name, row.best_feature.sign) == (stored["best_feature"], stored["best_feature.sign"])
    assert row.over_best_feature.mean == stored["over_best_feature"]
    assert (row.best_baseline, row.over_best_baseline.mean) == (stored["best_baseline"], stored["over_best_baseline"])
    write_standings(tmp_path, board)
    assert read_leaderboard(tmp_path) == board


def test_three_files_are_written_and_hostile_text_stays_in_its_cell(home, tmp_path):
    failed = Entry("b", tmp_path / "b", {"encoder": "x|<b>"}, "no\tfile\n| <script>")
    board = leaderboard([*entries(home, "good"), failed], tmp_path)
    write_standings(tmp_path, board)
    assert json.loads(Path(tmp_path, "leaderboard.json").read_text())["rows"][1]["error"] == "no\tfile\n| <script>"
    lines = Path(tmp_path, "leaderboard.tsv").read_text().splitlines()
    assert {line.count("\t") for line in lines} == {lines[0].count("\t")}
    table = [line for line in leaderboard_markdown(board) if line.startswith("| ")]
    assert {line.replace("\\|", "").count("|") for line in table} == {table[0].count("|")}
    assert "<" not in Path(tmp_path, "leaderboard.md").read_text()
