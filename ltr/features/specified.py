"""The specification's features of tools."""

import numpy as np

from ltr.arrays import FloatArray, IntArray, State, group_sums, texts_of
from ltr.catalogues import tool_text
from ltr.features.history import count_wins
from ltr.features.protocol import Context, Counted, feature
from ltr.features.texts import RowTexts, query_texts, row_queries
from ltr.samples import Candidates, tools_of_rows
from ltr.states import Count, Json, Record, learns
from ltr.tables import Part


def tool_texts(candidates: Candidates, context: object) -> RowTexts:
    """The texts of the rows' tools: texts for an encoder."""
    tools, codes = tools_of_rows(candidates)
    return RowTexts(tuple(tool_text(name, *text) for name, text in zip(tools.names, tools.texts, strict=True)), codes)


def documents(candidates: Candidates) -> RowTexts:
    """Return what an encoder reads of the candidates, and which of these texts each row has."""
    return (tool_texts if candidates.kind == "tool" else graph_texts)(candidates, None)


def mapped_cosines(candidates: Candidates, context: Context) -> FloatArray:
    """(cosine + 1) / 2 of each row's query and tool text; for `Context.shared`."""
    queries, tools = context.shared(query_texts, candidates), context.shared(tool_texts, candidates)
    vectors = context.vectors
    return (vectors[query_texts].dots(queries.codes, vectors[tool_texts], tools.codes) + 1) / 2


@feature(
    "tool.rel",
    "rel",
    queries=query_texts,
    documents=tool_texts,
    title="query and tool text are alike",
)
def tool_relevance(candidates: Candidates, state: None, context: Context) -> FloatArray:
    """(cos(e(query), e(tool text)) + 1) / 2; 0.5 where either says nothing."""
    return context.shared(mapped_cosines, candidates).copy()


@feature(
    "tool.struct",
    "struct",
    queries=query_texts,
    documents=tool_texts,
    title="query and tool text are alike (root)",
)
def usefulness(candidates: Candidates, state: None, context: Context) -> FloatArray:
    """sqrt(tool.rel + 0.1): a monotone copy of tool.rel, kept because the specification has it."""
    return np.sqrt(context.shared(mapped_cosines, candidates) + 0.1)


@learns(Record(wins=Json(dict[str, Count])))
def shares_state(part: Part) -> State:
    """How often each tool was right."""
    names, wins = texts_of(part["tools"].facts["name"]), part["tools"].sums["wins"].tolist()
    return {"wins": {name: count for name, count in sorted(zip(names, wins, strict=True)) if count}}


@feature(
    "tool.hist_share",
    "hist",
    fit=Counted(count_wins, shares_state),
    title="share of all right answers",
)
def history_share(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """Share of the tool among the right answers it was fitted on, times 0.5, plus 0.5; never seen: 0.5."""
    wins = state["wins"]
    total = max(sum(wins.values()), 1)
    shares = np.array([wins.get(name, 0) / total for name in candidates.name_texts])
    return shares[candidates.names] * 0.5 + 0.5


@feature("tool.coop", "coop", title="tool name stands in the query")
def name_overlap(candidates: Candidates, state: None, context: Context) -> FloatArray:
    """1.0 when the lower-cased query contains the tool's name, 0.7 when it contains a part split at _, else 0.3."""
    queries = [text.lower() for text in candidates.query_texts]
    names = [text.lower() for text in candidates.name_texts]
    parts = [[part for part in name.split("_") if part] for name in names]
    return np.array(
        [
            1.0
            if names[name] in queries[query]
            else 0.7
            if any(part in queries[query] for part in parts[name])
            else 0.3
            for query, name in zip(row_queries(candidates).tolist(), candidates.names.tolist(), strict=True)
        ]
    )


SHORT_QUERY = 5  # words


def graph_texts(candidates: Candidates, context: object) -> RowTexts:
    """The texts of the rows' graphs: texts for an encoder."""
    return RowTexts(tuple(graph.text for graph in candidates.distinct_graphs), candidates.graphs)


@feature("graph.rel", "rel", queries=query_texts, documents=graph_texts, title="query and graph text are alike")
def graph_relevance(candidates: Candidates, state: None, context: Context) -> FloatArray:
    """(cos(e(query), e(graph text)) + 1) / 2; 0.5 where the query says nothing, 0 for an empty graph."""
    queries, graphs = context.shared(query_texts, candidates), context.shared(graph_texts, candidates)
    cosines = context.vectors[query_texts].dots(queries.codes, context.vectors[graph_texts], graphs.codes)
    is_empty = np.array([not text for text in graphs.texts])
    return np.where(is_empty[graphs.codes], 0.0, (cosines + 1) / 2)


@feature("graph.coop", "coop", title="size suits the query's length")
def size_fit(candidates: Candidates, state: None, context: Context) -> FloatArray:
    """0.2 + 0.8 s; s = 1 / (1 + ln(1 + n)) for a query of under 5 words, else min(1, ln(1 + n) / 5)."""
    is_short_query = np.array([len(text.split()) < SHORT_QUERY for text in candidates.query_texts])
    is_short = is_short_query[row_queries(candidates)]
    logs = np.log1p(node_counts(candidates))
    return 0.2 + 0.8 * np.where(is_short, 1 / (1 + logs), np.minimum(1, logs / 5))


@feature("graph.struct", "struct", title="dense, and unlike the others in size")
def graph_balance(candidates: Candidates, state: None, context: Context) -> FloatArray:
    """0.6 min(1, m / n) + 0.4 min(1, |n - mean of others| / max(mean of others, 1) / 2); no others: 0.4 * 0.5."""
    nodes, edges = node_counts(candidates), edge_counts(candidates)
    sizes = np.repeat(np.diff(candidates.offsets), np.diff(candidates.offsets))
    totals = np.repeat(group_sums(nodes.astype(float), candidates.offsets), np.diff(candidates.offsets))
    others = (totals - nodes) / np.maximum(sizes - 1, 1)
    unusual = np.minimum(1, np.abs(nodes - others) / np.maximum(others, 1) / 2)
    density = np.minimum(1, edges / np.maximum(nodes, 1)) * (nodes > 0)
    return 0.6 * density + 0.4 * np.where(sizes > 1, unusual, 0.5)


def node_counts(candidates: Candidates) -> IntArray:
    """n of each row's graph."""
    return np.array([len(graph.texts) for graph in candidates.distinct_graphs], dtype=np.int64)[candidates.graphs]


def edge_counts(candidates: Candidates) -> IntArray:
    """m of each row's graph."""
    return np.array([len(graph.edges) for graph in candidates.distinct_graphs], dtype=np.int64)[candidates.graphs]
