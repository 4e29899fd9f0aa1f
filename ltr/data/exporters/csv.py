"""A table of candidates for spreadsheets: CSV, or TSV where the name ends so. No cell of text is a formula."""

import csv
import io
from collections.abc import Iterator
from typing import Any

import numpy as np

from ltr.data.exporters.registry import Exported, exporter
from ltr.errors import UsageError
from ltr.files.reading import AnyPath
from ltr.files.writing import write_lines

FORMULA_STARTS = (*"=+-@", *"＝＋－＠", "\t", "\r", "\n")  # wide ones too: spreadsheets take them for the narrow
DELIMITERS = {".csv": ",", ".tsv": "\t"}


@exporter("csv")
def export_csv(exported: Exported, out: AnyPath) -> list[str]:
    """A row for each candidate: key, query, name, label, score and rank where it was ranked, and its numbers."""
    plain = str(out).removesuffix(".gz").removesuffix(".zst")
    delimiter = next((mark for end, mark in DELIMITERS.items() if plain.endswith(end)), None)
    if delimiter is None:
        raise UsageError(f"{out}: name an output that ends in .csv or .tsv (.gz, .zst)")
    write_lines(out, _lines(exported, delimiter))
    return [str(out)]


def _lines(exported: Exported, delimiter: str) -> Iterator[bytes]:
    held = io.StringIO()
    writer = csv.writer(held, delimiter=delimiter, lineterminator="\r\n")  # so that cells with either are quoted
    for row in _rows(exported):
        writer.writerow([cell(value) for value in row])
        yield held.getvalue().removesuffix("\r\n").encode()
        held.seek(0)
        held.truncate()


def cell(value: Any) -> Any:
    """The value as a cell: a text that a spreadsheet would run is quoted by ', a number is left as it is.

    >>> cell("=1+1"), cell(-1.5), cell("-1.5"), cell("plain")
    ("'=1+1", -1.5, "'-1.5", 'plain')
    """
    if not isinstance(value, str):
        return value
    return f"'{value}" if value.startswith(FORMULA_STARTS) else value


def _rows(exported: Exported) -> Iterator[list[Any]]:
    groups, candidates = exported.groups, exported.groups.candidates
    places = _places(exported)
    ranked = [] if places is None else ["score", "rank"]
    yield ["trace_id", "node_id", "query", "candidate", "label", *ranked, *exported.names]
    for group in range(len(groups.offsets) - 1):
        key = [candidates.trace_ids[candidates.traces[group]], candidates.node_ids[group]]
        query = candidates.query_texts[candidates.queries[group]]
        for row in range(int(groups.offsets[group]), int(groups.offsets[group + 1])):
            name, label = candidates.name_texts[candidates.names[row]], float(groups.labels[row])
            score = [] if places is None or exported.scores is None else [float(exported.scores[row]), places[row]]
            numbers = [] if exported.phi is None else exported.phi[row].tolist()
            yield [*key, query, name, None if np.isnan(label) else label, *score, *numbers]


def _places(exported: Exported) -> list[int] | None:
    """The place of each row in our order, from 1."""
    if exported.listed is None:
        return None
    offsets, rows = exported.groups.offsets, exported.listed
    places = np.empty(len(rows), dtype=np.int64)
    places[rows] = np.arange(len(rows)) - np.repeat(offsets[:-1], np.diff(offsets)) + 1
    return list(places.tolist())
