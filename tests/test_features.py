"""Each feature against a loop written from its formula, and the contract that all of them keep."""

import math

import numpy as np
import pytest

from ltr import read_groups
from ltr.encoders import ENCODERS
from ltr.errors import UnknownNameError, UsageError
from ltr.features import FEATURES, FeatureConfig, FittedFeatures, fit_features
from tests.builders import LetterEncoder, column_of, graph_lines, state_of, tool_lines, write_lines

LINES = {"tool": tool_lines, "graph": graph_lines}


@pytest.fixture(autouse=True, scope="module")
def letters():
    """The encoder of these tests, under its name."""
    ENCODERS.add("letters", LetterEncoder)
    yield
    ENCODERS._own.pop("letters")


def groups_of(tmp_path, lines):
    return read_groups(write_lines(tmp_path / "samples.jsonl", lines))


def values(name, groups, fitted_on=None):
    """The column of one feature, its state fitted on some groups."""
    configs = with_its_factor(name)
    states = tuple(state_of(config, groups if fitted_on is None else fitted_on) for config in configs)
    return FittedFeatures(groups.candidates.kind, tuple(configs), states, LetterEncoder())(groups.candidates)[:, -1]


def cosine(left, right):
    """Cosine of letter counts, 0 when a text has no letters."""
    a, b = ([text.lower().count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in (left, right))
    norm = math.sqrt(sum(x * x for x in a) * sum(x * x for x in b))
    return sum(x * y for x, y in zip(a, b, strict=True)) / norm if norm else 0.0


def test_tool_rel_is_the_mapped_cosine_of_query_and_tool_text(tmp_path):
    lines = [*tool_lines(traces=3), {"trace_id": "e", "node_id": 0, "query": "", "tool": "x", "label": 1}]
    by_hand = [(cosine(line["query"], tool_text(line)) + 1) / 2 for line in lines]
    np.testing.assert_allclose(values("tool.rel", groups_of(tmp_path, lines)), by_hand, atol=1e-12)
    assert by_hand[-1] == 0.5


def tool_text(line):
    described = line.get("tool_description")
    return f"Tool: {line['tool']}." + (f" Description: {described}" if described else "")


def test_tool_struct_is_the_root_of_tool_rel_and_a_tenth(tmp_path):
    groups = groups_of(tmp_path, tool_lines(traces=3))
    np.testing.assert_allclose(values("tool.struct", groups), np.sqrt(values("tool.rel", groups) + 0.1), atol=1e-15)


def test_tool_hist_is_the_smoothed_success_rate(tmp_path):
    lines = list(tool_lines(traces=20))
    by_hand = []
    for line in lines:
        offered = [each for each in lines if each["tool"] == line["tool"]]
        wins = sum(each["label"] for each in offered)
        by_hand.append((wins + 0.5 * 2) / (len(offered) + 2))
    np.testing.assert_allclose(values("tool.hist", groups_of(tmp_path, lines)), by_hand, atol=1e-12)


def test_tool_hist_share_is_half_the_share_of_right_answers_above_a_half(tmp_path):
    lines = list(tool_lines(traces=20))
    positives = [line["tool"] for line in lines if line["label"]]
    by_hand = [positives.count(line["tool"]) / len(positives) * 0.5 + 0.5 for line in lines]
    np.testing.assert_allclose(values("tool.hist_share", groups_of(tmp_path, lines)), by_hand, atol=1e-12)


def test_history_of_what_was_never_seen_is_the_prior(tmp_path):
    groups = groups_of(tmp_path, tool_lines(traces=2))
    nothing = groups.select(np.empty(0, dtype=np.int64))
    for name in ("tool.hist", "tool.hist_share"):
        assert set(values(name, groups, nothing).tolist()) == {0.5}


def test_the_options_of_history_move_prior_and_strength(tmp_path):
    groups = groups_of(tmp_path, tool_lines(traces=2))
    nothing = groups.select(np.empty(0, dtype=np.int64))
    config = FeatureConfig("tool.hist", {"prior": 0.1, "strength": 7})
    assert set(column_of(config, groups.candidates, state_of(config, nothing))) == {0.1}


@pytest.mark.parametrize("options", [{"strength": 0}, {"strength": -1}, {"prior": 1.5}, {"prior": -0.1}])
def test_a_prior_that_cannot_be_is_refused(options):
    with pytest.raises(UsageError, match=r"feature tool.hist: (strength|prior) is .*; a number (above 0|from 0 to 1)"):
        FeatureConfig("tool.hist", options)


@pytest.mark.parametrize(
    "query, tool, value",
    [
        ("please GET_WEATHER now", "get_weather", 1.0),
        ("what is the Weather?", "get_Weather", 0.7),
        ("together", "get_weather", 0.7),  # a part inside a word counts, as the specification has it
        ("hello", "get_weather", 0.3),
        ("anything", "_x_", 0.3),  # the empty parts around _ match nothing
        ("take x", "_x_", 0.7),
        ("", "get", 0.3),
    ],
)
def test_tool_coop_looks_for_the_name_then_for_its_parts(tmp_path, query, tool, value):
    lines = [{"trace_id": 1, "node_id": 1, "query": query, "tool": tool, "label": 1}]
    assert values("tool.coop", groups_of(tmp_path, lines)).tolist() == [value]


def test_graph_coop_fits_the_size_to_the_query(tmp_path):
    lines = list(graph_lines(traces=20))
    by_hand = []
    for line in lines:
        n, words = len(line["tree"]["nodes"]), len(line["query"].split())
        size = 1 / (1 + math.log1p(n)) if words < 5 else min(1, math.log1p(n) / 5)
        by_hand.append(0.2 + 0.8 * size)
    np.testing.assert_allclose(values("graph.coop", groups_of(tmp_path, lines)), by_hand, atol=1e-12)


def test_graph_struct_adds_density_and_unlikeness(tmp_path):
    alone = {**next(graph_lines()), "trace_id": "alone"}
    lines = [*graph_lines(traces=20), alone]
    by_hand = []
    for line in lines:
        key = line["trace_id"], line["node_id"]
        group = [each for each in lines if (each["trace_id"], each["node_id"]) == key]
        n, m = len(line["tree"]["nodes"]), len(line["tree"]["edges"])
        others = [len(each["tree"]["nodes"]) for each in group if each is not line]
        mean = sum(others) / len(others) if others else None
        unlike = 0.5 if mean is None else min(1, abs(n - mean) / max(mean, 1) / 2)
        by_hand.append(0.6 * (min(1, m / n) if n else 0) + 0.4 * unlike)
    np.testing.assert_allclose(values("graph.struct", groups_of(tmp_path, lines)), by_hand, atol=1e-12)


def test_graph_rel_is_the_mapped_cosine_and_zero_for_an_empty_graph(tmp_path):
    lines = list(graph_lines(traces=10))
    by_hand = []
    for line in lines:
        names = [node["name"] for node in line["tree"]["nodes"]]
        children = f" Children: {' -> '.join(names[1:6])}." if names[1:] else ""
        text = f"Root: {names[0]}.{children} Structure: " if names else ""
        text += f"{len(names)} nodes, {len(line['tree']['edges'])} edges" if names else ""
        by_hand.append((cosine(line["query"], text) + 1) / 2 if names else 0.0)
    np.testing.assert_allclose(values("graph.rel", groups_of(tmp_path, lines)), by_hand, atol=1e-12)
    assert 0.0 in by_hand


def test_graph_hist_counts_groups_that_offered_the_type(tmp_path):
    lines = list(graph_lines(traces=20))
    keys = {(line["trace_id"], line["node_id"]) for line in lines}
    by_hand = []
    for line in lines:
        kind = line["candidate_type"]
        of_kind = [
            [each for each in lines if (each["trace_id"], each["node_id"]) == key and each["candidate_type"] == kind]
            for key in keys
        ]
        seen, wins = sum(map(bool, of_kind)), sum(any(each["label"] for each in group) for group in of_kind)
        by_hand.append((wins + 1) / (seen + 2))
    np.testing.assert_allclose(values("graph.hist", groups_of(tmp_path, lines)), by_hand, atol=1e-12)


def test_an_unknown_feature_or_option_is_refused_with_the_nearest():
    with pytest.raises(UnknownNameError, match="unknown feature 'tool.hst'; did you mean tool.hist"):
        FeatureConfig("tool.hst")
    with pytest.raises(UsageError, match="feature tool.hist has no option 'strenth'; did you mean strength"):
        FeatureConfig("tool.hist", {"strenth": 1})
    with pytest.raises(UsageError, match="feature tool.rel has no option 'prior'; known: none"):
        FeatureConfig("tool.rel", {"prior": 1})
    with pytest.raises(UsageError, match="feature tool.hist: prior is 'x'; a number is needed"):
        FeatureConfig("tool.hist", {"prior": "x"})


# the contract


def cross_fitted(tmp_path, lines, name):
    return fit_features(with_its_factor(name), groups_of(tmp_path, lines), "letters")[1][:, -1]


def with_its_factor(name):
    """The feature, after the one by whose column it is multiplied, if there is one."""
    return [FeatureConfig(each) for each in (FEATURES[name].finish.times, name) if each]


@pytest.fixture(params=FEATURES.names())
def name(request):
    return request.param


@pytest.fixture
def lines(name):
    return list(LINES[name.partition(".")[0]](seed=5, traces=24))


def test_a_column_is_one_finite_number_a_row_and_the_same_twice(tmp_path, name, lines):
    groups = groups_of(tmp_path, lines)
    once = values(name, groups)
    assert once.shape == (len(lines),)
    assert once.dtype == np.float64
    assert np.isfinite(once).all()
    np.testing.assert_array_equal(values(name, groups), once)


def test_candidates_shuffled_inside_their_groups_give_the_values_shuffled(tmp_path, name, lines):
    rng, mixed = np.random.default_rng(0), []
    for first in range(0, len(lines), 4):
        mixed += (first + rng.permutation(4)).tolist()
    before = cross_fitted(tmp_path, lines, name)
    after = cross_fitted(tmp_path, [lines[place] for place in mixed], name)
    np.testing.assert_allclose(after, before[mixed], atol=1e-12)


def test_renamed_traces_nodes_and_graphs_change_nothing_that_is_served(tmp_path, name, lines):
    renamed = [
        {**line, "trace_id": f"ground_truth-{line['trace_id']}", "node_id": f"x{line['node_id']}"}
        | ({"candidate_id": f"ground_truth{line['candidate_id']}"} if "candidate_id" in line else {})
        for line in lines
    ]
    np.testing.assert_array_equal(values(name, groups_of(tmp_path, renamed)), values(name, groups_of(tmp_path, lines)))


def test_the_labels_of_a_trace_change_none_of_its_own_training_values(tmp_path, name, lines):
    flipped = [{**line, "label": 1 - line["label"]} if line["trace_id"] == "t3" else line for line in lines]
    own = np.array([line["trace_id"] == "t3" for line in lines])
    before, after = (cross_fitted(tmp_path, each, name) for each in (lines, flipped))
    np.testing.assert_array_equal(after[own], before[own])


def test_without_labels_a_column_is_the_same(tmp_path, name, lines):
    groups = groups_of(tmp_path, lines)
    bare = read_groups(
        write_lines(tmp_path / "bare.jsonl", [{k: v for k, v in line.items() if k != "label"} for line in lines]),
        labels_required=False,
    )
    np.testing.assert_array_equal(values(name, bare, groups), values(name, groups))


def test_one_trace_alone_and_a_fit_on_nothing_give_numbers(tmp_path, name, lines):
    alone = groups_of(tmp_path, [line for line in lines if line["trace_id"] == "t3"])
    features, phi = fit_features(with_its_factor(name), alone, "hash")
    assert np.isfinite(phi).all()
    assert np.isfinite(features(alone.candidates)).all()


def test_every_feature_says_in_a_title_and_in_one_line_what_it_is():
    for name in FEATURES.names():
        assert len(FEATURES[name].summary) > 20, name
        assert name not in FEATURES[name].title
        assert 10 < len(FEATURES[name].title) <= 40, name  # a column of a table
        assert FEATURES[name].kind in LINES, name
