"""The candidates of a query as documents: the texts that a reranker reads."""

from dataclasses import dataclass

import numpy as np

from ltr.data.candidates import Candidates, with_rows
from ltr.data.graphs import graph_text
from ltr.data.groups import Groups, select
from ltr.features.specified_tool_features import tool_texts

CandidateKey = tuple[str, str, str]  # trace_id, node_id and name


@dataclass(frozen=True, slots=True, eq=False)
class Documents:
    """The candidates of one query; no labels."""

    candidates: Candidates  # one group
    texts: tuple[str, ...]  # (rows,) what an encoder reads: tool_text or graph_text

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def keys(self) -> list[CandidateKey]:
        """The key of each row, unique among all rows of all queries."""
        own = self.candidates
        trace, node = own.trace_ids[own.traces[0]], own.node_ids[0]
        return [(trace, node, own.name_texts[code]) for code in own.names.tolist()]


@dataclass(frozen=True, slots=True, eq=False)
class QueryWithDocuments:
    """A query and the documents to rank for it."""

    query: str
    documents: Documents


def document_texts(candidates: Candidates) -> tuple[str, ...]:
    """The text of each row."""
    if candidates.kind == "graph":
        texts = [graph_text(graph) for graph in candidates.distinct_graphs]
        return tuple(texts[code] for code in candidates.graphs.tolist())
    tools = tool_texts(candidates, None)
    return tuple(tools.texts[code] for code in tools.codes.tolist())


def queries_with_documents(groups: Groups) -> list[QueryWithDocuments]:
    """Each group as a query with its documents, in order."""
    parts = [select(groups, np.array([group])).candidates for group in range(len(groups.offsets) - 1)]
    return [QueryWithDocuments(part.query_texts[0], Documents(part, document_texts(part))) for part in parts]


def collection(candidates: Candidates) -> Documents:
    """Every distinct candidate of all groups, once, as the documents of a single query."""
    texts = document_texts(candidates)
    names = candidates.names.tolist()
    last_row = {pair: row for row, pair in enumerate(zip(names, texts, strict=True))}
    rows = np.array(list(last_row.values()))
    merged = with_rows(candidates, np.zeros(1, dtype=np.int64), rows, np.array([len(rows)]))
    return Documents(merged, tuple(texts[row] for row in rows.tolist()))


def labels_by_key(groups: Groups) -> dict[CandidateKey, float]:
    """The label of each row by its key."""
    keys = [key for query in queries_with_documents(groups) for key in query.documents.keys]
    return dict(zip(keys, groups.labels.tolist(), strict=True))
