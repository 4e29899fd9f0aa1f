"""Groups: the candidates of each query and their labels, as columns with offsets."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ltr.arrays import FloatArray, IntArray, offsets_of, ragged
from ltr.data.candidates import NO_CODES, Candidates
from ltr.data.catalogues.tools import foreign_catalogue, tool_columns
from ltr.data.integer_codes import recoded
from ltr.data.supplied_feature_names import unnamed
from ltr.errors import DataError, count
from ltr.files.path_arguments import AnyPath, expand
from ltr.logs import LOG, stage

if TYPE_CHECKING:
    from ltr.data.catalogues.graphs import GraphCatalogue
    from ltr.data.catalogues.tools import ToolCatalogue
    from ltr.data.data_frame_rows import Table, TableRows
    from ltr.data.graphs import Graph
    from ltr.data.sample_reader import Samples

Value = TypeVar("Value")
Rows = IntArray | slice


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Candidates with their labels, weights and times."""

    candidates: Candidates
    labels: FloatArray  # (rows,) at least 0; NaN where a line has none, if that was allowed
    offsets: IntArray  # those of the candidates
    weights: FloatArray | None = None  # (groups,) above 0, 1 where a group has none; None where no group has one
    times: FloatArray | None = None  # (groups,) seconds since 1970, NaN where a group has none; None as above
    none: IntArray | None = None  # (groups,) ABSENT, WRONG or RIGHT: nothing offered is right; None: all ABSENT
    none_groups: "Groups | None" = None  # those that were left out because none is right
    outcomes: tuple[str, ...] | None = None  # (groups,) the id of an outcome, "" of any other; None: no group is one

    @property
    def group_weights(self) -> FloatArray:
        """The weight of each group."""
        return np.ones(len(self.offsets) - 1) if self.weights is None else self.weights

    @property
    def num_none(self) -> int:
        """How many groups were left out because none is right."""
        return 0 if self.none_groups is None else len(self.none_groups.offsets) - 1


@stage("reading")
def read_groups(
    samples: "AnyPath | Iterable[AnyPath] | Table | TableRows",
    *,
    tools: "ToolCatalogue | None" = None,
    graphs: "GraphCatalogue | None" = None,
    labels_required: bool = True,
) -> Groups:
    """The groups of samples, in order of first appearance, rows inside a group in the order of the samples.

    They are files and globs; or a data frame of pandas or polars, a list of dicts, or a Dataset of Hugging Face, whose
    columns are the fields.

    A candidate has the text, or the tree and type, that its catalogue gives, else its own.
    """
    from ltr.data.contradictory_candidates import (  # a single query is ranked without samples
        merge_repetitions,
        refuse_contradictions,
    )
    from ltr.data.sample_reader import read_samples

    columns, repeated = merge_repetitions(read_samples(_sources(samples), labels_required=labels_required))
    refuse_contradictions(columns)
    for file in columns.files:
        LOG.info(f"read {file.path}: {count(file.line_count, 'line')}, {count(file.byte_count, 'byte')}")
    problem = foreign_catalogue(columns.name_texts, tools or {}) if columns.kind == "tool" else ""
    if problem:
        raise DataError(f"{', '.join(file.path for file in columns.files)}: {problem}")
    groups = group_samples(columns, tools=tools or {}, graphs=graphs or {})
    counts = {"candidate": len(groups.labels), "group": len(columns.traces), "trace": len(columns.trace_ids)}
    LOG.info(f"found {', '.join(count(number, noun) for noun, number in counts.items())}")
    return replace(groups, candidates=replace(groups.candidates, repeated=str(repeated)))


def _sources(samples: Any) -> "list[AnyPath | TableRows]":
    """The files of names and globs; or the rows of a data frame, a list or a Dataset."""
    from ltr.data.data_frame_rows import rows_of

    samples = list(samples) if isinstance(samples, Iterator) else samples
    rows = rows_of(samples)
    return [*expand(samples)] if rows is None else [rows]


def group_samples(samples: "Samples", *, tools: "ToolCatalogue", graphs: "GraphCatalogue") -> Groups:
    """The rows of the samples, those of a group together, with the texts and graphs of their candidates."""
    offsets = offsets_of(np.bincount(samples.groups))
    is_in_order = bool((samples.groups[1:] >= samples.groups[:-1]).all())
    rows: Rows = slice(None) if is_in_order else np.argsort(samples.groups, kind="stable")
    features = None if samples.features is None else samples.features[rows]
    texts, tool_texts = tool_columns(samples, tools)
    types, type_texts, graph_codes, distinct_graphs = NO_CODES, tuple[str, ...](), NO_CODES, tuple["Graph", ...]()
    if samples.kind == "graph":
        from ltr.data.catalogues.graphs import graph_columns

        types, type_texts, graph_codes, distinct_graphs = graph_columns(samples, graphs)
    candidates = Candidates(
        kind=samples.kind,
        offsets=offsets,
        traces=samples.traces,
        trace_ids=samples.trace_ids,
        node_ids=tuple(samples.node_ids[node] for node in samples.nodes.tolist()),
        queries=samples.queries,
        query_texts=samples.query_texts,
        names=samples.names[rows],
        name_texts=samples.name_texts,
        texts=_at(texts, rows),
        tool_texts=tool_texts,
        types=_at(types, rows),
        type_texts=type_texts,
        graphs=_at(graph_codes, rows),
        distinct_graphs=distinct_graphs,
        features=features,
        feature_names=() if features is None else unnamed(features.shape[1]),
        lines=samples.lines[rows],
        files=samples.files,
        draws=None if samples.draws is None else samples.draws.at(rows),
        contexts=samples.contexts,
        context_texts=samples.context_texts,
        previous=samples.previous,
        previous_lists=samples.previous_lists,
    )
    none = None if samples.none is None else samples.none.marks(len(samples.traces))
    return Groups(
        candidates, samples.labels[rows], offsets, samples.weights, samples.times, none, outcomes=samples.outcomes
    )


def _at(codes: IntArray, rows: Rows) -> IntArray:
    """The codes of the rows; a column that candidates of this kind do not have stays empty."""
    return codes[rows] if codes.size else codes


def select(groups: Groups, indices: IntArray) -> Groups:
    """The groups at the indices, in that order, with the tables cut to what they use.

    So a text that only groups of the test set have is not there to be learned from.
    """
    candidates = groups.candidates
    sizes = np.diff(groups.offsets)[indices]
    owner, within = ragged(sizes)
    rows = groups.offsets[indices][owner] + within
    offsets = offsets_of(sizes)
    traces, trace_ids = _cut(candidates.traces[indices], candidates.trace_ids)
    queries, query_texts = _cut(candidates.queries[indices], candidates.query_texts)
    names, name_texts = _cut(candidates.names[rows], candidates.name_texts)
    texts, tool_texts = _cut(_at(candidates.texts, rows), candidates.tool_texts)
    types, type_texts = _cut(_at(candidates.types, rows), candidates.type_texts)
    graphs, distinct_graphs = _cut(_at(candidates.graphs, rows), candidates.distinct_graphs)
    contexts, context_texts = _cut_optional(candidates.contexts, indices, candidates.context_texts)
    previous, previous_lists = _cut_optional(candidates.previous, indices, candidates.previous_lists)
    selected = replace(
        candidates,
        offsets=offsets,
        traces=traces,
        trace_ids=trace_ids,
        node_ids=tuple(candidates.node_ids[group] for group in indices.tolist()),
        queries=queries,
        query_texts=query_texts,
        names=names,
        name_texts=name_texts,
        texts=texts,
        tool_texts=tool_texts,
        types=types,
        type_texts=type_texts,
        graphs=graphs,
        distinct_graphs=distinct_graphs,
        features=None if candidates.features is None else candidates.features[rows],
        lines=candidates.lines[rows],
        draws=None if candidates.draws is None else candidates.draws.at(rows),
        contexts=contexts,
        context_texts=context_texts,
        previous=previous,
        previous_lists=previous_lists,
    )
    weights, times = (None if column is None else column[indices] for column in (groups.weights, groups.times))
    none = None if groups.none is None else groups.none[indices]
    outcomes = None if groups.outcomes is None else tuple(groups.outcomes[group] for group in indices.tolist())
    return Groups(selected, groups.labels[rows], offsets, weights, times, none, outcomes=outcomes)


def _cut(codes: IntArray, table: tuple[Value, ...]) -> tuple[IntArray, tuple[Value, ...]]:
    """Codes and table cut to the entries in use, in order of first appearance.

    >>> _cut(np.array([2, 0, 2]), ("a", "b", "c"))
    (array([0, 1, 0]), ('c', 'a'))
    """
    renumbered, distinct = recoded(codes)
    return renumbered, tuple(table[code] for code in distinct.tolist())


def _cut_optional(
    codes: IntArray | None, indices: IntArray, table: tuple[Value, ...]
) -> tuple[IntArray | None, tuple[Value, ...]]:
    """As above, of a column that may be missing."""
    return (None, ()) if codes is None else _cut(codes[indices], table)


def without_traces(groups: Groups, names: set[str]) -> Groups:
    """The groups of all other traces."""
    ids = groups.candidates.trace_ids
    if names.isdisjoint(ids):
        return groups
    stays = np.array([name not in names for name in ids])[groups.candidates.traces]
    return replace(select(groups, np.flatnonzero(stays)), none_groups=groups.none_groups)


def right_rows(groups: Groups) -> IntArray:
    """The rows whose candidate was right."""
    return np.flatnonzero(groups.labels > 0)
