"""Which tool answered which query; for `Context.shared`, so that features share the result."""

from dataclasses import dataclass

import numpy as np

from ltr.arrays import IntArray
from ltr.data.groups import Groups, right_rows
from ltr.features.feature_context import Context
from ltr.features.graph_tables import graph_tables
from ltr.features.plain_tool_text import distinct_tools
from ltr.features.row_queries import row_queries


@dataclass(frozen=True, slots=True)
class Answers:
    """Which tool answered which query; a query that a tool answered twice in a trace counts once."""

    queries: IntArray  # codes into query_texts
    tools: IntArray  # codes into name_texts, or into the tools of graph_tables
    texts: IntArray  # of the tool: codes into the texts of distinct_tools, or into those of graph_tables


def right_answers(groups: Groups, context: Context) -> Answers:
    """Who answered the queries of the groups: the right tools, or the tools in the right graphs."""
    candidates, rows = groups.candidates, right_rows(groups)
    width = max(len(candidates.query_texts), 1)
    row_traces = np.repeat(candidates.traces, np.diff(candidates.offsets))
    asked_in_trace = row_traces[rows] * width + row_queries(candidates)[rows]
    if candidates.kind == "tool":
        right_tools, texts = candidates.names[rows], context.shared(distinct_tools, candidates).codes[rows]
    else:
        tables = context.shared(graph_tables, candidates)
        nodes = tables.nodes.take(candidates.graphs[rows])
        asked_in_trace, texts = np.repeat(asked_in_trace, nodes.lengths), nodes.codes
        right_tools = tables.text_tools[texts]
    _, first = np.unique(asked_in_trace * (int(right_tools.max(initial=0)) + 1) + right_tools, return_index=True)
    return Answers(asked_in_trace[first] % width, right_tools[first], texts[first])
