"""Metrics of the ranking of a whole catalogue, beside those of the lists that samples offer."""

import json
from dataclasses import replace

import numpy as np
import pytest

import ltr
from ltr import RunConfig
from ltr.errors import UsageError
from ltr.results import evaluate_router
from ltr.samples import Whole
from ltr.steps import catalogue as whole_catalogue
from tests.made import WORDS, tool_rows, written

CATALOGUE = {f"get_{word}": {"description": f"gives the {word} of a place"} for word in WORDS}
CATALOGUE |= {f"set_{word}": {"description": f"changes the {word}"} for word in WORDS}


@pytest.fixture
def run(tmp_path):
    written(tmp_path / "train.jsonl", tool_rows(range(30)))
    written(tmp_path / "test.jsonl", tool_rows(range(30, 50), seed=1))
    (tmp_path / "tools.json").write_text(json.dumps({"tools": CATALOGUE}), encoding="utf-8")
    return tmp_path


def trained(run, **data):
    return ltr.train(str(run / "train.jsonl"), tools=str(run / "tools.json"), encoder="hash", **data)


def by_hand(result, groups):
    """Reciprocal ranks of the right tool among all tools: every query alone, ranked by `Router.rank`."""
    router = ltr.Router.of(
        result.router, tools={name: ltr.read_tools(result.config.data.tools)[name] for name in CATALOGUE}
    )
    found = []
    candidates = groups.candidates
    for group, (first, last) in enumerate(zip(groups.offsets[:-1], groups.offsets[1:], strict=True)):
        row = first + int(np.argmax(groups.labels[first:last]))
        answer = router.rank(candidates.query_texts[candidates.queries[group]], k=None)
        score = {choice.candidate: choice.score for choice in answer}
        own = score.pop(candidates.name_texts[candidates.names[row]])
        above, level = sum(s > own for s in score.values()), sum(s == own for s in score.values())
        found.append(np.mean([1 / (above + place) for place in range(1, level + 2)]))
    return found


def test_every_query_is_ranked_against_every_tool_whatever_the_blocks(run, monkeypatch):
    result = trained(run, test=str(run / "test.jsonl"))
    values = result.measured.evaluation.values["mrr@catalogue"]
    np.testing.assert_allclose(values, by_hand(result, result.measured.groups), atol=1e-12)
    monkeypatch.setattr(whole_catalogue, "ROWS", 50)
    again = trained(run, test=str(run / "test.jsonl")).measured.evaluation.values["mrr@catalogue"]
    assert again.tolist() == values.tolist()


def test_a_query_whose_right_tool_the_catalogue_lacks_counts_0_and_is_counted(run):
    tools = {name: text for name, text in CATALOGUE.items() if name != "get_map"}
    (run / "tools.json").write_text(json.dumps({"tools": tools}), encoding="utf-8")
    measured = trained(run, test=str(run / "test.jsonl")).measured
    right = [row["tool"] == "get_map" for row in tool_rows(range(30, 50), seed=1) if row["label"]]
    assert measured.catalogue.lacking == sum(right) > 0
    assert measured.catalogue.tools == 19
    assert not measured.evaluation.values["mrr@catalogue"][np.array(right)].any()


def test_lists_of_less_than_half_of_the_catalogue_are_never_measured_alone(run):
    def config(**evaluate):
        return ltr.load_config(
            None, [f"data.tools={run / 'tools.json'}", *(f"evaluate.{k}={v}" for k, v in evaluate.items())]
        )

    result = trained(run)
    groups = ltr.read_groups(run / "test.jsonl")
    assert "mrr@catalogue" in evaluate_router(result.router, groups, config()).evaluation.means  # 5 of 20 tools
    assert evaluate_router(result.router, groups, config(catalogue="false")).catalogue is None
    few = {name: text for name, text in CATALOGUE.items() if name.startswith("get")}
    (run / "tools.json").write_text(json.dumps({"tools": few}), encoding="utf-8")
    assert evaluate_router(result.router, groups, config()).catalogue is None  # 5 of 10 are half
    assert evaluate_router(result.router, groups, config(catalogue="true")).catalogue.tools == 10


def test_drawn_lists_are_measured_on_the_catalogue_too_unless_they_are_all_of_it(run):
    lines = [row for row in tool_rows(range(30)) if row["label"]]
    written(run / "train.jsonl", lines)
    written(run / "test.jsonl", [row for row in tool_rows(range(30, 50), seed=1) if row["label"]])
    assert trained(run, negatives=15, test=str(run / "test.jsonl")).measured.catalogue.tools == 20
    whole = trained(run, negatives="catalogue", test=str(run / "test.jsonl")).measured
    assert whole.catalogue is None
    assert set(whole.evaluation.num_candidates) == {20}


def test_training_queries_are_never_ranked_on_the_catalogue_that_has_seen_their_answers(run):
    written(run / "train.jsonl", [row for row in tool_rows(range(30)) if row["label"]])
    result = trained(run, negatives=15)
    assert result.measured.catalogue is None
    assert whole_catalogue.NOT_SERVED in result.warnings


def test_metrics_of_one_value_a_query_have_intervals_and_records_and_pooled_ones_stay_alone(run, cli):
    given = (str(run / "train.jsonl"), "--tools", str(run / "tools.json"), "--encoder", "hash", "-o", str(run / "out"))
    cli.good("train", *given, "--test", str(run / "test.jsonl"), "--metrics", "ndcg@3,auc", "--catalogue")
    record = json.loads((run / "out" / "metrics.json").read_text(encoding="utf-8"))
    ours = {f"{name}@catalogue" for name in ("top1_accuracy", "top3_accuracy", "mrr", "ndcg@3")}
    assert {name for name in record["metrics"] if name.endswith("@catalogue")} == ours
    assert ours <= set(record["intervals"])
    assert record["counts"]["catalogue_tools"] == 20
    line = json.loads((run / "out" / "per_query.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert ours - {"top1_accuracy@catalogue"} <= set(line["metrics"])
    measured = ("evaluate", str(run / "out"), str(run / "test.jsonl"), "--format", "json")
    flat = json.loads(cli.good(*measured, "--tools", str(run / "tools.json")))
    assert flat["mrr@catalogue"] == record["metrics"]["mrr@catalogue"]
    assert json.loads(cli.good(*measured, "--catalogue"))["catalogue_tools"] == 20  # the run keeps the whole catalogue


def test_a_metric_of_the_catalogue_can_be_a_limit_and_needs_the_flag_elsewhere(run, cli):
    given = (str(run / "train.jsonl"), "--tools", str(run / "tools.json"), "--encoder", "hash", "-o", str(run / "out"))
    cli.good("train", *given)
    measured = ("evaluate", str(run / "out"), str(run / "test.jsonl"), "--tools", str(run / "tools.json"))
    assert cli.run(*measured, "--fail-under", "mrr@catalogue=1", "--no-catalogue") == 4
    assert "set evaluate.catalogue" in cli.refused(*measured, "--metrics", "mrr@catalogue")[1]
    assert "no value for each query" in cli.refused(*measured, "--fail-under", "auc@catalogue=1")[1]


def test_without_a_catalogue_and_for_ready_numbers_the_flag_is_refused(run):
    result = trained(run)
    groups, config = ltr.read_groups(run / "test.jsonl"), ltr.load_config(None, ["evaluate.catalogue=true"])
    with pytest.raises(UsageError, match="name one with --tools"):
        evaluate_router(replace(result.router, tools=None), groups, config)
    row = {"trace_id": "t", "node_id": "n", "query": "?", "tool": "a", "label": 1, "features": [1.0]}
    ready = ltr.read_groups(written(run / "ready.jsonl", [row, row | {"tool": "b", "label": 0}]))
    with pytest.raises(UsageError, match="ready features"):
        whole_catalogue.catalogue_to_rank(config, result.router.tools, Whole(ready))
    assert whole_catalogue.catalogue_to_rank(RunConfig(), result.router.tools, Whole(ready)) is None


def test_known_and_unseen_right_tools_are_measured_apart(run, cli):
    rows = [row for row in tool_rows(range(30)) if not (row["tool"] == "get_map" and row["label"])]
    written(run / "train.jsonl", rows)
    cli.good("train", str(run / "train.jsonl"), "--encoder", "hash", "-o", str(run / "out"))
    flat = json.loads(cli.good("evaluate", str(run / "out"), str(run / "test.jsonl"), "--format", "json"))
    unseen = [row["tool"] == "get_map" for row in tool_rows(range(30, 50), seed=1) if row["label"]]
    assert flat["unseen.num_queries"] == sum(unseen)
    assert flat["known.num_queries"] == len(unseen) - sum(unseen)
    both = flat["known.mrr"] * flat["known.num_queries"] + flat["unseen.mrr"] * flat["unseen.num_queries"]
    assert both / len(unseen) == pytest.approx(flat["mrr"])
    (run / "ltr.yaml").write_text("data: {train: train.jsonl, test: test.jsonl}\nencoder: hash\n", encoding="utf-8")
    board = cli.good("run", str(run / "ltr.yaml"), "-o", str(run / "runs"), "--format", "human", "-q")
    row = json.loads((run / "runs" / "leaderboard.json").read_text(encoding="utf-8"))["rows"][0]
    own = json.loads((run / "runs" / row["directory"] / "metrics.json").read_text(encoding="utf-8"))["answers"]["parts"]
    assert [row["known_top1"], row["unseen_top1"]] == [part["metrics"]["top1_accuracy"] for part in own]
    assert f"unseen: {row['unseen_top1']:.3f} ({sum(unseen)} quer" in board


def test_every_result_says_how_many_candidates_a_query_has(run, cli):
    cli.good("train", str(run / "train.jsonl"), "--encoder", "hash", "-o", str(run / "out"))
    shown = cli.good("evaluate", str(run / "out"), str(run / "test.jsonl"), "--format", "human")
    assert shown.startswith("40 queries, 200 candidates, 5 each, right tools all known (given data)\n")
    page = (run / "out" / "report.html").read_text(encoding="utf-8")
    assert "60 queries, 300 candidates, 5 each, right tools all known." in page
    (run / "ltr.yaml").write_text("data: {train: train.jsonl, test: test.jsonl}\nencoder: hash\n", encoding="utf-8")
    board = cli.good("run", str(run / "ltr.yaml"), "-o", str(run / "runs"), "--format", "human", "-q")
    assert "candidates of a query: 5 each" in board


def test_a_bench_ranks_the_whole_catalogue_or_says_that_its_lists_are_short(run, cli):
    config = f"data: {{samples: {run / 'test.jsonl'}, tools: {run / 'tools.json'}}}\nrerankers: [oracle, bm25]\n"
    (run / "bench.yaml").write_text(config, encoding="utf-8")
    bench = ("bench", str(run / "bench.yaml"), "--format", "json", "-q")
    short = json.loads(cli.good(*bench, "-o", str(run / "short")))
    assert "5 documents a query are few beside the 20 tools of the catalogue: --catalogue ranks all" in cli.err
    assert (short["documents"], short["catalogue"]) == (40 * 5, False)
    whole = json.loads(cli.good(*bench, "-o", str(run / "whole"), "--catalogue"))
    assert "few beside" not in cli.err
    assert (whole["documents"], whole["catalogue"]) == (40 * 20, True)
    assert whole["rerankers"][0]["quality"]["hit@1"]["mean"] == 1
    code, error = cli.refused("bench", str(run / "bench.yaml"), "--set", "data.tools=null", "--catalogue", "-o", "x")
    assert (code, "name one as data.tools" in error) == (2, True)
