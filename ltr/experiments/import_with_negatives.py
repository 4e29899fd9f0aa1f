"""An import whose queries get candidates of a catalogue, as lines of the samples it writes."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import numpy as np

from ltr.catalogues import ToolCatalogue, read_tools
from ltr.encoders import AUTO, best_installed
from ltr.errors import DataError
from ltr.files import new_files, read_lines, refuse_existing, write_lines
from ltr.importers import Count, ImportSummary, import_samples
from ltr.paths import AnyPath
from ltr.samples import DRAW_RULES, Groups, read_groups
from ltr.steps.negatives import count_uncorrected, draw_negatives, uncorrected_warnings

Line = dict[str, Any]


def import_with_negatives(
    format_name: str,
    files: Sequence[AnyPath],
    out: AnyPath,
    *,
    tools: AnyPath,
    negatives: str | int,
    encoder: str = AUTO,
    seed: int = 0,
    overwrite: bool = False,
    **given: Any,
) -> ImportSummary:
    """Import the files, and add tools of the catalogue to each query by the rule of data.negatives.

    Drawn candidates follow the lines of their query and say by which rule and how probably they were drawn; so does a
    right one that the log names alone.
    """
    refuse_existing(out, overwrite=overwrite)
    catalogue = read_tools(tools)
    with TemporaryDirectory() as folder:
        plain = Path(folder, "samples.jsonl")
        summary = import_samples(format_name, files, plain, **given)
        groups = read_groups([plain], tools=catalogue, labels_required=False)
        if repeated := groups.candidates.repeated:
            raise DataError(f"{out}: {repeated}, and drawn candidates go by line: import without --negatives first")
        name = best_installed() if encoder == AUTO else encoder
        drawn = draw_negatives(groups, catalogue, negatives, encoder=name, seed=seed)
        with new_files(out) as new:
            write_lines(new / Path(out).name, _lines(plain, groups, drawn, catalogue))
    number = len(drawn.labels) - len(groups.labels)
    counts = (*summary.kept, Count("candidates drawn from the catalogue", number, ()))
    notes = (*summary.notes, *uncorrected_warnings(count_uncorrected(drawn), len(drawn.offsets) - 1))
    return replace(summary, samples=summary.samples + number, kept=counts, notes=notes)


def _lines(plain: Path, groups: Groups, drawn: Groups, tools: ToolCatalogue) -> Iterator[bytes]:
    """The lines with the probabilities of their candidates, and after the last of a group what was drawn for it."""
    probabilities, additions = _by_line(groups, drawn, tools)
    for number, content in read_lines(plain):
        line: Line = msgspec.json.decode(content)
        more = additions.get(number, ())
        if line.get("candidates") is None:
            yield msgspec.json.encode(_with_probability(line, next(iter(probabilities[number]), 1.0)))
            key = {name: line[name] for name in ("trace_id", "node_id", "query")}
            yield from (msgspec.json.encode(key | row) for row in more)
            continue
        of_rows = iter(probabilities[number])  # a none candidate is no row
        own = [row if row.get("none") else _with_probability(row, next(of_rows)) for row in line["candidates"]]
        yield msgspec.json.encode(line | {"candidates": [*own, *more]})


def _by_line(
    groups: Groups, drawn: Groups, tools: ToolCatalogue
) -> tuple[dict[int, list[float]], dict[int, list[Line]]]:
    """By line: how probably each of its candidates would be drawn; and what is added after it."""
    candidates, draws = drawn.candidates, drawn.candidates.draws
    probabilities: dict[int, list[float]] = defaultdict(list)
    additions: dict[int, list[Line]] = {}
    if draws is None:
        return probabilities, additions
    own_ends = drawn.offsets[:-1] + np.diff(groups.offsets)
    for first, own_end, last in np.stack([drawn.offsets[:-1], own_ends, drawn.offsets[1:]], axis=1).tolist():
        lines = candidates.lines[first:own_end].tolist()
        for line, probability in zip(lines, draws.probabilities[first:own_end].tolist(), strict=True):
            probabilities[line].append(probability)
        names = [candidates.name_texts[code] for code in candidates.names[own_end:last].tolist()]
        rows = zip(names, draws.rules[own_end:last].tolist(), draws.probabilities[own_end:last].tolist(), strict=True)
        additions[max(lines)] = [_row(name, rule, probability, tools) for name, rule, probability in rows]
    return probabilities, additions


def _row(name: str, rule: int, probability: float, tools: ToolCatalogue) -> Line:
    """A candidate that was drawn."""
    text = {"tool_description": tools[name].description} if tools[name].description else {}
    return {"tool": name, **text, "label": 0, "drawn": DRAW_RULES[rule - 1], "draw_probability": probability}


def _with_probability(candidate: Mapping[str, Any], probability: float) -> Line:
    """A candidate of the log, with the probability of being drawn if that is not 1."""
    return {**candidate, **({"draw_probability": probability} if probability < 1 else {})}
