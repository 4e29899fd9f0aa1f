"""A config as it was written: plain values, and the place each of them comes from."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias, cast

from ltr.errors import ConfigError, Place, Problem

Value: TypeAlias = bool | int | float | str | list["Value"] | dict[str, "Value"] | None
Path: TypeAlias = tuple[str | int, ...]

LONGEST_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Document:
    """A mapping and, by path, the place of each key and list entry. Values may be shared: write to none."""

    source: str
    value: dict[str, Value]
    places: Mapping[Path, Place]

    def place(self, path: Path) -> Place:
        """Where the value stands; for one that is not there, the nearest thing around it that is."""
        while path not in self.places and path:
            path = path[:-1]
        return self.places.get(path, Place(self.source, 1, 1))

    def replace(self, path: str, value: Value, source: str | Place) -> "Document":
        """The document with one value changed and placed at `source`, a flag or a place; mappings on the way are made.

        >>> document = Document("tools.yaml", {"train": {"l2": 0.1}}, {})
        >>> changed = document.replace("train.epochs", 5, "--epochs")
        >>> changed.value, str(changed.place(("train", "epochs")))
        ({'train': {'l2': 0.1, 'epochs': 5}}, '--epochs')
        """
        origin = source if isinstance(source, Place) else Place(source)
        keys = _keys(self.value, path, origin)
        kept = {old: place for old, place in self.places.items() if old[: len(keys)] != keys}
        made = {keys[:length]: origin for length in range(1, len(keys) + 1)}
        changed = _replaced(self.value, keys, value)
        return Document(self.source, cast(dict[str, Value], changed), made | kept)


def path_text(path: Path) -> str:
    """The path as a user writes it.

    >>> path_text(("features", 0, "name"))
    'features[0].name'
    """
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{_key_text(key)}" for key in path)
    return text.removeprefix(".")


def shown(value: Value) -> str:
    """A value as YAML would show it, short enough for a message.

    >>> shown(True), shown(None), shown("a" * 99), shown([1, 2]), shown(0.5)
    ('true', 'null', "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...'", 'a list', '0.5')
    """
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str():
            return repr(_shortened(value))
        case list():
            return "a list"
        case dict():
            return "a mapping"
    return _shortened(repr(value))


def _key_text(key: str) -> str:
    return _shortened(key) if key.isprintable() and key else repr(_shortened(key))


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "..."


def _keys(value: Value, path: str, place: Place) -> Path:
    """The keys of a path such as a.b or features[0].name, each one possible in the value."""
    keys: Path = ()
    for part in re.sub(r"\[(\d+)\]", r".\1", path).split("."):
        if not part:
            raise ConfigError((Problem(place, path, "a path is keys joined by dots, such as train.l2"),))
        key = _key_in(value, keys, part, place)
        value = _child(value, key)
        keys = (*keys, key)
    return keys


def _key_in(parent: Value, above: Path, part: str, place: Place) -> str | int:
    if parent is None or isinstance(parent, dict):
        return part
    if not isinstance(parent, list):
        problem = f"{path_text(above)} is {shown(parent)}, not a mapping"
        raise ConfigError((Problem(place, "", problem),))
    if not re.fullmatch(r"[0-9]{1,9}", part) or int(part) >= len(parent):
        problem = f"{path_text(above)} has {len(parent)} entries, numbered from 0"
        raise ConfigError((Problem(place, "", problem),))
    return int(part)


def _child(parent: Value, key: str | int) -> Value:
    if isinstance(parent, list) and isinstance(key, int):
        return parent[key]
    return parent.get(str(key)) if isinstance(parent, dict) else None


def _replaced(parent: Value, keys: Path, value: Value) -> Value:
    if not keys:
        return value
    child = _replaced(_child(parent, keys[0]), keys[1:], value)
    if isinstance(parent, list):
        return [child if index == keys[0] else entry for index, entry in enumerate(parent)]
    return {**(parent if isinstance(parent, dict) else {}), str(keys[0]): child}
