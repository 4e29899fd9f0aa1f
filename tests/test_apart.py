"""Targets `apart`: each right candidate trains against the wrong ones alone."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ltr
from ltr import TrainConfig, fit, training
from ltr.errors import DataError
from ltr.training import Design, fit_designs, group_losses
from tests.made import diagnose, tool_rows, written
from tests.oracles import random_groups, slices

APART = TrainConfig(trainer="newton", l2=0.01, standardize=True, targets="apart")
SHAPES = [{}, {"knots": 3}, {"products": True}]


@pytest.fixture(scope="module", params=[1, 3], ids=["binary", "graded"])
def groups(request):
    """200 groups of up to seven candidates, up to four of them right; phi, labels, offsets, weights and offsets."""
    rng = np.random.default_rng(request.param)
    phi, labels, offsets = random_groups(rng, 200, sizes=(1, 7), positives=4, grades=request.param)
    return phi, labels, offsets, rng.uniform(0.5, 2.0, 200), rng.choice([0.0, 0.7], len(phi))


def written_out(phi, labels, offsets, weights, added):
    """The groups that a plain loop takes apart, the group that each came from, and which groups there are."""
    rows, sizes, right, shares, origins = [], [], [], [], []
    for group, of in enumerate(slices(offsets)):
        own = range(of.start, of.stop)
        parts = [[j for j in own if j == i or labels[j] < labels[i]] for i in own if labels[i] > min(labels[of])]
        for part, i in zip(parts, (i for i in own if labels[i] > min(labels[of])), strict=True):
            rows += part
            right += [float(j == i) for j in part]
            sizes.append(len(part))
            shares.append(weights[group] / len(parts))
            origins.append(group)
    arrays = phi[rows], np.array(right), np.concatenate(([0], np.cumsum(sizes)))
    return arrays, {"weights": np.array(shares), "score_offset": added[rows]}, np.array(origins)


def test_the_loss_of_a_group_is_the_mean_over_its_right_candidates_each_beside_wrong_ones_alone(groups):
    _, labels, offsets, _, added = groups
    scores = np.random.default_rng(5).normal(size=len(labels))
    losses = group_losses(scores, labels, offsets, added, "apart")
    for loss, rows in zip(losses, slices(offsets), strict=True):
        e, y = np.exp(scores[rows] + added[rows]), labels[rows]
        each = [-np.log(e[i] / (e[i] + e[y < y[i]].sum())) for i in range(len(y)) if y[i] > y.min()]
        assert loss == pytest.approx(np.mean(each), abs=1e-12) if each else np.isnan(loss)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_optimum_is_that_of_the_groups_that_a_plain_loop_takes_apart(groups, shape):
    *arrays, weights, added = groups
    config = replace(APART, **shape)
    model = fit(*arrays, config, weights=weights, score_offset=added)
    expanded, fixed, origins = written_out(*groups)
    if not shape:  # knots and the middle values of products are those of the given rows
        expected = fit(*expanded, replace(config, targets="label"), **fixed)
        np.testing.assert_allclose(model.w, expected.w, rtol=1e-9)
        assert model.training.objective == pytest.approx(expected.training.objective, rel=1e-12)
    assert model.training.optimum == "found"
    assert model.training.groups == len(set(origins))
    skipped = model.training.skipped
    assert sum((skipped.one_candidate, skipped.no_positive, skipped.equally_right)) == 200 - len(set(origins))
    assert skipped.equally_right > 0


def test_groups_made_of_one_query_are_one_cluster_of_the_standard_errors(groups):
    *arrays, weights, added = groups
    model = fit(*arrays, APART, weights=weights, score_offset=added)
    expanded, fixed, origins = written_out(*groups)
    usual = replace(APART, targets="label")
    for traces in (np.arange(200), np.arange(200) // 3):
        known = diagnose(*arrays, APART, model, weights=weights, score_offset=added, clusters=traces)
        expected = diagnose(*expanded, usual, fit(*expanded, usual, **fixed), **fixed, clusters=traces[origins])
        assert known.errors.form == ("by_trace" if traces[-1] < 199 else "by_group")
        np.testing.assert_allclose(known.errors.standard, expected.errors.standard, rtol=1e-6)
        np.testing.assert_allclose(known.loss_without, expected.loss_without, rtol=1e-6, atol=1e-10)
    masses = np.bincount(origins, weights=fixed["weights"])
    assert known.effective_groups == pytest.approx(masses.sum() ** 2 / (masses @ masses))


@pytest.mark.parametrize("trainer", ["newton", "descent"])
@pytest.mark.parametrize("shape", SHAPES)
def test_with_one_right_candidate_a_query_no_bit_changes(trainer, shape):
    rng = np.random.default_rng(3)
    arrays = random_groups(rng, 150, sizes=(1, 7), positives=1, grades=3)
    config = replace(APART, trainer=trainer, epochs=4, **shape)
    apart, label = (fit(*arrays, replace(config, targets=targets)) for targets in ("apart", "label"))
    assert apart.w.tobytes() == label.w.tobytes()
    losses = [group_losses(arrays[0] @ np.ones(3), *arrays[1:], None, targets) for targets in ("apart", "label")]
    np.testing.assert_array_equal(*losses)


def test_shards_teach_what_the_same_groups_teach_in_one(groups):
    phi, labels, offsets, weights, added = groups
    parts = []
    for first in range(0, 200, 40):
        of = slice(offsets[first], offsets[first + 40])
        own = offsets[first : first + 41] - offsets[first]
        parts.append(Design(phi[of], labels[of], own, weights[first : first + 40], added[of]))
    source, traces = parts, np.arange(200) // 2
    whole = fit(phi, labels, offsets, APART, weights=weights, score_offset=added)
    model = fit_designs(source, APART)
    np.testing.assert_allclose(model.w, whole.w, rtol=1e-11)
    assert (model.training.groups, model.training.skipped) == (whole.training.groups, whole.training.skipped)
    known = training.diagnose(source, APART, model, clusters=traces)
    expected = diagnose(phi, labels, offsets, APART, whole, weights=weights, score_offset=added, clusters=traces)
    np.testing.assert_allclose(known.errors.standard, expected.errors.standard, rtol=1e-9)
    assert known.effective_groups == pytest.approx(expected.effective_groups)


def several_right(traces):
    """Samples in which a tool of the same kind is right beside the one that is asked for, and a query of right ones."""
    for row in tool_rows(traces):
        is_twin = row["tool"] in ("get_mail", "get_news") and row["trace_id"] != "t0"
        yield row | {"label": 1 if is_twin or row["trace_id"] == "t1" else row["label"]}


def test_the_recommended_recipe_trains_right_tools_apart_and_the_specification_by_label(cli):
    written("s.jsonl", several_right(range(30)))
    for name, flags in (("usual", []), ("recommended", ["--recommended", "--set", "train.choose=[]"])):
        cli.good("train", "s.jsonl", "--encoder", "hash", *flags, "-o", name, "-q")
    assert "targets: label" in Path("usual/config.yaml").read_text(encoding="utf-8")
    assert "targets: apart" in Path("recommended/config.yaml").read_text(encoding="utf-8")
    training = json.loads(Path("recommended/model.json").read_bytes())["training"]
    assert (training["groups"], training["groups_equally_right"], training["optimum"]) == (58, 2, "found")
    shown = cli.good("train", "s.jsonl", "-c", "recommended/config.yaml", "-o", "again", "--format", "human", "-v")
    assert "groups that cannot train: 2 without a wrong candidate" in shown
    assert Path("again/model.npz").read_bytes() == Path("recommended/model.npz").read_bytes()
    tools = [{"name": name, "description": "gives it"} for name in ("get_mail", "get_map")]
    assert ltr.load("recommended").rank("what is the map?", tools)


def test_a_directory_of_columns_learns_what_memory_learns(cli):
    written("s.jsonl", several_right(range(30)))
    columns = "tool.proto,tool.lift,tool.name,tool.talk"  # none of which a state holds more roughly than memory does
    flags = ["--recommended", "--encoder", "hash", "--set", "train.choose=[]", "-q"]
    cli.good("train", "s.jsonl", *flags, "--features", columns, "-o", "whole")
    cli.good("featurize", "s.jsonl", "--features", columns, "--encoder", "hash", "-o", "columns/")
    cli.good("train", "columns/", *flags, "-o", "parts")
    whole, parts = (json.loads(Path(run, "model.json").read_bytes())["training"] for run in ("whole", "parts"))
    assert whole["objective"] == pytest.approx(parts["objective"], rel=1e-9)
    for name, weight in whole["weights"].items():
        assert parts["weights"][name]["weight"] == pytest.approx(weight["weight"], rel=1e-6, abs=1e-9)


def test_config_check_knows_the_key_and_its_values(cli):
    Path("good.yaml").write_text("data: {train: s.jsonl}\ntrain: {targets: apart}\n", encoding="utf-8")
    Path("bad.yaml").write_text("data: {train: s.jsonl}\ntrain: {targets: apat}\n", encoding="utf-8")
    written("s.jsonl", tool_rows(range(3)))
    cli.good("config", "check", "good.yaml")
    said = "bad.yaml:2:9: train.targets: 'apat' is not onehot, label, gain or apart; did you mean apart?"
    assert cli.refused("config", "check", "bad.yaml") == (2, said)


def test_groups_too_large_to_be_taken_apart_are_refused_with_what_to_do(monkeypatch):
    monkeypatch.setattr("ltr.training.designs.MOST_REPEATED", 100)
    phi, labels = np.random.default_rng(0).normal(size=(20, 4)), np.tile([1.0, 0.0], 10)
    with pytest.raises(DataError, match=r"^train.targets apart makes 110 rows of 20, .*; set it to label$"):
        fit(phi, labels, [0, 20], APART)
    assert fit(phi, labels, [0, 20], replace(APART, targets="label")).training.groups == 1
