"""A feature may be a function of a query and a tool, or a query and a graph: one row at a time."""

import numpy as np
import pytest

import ltr
from ltr.errors import DataError, RunError, UsageError
from ltr.features import FEATURES, FeatureConfig, Tool, fit_features
from ltr.registry import NotNegative
from tests.builders import graph_lines, tool_lines, write_lines


@pytest.fixture
def registered():
    """Register a feature for the length of a test."""
    names = []

    def register(name, function):
        names.append(name)
        return ltr.feature(name, "struct")(function)

    yield register
    for name in names:
        FEATURES._own.pop(name, None)


def column(tmp_path, name, lines, **options):
    groups = ltr.read_groups(write_lines(tmp_path / "samples.jsonl", lines))
    return groups.candidates, fit_features([FeatureConfig(name, options)], groups, "hash")[1][:, 0]


def test_a_function_of_a_query_and_a_tool_gives_the_number_of_each_row(tmp_path, registered):
    def length(query: str, tool: Tool) -> float:
        """Characters of the name and the query."""
        return len(tool.name) + len(query) / 100 + bool(tool.description)

    assert registered("tool.length", length) is length
    candidates, values = column(tmp_path, "tool.length", tool_lines())
    queries = np.repeat(candidates.queries, np.diff(candidates.offsets)).tolist()
    assert values.tolist() == [
        length(candidates.query_texts[query], Tool(candidates.name_texts[name], *candidates.tool_texts[text]))
        for query, name, text in zip(queries, candidates.names.tolist(), candidates.texts.tolist(), strict=True)
    ]
    assert np.ptp(values) > 0
    assert FEATURES["tool.length"].summary == "Characters of the name and the query."


def test_a_function_of_a_query_and_a_graph_gives_the_number_of_each_row(tmp_path, registered):
    registered("graph.nodes", lambda query, graph: len(graph.names))
    candidates, values = column(tmp_path, "graph.nodes", graph_lines())
    assert values.tolist() == [len(candidates.distinct_graphs[code].names) for code in candidates.graphs.tolist()]


def test_its_keyword_only_parameters_are_options(tmp_path, registered):
    def share(query: str, tool: Tool, *, weight: NotNegative = 1.0) -> float:
        return weight * len(tool.name)

    registered("tool.share", share)
    once, twice = (column(tmp_path, "tool.share", tool_lines(), **options)[1] for options in ({}, {"weight": 2.0}))
    assert twice.tolist() == (2 * once).tolist()
    with pytest.raises(ValueError, match="feature tool.share: weight is -1.0; a number of 0 or more is needed"):
        FeatureConfig("tool.share", {"weight": -1.0})


def test_a_function_of_one_row_that_fails_is_named(tmp_path, registered):
    registered("tool.failing", lambda query, tool: 1 / 0)
    with pytest.raises(
        RunError, match="test_row_features.py:[0-9]+: the feature tool.failing failed: .*division by zero"
    ):
        column(tmp_path, "tool.failing", tool_lines())


def test_what_is_no_number_is_refused(tmp_path, registered):
    registered("tool.nothing", lambda query, tool: None)
    with pytest.raises(DataError, match="the feature tool.nothing did not give one finite number for each of"):
        column(tmp_path, "tool.nothing", tool_lines())


def test_a_function_of_one_row_learns_nothing():
    with pytest.raises(UsageError, match="feature tool.learns: a function of one row learns nothing"):
        ltr.feature("tool.learns", "hist", fit=lambda groups, context: {})(lambda query, tool: 0.0)
