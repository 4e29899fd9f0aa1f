"""The specification's features of tools."""

import numpy as np

from ltr.arrays import FloatArray, State
from ltr.data.candidates import Candidates
from ltr.data.distinct_tools import tools_of_rows
from ltr.data.tool_texts import tool_text
from ltr.features.feature_context import Context
from ltr.features.registry import feature
from ltr.features.row_queries import RowTexts, query_texts, row_queries
from ltr.features.state_learners import Counted
from ltr.features.tool_popularity import count_wins
from ltr.files.learned_state_types import Count, Json, Record, learns
from ltr.files.mergeable_tables import Part, texts_of


def tool_texts(candidates: Candidates, context: object) -> RowTexts:
    """The texts of the rows' tools: texts for an encoder."""
    tools, codes = tools_of_rows(candidates)
    return RowTexts(tuple(tool_text(name, *text) for name, text in zip(tools.names, tools.texts, strict=True)), codes)


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
