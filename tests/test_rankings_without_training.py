"""What `top-1 over ...` compares with: the best ranking that needs no training, as the training groups choose it."""

import json
import re
from pathlib import Path

import pytest

from tests.made import WORDS, graph_rows, tool_rows, written

pytestmark = pytest.mark.contract

RANKINGS = ("offered", "most_used", "bm25", "similarity")


def flat(cli, *arguments):
    """What a command prints with --format json."""
    return json.loads(cli.good(*arguments, "--format", "json"))


def lists(*queries, features=None):
    """A trace a query: (tools in the order of the file, the right one), all with the same words."""
    for trace, (tools, right) in enumerate(queries):
        for tool in tools:
            row = {"trace_id": f"t{trace}", "node_id": "n", "query": "please do", "tool": tool}
            yield row | {"label": int(tool == right)} | ({"features": features(tool)} if features else {})


def test_a_column_that_ltr_trained_does_not_hide_what_the_router_is_worth(cli):
    train, test = written("train.jsonl", tool_rows(range(60))), written("test.jsonl", tool_rows(range(60, 90), seed=1))
    features = ("--features", "tool.ridge", "--trainer", "newton", "--encoder", "hash")
    found = flat(cli, "train", train, "--test", test, *features, "-o", "run")
    assert found["best_feature"] == "tool.ridge"
    assert found["over_best_feature"] == 0  # one column beside itself
    assert found["best_baseline"] in RANKINGS
    lead = found["top1_accuracy"] - found[f"{found['best_baseline']}.top1_accuracy"]
    assert found["over_best_baseline"] == pytest.approx(lead)


def test_each_ranking_is_that_of_a_router_of_it_alone(cli):
    train, test = written("train.jsonl", tool_rows(range(40))), written("test.jsonl", tool_rows(range(40, 60), seed=1))
    common = ("--test", test, "--encoder", "hash", "--trainer", "newton")
    found = flat(cli, "train", train, *common, "--features", "tool.coop", "-o", "run")
    for name, feature in (("similarity", "tool.rel"), ("most_used", "tool.hist_share")):
        alone = flat(cli, "train", train, *common, "--features", feature, "-o", feature)
        assert found[f"{name}.mrr"] == pytest.approx(alone["mrr"]), name


def test_bm25_is_that_of_a_bench(cli):
    train, test = written("train.jsonl", tool_rows(range(40))), written("test.jsonl", tool_rows(range(40, 60), seed=1))
    found = flat(cli, "train", train, "--test", test, "--encoder", "hash", "-o", "run")
    Path("bench.yaml").write_text("data: {samples: test.jsonl}\nrerankers: [bm25]\nmetrics: [hit@1, mrr]\n")
    cli.good("bench", "bench.yaml", "-o", "bench", "-q")
    quality = json.loads(Path("bench/bench.json").read_bytes())["rerankers"][0]["quality"]
    theirs = quality["hit@1"]["mean"], quality["mrr"]["mean"]
    assert (found["bm25.top1_accuracy"], found["bm25.mrr"]) == pytest.approx(theirs)


def test_the_offered_order_is_that_of_the_file(cli):
    samples = written("s.jsonl", lists(("ab", "a"), ("bac", "a"), ("ca", "a"), ("cb", "c")))
    found = flat(cli, "train", samples, "--encoder", "hash", "-o", "run")
    assert found["offered.top1_accuracy"] == 2 / 4
    assert found["offered.mrr"] == (1 + 1 / 2 + 1 / 2 + 1) / 4


def test_a_use_in_training_counts_in_other_traces_alone(cli):
    # a was right in three queries, b in two: elsewhere 2 and 2 where a is right, 3 and 1 where b is
    samples = written("s.jsonl", lists(("ba", "a"), ("ab", "a"), ("ba", "a"), ("ba", "b"), ("ab", "b")))
    found = flat(cli, "train", samples, "--encoder", "hash", "-o", "run")
    assert found["most_used.top1_accuracy"] == pytest.approx((3 * 1 / 2 + 2 * 0) / 5)


def test_training_groups_choose_what_is_compared_and_an_evaluation_compares_with_the_same(cli):
    train = written("train.jsonl", lists(*[("bca", "b"), ("cab", "c"), ("abc", "a")] * 5, ("abc", "b")))
    test = written("test.jsonl", lists(*[("bca", "a"), ("cab", "b"), ("bac", "b")] * 5))
    trained = flat(cli, "train", train, "--test", test, "--encoder", "hash", "-o", "run")
    assert trained["best_baseline"] == "offered"
    assert trained["offered.top1_accuracy"] < trained["most_used.top1_accuracy"]
    evaluated = flat(cli, "evaluate", "run", test, "--baselines")
    same = [name for name in trained if name.partition(".")[0] in (*RANKINGS, "best_baseline", "over_best_baseline")]
    assert {name: evaluated[name] for name in same} == {name: trained[name] for name in same}
    said = cli.good("evaluate", "run", test, "--baselines", "--format", "human")
    assert re.search(r"(?m)^top-1 over offered order: [+-]0\.\d{3} ", said)


def test_files_that_list_the_right_tool_first_are_not_compared_with_their_order(cli):
    samples = written("s.jsonl", lists(*[("abc", "a"), ("bca", "b"), ("d", "d")] * 8))
    said = cli.good("train", samples, "--encoder", "hash", "-o", "run", "--format", "human")
    assert re.search(r"(?m)^offered order +1\.000 ", said)
    assert "not compared with offered order (the training samples list a right candidate first in every" in said
    found = flat(cli, "evaluate", "run", samples, "--baselines")
    assert found["best_baseline"] != "offered"
    assert found["left_out.offered"].startswith("the training samples list")


def test_drawn_candidates_have_no_offered_order(cli):
    samples, tools = written("s.jsonl", tool_rows(range(20))), {f"get_{word}": {"description": word} for word in WORDS}
    Path("tools.json").write_text(json.dumps({"tools": tools}))
    drawn = ("--tools", "tools.json", "--negatives", "2")
    found = flat(cli, "train", samples, *drawn, "--encoder", "hash", "-o", "run")
    assert "offered.top1_accuracy" not in found
    assert found["left_out.offered"] == "candidates were drawn, and stand as in the catalogue"
    assert found["best_baseline"] in RANKINGS[1:]


def test_ready_numbers_are_compared_with_what_needs_no_text(cli):
    numbers = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [0.0, 0.0]}
    queries = [("bca", "a"), ("cab", "a"), ("abc", "c"), ("bac", "b")] * 5
    samples = written("s.jsonl", lists(*queries, features=numbers.get))
    found = flat(cli, "train", samples, "-o", "run")
    assert found["best_baseline"] == "most_used"
    assert {found["left_out.bm25"], found["left_out.similarity"]} == {"the samples bear ready numbers"}
    said = cli.good("evaluate", "run", samples, "--baselines", "--format", "human")
    assert "not compared with BM25 and similarity (the samples bear ready numbers)" in said


def test_ready_numbers_of_tools_that_are_never_right_again_are_compared_with_the_best_single_column(cli):
    names = [f"{query}{place}" for query in range(20) for place in "abc"]
    numbers = {name: [float(name.endswith("b")), float(place % 7)] for place, name in enumerate(names)}
    queries = [(names[first : first + 3], names[first + 1]) for first in range(0, 60, 3)]
    samples = written("s.jsonl", lists(*queries, features=numbers.get))
    said = cli.good("train", samples, "-o", "run", "--format", "human")
    assert re.search(r"(?m)^best single column x1 +1\.000 ", said)
    assert re.search(r"(?m)^top-1 over best single column x1: [+-]0\.000 ", said)
    assert "most used (no tool, or type of graphs, was right twice)" in said


def test_the_type_of_a_graph_is_what_is_used(cli):
    samples = written("s.jsonl", graph_rows(range(30)))
    found = flat(cli, "train", samples, "--encoder", "hash", "-o", "run")
    assert found["best_baseline"] in RANKINGS
    assert found["most_used.top1_accuracy"] > found["random.top1_accuracy"]
    bare = [{key: value for key, value in row.items() if key != "candidate_type"} for row in graph_rows(range(30))]
    found = flat(cli, "train", written("bare.jsonl", bare), "--encoder", "hash", "-o", "bare")
    assert found["left_out.most_used"] == "the candidates have no candidate_type"


def test_the_best_single_column_is_one_of_all_that_were_made(cli):
    train, test = written("s.jsonl", tool_rows(range(25))), written("t.jsonl", tool_rows(range(100, 130), seed=1))
    run = ("train", train, "--test", test, "--recommended", "--encoder", "hash", "-o", "run", "--overwrite")
    found, model = flat(cli, *run), json.loads(Path("run/model.json").read_bytes())
    assert found["best_feature"] not in [feature["name"] for feature in model["features"]]  # folds left it out
    alone = flat(
        cli, "train", train, "--test", test, "--features", found["best_feature"], "--encoder", "hash", "-o", "x"
    )
    assert found["best_feature.top1_accuracy"] == pytest.approx(alone["top1_accuracy"])
    said = cli.good(*run, "--format", "human")
    assert "over best single column" not in said
    assert f"top-1 over best single column {found['best_feature']}: " in cli.good(*run, "--format", "human", "-v")
    page = Path("run/report.html").read_text()
    assert f"top-1 over best single column {found['best_feature']}" in page
    later = flat(cli, "evaluate", "run", test, "--baselines")
    assert later["left_out.best_feature"] == f"{found['best_feature']} is no column of this model"
    assert later["over_best_baseline"] == found["over_best_baseline"]


def test_a_directory_of_columns_is_compared_as_the_same_columns_in_memory(cli):
    samples = written("s.jsonl", tool_rows(range(60)))
    columns = ("--features", "tool.rel,tool.hist,tool.coop", "--encoder", "hash")
    cli.good("featurize", samples, *columns, "-o", "x.npz", "-q")
    cli.good("featurize", samples, *columns, "-o", "x/", "--shard-rows", "100", "-q")
    assert len(list(Path("x").glob("part-*"))) > 2
    found = {}
    for name in ("x.npz", "x"):
        trained = flat(cli, "train", name, "--trainer", "newton", "-o", f"run-{name}")
        found[name] = {key: trained[key] for key in trained if key.partition(".")[0] in (*RANKINGS, "left_out")}
        found[name] |= {key: trained[key] for key in ("best_baseline", "over_best_baseline", "over_best_baseline.low")}
    assert found["x"] == pytest.approx(found["x.npz"])
    assert {"similarity.mrr", "most_used.mrr", "offered.mrr"} <= found["x"].keys()
    assert found["x"]["left_out.bm25"] == "the samples bear ready numbers"


def test_a_table_of_a_log_has_what_needs_no_training(cli):
    cli.good("init", "--from", written("s.jsonl", tool_rows(range(30))), "router", "--encoder", "hash")
    metrics = json.loads(Path("router/runs/recommended/metrics.json").read_bytes())
    assert metrics["best_baseline"] in RANKINGS
    assert set(metrics["baselines"]) >= {"random", *RANKINGS}


def test_a_model_of_an_earlier_version_is_refused_with_what_to_do(cli):
    cli.good("train", written("s.jsonl", tool_rows(range(20))), "--encoder", "hash", "-o", "run", "-q")
    model = Path("run/model.json")
    model.write_text(model.read_text().replace("ltr-model/3", "ltr-model/2"))
    code, message = cli.refused("evaluate", "run", "s.jsonl")
    assert (code, "made by an earlier version; train" in message) == (3, True)
