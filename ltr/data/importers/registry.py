"""Importers by name: each turns files of another format into lines of samples."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ltr.plugins import blamed, unfit
from ltr.registry import Registry


@dataclass(frozen=True, slots=True)
class Imported:
    """Lines of samples, and what could not become one."""

    lines: Iterable[Mapping[str, Any]]
    notes: tuple[str, ...] = ()


Importer = Callable[[Sequence[str]], Imported]

IMPORTERS: Registry[Importer] = Registry("importer", "ltr.data.importers.letor", "ltr.data.importers.trecsamples")
importer = IMPORTERS.register


def converted(name: str, files: Sequence[str]) -> Imported:
    """What the importer of that name makes of the files; a mistake in a stranger's is told as its own."""
    convert = IMPORTERS[name]
    with blamed(f"importer {name}", convert, IMPORTERS.source(name)):
        found = convert(files)
        if not isinstance(found, Imported):
            raise unfit(convert, f"importer {name}: gave {type(found).__name__}; Imported(lines, notes) is needed")
        return Imported(found.lines, tuple(map(str, found.notes)))


def encoded(name: str, lines: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    """Each line as JSON; the importer makes it only here."""
    import msgspec

    convert = IMPORTERS[name]
    with blamed(f"importer {name}", convert, IMPORTERS.source(name)):
        for line in lines:
            if not isinstance(line, Mapping):
                raise unfit(convert, f"importer {name}: gave a line of {type(line).__name__}; a mapping is needed")
            yield msgspec.json.encode(line)
