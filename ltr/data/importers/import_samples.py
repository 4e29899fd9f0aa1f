"""Files of another format become lines of samples; what is kept and what is skipped is counted."""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import msgspec

from ltr.data.importers.format_recognition import AUTO, recognised
from ltr.data.importers.registry import IMPORTERS, Imported, Importer
from ltr.data.importers.tally import Count, Tally
from ltr.data.redaction import redact_sample
from ltr.errors import DataError, UsageError, suggestion
from ltr.files.atomic_write import write_lines
from ltr.files.output_replacement import new_files, refuse_existing
from ltr.files.path_arguments import AnyPath, expand, shown
from ltr.plugins import bad_result, plugin_errors

DIGESTS_AT_ONCE = 1 << 16


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """What an import wrote, and what it kept and skipped, by reason."""

    format: str  # the importer
    samples: int  # candidates
    groups: int
    notes: tuple[str, ...]
    kept: tuple[Count, ...]
    skipped: tuple[Count, ...]
    remarks: tuple[Count, ...]


def import_samples(
    format_name: str,
    files: Sequence[AnyPath],
    out: AnyPath,
    *,
    options: Mapping[str, str] | None = None,
    redact: bool = True,
    overwrite: bool = False,
) -> ImportSummary:
    """Write the samples of the files to `out` as JSONL, without mail addresses, keys and tokens if `redact`.

    The format `auto` is the one that all of the files look like. Files without a sample are an error.
    """
    names = expand(files)
    format_name = recognised(names) if format_name == AUTO else format_name
    plugin, source = IMPORTERS[format_name], IMPORTERS.source(format_name)  # first: the format may be unknown
    _refuse_unknown_options(format_name, plugin, options or {})
    if not str(out).endswith((".jsonl", ".jsonl.gz", ".jsonl.zst")):
        raise UsageError(f"{out}: name an output that ends in .jsonl, .jsonl.gz or .jsonl.zst")
    refuse_existing(out, overwrite=overwrite)
    who, samples, groups = f"importer {format_name}", 0, _GroupCount()
    with plugin_errors(who, plugin.convert, source):
        imported = plugin.convert(names, **options or {})
        if not isinstance(imported, Imported):
            problem = f"{who}: gave {type(imported).__name__}; Imported(lines, notes) is needed"
            raise bad_result(plugin.convert, problem)
        notes, tally = tuple(map(str, imported.notes)), imported.tally

    def lines() -> Iterator[bytes]:
        nonlocal samples
        with plugin_errors(who, plugin.convert, source):  # an importer may read its files only here
            for line in imported.lines:
                if not isinstance(line, Mapping):
                    problem = f"{who}: gave a line of {type(line).__name__}; a mapping is needed"
                    raise bad_result(plugin.convert, problem)
                samples += len(line["candidates"]) if isinstance(line.get("candidates"), list) else 1
                groups.see(line.get("trace_id"), line.get("node_id"))
                yield msgspec.json.encode(redact_sample(line, tally) if redact else line)

    with new_files(out) as new:
        write_lines(new / Path(out).name, lines())
        if not samples:
            raise DataError(_nothing_in(names, who, tally))
    return ImportSummary(format_name, samples, groups.number(), notes, tally.kept(), tally.skipped(), tally.remarks())


def _nothing_in(files: Sequence[str], who: str, tally: Tally) -> str:
    """That the files hold no sample, with what was skipped."""
    reasons = [f"{entry.reason}: {entry.number:,} ({', '.join(entry.places)})" for entry in tally.skipped()]
    return f"{', '.join(map(shown, files))}: no sample for the {who}; skipped: {'; '.join(reasons) or 'nothing'}"


class _GroupCount:
    """Counts the groups of lines in any order; memory holds 8 bytes a group, and as much again."""

    def __init__(self) -> None:
        self._last: object = None
        self._digests, self._limit = array("Q"), DIGESTS_AT_ONCE

    def see(self, trace: object, node: object) -> None:
        """Count the group of a line."""
        if (trace, node) == self._last:
            return
        self._last = trace, node
        self._digests.frombytes(blake2b(msgspec.json.encode(self._last), digest_size=8).digest())
        if len(self._digests) >= self._limit:
            self._limit = 2 * self.number() + DIGESTS_AT_ONCE

    def number(self) -> int:
        """How many groups there are so far."""
        import numpy as np

        self._digests = array("Q", np.unique(np.frombuffer(self._digests, dtype=np.uint64)).tobytes())
        return len(self._digests)


def _refuse_unknown_options(name: str, plugin: Importer, options: Mapping[str, str]) -> None:
    for option in options:
        if option not in plugin.options:
            options_text = ", ".join(plugin.options) or "none"
            raise UsageError(
                f"importer {name} has no option {option!r}{suggestion(option, plugin.options)}; known: {options_text}"
            )
