"""What could betray the right candidate without a look at the query; none of it may rank much better than chance."""

from collections.abc import Callable

import numpy as np

from ltr.arrays import FloatArray
from ltr.groups import Candidates

Parts = frozenset[object]


def tells(candidates: Candidates) -> dict[str, FloatArray]:
    """Columns that see no query and no label, by name; the greatest value comes first."""
    spans = list(zip(candidates.offsets[:-1].tolist(), candidates.offsets[1:].tolist(), strict=True))
    names = np.array([float(np.unique(candidates.name_texts).searchsorted(name)) for name in candidates.name_texts])
    columns = {
        "last in the file": np.concatenate([np.arange(end - start, dtype=float) for start, end in spans]),
        "name": names[candidates.names],
    }
    if candidates.kind == "tool":
        columns["like the others (words)"] = likeness([words(candidates, row) for row in range(spans[-1][1])], spans)
        columns["offered often"] = np.bincount(candidates.names).astype(float)[candidates.names]
    else:
        columns["like the others (hand-overs)"] = likeness(of_graphs(candidates, handovers), spans)
        columns["like the others (agents, hand-overs)"] = likeness(of_graphs(candidates, parts), spans)
        sizes = np.array([len(graph.names) for graph in candidates.distinct_graphs], dtype=float)
        columns["size"] = sizes[candidates.graphs]
        columns["near the mean size"] = near_mean(columns["size"], spans)
        columns["type"] = candidates.types.astype(float)
    return columns


def words(candidates: Candidates, row: int) -> Parts:
    """The words of a tool's name and description."""
    text = candidates.tool_texts[candidates.texts[row]].description
    name = candidates.name_texts[candidates.names[row]].replace("_", " ")
    return frozenset(f"{name} {text}".lower().split())


def of_graphs(candidates: Candidates, parts: Callable[[object], Parts]) -> list[Parts]:
    """The parts of each row's graph."""
    distinct = [parts(graph) for graph in candidates.distinct_graphs]
    return [distinct[code] for code in candidates.graphs]


def handovers(graph) -> Parts:
    """Directed pairs of agents."""
    return frozenset((graph.names[a], graph.names[b]) for a, b in graph.edges)


def parts(graph) -> Parts:
    """Agents and directed pairs of agents."""
    return handovers(graph) | frozenset(graph.names)


def likeness(rows: list[Parts], spans: list[tuple[int, int]]) -> FloatArray:
    """Mean Jaccard likeness of each row to the others of its group."""
    means = []
    for start, end in spans:
        group = rows[start:end]
        table = np.array([[len(a & b) / max(len(a | b), 1) for b in group] for a in group])
        means.append((table.sum(axis=1) - table.diagonal()) / (len(group) - 1))
    return np.concatenate(means)


def near_mean(values: FloatArray, spans: list[tuple[int, int]]) -> FloatArray:
    """How near each row is to the mean of its group."""
    return np.concatenate([-abs(values[start:end] - values[start:end].mean()) for start, end in spans])
