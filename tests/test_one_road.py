"""A directory of columns learns what the same samples learn in memory: folds, choices, steps, whatever is asked for."""

import json
import random

import numpy as np
import pytest

import ltr
from tests.made import WORDS, featurized, graph_rows, told, tool_rows, written

pytestmark = pytest.mark.contract

TOOL_COLUMNS = "features=[tool.rel, tool.hist, tool.lift, tool.ridge]"
GRAPH_COLUMNS = "features=[graph.rel, graph.hist, graph.cover]"
NEWTON = ("encoder=hash", "train.trainer=newton", "train.l2=0.01")
CHOICE = ("train.standardize=true", "train.choose=[knots, products, l2]")
SETTINGS = {
    "nothing else": (),
    "folds that choose l2": ("train.folds=3", "train.l2=[0.001, 0.1]"),
    "folds by time": ("train.folds=3", "data.split=time"),
    "a share of validation traces": ("data.valid=0.25", "train.l2=[0.001, 0.1]"),
    "a file of validation samples": ("data.valid=valid.jsonl", "train.l2=[0.001, 0.1]", "train.metric=mrr"),
    "none from copies": ("none.source=removed:0.3", "none.share=0.1"),
    "none and abstaining": ("none.source=removed:0.3", "none.share=0.1", "abstain.rule=risk=0.3"),
    "abstaining": ("abstain.rule=risk=0.3", "data.calibrate=0.4"),
    "the past": ("data.previous=from_labels",),
    "the past and folds": ("data.previous=from_labels", "train.folds=3"),
    "a choice": CHOICE,
    "a choice and the past": (*CHOICE, "data.previous=from_labels"),
    "drawn candidates": ("data.tools=tools.json", "data.negatives=3"),
    "drawn candidates and a choice": ("data.tools=tools.json", "data.negatives=3", *CHOICE),
    "all tools as candidates": ("data.tools=tools.json", *CHOICE),
    "newcomers": ("train.standardize=true", "train.newcomers=true"),
    "descent": ("train.trainer=descent", "train.epochs=3"),
    "descent that is stopped": ("train.trainer=descent", "train.epochs=9", "data.valid=valid.jsonl"),
}


def timed(rows):
    """The rows, each group later than the one before it in its trace."""
    return [row | {"time": int(row["trace_id"][1:]) * 10 + int(row["node_id"][1:])} for row in rows]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Samples whose traces stand together, the same interleaved, columns of both in parts, and held-out samples."""
    home = tmp_path_factory.mktemp("road")
    rows = timed(tool_rows(range(60)))
    mixed = rows[:]
    random.Random(0).shuffle(mixed)
    written(home / "valid.jsonl", timed(tool_rows(range(200, 215), seed=3)))
    written(home / "test.jsonl", timed(tool_rows(range(100, 130), seed=2)))
    tools = {f"get_{word}": {"description": f"gives the {word} of a place"} for word in (*WORDS, "rate", "ticket")}
    (home / "tools.json").write_text(json.dumps({"tools": tools}), encoding="utf-8")
    for name, lines in (("together", rows), ("mixed", mixed)):
        samples = written(home / f"{name}.jsonl", lines)
        config = ltr.load_config(None, [f"data.train={samples}", *NEWTON, TOOL_COLUMNS])
        featurized(config, f"{home / name}/", shard_rows=110)
    return home


def both(folder, name, *settings, columns=TOOL_COLUMNS):
    """The run in memory, and over the directory."""
    known = ("train.l2", "train.trainer") if any("train.l2" in one for one in settings) else ()
    base = [one for one in NEWTON if not one.startswith(tuple(f"{key}=" for key in known))]
    base = base if any("trainer" in one for one in (*settings, *base)) else [*base, "train.trainer=newton"]
    placed = [one.replace("=valid.", f"={folder}/valid.").replace("=tools.", f"={folder}/tools.") for one in settings]
    sources = (f"{folder / name}.jsonl", f"{folder / name}")
    sets = [[f"data.train={source}", f"data.test={folder}/test.jsonl", columns, *base, *placed] for source in sources]
    return [ltr.run(ltr.load_config(None, each)) for each in sets]


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_a_directory_learns_what_the_same_samples_learn_in_memory(folder, settings):
    whole, shards = both(folder, "together", *settings)
    assert shards.router.names == whole.router.names
    np.testing.assert_allclose(shards.router.w, whole.router.w, rtol=1e-12, atol=1e-12)
    assert shards.measured.evaluation.rank.tolist() == whole.measured.evaluation.rank.tolist()
    same_training(shards, whole)


@pytest.mark.parametrize("name", [name for name in SETTINGS if not name.startswith("descent")])
def test_interleaved_traces_change_the_last_digits_alone(folder, name):
    whole, shards = both(folder, "mixed", *SETTINGS[name])
    np.testing.assert_allclose(shards.router.w, whole.router.w, rtol=1e-9, atol=1e-9)
    assert shards.measured.evaluation.rank.tolist() == whole.measured.evaluation.rank.tolist()
    same_training(shards, whole, within=1e-9)


def same_training(shards, whole, within=1e-12):
    """Whether both learned, chose and promise the same."""
    one, other = shards.router.training, whole.router.training
    assert (one.groups, one.answers, one.traces, one.past) == (other.groups, other.answers, other.traces, other.past)
    for theirs, ours in ((other.folds, one.folds), (other.validated, one.validated)):
        assert (ours is None) == (theirs is None)
        if theirs is not None:
            assert ours.l2 == theirs.l2
            assert [each.value for each in ours.path] == pytest.approx([each.value for each in theirs.path], rel=within)
    if other.choice is not None:
        assert one.choice.reason == other.choice.reason
        losses = [[way.loss for way in record.alternatives] for record in (one.choice, other.choice)]
        assert losses[0] == pytest.approx(losses[1], rel=within)
    if whole.router.none is not None:
        assert shards.router.none.b == pytest.approx(whole.router.none.b, rel=1e-9)
    if whole.router.abstain is not None:
        ours, theirs = shards.router.abstain, whole.router.abstain
        assert (ours.traces, ours.queries, ours.none_queries) == (theirs.traces, theirs.queries, theirs.none_queries)
        assert (ours.threshold, ours.risk, ours.error_limit) == pytest.approx(
            (theirs.threshold, theirs.risk, theirs.error_limit), rel=within
        )


def test_descent_over_a_directory_says_that_it_is_another_order(folder):
    whole, shards = both(folder, "mixed", *SETTINGS["descent"])
    told = [warning for warning in shards.warnings if "part by part" in warning]
    assert len(told) == 1
    assert told[0].startswith("descent goes through a directory of columns part by part")
    assert not set(told) & set(whole.warnings)
    assert np.abs(shards.router.w - whole.router.w).max() > 1e-9


@pytest.mark.parametrize("settings", [(), ("train.folds=3",), CHOICE], ids=["plain", "folds", "a choice"])
def test_graphs_of_a_directory_are_learned_as_in_memory(tmp_path, settings):
    written(tmp_path / "test.jsonl", graph_rows(range(50, 60), seed=1))
    samples = written(tmp_path / "graphs.jsonl", graph_rows(range(36)))
    config = ltr.load_config(None, [f"data.train={samples}", *NEWTON, GRAPH_COLUMNS])
    featurized(config, f"{tmp_path / 'graphs'}/", shard_rows=30)
    whole, shards = both(tmp_path, "graphs", *settings, columns=GRAPH_COLUMNS)
    np.testing.assert_allclose(shards.router.w, whole.router.w, rtol=1e-12, atol=1e-12)
    same_training(shards, whole)


def test_training_queries_are_measured_by_columns_that_know_nothing_of_them(folder):
    sources = (f"{folder}/together.jsonl", f"{folder}/together")
    settings = [*NEWTON, TOOL_COLUMNS, "train.standardize=true", "train.newcomers=true", "data.previous=from_labels"]
    whole, shards = (ltr.run(ltr.load_config(None, [f"data.train={source}", *settings])) for source in sources)
    assert shards.measured.split == whole.measured.split == "train"
    assert shards.measured.evaluation.means == pytest.approx(whole.measured.evaluation.means, rel=1e-12)


def test_a_share_of_test_samples_and_folds_on_applied_columns_are_refused(folder, tmp_path):
    config = ltr.load_config(None, [f"data.train={folder}/together.jsonl", *NEWTON, TOOL_COLUMNS])
    ltr.run(config).router.save(tmp_path)
    featurized(config, f"{tmp_path / 'applied'}/", model=tmp_path, shard_rows=110)
    refused = {
        f"data.train={folder}/together": ("data.test=0.2", "test is a share, and the samples bear features"),
        f"data.train={tmp_path}/applied": ("train.folds=3", "folds are asked for, and the samples bear features"),
    }
    for source, (asked, message) in refused.items():
        with pytest.raises(ltr.errors.UsageError, match=message):
            ltr.run(ltr.load_config(None, [source, *NEWTON, TOOL_COLUMNS, asked]))


CURVES = ("train.standardize=true", "train.knots=3")


@pytest.mark.parametrize("settings", [CURVES, CHOICE, (*CHOICE, "data.split=time")], ids=["curves", "choice", "time"])
def test_a_part_without_a_group_that_trains_changes_nothing(tmp_path, settings):
    rows = timed(tool_rows(range(60)))
    none = [
        {"trace_id": f"t{number}", "node_id": "n0", "query": "sing to me", **more, "time": number}
        for number in range(100, 140)
        for more in ({"tool": "get_rain", "label": 0}, {"none": True, "label": 1})
    ]
    written(tmp_path / "test.jsonl", timed(tool_rows(range(100, 110), seed=2)))
    samples = written(tmp_path / "s.jsonl", [*none, *rows])
    config = ltr.load_config(None, [f"data.train={samples}", *NEWTON, TOOL_COLUMNS])
    featurized(config, f"{tmp_path / 's'}/", shard_rows=60)
    whole, shards = both(tmp_path, "s", *settings)
    np.testing.assert_allclose(shards.router.w, whole.router.w, rtol=1e-9, atol=1e-9)
    same_training(shards, whole, within=1e-9)


@pytest.mark.parametrize("settings", [("data.valid=0.2",), ("data.previous=from_labels",)], ids=["share", "past"])
def test_columns_that_are_made_anew_are_those_of_the_directory(folder, settings):
    over = [f"data.train={folder}/together", "train.trainer=newton", *settings]
    router = ltr.run(ltr.load_config(None, over)).router
    assert router.names == ("tool.rel", "tool.hist", "tool.lift", "tool.ridge")
    assert router.features.encoder.name == "hash"
    with pytest.raises(ltr.errors.UsageError, match="the config names tool.rel, tool.coop"):
        ltr.run(ltr.load_config(None, [*over, "features=[tool.rel, tool.coop]"]))


STEPS = ("none.source=removed:0.3", "none.share=0.1", "abstain.rule=risk=0.3", "data.calibrate=0.3")


def test_what_steps_say_of_training_queries_knows_nothing_of_their_answers(folder):
    settings = [*NEWTON, TOOL_COLUMNS, *STEPS]
    runs = [ltr.run(ltr.load_config(None, [f"data.train={folder}/together{end}", *settings])) for end in (".jsonl", "")]
    whole, shards = (run.measured.record for run in runs)
    assert whole.none.top1_of_rest == pytest.approx(whole.metrics["top1_accuracy"], abs=0.1)
    assert shards.none.right == pytest.approx(whole.none.right, rel=1e-12)
    assert shards.abstention.risk == pytest.approx(whole.abstention.risk, rel=1e-12)


def test_applied_columns_stay_for_all_that_is_learned(folder, tmp_path):
    model = tmp_path / "model"
    ltr.train(f"{folder}/together.jsonl", out=model, encoder="hash", features=["tool.rel", "tool.hist"])
    applied = [tmp_path / "a.npz", f"{tmp_path}/a/"]
    for out in applied:
        told("featurize", folder / "together.jsonl", "-m", model, "-o", out, "--encoder", "hash")
    settings = ["train.trainer=newton", *STEPS[:2], f"data.test={folder}/test.jsonl"]
    npz, parts = (ltr.run(ltr.load_config(None, [f"data.train={out}", *settings])) for out in applied)
    assert parts.router.none.b == pytest.approx(npz.router.none.b, rel=1e-9)
    with pytest.raises(ltr.errors.UsageError, match="valid is a share"):
        ltr.run(ltr.load_config(None, [f"data.train={applied[1]}", "train.trainer=newton", "data.valid=0.2"]))


def test_each_kind_of_samples_may_be_a_directory(folder):
    held = f"{folder}/mixed"
    options = {"encoder": "hash", "features": ["tool.rel", "tool.hist", "tool.lift", "tool.ridge"], "trainer": "newton"}
    by_files = ltr.train(f"{folder}/together.jsonl", valid=held, l2=[0.1, 1.0], **options)
    rows = [json.loads(line) for line in (folder / "together.jsonl").read_text().splitlines()]
    by_rows = ltr.train(rows, valid=held, l2=[0.1, 1.0], **options)
    np.testing.assert_allclose(by_rows.router.w, by_files.router.w, rtol=1e-12)
    assert any(
        "validation data: the features of the samples were fitted on other" in said for said in by_files.warnings
    )
    tests = [json.loads(line) for line in (folder / "test.jsonl").read_text().splitlines()]
    assert ltr.train(held, test=tests, folds=3, trainer="newton").measured.split == "test"


def test_queries_for_which_none_is_right_alone_teach_and_measure_nothing(folder, tmp_path):
    rows = [
        {"trace_id": "t", "node_id": "n", "query": "sing"} | more
        for more in ({"tool": "a", "label": 0}, {"none": True, "label": 1})
    ]
    samples = written(tmp_path / "none.jsonl", rows)
    told("featurize", samples, "-m", f"{folder}/together", "-o", f"{tmp_path}/none/")
    with pytest.raises(ltr.errors.DataError, match="no group can train"):
        ltr.train(f"{tmp_path}/none", trainer="newton")
    with pytest.raises(ltr.errors.DataError, match="none is right in 1 group, and there is no other"):
        ltr.train(f"{folder}/together", test=f"{tmp_path}/none", trainer="newton")


def test_tools_without_a_text_are_counted_through_all_parts(folder):
    result = ltr.train(f"{folder}/together", test=f"{folder}/mixed", trainer="newton", recommended=True)
    assert len([said for said in result.warnings if said.startswith("no-text")]) <= 1
