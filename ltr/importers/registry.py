"""Importers by name: each turns files of another format into lines of samples."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ltr.registry import Registry


@dataclass(frozen=True, slots=True)
class Imported:
    """Lines of samples, and what could not become one."""

    lines: Iterable[Mapping[str, Any]]
    notes: tuple[str, ...] = ()


Importer = Callable[[Sequence[str]], Imported]

IMPORTERS: Registry[Importer] = Registry("importer")
importer = IMPORTERS.register
