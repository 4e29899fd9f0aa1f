"""What ltr evaluate, list and run say of the measures."""

import json
import re
from pathlib import Path

import pytest

from tests.made import tool_rows, written

pytestmark = pytest.mark.contract


@pytest.fixture
def run(cli, filled):
    """A run over tools, and test samples of which some tie."""

    def run_of_tools():
        written("train.jsonl", tool_rows(range(30)))
        rows = list(tool_rows(range(30, 40), seed=1))
        for row in rows[::5]:
            row["tool_description"] = ""
        written("test.jsonl", rows)
        cli.good("train", "train.jsonl", "-o", "run", "--test", "test.jsonl", "--encoder", "hash", "-q")

    filled(Path.cwd(), run_of_tools)
    return cli


def flat(cli, *flags):
    return json.loads(cli.good("evaluate", "run", "test.jsonl", *flags, "--format", "json"))


def test_a_preset_measures_what_belongs_together_and_is_named(run):
    found = flat(run, "--preset", "ctr")
    assert found["preset"] == "ctr"
    assert {"auc", "logloss", "logloss_floor", "gauc", "ece"} <= set(found)
    assert flat(run)["preset"] == "ltr"


def test_metrics_and_a_preset_add_up(run):
    found = flat(run, "--preset", "ranking", "--metrics", "map,ndcg@5")
    assert {"map", "ndcg@5", "ndcg@10", "hit@5", "precision@5"} <= set(found)


def test_a_models_scores_are_no_probabilities_of_others(run):
    code, told = run.refused("evaluate", "run", "test.jsonl", "--probability", "given")
    assert code == 2
    assert "name softmax or sigmoid" in told


def test_the_meaning_of_scores_as_probabilities_stands_in_the_result(run):
    softmax, sigmoid = flat(run, "--metrics", "logloss"), flat(run, "--metrics", "logloss", "--probability", "sigmoid")
    assert (softmax["probability"], sigmoid["probability"]) == ("softmax", "sigmoid")
    assert softmax["logloss"] != sigmoid["logloss"]


def test_an_unknown_preset_lists_the_known_ones(run):
    code, told = run.refused("evaluate", "run", "test.jsonl", "--preset", "rank")
    assert code == 2
    assert "ranking" in told


def test_a_limit_goes_with_a_preset(run):
    found = flat(run, "--preset", "ranking", "--fail-under", "P@3=0")
    assert {"ndcg@10", "precision@3"} <= set(found)


@pytest.mark.parametrize(
    "name, why", [("logloss", "less is better"), ("ece", "less is better"), ("roc", "single"), ("confusion", "single")]
)
def test_a_limit_needs_one_number_of_which_more_is_better(run, name, why):
    code, told = run.refused("evaluate", "run", "test.jsonl", "--fail-under", f"{name}=0.5")
    assert code == 2
    assert why in told


def test_other_names_give_ours(run):
    found = flat(run, "--metrics", "nDCG@5,RR@10,F1,top5_accuracy")
    assert {"ndcg@5", "mrr@10", "f1", "hit@5"} <= set(found)


def test_every_number_that_made_the_result_stands_in_it(run):
    found = flat(run, "--metrics", "err@5,accuracy", "--max-grade", "3", "--threshold", "0.25")
    assert (found["max_grade"], found["threshold"], found["gain"]) == (3, 0.25, "label")
    assert all(isinstance(value, str | int | float) for value in found.values())


def test_a_label_above_the_greatest_grade_is_refused(run):
    code, told = run.refused("evaluate", "run", "test.jsonl", "--metrics", "err@5", "--max-grade", "0.5")
    assert (code, told) == (3, "label 1 is above max_grade 0.5; set it to the greatest there can be")


def test_curves_are_kept_beside_the_numbers_and_metrics_stay_flat(run):
    run.good("evaluate", "run", "test.jsonl", "--metrics", "roc,reliability,auc", "-o", "out")
    assert run.err == ""
    curves = json.loads(Path("out/curves.json").read_bytes())
    assert list(curves) == ["roc", "reliability"]
    kept = json.loads(Path("out/metrics.json").read_bytes())
    assert "auc" in kept["metrics"]
    assert "roc" not in kept["metrics"]
    run.good("evaluate", "run", "test.jsonl", "-o", "out", "--overwrite")
    assert not Path("out/curves.json").exists()


def test_a_curve_that_nobody_keeps_is_told(run):
    run.good("evaluate", "run", "test.jsonl", "--metrics", "roc")
    assert run.err == "note: roc: curves are kept with -o, in curves.json\n"


def tied(cli):
    """The same candidate texts for all: every query is one tie."""
    rows = [row | {"query": "?", "tool": f"x{place % 5}"} for place, row in enumerate(tool_rows(range(30, 40)))]
    written("test.jsonl", [row | {"tool_description": "same"} for row in rows])


def test_where_ties_matter_worst_and_best_stand_beside_the_expectation(run):
    tied(run)
    found = flat(run, "--metrics", "ndcg@5,auc,gauc")
    assert found["num_tied"] == 20
    for name in ("top1_accuracy", "mrr", "ndcg@5"):
        assert found[f"worst.{name}"] < found[name] < found[f"best.{name}"]
    assert "worst.auc" not in found
    assert "worst.gauc" not in found  # ties count one half by every rule
    human = run.good("evaluate", "run", "test.jsonl", "--format", "human")
    assert re.search(r"^ties, worst-best: top-1 0\.000-1\.000, top-3 0\.000-1\.000, MRR 0\.200-1\.000$", human, re.M)


@pytest.mark.parametrize("rule", ["file", "worst", "best", "trec"])
def test_a_rule_that_fixes_the_order_leaves_no_range(run, rule):
    tied(run)
    assert not any(name.startswith("worst.") for name in flat(run, "--ties", rule))


def test_a_mean_over_fewer_queries_says_over_how_many(run):
    rows = list(tool_rows(range(30, 40), seed=1))
    written("test.jsonl", [row | {"label": 1} if row["trace_id"] == "t31" else row for row in rows])
    found = flat(run, "--metrics", "gauc")
    assert (found["num_queries"], found["gauc.num_queries"]) == (20, 18)


def test_a_person_is_told_how_to_read_it_and_a_program_is_not(run):
    human = run.good("evaluate", "run", "test.jsonl", "--preset", "ctr", "--format", "human")
    assert "(usable above 0.5, good above 0.7, excellent above 0.9)" in human
    assert "fewer than 100 queries" in human
    assert "even probabilities" in human
    assert "usable" not in run.good("evaluate", "run", "test.jsonl", "--preset", "ctr")


def test_a_run_keeps_its_preset_and_its_metrics_by_our_names(cli):
    written("train.jsonl", tool_rows(range(30)))
    Path("ltr.yaml").write_text("data: {train: train.jsonl}\nevaluate: {metrics: [nDCG@5, roc], threshold: 0.25}\n")
    cli.good("run", "-q")
    config = Path("runs/run/config.yaml").read_text()
    assert "metrics: [ndcg@5, roc]" in config
    assert json.loads(Path("runs/run/metrics.json").read_bytes())["rules"]["threshold"] == 0.25
    assert list(json.loads(Path("runs/run/curves.json").read_bytes())) == ["roc", "reliability_first", "prompt_tokens"]


def test_the_list_of_metrics_gives_range_rule_and_formula(cli):
    rows = {row["name"]: row for row in json.loads(cli.good("list", "metrics", "--format", "json"))}
    assert list(rows["ndcg@k"]) == ["name", "range", "version", "source", "rule", "formula"]
    assert rows["ndcg@k"]["formula"].startswith("DCG / ideal DCG")
    assert rows["logloss"]["range"] == "0 upwards, 0 is best"
    human = cli.good("list", "metrics", "--format", "human")
    assert all(row["formula"] in human and row["rule"] in human for row in rows.values())
