"""Counted features: parts of shards add up to the part of all groups, however whole traces are cut."""

from dataclasses import fields, is_dataclass, replace
from functools import reduce

import numpy as np
import pytest

from ltr import feature, read_groups
from ltr.encoders import ENCODERS as REGISTERED
from ltr.encoders import HashEncoder
from ltr.features import FEATURES, Counted, CrossFitting, FeatureConfig, Presets, fit_features, fit_states, names_table
from ltr.features.fitted import reading
from ltr.features.learning import Shard, counted
from ltr.features.texts import Lexicon
from ltr.samples import Whole
from ltr.tables import Table, merging
from tests.builders import LetterEncoder, graph_lines, side_of, tool_lines, write_lines

TRACES = 34
ENCODERS = {"letters": LetterEncoder, "hash": HashEncoder}
COUNTED = [name for name in FEATURES.names() if isinstance(FEATURES[name].learner, Counted)]
BY_HAND = ["tool.counted_rows", "tool.counted_queries"]


@pytest.fixture(scope="module", autouse=True)
def plugins():
    """Two counted features from outside: one adds up tables, the other merges sets of its own."""

    def count_rows(groups, context):
        names, labels = groups.candidates.names, groups.labels
        sums = np.bincount(names, labels, minlength=len(groups.candidates.name_texts))
        return {"tools": names_table(groups.candidates.name_texts, gain=sums)}

    def count_queries(groups, context):
        return frozenset(groups.candidates.query_texts)

    def value(candidates, state, context):
        return np.full(len(candidates.names), float(state["total"]))

    def count_value(candidates, state, context):
        return value(candidates, state, context)

    def union(left, right):
        return left | right

    rows = Counted(count_rows, lambda part: {"total": float(part["tools"].sums["gain"].sum())})
    queries = Counted(count_queries, lambda part: {"total": len(part)}, union)
    REGISTERED.add("letters", LetterEncoder)
    feature("tool.counted_rows", "hist", fit=rows)(value)
    feature("tool.counted_queries", "hist", fit=queries)(count_value)
    yield
    REGISTERED._own.pop("letters")
    for name in BY_HAND:
        FEATURES._own.pop(name)


@pytest.fixture(scope="module")
def groups(tmp_path_factory):
    """Groups of each kind, of many traces."""
    folder = tmp_path_factory.mktemp("samples")
    lines = {"tool": tool_lines(traces=TRACES), "graph": graph_lines(traces=TRACES)}
    return {kind: read_groups(write_lines(folder / f"{kind}.jsonl", each)) for kind, each in lines.items()}


@pytest.fixture(scope="module")
def cuts(groups):
    """The groups of each kind, their whole traces dealt to a few shards and to many, some of which get none."""
    cut = {}
    for shards in (2, 7, 23):
        dealt = np.random.default_rng(shards).integers(shards, size=TRACES)
        for kind, own in groups.items():
            number = dealt[own.candidates.traces]
            cut[kind, shards] = [own.select(np.flatnonzero(number == shard)) for shard in range(shards)]
    return cut


def encoder_of(name, groups):
    """An encoder that has seen the queries."""
    kind = ENCODERS[name]
    return kind.fitted([*groups.candidates.query_texts, "finds flights for a person", "does its part"])


def part_of(config, groups, encoder):
    """What is counted in the groups alone, with words that have codes of their own."""
    shard = Shard(groups, reading([config], groups.candidates, encoder, Lexicon()))
    return counted(config, shard)


def plain(value):
    """A part or a state as nested lists and dicts."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Table):
        return {"keys": value.keys.tolist(), "sums": plain(value.sums), "facts": plain(value.facts)}
    if is_dataclass(value):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    return {key: plain(inner) for key, inner in value.items()} if isinstance(value, dict) else value


def assert_alike(left, right, *, relative=1e-12):
    """Counts, sets and texts are equal, floats to so much."""
    if isinstance(left, dict):
        assert left.keys() == right.keys()
        for key in left:
            assert_alike(left[key], right[key], relative=relative)
    elif isinstance(left, list) and left and isinstance(left[0], float):
        np.testing.assert_allclose(left, right, rtol=relative, atol=1e-300)
    elif isinstance(left, list) and left and isinstance(left[0], list):
        assert len(left) == len(right)
        for one, other in zip(left, right, strict=True):
            assert_alike(one, other, relative=relative)
    elif isinstance(left, float):
        assert left == pytest.approx(right, rel=relative)
    else:
        assert left == right


def test_every_shipped_feature_that_learns_is_counted():
    learning = [name for name in FEATURES.names() if FEATURES[name].learner and name not in BY_HAND]
    assert learning == COUNTED
    assert len(learning) > 15


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("name", [*COUNTED, *BY_HAND])
def test_any_cut_into_shards_of_whole_traces_gives_the_same_part_and_the_same_state(groups, cuts, name, encoder):
    config, kind = FeatureConfig(name), FEATURES[name].kind
    learner, encoding = FEATURES[name].learner, encoder_of(encoder, groups[kind])
    whole = part_of(config, groups[kind], encoding)
    for cut in (cuts[kind, shards] for shards in (2, 7, 23)):
        parts = [part_of(config, shard, encoding) for shard in cut]
        in_order, from_the_end = reduce(learner.merge, parts), reduce(learner.merge, reversed(parts))
        assert_alike(plain(in_order), plain(whole))
        assert_alike(plain(from_the_end), plain(whole))
        assert_alike(plain(learner.state(in_order)), plain(learner.state(whole)), relative=1e-3)  # half precision


@pytest.mark.parametrize("name", [*COUNTED, *BY_HAND])
def test_the_state_of_a_fold_is_that_of_a_fit_on_the_groups_of_the_others(groups, name):
    config, own = FeatureConfig(name), groups[FEATURES[name].kind]
    encoder, fitting = encoder_of("letters", own), CrossFitting([config], Whole(own), "letters")
    folds = fitting.folds[0].of_groups(own.candidates)
    *without_each, of_all = fitting.without_each(config)
    assert len(without_each) == 10
    for fold, (state, gives_columns) in enumerate(without_each):
        if not gives_columns:  # at once: tests/test_tool_ridge.py
            others = own.select(np.flatnonzero(folds != fold))
            assert_alike(plain(state), plain(fit_states([config], others, encoder)[0]), relative=1e-3)
    assert_alike(plain(of_all[0]), plain(fit_states([config], own, encoder)[0]), relative=1e-3)


@pytest.mark.parametrize("traces", [TRACES, 7], ids=["ten folds", "a fold a trace"])
@pytest.mark.parametrize("kind", ["tool", "graph"])
def test_folds_that_judge_share_what_is_counted_and_learn_nothing_of_the_fold_they_judge(groups, kind, traces):
    own = groups[kind].select(np.flatnonzero(groups[kind].candidates.traces < traces))
    judge = own.candidates.traces % 5
    configs = [FeatureConfig(name) for name in Presets.ALL[kind]]
    rare = [place for place, config in enumerate(configs) if config.name == "tool.ridge"]  # of all groups' words
    others = [place for place in range(len(configs)) if place not in rare]
    for sides, some in (
        ([np.flatnonzero(judge != fold) for fold in range(5)], (3,)),
        ([np.flatnonzero(judge <= block) for block in range(4)], (0, 3)),  # by time: what is learned from grows
    ):
        choices = [side_of(own, learned) for learned in sides]
        shared = CrossFitting(configs, Whole(own), "letters", choices)
        for number in some:
            learned = sides[number]
            alone, phi = fit_features(configs, own.select(learned), "letters")
            together, same = shared.fitted(number)
            np.testing.assert_allclose(same[:, others], phi[:, others], rtol=1e-6, atol=1e-6)
            np.testing.assert_allclose(same[:, rare], phi[:, rare], atol=0.05)
            assert_alike(
                *(plain(dict(enumerate(fit.taken(others).states))) for fit in (together, alone)), relative=1e-3
            )
            held = own.select(np.setdiff1d(np.arange(len(judge)), learned))
            np.testing.assert_allclose(shared.applied(together, number)(held), together(held.candidates), atol=3e-3)
            labels = np.where(np.isin(np.repeat(np.arange(len(judge)), np.diff(own.offsets)), learned), own.labels, 0)
            unseen = CrossFitting(configs, Whole(replace(own, labels=labels)), "letters", choices)
            np.testing.assert_allclose(unseen.fitted(number)[1], same, rtol=1e-6, atol=1e-6)


def test_folds_that_judge_count_each_group_once(groups):
    calls, own = [], groups["tool"]

    def count(groups, context):
        calls.append(len(groups.labels))
        return len(groups.labels)

    learner = Counted(count, lambda part: {"rows": part}, lambda left, right: left + right)
    feature("tool.rows_judged", "hist", fit=learner)(
        lambda rows, state, context: np.full(len(rows.names), state["rows"])
    )
    try:
        judge = own.candidates.traces % 5
        sides = [np.arange(len(judge)), *(np.flatnonzero(judge != fold) for fold in range(5))]
        shared = CrossFitting(
            [FeatureConfig("tool.rows_judged")], Whole(own), "hash", [side_of(own, side) for side in sides]
        )
        for number, learned in enumerate(sides):
            part = own.select(learned)
            fitted, phi = shared.fitted(number)
            assert fitted.states == ({"rows": len(part.labels)},)
            assert phi.max() < len(part.labels)
    finally:
        FEATURES._own.pop("tool.rows_judged")
    assert sum(calls) == len(own.labels)


def test_ten_folds_are_counted_once_each(groups):
    calls = []

    def count(groups, context):
        calls.append(len(groups.labels))
        return len(groups.labels)

    def merge(left, right):
        merges.append(left + right)
        return left + right

    merges, learner = [], Counted(count, lambda part: {"rows": part}, merge)
    for name in ("tool.rows_once", "tool.rows_twice"):
        feature(name, "hist", fit=learner)(lambda candidates, state, context: np.full(len(candidates.names), 1.0))
    try:
        configs = [FeatureConfig(name) for name in ("tool.rows_once", "tool.rows_twice")]
        fitted, _ = fit_features(configs, groups["tool"], "hash")
    finally:
        for name in ("tool.rows_once", "tool.rows_twice"):
            FEATURES._own.pop(name)
    assert len(calls) == 10
    assert sum(calls) == len(groups["tool"].labels)
    assert len(merges) == 25  # eight from each end, eight that join them, and the one of all
    assert fitted.states == ({"rows": sum(calls)},) * 2


@pytest.mark.parametrize("kind", ["tool", "graph"])
def test_parts_on_disk_give_the_same_states_and_columns(groups, kind, monkeypatch):
    configs = [FeatureConfig(name) for name in Presets.ALL[kind]]
    some = groups[kind].select(np.flatnonzero(groups[kind].candidates.traces < 5))
    in_memory, phi = fit_features(configs, some, "hash")
    monkeypatch.setattr(merging, "LARGEST_IN_MEMORY", 100)
    on_disk, same = fit_features(configs, some, "hash")
    assert same.tobytes() == phi.tobytes()
    assert plain(dict(enumerate(on_disk.states))) == plain(dict(enumerate(in_memory.states)))
