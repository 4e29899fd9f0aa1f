"""Exporters by name, each writing groups in another format: tables for spreadsheets, LETOR lines, TREC runs.

In a table no cell of text is a formula, every cell of text is quoted, and no number is: a spreadsheet that takes
another separator, or trims cells, finds no cell inside a text.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.errors import UsageError
from ltr.files import write_lines
from ltr.importers.tables import marked
from ltr.paths import AnyPath
from ltr.registry import Registry
from ltr.samples import Candidates, Groups

DELIMITERS = {".csv": ",", ".tsv": "\t"}
BREAKS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
UNSAFE = re.compile(r"[\s#\x00-\x20\x7f-\x9f]|%(?=[0-9A-F]{2})")
TAG = "ltr"
SIGN = np.int64(0x7FFFFFFF)
LARGEST_SINGLE = 3.0e38


@dataclass(frozen=True, slots=True, eq=False)
class Exported:
    """The groups to export, with their features and, where they were ranked, scores and order."""

    groups: Groups  # labels are NaN where there are none
    phi: FloatArray | None
    names: tuple[str, ...]  # of the columns of phi
    scores: FloatArray | None = None  # of each row, where it was ranked
    order: IntArray | None = None  # the rows of each group, the best first, where it was ranked


Exporter = Callable[[Exported, AnyPath], list[str]]  # the files that were written

EXPORTERS: Registry[Exporter] = Registry("exporter", {"ltr.importers.exporters": ("csv", "letor", "trec")})
exporter = EXPORTERS.register


@exporter("csv")
def export_csv(exported: Exported, out: AnyPath) -> list[str]:
    """A row for each candidate: key, query, name, label, score and rank where it was ranked, and its features."""
    plain = str(out).removesuffix(".gz").removesuffix(".zst")
    delimiter = next((mark for end, mark in DELIMITERS.items() if plain.endswith(end)), None)
    if delimiter is None:
        raise UsageError(f"{out}: name an output that ends in .csv or .tsv (.gz, .zst)")
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator="", quoting=csv.QUOTE_NONNUMERIC)

    def lines() -> Iterator[bytes]:
        for row in _rows(exported):
            writer.writerow([marked(value) if isinstance(value, str) else value for value in row])
            yield buffer.getvalue().encode()
            buffer.seek(0)
            buffer.truncate()

    write_lines(out, lines())
    return [str(out)]


def _rows(exported: Exported) -> Iterator[list[Any]]:
    groups, candidates, scores, order = exported.groups, exported.groups.candidates, exported.scores, exported.order
    rank_of_row = np.zeros(len(groups.labels), dtype=np.int64)
    if order is not None:
        rank_of_row[order] = np.arange(len(order)) - np.repeat(groups.offsets[:-1], np.diff(groups.offsets)) + 1
    before: dict[
        str, tuple[IntArray, Sequence[Any]]
    ] = {}  # what was said and used before the query, where the samples have it
    if candidates.contexts is not None:
        before["context"] = candidates.contexts, candidates.context_texts
    if candidates.previous is not None:
        before["previous"] = candidates.previous, candidates.previous_lists
    rank_names = ["score", "rank"] if order is not None and scores is not None else []
    yield ["trace_id", "node_id", "query", *before, "candidate", "label", *rank_names, *exported.names]
    for group in range(len(groups.offsets) - 1):
        key = [candidates.trace_ids[candidates.traces[group]], candidates.node_ids[group]]
        texts = [candidates.query_texts[candidates.queries[group]]]
        for codes, values in before.values():
            value = values[codes[group]]
            texts.append(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
        for row in range(int(groups.offsets[group]), int(groups.offsets[group + 1])):
            name, label = candidates.name_texts[candidates.names[row]], float(groups.labels[row])
            ranked = [float(scores[row]), int(rank_of_row[row])] if rank_names and scores is not None else []
            numbers = [] if exported.phi is None else exported.phi[row].tolist()
            yield [*key, *texts, name, None if np.isnan(label) else label, *ranked, *numbers]


@exporter("letor")
def export_letor(exported: Exported, out: AnyPath) -> list[str]:
    """A line for each candidate, its name the comment."""
    groups, phi, texts = exported.groups, exported.phi, exported.groups.candidates.name_texts
    if phi is None:
        raise UsageError("LETOR lines need numbers: name a run directory, or featurised samples (ltr featurize)")
    if np.isnan(groups.labels).any():
        raise UsageError("LETOR lines need labels, and some samples have none")

    def lines() -> Iterator[bytes]:
        for topic, rows in _topics(groups):
            for row in range(rows.start, rows.stop):
                values = " ".join(f"{number}:{value!r}" for number, value in enumerate(phi[row].tolist(), start=1))
                name = BREAKS.sub(" ", texts[groups.candidates.names[row]])
                yield f"{number_text(float(groups.labels[row]))} qid:{topic} {values} # {name}".encode()

    write_lines(out, lines())
    return [str(out)]


@exporter("trec")
def export_trec(exported: Exported, out: AnyPath) -> list[str]:
    """OUT is the run, in our order; OUT.qrels the labels, where every candidate has one."""
    groups, scores, order = exported.groups, exported.scores, exported.order
    if scores is None or order is None:
        raise UsageError("a TREC run needs scores: name a run directory, or samples with one ready number each")
    names, codes = [column_text(text) for text in groups.candidates.name_texts], groups.candidates.names

    def run() -> Iterator[bytes]:
        for topic, rows in _topics(groups):
            ranked = order[rows]
            pairs = zip(codes[ranked].tolist(), falling(scores[ranked]), strict=True)
            for place, (code, score) in enumerate(pairs, start=1):
                yield f"{topic} Q0 {names[code]} {place} {score!s} {TAG}".encode()

    def qrels() -> Iterator[bytes]:
        for topic, rows in _topics(groups):
            for code, label in zip(codes[rows].tolist(), groups.labels[rows].tolist(), strict=True):
                yield f"{topic} 0 {names[code]} {number_text(label)}".encode()

    write_lines(out, run())
    if np.isnan(groups.labels).any():
        return [str(out)]
    write_lines(f"{out}.qrels", qrels())
    return [str(out), f"{out}.qrels"]


def falling(scores: FloatArray) -> "np.ndarray[tuple[int], np.dtype[np.float32]]":
    """Return scores that never rise made to fall at every step: each at most the number before the one above it.

    The steps are those of single precision, because readers of runs that round to it would see ties again. Floats
    in the order of their bits are integers: there min(x_i, y_(i-1) - 1) is the running minimum of x_i + i, less i.

    >>> falling(np.array([1.0, 1.0, 0.5])).tolist()
    [1.0, 0.9999999403953552, 0.5]
    """
    single = np.clip(scores, -LARGEST_SINGLE, LARGEST_SINGLE).astype(np.float32) + np.float32(0)
    bits = single.view(np.int32).astype(np.int64)
    ordered = np.where(bits < 0, -(bits & SIGN), bits)
    places = np.arange(len(ordered))
    lowered = np.minimum.accumulate(ordered + places) - places
    back = np.where(lowered < 0, -lowered | ~SIGN, lowered)
    return back.astype(np.int32).view(np.float32)


def column_text(text: str) -> str:
    """Return the text with white space, # and a % that looks like an escape written as the %XX of their bytes.

    Different texts stay different.

    >>> column_text("New York"), column_text("100%"), column_text("%20"), column_text("")
    ('New%20York', '100%', '%2520', '%')
    """
    return UNSAFE.sub(lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), text) or "%"


def number_text(value: float) -> str:
    """Return the number with every digit, a whole one without a point: readers of qrels take no other.

    >>> number_text(2.0), number_text(1234567.0), number_text(0.1)
    ('2', '1234567', '0.1')
    """
    return repr(value).removesuffix(".0")


def _topics(groups: Groups) -> Iterator[tuple[str, slice]]:
    """The id of each query, and its rows."""
    bounds = groups.offsets.tolist()
    return zip(topic_texts(groups.candidates), map(slice, bounds, bounds[1:]), strict=True)


def topic_texts(candidates: Candidates) -> list[str]:
    """Return one id for each query: TRACE/NODE, or its trace alone where the node has no name.

    Where that is the same for two queries, every / inside an id is written as %2F.
    """
    traces = [column_text(candidates.trace_ids[code]) for code in candidates.traces.tolist()]
    nodes = [column_text(node) if node else "" for node in candidates.node_ids]
    plain = [f"{trace}/{node}" if node else trace for trace, node in zip(traces, nodes, strict=True)]
    if len(set(plain)) == len(plain):
        return plain
    traces, nodes = ([text.replace("/", "%2F") for text in texts] for texts in (traces, nodes))
    return [f"{trace}/{node}" if node else trace for trace, node in zip(traces, nodes, strict=True)]
