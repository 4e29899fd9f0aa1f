"""What could betray the right candidate without a look at the query; none of it may rank much better than chance."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from data.source.drafts import each_to_others
from ltr import Groups, TrainConfig, fit
from ltr.arrays import FloatArray, IntArray
from ltr.samples import Candidates

Parts = frozenset[object]
Spans = list[tuple[int, int]]
Columns = dict[str, FloatArray]


@dataclass(frozen=True)
class Likeness:
    """How like the others each row is, on average, and how like the one it is most like."""

    mean: FloatArray
    greatest: FloatArray


def tells(candidates: Candidates) -> Columns:
    """Columns that see no query and no label, by name; the greatest value comes first."""
    spans = list(zip(candidates.offsets[:-1].tolist(), candidates.offsets[1:].tolist(), strict=True))
    names = np.array([float(np.unique(candidates.name_texts).searchsorted(name)) for name in candidates.name_texts])
    columns = {
        "last in the file": np.concatenate([np.arange(end - start, dtype=float) for start, end in spans]),
        "name": names[candidates.names],
    }
    of_kind = of_tools if candidates.kind == "tool" else of_teams
    return columns | of_kind(candidates, spans)


def of_tools(candidates: Candidates, spans: Spans) -> Columns:
    """What texts, likeness and popularity of tools could betray."""
    texts = [candidates.tool_texts[code] for code in candidates.texts]
    alike = likeness([words(candidates, row) for row in range(spans[-1][1])], spans)
    return {
        "like the others (words)": alike.mean,
        "like one other (words)": alike.greatest,
        "length of the description": np.array([float(len(text.description)) for text in texts]),
        "length of the inputs": np.array([float(len(text.inputs)) for text in texts]),
        "offered often": np.bincount(candidates.names).astype(float)[candidates.names],
    }


def of_teams(candidates: Candidates, spans: Spans) -> Columns:
    """What shape, size and likeness of teams could betray."""
    sizes = np.array([float(len(graph.names)) for graph in candidates.distinct_graphs])[candidates.graphs]
    edges = np.array([float(len(graph.edges)) for graph in candidates.distinct_graphs])[candidates.graphs]
    alike = likeness(of_graphs(candidates, parts), spans)
    return {
        "like the others (hand-overs)": likeness(of_graphs(candidates, handovers), spans).mean,
        "like the others (agents, hand-overs)": alike.mean,
        "like one other (agents, hand-overs)": alike.greatest,
        "size": sizes,
        "near the mean size": near_mean(sizes, spans),
        "hand-overs": edges,
        "hand-overs an agent": edges / sizes,
        "type": candidates.types.astype(float),
    }


def fitted(train: Groups, learned: Columns, test: Groups, applied: Columns) -> FloatArray:
    """Scores of the test rows by a model that learned from the columns above and their squares, and from no query."""
    phi = squared(learned, train.offsets)
    return squared(applied, test.offsets) @ fit(phi, train.labels, train.offsets, TrainConfig(trainer="newton")).w


def squared(columns: Columns, offsets: IntArray) -> FloatArray:
    """The columns with mean 0 and deviation 1 inside every group, and the squares of these."""
    starts, sizes = offsets[:-1], np.diff(offsets)
    table = np.column_stack(list(columns.values()))
    table = table - np.repeat(np.add.reduceat(table, starts) / sizes[:, None], sizes, axis=0)
    deviations = np.sqrt(np.add.reduceat(table**2, starts) / sizes[:, None])
    table = table / np.repeat(np.where(deviations > 1e-9, deviations, 1), sizes, axis=0)
    return np.hstack([table, table**2])


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


def likeness(rows: list[Parts], spans: Spans) -> Likeness:
    """Jaccard likeness of each row to the others of its group."""
    means, greatest = [], []
    for start, end in spans:
        group = rows[start:end]
        table = np.array(each_to_others(group))
        means.append(table.sum(axis=1) / (len(group) - 1))
        greatest.append(table.max(axis=1))
    return Likeness(np.concatenate(means), np.concatenate(greatest))


def near_mean(values: FloatArray, spans: Spans) -> FloatArray:
    """How near each row is to the mean of its group."""
    return np.concatenate([-abs(values[start:end] - values[start:end].mean()) for start, end in spans])
