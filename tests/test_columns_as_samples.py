"""A directory of columns and the same samples in memory: one training, one evaluation, one record of both."""

import json

import pytest

from tests.made import WORDS, close, document, told, tool_rows, written

pytestmark = pytest.mark.contract
FEATURES = ("--features", "tool.rel,tool.hist,tool.proto", "--encoder", "hash")
NEWTON = ("--trainer", "newton")
SETTINGS = {
    "folds that choose l2": ("--folds", "3", "--set", "train.l2=[0.001,10.0]"),
    "one standard error by mrr": (
        *("--folds", "3", "--set", "train.l2=[0.01,0.5]", "--set", "train.metric=mrr"),
        *("--set", "train.l2_rule=one_se", "--set", "train.standardize=true"),
    ),
    "curves and products": ("--set", "train.knots=3", "--set", "train.products=true", "--l2", "0.01"),
    "apart": ("--set", "train.targets=apart", "--set", "train.standardize=true"),
    "metrics over candidates": ("--metrics", "logloss,ece,f1,map", "--ties", "worst"),
}
OF_THE_ROAD = {"error_bounds", "warnings", "left_out", "baselines"}  # what bins and ready numbers make of a directory
OF_TEXTS = ("best_baseline", "over_best_baseline")  # BM25 and similarity are not there to compare with


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Samples to learn from and to measure on, a catalogue, and the columns of the first."""
    folder = tmp_path_factory.mktemp("same")
    rows = [row | {"weight": 1.0 + len(row["trace_id"])} for row in tool_rows(range(23))]
    written(folder / "train.jsonl", rows)
    written(folder / "interleaved.jsonl", sorted(rows, key=lambda row: row["node_id"]))
    written(folder / "test.jsonl", tool_rows(range(40, 50), seed=1))
    names = [f"get_{word}" for word in (*WORDS, *"abcdefgh")]
    written(folder / "tools.jsonl", [{"name": name, "description": f"what {name} does"} for name in names])
    told("featurize", folder / "train.jsonl", *FEATURES, "--shard-rows", "60", "-o", f"{folder}/columns/")
    return folder


def same(runs, *, but=OF_TEXTS):
    """Whether two runs learned the same, and say the same of each query."""
    models = [document(home, "model.json") for home in runs]
    assert models[0]["weights"] == pytest.approx(models[1]["weights"], rel=1e-9, abs=1e-9)
    queries = [
        {(line["trace_id"], line["node_id"]): line for line in document(home, "per_query.jsonl")} for home in runs
    ]
    assert {key: line["rank"] for key, line in queries[0].items()} == {
        key: line["rank"] for key, line in queries[1].items()
    }
    metrics = [document(home, "metrics.json") for home in runs]
    left_out = OF_THE_ROAD.union(but)
    close(*({key: value for key, value in found.items() if key not in left_out} for found in metrics))
    shared = metrics[0]["baselines"].keys() & metrics[1]["baselines"].keys()
    close(*({name: found["baselines"][name] for name in shared} for found in metrics))
    close(*(model["training"]["folds"] for model in models))
    return metrics[0]


def train(samples, out, *flags):
    told("train", samples, *NEWTON, *flags, "-o", out, "-q")
    return out


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_a_training_on_columns_is_that_on_the_samples(folder, tmp_path, settings):
    over = train(folder / "columns", tmp_path / "over", *settings)
    within = train(folder / "train.jsonl", tmp_path / "within", *FEATURES, *settings)
    same([over, within])


@pytest.mark.parametrize("samples", ["columns", "train.jsonl"])
def test_folds_say_what_each_left_out_and_what_all_together(folder, tmp_path, samples):
    over, columns = tmp_path / "over", FEATURES if samples == "train.jsonl" else ()
    flags = ("--folds", "3", "--set", "train.l2=[0.001,10.0]", "--format", "json")
    shown = json.loads(told("train", folder / samples, *NEWTON, *columns, *flags, "-o", over, "-q"))
    folds = document(over, "metrics.json")["folds"]
    assert shown["folds.mrr"] == folds["pooled"]["mrr"]
    assert [shown[f"folds.{number}.mrr"] for number in (1, 2, 3)] == [fold["mrr"] for fold in folds["each"]]
    assert len(folds["each"]) == 3
    assert folds["pooled"]["mrr"] not in [fold["mrr"] for fold in folds["each"]]
    chosen = document(over, "model.json")["training"]["folds"]
    values = {penalty["l2"]: penalty["value"] for penalty in chosen["path"]}
    assert chosen["l2"] == min(values, key=values.get)  # the loss


def test_traces_that_are_interleaved_are_learned_from_as_whole_ones(folder, tmp_path):
    told("featurize", folder / "interleaved.jsonl", *FEATURES, "--shard-rows", "60", "-o", f"{tmp_path}/columns/")
    runs = [
        train(tmp_path / "columns", tmp_path / "interleaved"),
        train(folder / "columns", tmp_path / "together"),
    ]
    metrics = same(runs, but=("intervals", "over_best_baseline", "over_best_feature"))  # traces come in another order
    assert metrics["counts"]["num_queries"] == 46
    traces = [line["trace_id"] for line in document(runs[0], "per_query.jsonl")]
    assert list(dict.fromkeys(traces)) == [f"t{trace}" for trace in range(23)]  # as their first lines came


def test_tools_that_were_drawn_weigh_as_in_memory(folder, tmp_path):
    right = [row for row in document(folder, "train.jsonl") if row["label"]]
    written(tmp_path / "right.jsonl", right)
    flags = ("--tools", folder / "tools.jsonl", "--negatives", "6")
    told("featurize", tmp_path / "right.jsonl", *FEATURES, *flags, "--shard-rows", "60", "-o", f"{tmp_path}/columns/")
    over = train(tmp_path / "columns", tmp_path / "over")
    within = train(tmp_path / "right.jsonl", tmp_path / "within", *FEATURES, *flags)
    metrics = same([over, within])
    assert metrics["counts"]["num_drawn"] == len(right) * 5  # the right tool takes the place of a random one


def test_a_run_of_columns_is_measured_on_columns_as_on_samples(folder, tmp_path):
    test = f"{tmp_path}/test"
    told("featurize", folder / "test.jsonl", "-m", folder / "columns", "--shard-rows", "30", "-o", f"{test}/")
    over = train(folder / "columns", tmp_path / "over", "--test", test)
    within = train(folder / "train.jsonl", tmp_path / "within", *FEATURES, "--test", folder / "test.jsonl")
    metrics = same([over, within])
    assert metrics["rules"]["split"] == "test"
    asked = ("--metrics", "map,logloss", "--by-tool", "--format", "json")
    of_parts, of_samples = (json.loads(told("evaluate", over, data, *asked)) for data in (test, folder / "test.jsonl"))
    shared = {name for name in of_parts if not name.startswith(("bm25.", "similarity.", "best_", "left_out", "over_"))}
    close({name: of_parts[name] for name in shared}, {name: of_samples.get(name) for name in shared})
    assert {"mrr", "map", "mrr.low", "known.mrr", "by_tool=get_map.right", "fingerprint"} <= shared


def test_tool_by_tool_and_the_examples_are_those_of_all_parts(folder, tmp_path):
    runs = [
        train(folder / "columns", tmp_path / "over"),
        train(folder / "train.jsonl", tmp_path / "within", *FEATURES),
    ]
    for name in ("by_tool.jsonl", "examples.jsonl", "curves.json", "history.jsonl"):
        parts, whole = (document(home, name) for home in runs)
        if name == "curves.json":  # what a prompt holds is of texts
            parts, whole = ({key: value for key, value in of.items() if "prompt" not in key} for of in (parts, whole))
        if name == "examples.jsonl":  # which queries are rescued is beside the best baseline
            parts, whole = ([wrong(line) for line in of if line["kind"] == "wrong"] for of in (parts, whole))
            assert len(parts) > 3
        close(parts, whole, name)
    tools = [{line["name"]: line for line in document(home, "tools.jsonl")} for home in runs]
    assert tools[0] == tools[1]


def wrong(example):
    """A query that went wrong, without what the best baseline would have chosen."""
    kept = [{key: value for key, value in of.items() if "baseline" not in key} for of in example["candidates"]]
    return example | {"candidates": kept}


def test_what_a_directory_leaves_out_is_said(folder, tmp_path, cli):
    cli.good("train", folder / "columns", *NEWTON, "-o", "run")
    told("featurize", folder / "test.jsonl", "-m", folder / "columns", "--shard-rows", "30", "-o", "applied/")
    cli.good("train", "applied", *NEWTON, "-o", "of-applied")
    assert "applied" in cli.err
    cli.good("evaluate", "run", folder / "columns")
    assert "whose answers it has seen" in cli.err
