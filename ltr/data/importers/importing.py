"""Importers by name: each turns files of another format into lines of samples."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ltr.errors import UsageError
from ltr.files.atomic_write import write_lines
from ltr.files.reading import AnyPath, expand
from ltr.files.replacing import new_files, refuse_existing
from ltr.plugins import bad_result, plugin_errors
from ltr.registry import Registry


@dataclass(frozen=True, slots=True)
class Imported:
    """Lines of samples, and notes on what was left out."""

    lines: Iterable[Mapping[str, Any]]
    notes: tuple[str, ...] = ()


Importer = Callable[[Sequence[str]], Imported]

IMPORTERS: Registry[Importer] = Registry("importer", "ltr.data.importers.letor", "ltr.data.importers.trecsamples")


def importer(name: str) -> Callable[[Importer], Importer]:
    """A decorator that registers an importer under the name."""
    return IMPORTERS.register(name)


def import_samples(
    format_name: str, files: Sequence[AnyPath], out: AnyPath, *, overwrite: bool = False
) -> tuple[int, tuple[str, ...]]:
    """Write the samples of the files to `out` as JSONL: how many there are, and notes on what was left out."""
    import msgspec

    convert, source = IMPORTERS[format_name], IMPORTERS.source(format_name)  # first: the format may be unknown
    if not str(out).endswith((".jsonl", ".jsonl.gz", ".jsonl.zst")):
        raise UsageError(f"{out}: name an output that ends in .jsonl, .jsonl.gz or .jsonl.zst")
    refuse_existing(out, overwrite=overwrite)
    who, names, count = f"importer {format_name}", expand(files), 0
    with plugin_errors(who, convert, source):
        imported = convert(names)
        if not isinstance(imported, Imported):
            raise bad_result(convert, f"{who}: gave {type(imported).__name__}; Imported(lines, notes) is needed")
        notes = tuple(map(str, imported.notes))

    def lines() -> Iterator[bytes]:
        nonlocal count
        with plugin_errors(who, convert, source):  # an importer may read its files only here
            for line in imported.lines:
                if not isinstance(line, Mapping):
                    raise bad_result(convert, f"{who}: gave a line of {type(line).__name__}; a mapping is needed")
                count += 1
                yield msgspec.json.encode(line)

    with new_files(out) as new:
        write_lines(new / Path(out).name, lines())
    return count, notes
