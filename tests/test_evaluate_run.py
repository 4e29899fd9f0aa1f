"""ltr evaluate on TREC files, and the intervals that every evaluation shows."""

import json
from pathlib import Path

import pytest

from ltr.cli.measure import is_below
from tests.made import tool_rows, written
from tests.stored import stored_metrics

RUN = "".join(f"{topic} Q0 d{place} {place} {9 - place} t\n" for topic in (1, 2, 3) for place in range(5))
QRELS = "1 0 d0 1\n2 0 d1 1\n3 0 d4 2\n4 0 d1 1\n5 0 d1 0\n"  # the run lacks 4 and 5
MEASURE = ("evaluate", "--run", "x.run", "--qrels", "x.qrels")


@pytest.fixture
def files(cli):
    """A run and its qrels in the current directory."""
    Path("x.run").write_text(RUN)
    Path("x.qrels").write_text(QRELS)
    return cli


def test_a_run_is_measured_with_the_same_keys_as_a_model(files):
    flat = json.loads(files.good("evaluate", "--run", "x.run", "--qrels", "x.qrels", "--format", "json"))
    assert list(flat)[:4] == ["top1_accuracy", "top3_accuracy", "mrr", "num_queries"]
    assert flat["mrr"] == pytest.approx((1 + 1 / 2 + 1 / 5) / 3)
    assert (flat["ties"], flat["no_relevant"], flat["complete"]) == ("trec", "zero", False)
    assert (flat["num_queries"], flat["num_missing"], flat["num_no_relevant"]) == (3, 2, 0)


def test_a_complete_evaluation_counts_topics_that_the_run_lacks_zero(files):
    flat = json.loads(files.good(*MEASURE, "--complete", "--format", "json"))
    assert flat["mrr"] == pytest.approx((1 + 1 / 2 + 1 / 5 + 0 + 0) / 5)
    assert (flat["complete"], flat["num_queries"], flat["num_missing"], flat["num_no_relevant"]) == (True, 5, 2, 1)
    assert "2 topics of the qrels not in the run: counted 0" in files.good(*MEASURE, "--complete", "--format", "human")


def test_evaluations_with_and_without_the_topics_that_a_run_lacks_are_not_compared(files):
    files.good(*MEASURE, "-o", "x")
    files.good(*MEASURE, "--complete", "-o", "y")
    code, message = files.refused("compare", "x", "y")
    assert code == 3
    assert message.endswith("queries that x lacks, such as trace_id '4', node_id ''; evaluate both with --complete")


def test_every_mean_has_its_interval_and_what_was_resampled(files):
    flat = json.loads(
        files.good("evaluate", "--run", "x.run", "--qrels", "x.qrels", "--metrics", "ndcg@3", "--format", "json")
    )
    for name in ("top1_accuracy", "top3_accuracy", "mrr", "ndcg@3"):
        assert flat[f"{name}.low"] <= flat[name] <= flat[f"{name}.high"]
    assert (flat["interval_unit"], flat["interval_num_units"], flat["interval_level"]) == ("query", 3, 0.95)


def test_traces_of_several_queries_are_resampled_whole(cli):
    written("s.jsonl", tool_rows(range(20)))
    cli.good("train", "s.jsonl", "-o", "run", "-q")
    flat = stored_metrics("run")
    assert (flat["interval_unit"], flat["interval_num_units"], flat["num_queries"]) == ("trace", 20, 40)
    assert "intervals resample whole traces" in cli.good("evaluate", "run", "s.jsonl", "--format", "human")


def test_the_human_table_shows_intervals_and_what_was_missing(files):
    shown = files.good("evaluate", "--run", "x.run", "--qrels", "x.qrels", "--format", "human")
    assert "95 % interval  [" in shown
    assert "2 topics of the qrels not in the run: left out (--complete counts them 0)" in shown


def test_the_metrics_asked_for_follow_the_fixed_keys_of_each_query_in_their_order(files):
    files.good("evaluate", "--run", "x.run", "--qrels", "x.qrels", "--metrics", "ndcg@3,map,hit@2", "-o", "out")
    first = json.loads(Path("out/per_query.jsonl").read_text().splitlines()[0])
    assert list(first["metrics"]) == ["ndcg@3", "map", "hit@2"]


def test_two_runs_over_the_same_qrels_can_be_compared(files):
    Path("y.run").write_text(RUN.replace("1 Q0 d0 0 9", "1 Q0 d0 0 0"))
    for name in ("x", "y"):
        files.good("evaluate", "--run", f"{name}.run", "--qrels", "x.qrels", "-o", name)
    rows = json.loads(files.good("compare", "x", "y", "--format", "json"))["runs"][0]["differences"]
    assert rows[2]["difference"] == pytest.approx((1 / 5 - 1) / 3)


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
        (
            ["--run", "x.run", "--qrels", "x.qrels", "--group-by", "topic"],
            "group_by topic: it goes with a model",
        ),
        (["--run", "x.run", "--qrels", "x.qrels", "--baselines"], "--baselines belongs to a model"),
        (["--run", "x.run", "--qrels", "x.qrels", "--explain"], "--explain belongs to a model"),
        (["--run", "x.run", "--qrels", "x.qrels", "--tools", "t.json"], "--tools belongs to a model"),
        (["run"], "name a model and samples, or --run and --qrels"),
        (["run", "s.jsonl", "--complete"], "--complete belongs to --run and --qrels"),
    ],
)
def test_a_model_or_a_run_is_measured_and_never_half_of_either(files, arguments, problem):
    code, message = files.refused("evaluate", *arguments)
    assert code == 2
    assert problem in message


def test_a_limit_that_a_run_misses_ends_with_four(files):
    assert files.run("evaluate", "--run", "x.run", "--qrels", "x.qrels", "--fail-under", "mrr=0.9") == 4


def flat(cli, *flags):
    return json.loads(cli.good("evaluate", "--run", "x.run", "--qrels", "x.qrels", *flags, "--format", "json"))


def test_a_run_takes_a_preset_and_a_limit_with_it(files):
    found = flat(files, "--complete", "--preset", "ctr", "--fail-under", "P@3=0")
    assert found["preset"] == "ctr"
    assert {"auc", "logloss", "gauc", "ece", "precision@3"} <= set(found)
    assert found["gauc"] == pytest.approx((1 + 3 / 4 + 0 + 0 + 0) / 5)  # the topics that the run lacks count 0


def test_recall_of_a_run_is_measured_far_down_for_what_it_misses_is_below_no_cutoff(files):
    found = flat(files, "--complete", "--preset", "recall")
    assert (found["recall@1000"], found["num_missing"]) == (3 / 5, 2)


def test_a_run_takes_a_threshold_and_the_greatest_grade(files):
    found = flat(files, "--metrics", "err@5,recall", "--max-grade", "4", "--threshold", "0.25")
    assert (found["threshold"], found["max_grade"]) == (0.25, 4)
    assert found["err@5"] == pytest.approx((1 / 16 + 1 / 16 / 2 + 3 / 16 / 5) / 3)
    assert found["recall"] == 1 / 3  # of what the run has; p = .64 .23 .09 .03 .01


def test_the_worst_and_the_best_of_ties_stand_beside_a_run(files):
    Path("x.run").write_text("1 Q0 d0 1 5 t\n1 Q0 d9 2 5 t\n")
    found = flat(files, "--ties", "expected")
    assert (found["worst.mrr"], found["mrr"], found["best.mrr"]) == (1 / 2, 3 / 4, 1)


def test_curves_of_a_run_are_kept(files):
    files.good("evaluate", "--run", "x.run", "--qrels", "x.qrels", "--metrics", "roc", "-o", "out")
    assert list(json.loads(Path("out/curves.json").read_bytes())) == ["roc"]


def test_a_metric_has_one_limit_by_whatever_name(files):
    limits = ("--fail-under", "RR=0.9", "--fail-under", "mrr=0.1")
    assert files.refused("evaluate", "--run", "x.run", "--qrels", "x.qrels", *limits)[0] == 2


def test_a_mean_is_not_below_its_limit_by_rounding_alone():
    assert not is_below(0.1 + 0.1 + 0.1 - 0.2, 0.1)
    assert not is_below(0.7 - 1e-16, 0.7)
    assert is_below(0.7 - 1e-9, 0.7)
    assert is_below(None, 0.0)


COMMENTED = "# judged by Ann, 2024\n" + QRELS.replace("3 0 d4 2\n", "#3 0 d4 2\n#\n3 0 d4 2\n")


def test_lines_of_qrels_and_runs_that_begin_with_a_hash_are_comments(files):
    Path("x.qrels").write_text(COMMENTED)
    Path("x.run").write_text("# made in a hurry\n" + RUN)
    flat = json.loads(files.good(*MEASURE, "--format", "json"))
    assert (flat["mrr"], flat["num_queries"]) == (pytest.approx((1 + 1 / 2 + 1 / 5) / 3), 3)
    assert files.err == (
        "warning: x.qrels: comments with the columns of data: 1; --hash-topics reads lines that begin with # as data\n"
    )


def test_hash_topics_reads_lines_that_begin_with_a_hash_as_data(files):
    Path("x.run").write_text("#1 Q0 d1 1 3 t\n#1 Q0 d2 2 2 t\n2 Q0 d1 1 1 t\n")
    Path("x.qrels").write_text("#1 0 d2 1\n2 0 d1 1\n")
    flat = json.loads(files.good(*MEASURE, "--hash-topics", "--format", "json"))
    assert (flat["mrr"], flat["num_queries"], files.err) == ((1 / 2 + 1) / 2, 2, "")
    assert json.loads(files.good(*MEASURE, "--format", "json"))["num_queries"] == 1
    Path("x.qrels").write_text("#1 0 d2 1\n")
    needed, remedy = "TOPIC ITERATION DOC GRADE", "lines that begin with # are comments without --hash-topics"
    assert files.refused(*MEASURE) == (3, f"x.qrels: no line; {needed} is needed ({remedy})")


def test_hash_topics_belongs_to_a_trec_run(files):
    assert files.refused("evaluate", "run", "s.jsonl", "--hash-topics")[0] == 2
    Path("lists.json").write_text('{"recommendations": {"u": ["a"]}, "truth": {"u": "a"}}')
    code, said = files.refused("evaluate", "--run", "lists.json", "--hash-topics")
    assert (code, said) == (2, "--hash-topics belongs to a TREC run: in lists and samples # is a character like any")


def test_commented_qrels_are_imported_and_what_a_comment_may_hide_is_counted(files):
    Path("x.qrels").write_text(COMMENTED)
    Path("x.run").write_text("# made in a hurry\n" + RUN)
    plain = files.good("import", "x.run", "x.qrels", "-o", "x.jsonl")
    assert "wrote 15 samples in 3 groups" in plain
    assert (
        "1  comments with the columns of data (--hash-topics reads lines that begin with # as data) (x.qrels)" in plain
    )
    Path("x.run").write_text(RUN.replace("3 Q0", "#3 Q0"))
    Path("x.qrels").write_text(COMMENTED.replace("# judged by Ann, 2024\n", "").replace("#\n3", "3"))
    read = files.good("import", "trec", "x.run", "x.qrels", "-o", "y.jsonl", "--hash-topics")
    assert "wrote 15 samples in 3 groups" in read
    assert json.loads(Path("y.jsonl").read_text().splitlines()[-1])["trace_id"] == "#3"
    assert files.refused("import", "csv", "x.csv", "-o", "z.jsonl", "--hash-topics")[0] == 2
