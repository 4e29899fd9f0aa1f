"""Each learned feature of graphs against a loop written from its formula, and the states on disk."""

import math
from collections import Counter

import numpy as np
import pytest

from ltr import RunConfig, load, read_groups, run
from ltr.encoders import HashEncoder
from ltr.encoders.hash import BUCKETS
from ltr.features import FEATURES, FeatureConfig, clauses
from ltr.features.texts import plain_tool_text
from tests.builders import column_of, graph_lines, state_of, tool_lines, write_lines
from tests.made import DataConfig
from tests.test_features_learned import HALF, parts, vector

TRAIN = 14  # traces of LINES that states are fitted on
LINES = [{**line, "query": line["query"] + ", then find my old maps"} for line in graph_lines(seed=4, traces=20)]
SEEN = [line for line in LINES if int(line["trace_id"][1:]) < TRAIN]
RIGHT = [line for line in SEEN if line["label"]]


@pytest.fixture(scope="module")
def groups(tmp_path_factory):
    return read_groups(write_lines(tmp_path_factory.mktemp("learned") / "samples.jsonl", LINES))


def values(name, groups, **options):
    """The column of all rows, its state fitted on the first traces."""
    config = FeatureConfig(name, options)
    seen = [trace for trace, text in enumerate(groups.candidates.trace_ids) if int(text[1:]) < TRAIN]
    fit_on = groups.select(np.flatnonzero(np.isin(groups.candidates.traces, seen)))
    state = state_of(config, fit_on)
    return column_of(config, groups.candidates, state)


def nodes(line):
    """Name and text of each node."""
    return [(node["name"], plain_tool_text(node["name"], node["description"])) for node in line["tree"]["nodes"]]


def edges(line):
    """Each edge as a pair of names."""
    names = {node["id"]: node["name"] for node in line["tree"]["nodes"]}
    return [(names[edge["source"]], names[edge["target"]]) for edge in line["tree"]["edges"]]


def roots(line):
    reached = {edge["target"] for edge in line["tree"]["edges"]}
    return [node["name"] for node in line["tree"]["nodes"] if node["id"] not in reached]


def mean(numbers):
    listed = list(numbers)
    return sum(listed) / len(listed) if listed else 0.0


def prototype(name, text):
    """The unit vector of a node's tool."""
    total, counted = 3 * vector(text), set()
    for line in RIGHT:
        said = dict(reversed(nodes(line)))
        if name in said and (line["trace_id"], line["query"]) not in counted:
            counted.add((line["trace_id"], line["query"]))
            total = total + vector(max(clauses(line["query"]), key=lambda clause: vector(clause) @ vector(text)))
    return total / np.linalg.norm(total)


def test_graph_proto_is_the_mean_prototype_of_the_nodes(groups):
    by_hand = [
        mean(max(vector(part) @ prototype(*node) for part in parts(line["query"])) for node in nodes(line))
        for line in LINES
    ]
    np.testing.assert_allclose(values("graph.proto", groups), by_hand, atol=HALF)


def test_graph_clauses_asks_whether_each_clause_has_a_node_that_serves_it(groups):
    by_hand = [
        mean(
            max([0.0, *(vector(clause) @ prototype(*node) for node in nodes(line))])
            for clause in clauses(line["query"])
        )
        for line in LINES
    ]
    np.testing.assert_allclose(values("graph.clauses", groups), by_hand, atol=HALF)


def test_graph_near_edges_asks_the_twenty_nearest_queries_for_their_edges(groups):
    by_hand = []
    for line in LINES:
        cosines = [round(vector(line["query"]) @ vector(other["query"]), 9) for other in RIGHT]
        near = sorted(range(len(RIGHT)), key=lambda place: -cosines[place])[:20]
        weights, own = [math.exp(10 * (cosines[place] - 1)) for place in near], set(edges(line))
        total = 0.0
        for place, weight in zip(near, weights, strict=True):
            theirs = set(edges(RIGHT[place]))
            total += weight * len(own & theirs) / max(len(own | theirs), 1)
        by_hand.append(total / sum(weights))
    np.testing.assert_allclose(values("graph.near_edges", groups), by_hand, atol=0.02)  # ties fall otherwise
    assert max(by_hand) > 0


def test_only_so_many_queries_are_stored_whatever_their_order(groups):
    config = FeatureConfig("graph.near_edges", {"stored": 5})
    backwards = groups.select(np.arange(len(groups.offsets) - 1)[::-1])
    states = [state_of(config, each) for each in (groups, backwards)]
    assert [len(state["vectors"]["numbers"]) for state in states] == [5, 5]
    np.testing.assert_array_equal(states[0]["vectors"]["numbers"], states[1]["vectors"]["numbers"])


def test_graph_edges_counts_the_edges_of_right_graphs(groups):
    seen = Counter(edge for line in RIGHT for edge in edges(line))
    by_hand = [mean(math.log1p(seen[edge]) for edge in edges(line)) for line in LINES]
    np.testing.assert_allclose(values("graph.edges", groups), by_hand, atol=1e-12)
    assert max(by_hand) > 0


def test_graph_start_likes_roots_that_were_roots(groups):
    starts = Counter(name for line in RIGHT for name in roots(line))
    every = Counter(name for line in RIGHT for name, _ in nodes(line))
    share = starts.total() / every.total()
    by_hand = [mean(math.log((starts[name] + 2 * share) / (every[name] + 2)) for name in roots(line)) for line in LINES]
    np.testing.assert_allclose(values("graph.start", groups), by_hand, atol=1e-12)


def test_graph_size_is_the_distance_to_the_size_that_ridge_regression_expects(groups):
    def looks(line):
        signs = sum(line["query"].count(sign) for sign in (",", ".", " and ", " then "))
        return np.array([1.0, math.log1p(len(line["query"].split())), signs])

    normal = sum(np.outer(looks(line), looks(line)) for line in RIGHT) + 0.1 * np.eye(3)
    weights = np.linalg.solve(normal, sum(looks(line) * len(nodes(line)) for line in RIGHT))
    by_hand = [-abs(len(nodes(line)) - looks(line) @ weights) for line in LINES]
    np.testing.assert_allclose(values("graph.size", groups), by_hand, atol=1e-9)


def test_graph_cover_is_the_cosine_with_the_merged_grams_of_the_distinct_nodes(groups):
    encoder = HashEncoder.fitted([text for line in SEEN for _, text in nodes(line)])

    def grams(texts):
        found = HashEncoder.counts(texts)
        times = np.bincount(found.columns, weights=found.numbers, minlength=BUCKETS)
        return np.where(times > 0, 1 + np.log(np.maximum(times, 1)), 0) * encoder.weights

    by_hand = []
    for line in LINES:
        merged, asked = grams(list({text for _, text in nodes(line)})), grams([line["query"]])
        by_hand.append(merged @ asked / max(np.linalg.norm(merged) * np.linalg.norm(asked), 1e-12))
    np.testing.assert_allclose(values("graph.cover", groups), by_hand, atol=1e-12)


def test_graph_order_asks_whether_edges_go_the_way_the_query_goes(groups):
    def place(query, text):
        asked = query.lower().replace(",", "").split()
        weights = [math.exp(12 * vector(word) @ vector(text)) for word in asked]
        spots = [(number + 0.5) / len(asked) for number in range(len(asked))]
        return sum(weight * spot for weight, spot in zip(weights, spots, strict=True)) / sum(weights)

    by_hand = []
    for line in LINES:
        said = {node["id"]: text for node, (_, text) in zip(line["tree"]["nodes"], nodes(line), strict=True)}
        ends = [(said[edge["source"]], said[edge["target"]]) for edge in line["tree"]["edges"]]
        by_hand.append(mean(place(line["query"], b) - place(line["query"], a) for a, b in ends))
    np.testing.assert_allclose(values("graph.order", groups), by_hand, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in FEATURES.names() if name.startswith("graph")])
def test_a_row_has_its_value_whatever_else_is_ranked_beside_it(groups, name):
    config = FeatureConfig(name)
    state = state_of(config, groups)
    whole, alone = (
        column_of(config, groups.candidates, state),
        groups.select(np.array([7])),
    )
    found = column_of(config, alone.candidates, state)
    np.testing.assert_allclose(found, whole[28:32], atol=1e-12)


@pytest.mark.parametrize("kind, lines", [("tool", tool_lines), ("graph", graph_lines)])
def test_a_model_of_all_features_ranks_the_same_after_it_was_saved(tmp_path, kind, lines):
    path = write_lines(tmp_path / "samples.jsonl", lines(traces=24))
    names = tuple(name for name in FEATURES.names() if name.startswith(kind))
    result = run(RunConfig(data=DataConfig(train=str(path)), features=names, encoder="hash"))
    result.router.save(tmp_path)
    kept, candidates = load(tmp_path), result.train.candidates
    np.testing.assert_array_equal(kept.phi(candidates), result.router.phi(candidates))
