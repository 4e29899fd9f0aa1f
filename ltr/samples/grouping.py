"""Samples become groups: repeated candidates are merged or refused, and catalogues give texts and graphs.

Candidates of one group that have the same name are merged if they are right and all the same, else a contradiction. So
are none beside a right one, and none alone.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from ltr.arrays import Codes, IntArray, offsets_of
from ltr.catalogues import NO_TREE, Graph, GraphCatalogue, ToolCatalogue, ToolText, decode_graph, foreign_catalogue
from ltr.errors import DataError, FieldError, SampleError, count
from ltr.jsonl import excerpt
from ltr.logs import LOG, stage
from ltr.paths import AnyPath, expand
from ltr.samples.candidates import Candidates, place, replace_texts, unnamed
from ltr.samples.columns import NO_CODES, Places, at
from ltr.samples.draws import Draws
from ltr.samples.groups import Groups
from ltr.samples.reader import NONE_ALONE, Samples, read_samples
from ltr.samples.schema import NEEDED

if TYPE_CHECKING:
    from ltr.samples.frames import Table, TableRows

REPEATED = "repeated-candidate"  # the code of the finding


@stage("reading")
def read_groups(
    samples: "AnyPath | Iterable[AnyPath] | Table | TableRows",
    *,
    tools: ToolCatalogue | None = None,
    graphs: GraphCatalogue | None = None,
    labels_required: bool = True,
) -> Groups:
    """The groups of samples, in order of first appearance, rows inside a group in the order of the samples.

    They are files and globs; or a data frame of pandas or polars, a list of dicts, or a Dataset of Hugging Face, whose
    columns are the fields.

    A candidate has the text, or the tree and type, that its catalogue gives, else its own.
    """
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
    from ltr.samples.frames import rows_of

    samples = list(samples) if isinstance(samples, Iterator) else samples
    rows = rows_of(samples)
    return [*expand(samples)] if rows is None else [rows]


def group_samples(samples: Samples, *, tools: ToolCatalogue, graphs: GraphCatalogue) -> Groups:
    """Return the rows of the samples, those of a group together, with the texts and graphs of their candidates."""
    own = {field.name: getattr(samples, field.name) for field in fields(samples)}
    own["texts"], own["tool_texts"] = tool_columns(samples, tools)
    own |= {"graphs": NO_CODES, "distinct_graphs": ()}
    if samples.kind == "graph":
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


def tool_columns(samples: Samples, catalogue: ToolCatalogue) -> tuple[IntArray, tuple[ToolText, ...]]:
    """A text code for each row, and the texts: the catalogue's by the name of the tool, else the row's own."""
    own = tuple(ToolText(description) for description in samples.description_texts)
    if samples.kind != "tool" or not catalogue:
        return samples.descriptions, own
    return replace_texts((samples.names, samples.name_texts), (samples.descriptions, own), catalogue.get)


def graph_columns(
    samples: Samples, catalogue: GraphCatalogue
) -> tuple[IntArray, tuple[str, ...], IntArray, tuple[Graph, ...]]:
    """Type codes, types, graph codes and graphs: those of the catalogue by key, else the row's own."""
    types, graphs, decoded = Codes(), Codes(), Codes()
    type_codes, graph_codes = np.empty_like(samples.types), np.empty_like(samples.trees)
    for row, (tree, own_type) in enumerate(zip(samples.trees.tolist(), samples.types.tolist(), strict=True)):
        entry = catalogue.get(graph_key(samples, row)) if catalogue else None
        if entry is None and tree not in decoded:
            decoded[tree] = graphs[own_graph(samples, row)]
        catalogue_type = entry.candidate_type if entry else None
        type_codes[row] = types[samples.type_texts[own_type] if catalogue_type is None else catalogue_type]
        graph_codes[row] = graphs[entry.graph] if entry else decoded[tree]
    return type_codes, tuple(types), graph_codes, tuple(graphs)


def graph_key(samples: Samples, row: int) -> tuple[str, str, str]:
    """The key of the row in a catalogue of graphs."""
    group = samples.groups[row]
    trace_id, node_id = samples.trace_ids[samples.traces[group]], samples.node_ids[samples.nodes[group]]
    return trace_id, node_id, samples.name_texts[samples.names[row]]


def own_graph(samples: Samples, row: int) -> Graph:
    """The graph on the row's own line; with ready features it may be missing, and is empty then."""
    tree = samples.tree_texts[samples.trees[row]]
    try:
        if tree not in NO_TREE:
            return decode_graph(tree)
        if samples.features is None:
            raise FieldError("tree", f"missing, here and in the graph catalogue; {NEEDED['tree']}")
    except FieldError as cause:
        raise SampleError(*place(samples.files, int(samples.lines[row])), *cause.args) from cause
    return Graph()


@dataclass(frozen=True, slots=True)
class Repetitions:
    """Right rows that repeat one of their group in all that they say: how many, and the first of them."""

    number: int = 0
    example: str = ""

    def __add__(self, other: "Repetitions") -> "Repetitions":
        return Repetitions(self.number + other.number, self.example or other.example)

    @property
    def message(self) -> str:
        """What is said of them."""
        rows = count(self.number, "right candidate stands", "right candidates stand")
        return f"{rows} twice for the same group, such as {self.example}: each counts once"

    def __str__(self) -> str:
        """The warning; nothing where there are none."""
        return f"{REPEATED}: {self.message}" if self.number else ""


NOTHING_TWICE = Repetitions()


def merge_repetitions(samples: Samples) -> tuple[Samples, Repetitions]:
    """The samples without right rows that repeat one of their group in all that they say, and what those were.

    What was right is what was called, and a tool may be called twice for one query. What was offered is a list, and a
    list with one name twice was written wrongly: it stays, and is refused.
    """
    again, before = repeated_rows(samples)
    if again.size:
        is_alike = (samples.labels[again] > 0) & (samples.labels[again] == samples.labels[before])
        for codes in (samples.descriptions, samples.types, samples.trees):
            is_alike &= codes[again] == codes[before] if codes.size else True
        if samples.features is not None:
            is_alike &= (samples.features[again] == samples.features[before]).all(axis=1)
        if (draws := Draws.of(samples.draw_rules, samples.draw_probabilities)) is not None:
            is_alike &= draws.are_alike(again, before)
        again, before = again[is_alike], before[is_alike]
    if not again.size:
        return samples, NOTHING_TWICE
    first = int(np.argmin(again))
    here, there = ("{}:{}".format(*place(samples.files, int(samples.lines[rows[first]]))) for rows in (again, before))
    name = excerpt(samples.name_texts[samples.names[again[first]]])
    rest = np.setdiff1d(np.arange(len(samples.labels)), again)
    return samples.at(rest), Repetitions(len(again), f"{name} in {there} and {here}")


def refuse_contradictions(samples: Samples) -> None:
    """Raise for the first name that its group has already, and for the first none that cannot be."""
    for _, error in first_contradictions(samples):
        raise error


def first_contradictions(samples: Samples) -> Iterator[tuple[int, SampleError]]:
    """The first name that its group has already (0), and the first none that cannot be (1)."""
    repeated, before = repeated_rows(samples)
    if repeated.size:
        first = int(np.argmin(repeated))
        yield 0, repetition_error(samples, int(repeated[first]), int(before[first]))
    for error, _ in none_errors(samples):
        yield 1, error
        return


def repeated_rows(samples: Samples) -> tuple[IntArray, IntArray]:
    """The rows whose name an earlier row of their group has, and for each the last such row."""
    keys = samples.groups * len(samples.name_texts) + samples.names
    ordered = np.sort(keys)
    if not (ordered[1:] == ordered[:-1]).any():
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    order = np.argsort(keys, kind="stable")
    repeated = np.flatnonzero(keys[order[1:]] == keys[order[:-1]]) + 1
    return order[repeated], order[repeated - 1]


def repetition_error(samples: Samples, row: int, before: int) -> SampleError:
    """The error for a row whose name the row `before` has for the same group."""
    path, line = place(samples.files, int(samples.lines[row]))
    first_path, first_line = place(samples.files, int(samples.lines[before]))
    name = excerpt(samples.name_texts[samples.names[row]])
    field = "tool" if samples.kind == "tool" else "candidate_id"
    problem = f"found {name} again; {first_path}:{first_line} has it for the same group: keep one of them"
    return SampleError(path, line, field, problem)


def none_without_label(samples: Samples) -> Iterator[tuple[SampleError, int]]:
    """None candidates without a label beside rows that have one, each with its group."""
    if samples.none is None or np.isnan(samples.labels).all():
        return
    missing = np.isnan(samples.none.labels)
    for group, line in zip(samples.none.groups[missing].tolist(), samples.none.lines[missing].tolist(), strict=True):
        yield SampleError(*place(samples.files, line), "label", "missing; 0 or 1 is needed beside none"), group


def none_errors(samples: Samples) -> Iterator[tuple[SampleError, int]]:
    """What is wrong with none candidates, in file order, each error with its group."""
    none = samples.none
    if none is None:
        return
    rows_of_group = np.bincount(samples.groups, minlength=len(samples.traces))
    right_rows = np.flatnonzero(samples.labels > 0)
    right_row = dict(zip(samples.groups[right_rows].tolist(), right_rows.tolist(), strict=True))
    first_line: dict[int, int] = {}
    for group, line, label in zip(none.groups.tolist(), none.lines.tolist(), none.labels.tolist(), strict=True):
        path, number = place(samples.files, line)
        if group in first_line:
            earlier = "{}:{}".format(*place(samples.files, first_line[group]))
            problem = f"found again; {earlier} has it for the same group: keep one of them"
            yield SampleError(path, number, "none", problem), group
        elif not rows_of_group[group]:
            yield SampleError(path, number, "none", NONE_ALONE), group
        elif label == 1 and group in right_row:
            row = right_row[group]
            earlier = "{}:{}".format(*place(samples.files, int(samples.lines[row])))
            name = excerpt(samples.name_texts[samples.names[row]])
            problem = f"found 1; {earlier} has {name} as right for the same group, and either is right or none is"
            yield SampleError(path, number, "label", problem), group
        first_line.setdefault(group, line)
