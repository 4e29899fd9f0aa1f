"""Groups: the candidates of each query and their labels, as columns with offsets."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from ltr.arrays import LARGEST, Array, FloatArray, IntArray, as_weights, offsets_of, ragged
from ltr.data.candidates import Candidates, with_rows
from ltr.data.catalogues.tools import foreign_catalogue, tool_columns
from ltr.data.columns import (
    NEEDED,
    NO_CODES,
    Axis,
    Column,
    Places,
    Texts,
    at,
    at_least,
    columns,
    packed,
    places_in,
    read,
    stacked,
)
from ltr.data.none_candidates import ABSENT, RIGHT, WRONG
from ltr.data.supplied_feature_names import unnamed
from ltr.errors import DataError, count
from ltr.files.path_arguments import AnyPath, expand
from ltr.logs import LOG, stage

if TYPE_CHECKING:
    from ltr.data.catalogues.graphs import GraphCatalogue
    from ltr.data.catalogues.tools import ToolCatalogue
    from ltr.data.data_frame_rows import Table, TableRows
    from ltr.data.sample_reader import Samples

WEIGHTS = Column("groups", absent=1.0, check=lambda _, column, offsets: as_weights(column, int(offsets[-1])))
TIMES = Column("groups", absent=np.nan, check=at_least(-LARGEST))
NONE = Column("groups", absent=ABSENT, check=places_in((ABSENT, WRONG, RIGHT)))
OUTCOMES = Texts("groups", absent="")


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Candidates with their labels, weights and times.

    A column that is None says the same of every group: weight 1, no time, none ABSENT, no outcome.
    """

    candidates: Candidates
    labels: FloatArray = field(metadata={"column": Column("rows", check=at_least(0.0))})  # NaN where a line has none
    offsets: IntArray  # those of the candidates
    weights: FloatArray | None = field(default=None, metadata={"column": WEIGHTS})  # above 0
    times: FloatArray | None = field(default=None, metadata={"column": TIMES})  # seconds since 1970
    none: IntArray | None = field(default=None, metadata={"column": NONE})  # RIGHT: nothing offered is right
    none_groups: "Groups | None" = None  # those that were left out because none is right
    outcomes: tuple[str, ...] | None = field(default=None, metadata={"column": OUTCOMES})  # their ids

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
    """Return the rows of the samples, those of a group together, with the texts and graphs of their candidates."""
    own = {field.name: getattr(samples, field.name) for field in fields(samples)}
    own["texts"], own["tool_texts"] = tool_columns(samples, tools)
    own |= {"graphs": NO_CODES, "distinct_graphs": ()}
    if samples.kind == "graph":
        from ltr.data.catalogues.graphs import graph_columns

        own["types"], own["type_texts"], own["graphs"], own["distinct_graphs"] = graph_columns(samples, graphs)
    own["node_ids"] = tuple(samples.node_ids[node] for node in samples.nodes.tolist())
    own["none"] = None if samples.none is None else samples.none.marks(len(samples.traces))
    offsets = offsets_of(np.bincount(samples.groups))
    is_in_order = bool((samples.groups[1:] >= samples.groups[:-1]).all())
    rows = slice(None) if is_in_order else np.argsort(samples.groups, kind="stable")
    places: Places = {"groups": slice(None), "rows": rows}
    candidates = Candidates(
        kind=samples.kind,
        offsets=offsets,
        feature_names=() if samples.features is None else unnamed(samples.features.shape[1]),
        files=samples.files,
        **at(Candidates, SimpleNamespace(**own), places),
    )
    return Groups(candidates, offsets=offsets, **at(Groups, SimpleNamespace(**own), places))


def select(groups: Groups, indices: IntArray) -> Groups:
    """Return the groups at the indices, in that order, with the tables cut to what they use.

    So a text that only groups of the test set have is not there to be learned from.
    """
    sizes = np.diff(groups.offsets)[indices]
    owner, within = ragged(sizes)
    return take(groups, indices, groups.offsets[indices][owner] + within, sizes)


def take(groups: Groups, indices: IntArray, rows: IntArray, sizes: IntArray) -> Groups:
    """Return the groups at the indices with these rows, so many each, and the tables cut to what they use."""
    candidates = with_rows(groups.candidates, indices, rows, sizes)
    places: Places = {"groups": indices, "rows": rows}
    return Groups(candidates, offsets=candidates.offsets, **at(Groups, groups, places, cut=True))


def stack(parts: Sequence[Groups]) -> Groups:
    """Return the groups of all parts, one after the other; lines of later parts have no place in the first's files."""
    if len(parts) == 1:
        return parts[0]
    first = parts[0].candidates
    sizes: dict[Axis, list[int]] = {
        "groups": [len(part.offsets) - 1 for part in parts],
        "rows": [len(part.labels) for part in parts],
    }
    offsets = offsets_of(np.concatenate([np.diff(part.offsets) for part in parts]))
    together = stacked(Candidates, [part.candidates for part in parts], sizes)
    if len(first.lines):
        together["lines"][len(first.lines) :] = first.lines[0]
    nones = [part.none_groups for part in parts if part.none_groups is not None and len(part.none_groups.labels)]
    return Groups(
        replace(first, offsets=offsets, **together),
        offsets=offsets,
        none_groups=stack(nones) if nones else None,
        **stacked(Groups, parts, sizes),
    )


def arrays_of(groups: Groups) -> dict[str, Array]:
    """Return the groups as arrays by name, texts packed; without ready numbers, lines, and what is said of all."""
    pairs: list[tuple[Column, Any]] = [(column, groups.candidates) for column in columns(Candidates)]
    pairs += [(column, groups) for column in columns(Groups)]
    # what candidates may lack came into the format last: equal groups have equal bytes in all versions
    pairs.sort(key=lambda pair: pair[1] is groups.candidates and pair[0].absent is not NEEDED)
    return {"offsets": groups.offsets} | packed(pairs)


def groups_of(arrays: Mapping[str, Array], offsets: IntArray, **of_all: Any) -> Groups:
    """Return the groups of `arrays_of`, with fields `of_all` candidates; an error of any kind where they do not fit."""
    lines = np.ones(int(offsets[-1]), dtype=np.int64)
    candidates = Candidates(offsets=offsets, **{"lines": lines, **read(Candidates, arrays, offsets), **of_all})
    return Groups(candidates, offsets=offsets, **read(Groups, arrays, offsets))


def without_numbers(groups: Groups) -> Groups:
    """Return the groups without ready numbers, so that features can be fitted to them anew."""
    candidates, none = groups.candidates, groups.none_groups
    if candidates.kind == "graph" and candidates.graphs.size < candidates.names.size:
        paths = ", ".join(file.path for file in candidates.files)
        raise DataError(f"{paths}: without the graphs themselves, as an earlier version wrote it; featurize again")
    plain = replace(candidates, features=None, feature_names=(), fit="", are_applied=False)
    return replace(groups, candidates=plain, none_groups=None if none is None else without_numbers(none))


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
