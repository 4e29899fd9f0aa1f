"""ltr evaluate on TREC files, and the intervals that every evaluation shows."""

import json
from pathlib import Path

import pytest

from tests.made import tool_rows, written

RUN = "".join(f"{topic} Q0 d{place} {place} {9 - place} t\n" for topic in (1, 2, 3) for place in range(5))
QRELS = "1 0 d0 1\n2 0 d1 1\n3 0 d4 2\n4 0 d1 1\n5 0 d1 0\n"


@pytest.fixture
def files(cli):
    """A run and its qrels in the current directory."""
    Path("x.run").write_text(RUN)
    Path("x.qrels").write_text(QRELS)
    return cli


def test_a_run_is_measured_with_the_same_keys_as_a_model(files):
    flat = json.loads(files.good("evaluate", "--run", "x.run", "--qrels", "x.qrels", "--format", "json"))
    assert list(flat)[:4] == ["top1_accuracy", "top3_accuracy", "mrr", "num_queries"]
    assert flat["mrr"] == pytest.approx((1 + 1 / 2 + 1 / 5 + 0) / 4)
    assert (flat["ties"], flat["num_queries"], flat["num_missing"], flat["num_no_relevant"]) == ("trec", 4, 2, 1)


def test_every_mean_has_its_interval_and_what_was_resampled(files):
    flat = json.loads(
        files.good("evaluate", "--run", "x.run", "--qrels", "x.qrels", "--metrics", "ndcg@3", "--format", "json")
    )
    for name in ("top1_accuracy", "top3_accuracy", "mrr", "ndcg@3"):
        assert flat[f"{name}.low"] <= flat[name] <= flat[f"{name}.high"]
    assert (flat["interval_unit"], flat["interval_num_units"], flat["interval_level"]) == ("query", 4, 0.95)


def test_traces_of_several_queries_are_resampled_whole(cli):
    written("s.jsonl", tool_rows(range(20)))
    cli.good("train", "s.jsonl", "-o", "run", "-q")
    flat = json.loads(Path("run/metrics.json").read_text())
    assert (flat["interval_unit"], flat["interval_num_units"], flat["num_queries"]) == ("trace", 20, 40)
    assert "intervals resample whole traces" in cli.good("evaluate", "run", "s.jsonl", "--format", "human")


def test_the_human_table_shows_intervals_and_what_was_missing(files):
    shown = files.good("evaluate", "--run", "x.run", "--qrels", "x.qrels", "--format", "human")
    assert "95 % interval  [" in shown
    assert "2 topics of the qrels not in the run: counted 0" in shown


def test_the_metrics_asked_for_follow_the_fixed_keys_of_each_query_in_their_order(files):
    files.good("evaluate", "--run", "x.run", "--qrels", "x.qrels", "--metrics", "ndcg@3,map,hit@2", "-o", "out")
    first = json.loads(Path("out/per_query.jsonl").read_text().splitlines()[0])
    assert list(first)[-4:] == ["probability", "ndcg@3", "map", "hit@2"]


def test_two_runs_over_the_same_qrels_can_be_compared(files):
    Path("y.run").write_text(RUN.replace("1 Q0 d0 0 9", "1 Q0 d0 0 0"))
    for name in ("x", "y"):
        files.good("evaluate", "--run", f"{name}.run", "--qrels", "x.qrels", "-o", name)
    rows = json.loads(files.good("compare", "x", "y", "--format", "json"))["runs"][0]["differences"]
    assert rows[2]["difference"] == pytest.approx((1 / 5 - 1) / 4)


def test_another_tie_rule_can_be_asked_for(files):
    flat = json.loads(
        files.good("evaluate", "--run", "x.run", "--qrels", "x.qrels", "--ties", "worst", "--format", "json")
    )
    assert flat["ties"] == "worst"


@pytest.mark.parametrize(
    "arguments, problem",
    [
        (["--run", "x.run"], "--run and --qrels belong together"),
        (["--qrels", "x.qrels"], "--run and --qrels belong together"),
        (["run", "s.jsonl", "--run", "x.run", "--qrels", "x.qrels"], "leave out the model and the samples"),
        ([], "name a model and samples, or --run and --qrels"),
        (["--run", "x.run", "--qrels", "x.qrels", "--group-by", "topic"], "a TREC run has no fields but its topics"),
        (["run"], "name a model and samples, or --run and --qrels"),
    ],
)
def test_a_model_or_a_run_is_measured_and_never_half_of_either(files, arguments, problem):
    code, message = files.refused("evaluate", *arguments)
    assert code == 2
    assert problem in message


def test_a_limit_that_a_run_misses_ends_with_four(files):
    assert files.run("evaluate", "--run", "x.run", "--qrels", "x.qrels", "--fail-under", "mrr=0.9") == 4
