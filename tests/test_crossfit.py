"""Cross-fitting: training columns come from the other folds, the saved state from all groups."""

import numpy as np
import pytest

from ltr import feature, read_groups
from ltr.encoders import ENCODERS
from ltr.errors import DataError, RunError, UsageError
from ltr.features import (
    FEATURES,
    Counted,
    FeatureConfig,
    Optimised,
    Presets,
    RowTexts,
    crossfit,
    fit_features,
    learning,
)
from ltr.features.texts import row_queries
from ltr.samples import Whole
from ltr.splits import CROSS_FITTED, hash_blocks
from ltr.tables import digests, table
from tests.builders import LetterEncoder, column_of, graph_lines, side_of, state_of, tool_lines, write_lines

LINES = {"tool": tool_lines, "graph": graph_lines}


@pytest.fixture(autouse=True, scope="module")
def letters():
    """The encoder of these tests, under its name."""
    ENCODERS.add("letters", LetterEncoder)
    yield
    ENCODERS._own.pop("letters")


def groups_of(tmp_path, lines):
    return read_groups(write_lines(tmp_path / "samples.jsonl", lines))


def cross_fitted(groups):
    """The training column of tool.hist."""
    return fit_features([FeatureConfig("tool.hist")], groups, "letters")[1][:, 0]


def fold_of(line):
    """The fold of a line's trace."""
    return hash_blocks([line["trace_id"]], CROSS_FITTED)[0]


@pytest.mark.parametrize("traces", [20, 40])
def test_training_columns_come_from_the_other_folds(tmp_path, traces):
    lines = list(tool_lines(seed=2, traces=traces))
    by_hand = []
    for line in lines:
        fold = fold_of(line)
        others = [e for e in lines if e["tool"] == line["tool"] and fold_of(e) != fold]
        by_hand.append((sum(other["label"] for other in others) + 1) / (len(others) + 2))
    np.testing.assert_allclose(cross_fitted(groups_of(tmp_path, lines)), by_hand, atol=1e-12)


@pytest.mark.parametrize("traces", [5, 19])
def test_with_few_traces_each_is_a_fold(tmp_path, traces):
    lines = list(tool_lines(seed=2, traces=traces))
    by_hand = []
    for line in lines:
        others = [e for e in lines if e["tool"] == line["tool"] and e["trace_id"] != line["trace_id"]]
        by_hand.append((sum(other["label"] for other in others) + 1) / (len(others) + 2))
    np.testing.assert_allclose(cross_fitted(groups_of(tmp_path, lines)), by_hand, atol=1e-12)


def test_one_trace_alone_gets_the_values_of_the_never_seen(tmp_path):
    assert set(cross_fitted(groups_of(tmp_path, tool_lines(traces=1)))) == {0.5}


def test_the_saved_state_is_fitted_on_all_groups(tmp_path):
    groups = groups_of(tmp_path, tool_lines(traces=24))
    fitted, _ = fit_features([FeatureConfig("tool.hist")], groups, "letters")
    state = state_of(FeatureConfig("tool.hist"), groups)
    by_hand = column_of(FeatureConfig("tool.hist"), groups.candidates, state)
    np.testing.assert_array_equal(fitted(groups.candidates)[:, 0], by_hand)


@pytest.mark.parametrize("kind", ["tool", "graph"])
def test_the_specification_asks_four_questions_of_each_kind(tmp_path, kind):
    configs = [FeatureConfig(name) for name in Presets.SPECIFICATION[kind]]
    fitted, phi = fit_features(configs, groups_of(tmp_path, LINES[kind]()), "hash")
    assert [FEATURES[name].family for name in fitted.names] == ["rel", "hist", "coop", "struct"]
    assert phi.shape[1] == 4


def test_each_text_is_encoded_once_for_all_features_of_a_pass(tmp_path):
    groups = groups_of(tmp_path, tool_lines(traces=3))
    fitted, _ = fit_features([FeatureConfig("tool.rel"), FeatureConfig("tool.struct")], groups, "letters")
    fitted(groups.candidates)
    encoded = fitted.encoder.encoder().encoded
    assert len(encoded) == len(set(encoded)) > 0


@pytest.mark.parametrize("traces", [1, 7])
def test_each_fold_that_is_done_is_told(tmp_path, traces):
    told, groups = [], groups_of(tmp_path, tool_lines(traces=traces))
    fit_features([FeatureConfig("tool.hist")], groups, "letters", lambda fold, of: told.append((fold, of)))
    assert told == [(fold, traces) for fold in range(1, traces + 1)]


def test_a_feature_from_outside_writes_to_none_of_its_arguments(tmp_path):
    def column(candidates, state, context):
        candidates.names[0] = 0
        return candidates.names * 0.0

    feature("tool.writes", "rel")(column)
    try:
        with pytest.raises(RunError, match=r"test_crossfit.py:\d+: the feature tool.writes failed: ValueError"):
            fit_features([FeatureConfig("tool.writes")], groups_of(tmp_path, tool_lines(traces=3)), "letters")
    finally:
        FEATURES._own.pop("tool.writes")


def test_an_encoder_learns_from_queries_and_from_what_the_candidates_are_described_by(tmp_path):
    candidates = groups_of(tmp_path, tool_lines(traces=3)).candidates
    texts = crossfit.encoded_texts(candidates)
    assert texts[: len(candidates.query_texts)] == list(candidates.query_texts)
    described = {f"Tool: {line['tool']}. Description: {line['tool_description']}" for line in tool_lines(traces=3)}
    assert set(texts[len(candidates.query_texts) :]) == described


def test_fitted_features_refuse_candidates_of_the_other_kind(tmp_path):
    fitted, _ = fit_features([FeatureConfig("tool.coop")], groups_of(tmp_path, tool_lines(traces=3)), "letters")
    with pytest.raises(DataError, match="the features are of tools; the candidates are graphs"):
        fitted(groups_of(tmp_path, graph_lines(traces=3)).candidates)


UNUSABLE = {
    "a list": lambda rows: [0.0] * rows,
    "one too many": lambda rows: np.zeros(rows + 1),
    "texts": lambda rows: np.full(rows, "1"),
    "NaN": lambda rows: np.full(rows, np.nan),
}


@pytest.mark.parametrize("values", UNUSABLE.values(), ids=UNUSABLE)
def test_a_column_is_one_finite_number_for_each_candidate(tmp_path, values):
    feature("tool.unusable", "rel")(lambda candidates, state, context: values(len(candidates.names)))
    try:
        with pytest.raises(DataError, match=r"test_crossfit.py: the feature tool.unusable did not give one finite"):
            fit_features([FeatureConfig("tool.unusable")], groups_of(tmp_path, tool_lines(traces=3)), "letters")
    finally:
        FEATURES._own.pop("tool.unusable")


@pytest.mark.parametrize(
    "count, state, problem",
    [
        (lambda groups, context: {"none": 1}, lambda part: {}, "the feature tool.odd: its count gave dict"),
        (lambda groups, context: {"none": table(digests([]))}, lambda part: {"a": object()}, "the feature tool.odd"),
    ],
)
def test_a_part_or_state_that_cannot_be_used_is_refused_by_the_name_of_its_feature(tmp_path, count, state, problem):
    feature("tool.odd", "hist", fit=Counted(count, state))(lambda candidates, state, context: candidates.names * 0.0)
    try:
        with pytest.raises(DataError, match=problem):
            fit_features([FeatureConfig("tool.odd")], groups_of(tmp_path, tool_lines(traces=3)), "letters")
    finally:
        FEATURES._own.pop("tool.odd")


def test_features_of_the_other_kind_are_refused(tmp_path):
    with pytest.raises(DataError, match="the features are of graphs; the candidates are tools"):
        fit_features([FeatureConfig("graph.coop")], groups_of(tmp_path, tool_lines()), "hash")


def test_ready_numbers_are_not_featurised_again(tmp_path):
    lines = [{**line, "features": [1.0]} for line in tool_lines(traces=2)]
    with pytest.raises(UsageError, match="the samples bear ready features; they cannot be featurised again"):
        fit_features([FeatureConfig("tool.coop")], groups_of(tmp_path, lines), "hash")


@pytest.fixture
def names_feature():
    """Two features from outside: one names its texts, the other asks for cosines inside its column."""

    def queries(candidates, context):
        return RowTexts(candidates.query_texts, row_queries(candidates))

    def tool_names(candidates, context):
        return RowTexts(candidates.name_texts, candidates.names)

    @feature("tool.named_texts", "rel", queries=queries, documents=tool_names)
    def by_vectors(candidates, state, context):
        rows, names = context.shared(queries, candidates), context.shared(tool_names, candidates)
        return context.vectors[queries].dots(rows.codes, context.vectors[tool_names], names.codes)

    @feature("tool.own_cosines", "rel")
    def by_cosines(candidates, state, context):
        return context.cosines(candidates, candidates.name_texts, candidates.names)

    yield ["tool.named_texts", "tool.own_cosines"]
    for name in ("tool.named_texts", "tool.own_cosines"):
        FEATURES._own.pop(name)


def test_a_feature_finds_the_vectors_of_the_texts_it_names(tmp_path, names_feature):
    groups = groups_of(tmp_path, tool_lines(traces=3))
    fitted, phi = fit_features([FeatureConfig(name) for name in names_feature], groups, "letters")
    np.testing.assert_array_equal(phi[:, 0], phi[:, 1])
    np.testing.assert_array_equal(fitted(groups.candidates), phi)
    assert phi.max() > 0.5


@pytest.mark.parametrize(
    "queries", [lambda candidates, context: candidates.no_such_column, lambda candidates, context: ["a"]]
)
def test_a_source_of_texts_that_fails_is_named_with_its_feature(tmp_path, queries):
    @feature("tool.broken_texts", "rel", queries=queries)
    def broken(candidates, state, context):
        return np.zeros(len(candidates.names))

    try:
        with pytest.raises(RunError, match=r"test_crossfit.py.*: the feature tool.broken_texts failed: Attribute"):
            fit_features([FeatureConfig("tool.broken_texts")], groups_of(tmp_path, tool_lines(traces=3)), "letters")
    finally:
        FEATURES._own.pop("tool.broken_texts")


def test_a_feature_that_learns_nothing_has_no_state():
    with pytest.raises(UsageError, match=r"the feature tool.rel learns nothing"):
        learning.state_of(FeatureConfig("tool.rel"), {})


def test_learners_in_memory_and_optimised_ones_see_all_folds_but_one_and_then_all(tmp_path):
    def labels_of(groups, context):
        return {"right": float(groups.labels.sum())}

    def labels_of_shards(shards, context):
        return {"right": float(sum(shard.groups.labels.sum() for shard in shards))}

    def column(candidates, state, context):
        return np.full(int(candidates.offsets[-1]), state["right"])

    def same_column(candidates, state, context):
        return column(candidates, state, context)

    groups = groups_of(tmp_path, tool_lines(seed=4, traces=6, groups=2))
    feature("tool.in_memory", "hist", fit=labels_of)(column)
    feature("tool.optimised", "hist", fit=Optimised(labels_of_shards))(same_column)
    configs = [FeatureConfig("tool.in_memory"), FeatureConfig("tool.optimised")]
    try:
        fitted, phi = fit_features(configs, groups, "letters")
        assert fitted.states == ({"right": 12.0}, {"right": 12.0})
        assert learning.fit_states(configs, groups, fitted.encoder) == fitted.states
        assert (phi == 10.0).all()  # each trace is a fold of two groups, each with one right candidate
    finally:
        for config in configs:
            FEATURES._own.pop(config.name)


def test_counts_that_choices_share_are_those_of_a_fit_alone_where_a_fold_holds_nothing(tmp_path):
    groups = groups_of(tmp_path, tool_lines(seed=4, traces=6, groups=2))
    first = np.flatnonzero(groups.candidates.traces == 0)  # one trace: its other fold is empty
    configs, one = [FeatureConfig("tool.hist")], groups.select(first)
    fitted, phi = crossfit.CrossFitting(configs, Whole(groups), "letters", [side_of(groups, first)]).fitted()
    alone, expected = fit_features(configs, one, "letters")
    assert fitted.states == alone.states
    np.testing.assert_array_equal(phi, expected)
