"""A table of candidates for spreadsheets, as CSV or TSV by the name of the file. No cell of text is a formula.

Every cell of text is quoted, and no number is: a spreadsheet that takes another separator, or trims cells, finds no
cell inside a text.
"""

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from ltr.data.candidates import Candidates
from ltr.data.exporters.registry import Exported, exporter
from ltr.data.formula_cells import marked
from ltr.errors import UsageError
from ltr.files.atomic_write import write_lines
from ltr.files.path_arguments import AnyPath

DELIMITERS = {".csv": ",", ".tsv": "\t"}
BEFORE = {"context": ("contexts", "context_texts"), "previous": ("previous", "previous_lists")}  # of Candidates


@exporter("csv")
def export_csv(exported: Exported, out: AnyPath) -> list[str]:
    """A row for each candidate: key, query, name, label, score and rank where it was ranked, and its features."""
    plain = str(out).removesuffix(".gz").removesuffix(".zst")
    delimiter = next((mark for end, mark in DELIMITERS.items() if plain.endswith(end)), None)
    if delimiter is None:
        raise UsageError(f"{out}: name an output that ends in .csv or .tsv (.gz, .zst)")
    write_lines(out, _lines(exported, delimiter))
    return [str(out)]


def _lines(exported: Exported, delimiter: str) -> Iterator[bytes]:
    """The rows as CSV, one by one, without their ends."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator="", quoting=csv.QUOTE_NONNUMERIC)
    for row in _rows(exported):
        writer.writerow([marked(value) if isinstance(value, str) else value for value in row])
        yield buffer.getvalue().encode()
        buffer.seek(0)
        buffer.truncate()


def _rows(exported: Exported) -> Iterator[list[Any]]:
    groups, candidates, scores, order = exported.groups, exported.groups.candidates, exported.scores, exported.order
    is_ranked = order is not None and scores is not None
    rank_of_row = np.zeros(len(groups.labels), dtype=np.int64)
    if order is not None:
        rank_of_row[order] = np.arange(len(order)) - np.repeat(groups.offsets[:-1], np.diff(groups.offsets)) + 1
    rank_names = ["score", "rank"] if is_ranked else []
    before = [name for name in ("context", "previous") if getattr(candidates, BEFORE[name][0]) is not None]
    yield ["trace_id", "node_id", "query", *before, "candidate", "label", *rank_names, *exported.names]
    for group in range(len(groups.offsets) - 1):
        key = [candidates.trace_ids[candidates.traces[group]], candidates.node_ids[group]]
        query = [
            candidates.query_texts[candidates.queries[group]],
            *(_before(candidates, name, group) for name in before),
        ]
        for row in range(int(groups.offsets[group]), int(groups.offsets[group + 1])):
            name, label = candidates.name_texts[candidates.names[row]], float(groups.labels[row])
            ranked = [float(scores[row]), int(rank_of_row[row])] if is_ranked and scores is not None else []
            numbers = [] if exported.phi is None else exported.phi[row].tolist()
            yield [*key, *query, name, None if np.isnan(label) else label, *ranked, *numbers]


def _before(candidates: Candidates, name: str, group: int) -> str:
    """The context of a group; what was used before as a JSON list."""
    codes, table = (getattr(candidates, column) for column in BEFORE[name])
    value = table[codes[group]]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
