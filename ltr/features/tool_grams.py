"""Character n-grams that a query shares with the texts of tools: TF-IDF like that of the encoder hash."""

from typing import Any

import numpy as np

from ltr.arrays import FloatArray, State, runs
from ltr.data.groups import Candidates, Groups
from ltr.encoders.hashing import BUCKETS, HashEncoder, counts
from ltr.encoders.sparse import Sparse
from ltr.features.registry import Context, feature
from ltr.features.tool_texts import parts_in, row_queries, teams_in, tools_in
from ltr.features.words import sparse

ROWS = 1 << 12  # graphs whose grams are merged at once


def fit_tool_grams(groups: Groups, context: Context) -> State:
    """In how many of the distinct tool texts each hashed gram occurs."""
    return _kept(HashEncoder.fitted(tools_in(groups.candidates, context).texts))


def _kept(encoder: HashEncoder) -> State:
    return {"documents": encoder.documents, "frequencies": encoder.frequencies.astype(np.int32)}


@feature("tool.char", "coop", fit=fit_tool_grams, title="letters shared with its text")
def character_overlap(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """Cosine of hashed character 3-5-gram TF-IDF of the query, and of the tool's name and description."""
    encoder, tools = HashEncoder.restored(state), tools_in(candidates, context)
    texts = encoder.encode(tools.texts, "document")
    return encoder.encode(candidates.query_texts, "query").dots(row_queries(candidates), texts, tools.codes)


@feature("tool.clause_char", "coop", fit=fit_tool_grams, title="letters a part of the query shares")
def clause_overlap(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """The largest tool.char of the query and of each of its clauses."""
    encoder, tools, parts = (
        HashEncoder.restored(state),
        tools_in(candidates, context),
        parts_in(candidates, context),
    )
    texts, asked = encoder.encode(tools.texts, "document"), encoder.encode(parts.texts, "query")
    return parts.best(row_queries(candidates), lambda part, pair: asked.dots(part, texts, tools.codes[pair]))[0]


def fit_node_grams(groups: Groups, context: Context) -> State:
    """In how many of the distinct texts of nodes each hashed gram occurs."""
    return _kept(HashEncoder.fitted(teams_in(groups.candidates, context).voices))


@feature("graph.cover", "struct", fit=fit_node_grams, title="letters shared with all its nodes")
def cover(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """Cosine of character TF-IDF of the query, and of the grams of all the graph's distinct nodes; no nodes: 0."""
    encoder, teams = HashEncoder.restored(state), teams_in(candidates, context)
    queries = encoder.encode(candidates.query_texts, "query")
    counted = counts(teams.voices)
    times = sparse(counted.texts, counted.buckets, counted.times.astype(float), (len(teams.voices), BUCKETS))
    graph_of_node, voices, _ = teams.nodes.counted(len(teams.voices))
    starts = np.searchsorted(graph_of_node, np.arange(len(candidates.distinct_graphs) + 1))
    values, rows = np.empty(len(candidates.graphs)), row_queries(candidates)
    for first, last in runs(candidates.offsets, ROWS):
        part = slice(candidates.offsets[first], candidates.offsets[last])
        graphs, owner = np.unique(candidates.graphs[part], return_inverse=True)
        merged = _merged(times, [voices[starts[graph] : starts[graph + 1]] for graph in graphs.tolist()], encoder)
        values[part] = queries.dots(rows[part], merged, owner)
    return values


def _merged(times: Sparse, nodes: list[Any], encoder: HashEncoder) -> Sparse:
    """The unit TF-IDF rows of texts that are put together."""
    owner = np.repeat(np.arange(len(nodes)), [len(voices) for voices in nodes])
    summed = times.sums(owner, np.concatenate(nodes), np.ones(len(owner)), len(nodes))
    numbers = (1 + np.log(summed.numbers)) * encoder.weights[summed.columns]
    return Sparse(summed.starts, summed.columns, numbers, BUCKETS).unit()
