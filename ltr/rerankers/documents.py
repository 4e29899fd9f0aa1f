"""What a query is offered: candidates as the texts a reranker reads."""

from dataclasses import dataclass, replace

import numpy as np

from ltr.arrays import FloatArray
from ltr.data.graphs import graph_text
from ltr.data.groups import Candidates, Groups, select
from ltr.features.tool_specification import tool_text

Key = tuple[str, str, str]  # trace_id, node_id and name of a candidate


@dataclass(frozen=True, slots=True, eq=False)
class Documents:
    """The candidates of one query; no labels."""

    candidates: Candidates  # one group
    texts: tuple[str, ...]  # of each row, what an encoder reads: tool_text or graph_text

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each row."""
        return tuple(self.candidates.name_texts[code] for code in self.candidates.names.tolist())

    @property
    def keys(self) -> list[Key]:
        """What each row is known by among all rows of all queries."""
        trace, node = self.candidates.trace_ids[self.candidates.traces[0]], self.candidates.node_ids[0]
        return [(trace, node, name) for name in self.names]


@dataclass(frozen=True, slots=True, eq=False)
class Offer:
    """A query and its documents."""

    query: str
    documents: Documents


def texts_of(candidates: Candidates) -> tuple[str, ...]:
    """The text of each row."""
    if candidates.kind == "graph":
        each = [graph_text(graph) for graph in candidates.distinct_graphs]
        return tuple(each[code] for code in candidates.graphs.tolist())
    pairs = zip(candidates.names.tolist(), candidates.texts.tolist(), strict=True)
    told = candidates.tool_texts
    return tuple(tool_text(candidates.name_texts[name], *told[text]) for name, text in pairs)


def offers(groups: Groups) -> list[Offer]:
    """Each group as a query with its documents, in order."""
    found = []
    for group in range(len(groups.offsets) - 1):
        own = select(groups, np.array([group])).candidates
        found.append(Offer(own.query_texts[0], Documents(own, texts_of(own))))
    return found


def collection(candidates: Candidates) -> Documents:
    """Every distinct candidate of all groups, once, as if one query were offered them all."""
    texts = texts_of(candidates)
    names = candidates.names.tolist()
    rows = np.array(
        list({(name, text): row for row, (name, text) in enumerate(zip(names, texts, strict=True))}.values())
    )
    every = replace(
        candidates,
        offsets=np.array([0, len(rows)]),
        traces=candidates.traces[:1],
        node_ids=candidates.node_ids[:1],
        queries=candidates.queries[:1],
        names=candidates.names[rows],
        texts=candidates.texts[rows] if candidates.texts.size else candidates.texts,
        types=candidates.types[rows] if candidates.types.size else candidates.types,
        graphs=candidates.graphs[rows] if candidates.graphs.size else candidates.graphs,
        features=None if candidates.features is None else candidates.features[rows],
        lines=candidates.lines[rows],
    )
    return Documents(every, tuple(texts[row] for row in rows.tolist()))


def truth(groups: Groups) -> dict[Key, float]:
    """The label of each row by its key."""
    return {
        key: label
        for offer, labels in zip(offers(groups), _by_group(groups), strict=True)
        for key, label in zip(offer.documents.keys, labels.tolist(), strict=True)
    }


def _by_group(groups: Groups) -> list[FloatArray]:
    return np.split(groups.labels, groups.offsets[1:-1])
