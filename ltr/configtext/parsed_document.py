"""A config as it was written: plain values, and the place each of them comes from."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias, cast

from ltr.errors import ConfigError, Place, Problem

Value: TypeAlias = bool | int | float | str | list["Value"] | dict[str, "Value"] | None
KeyPath: TypeAlias = tuple[str | int, ...]

LONGEST_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Document:
    """A mapping and, by path, the place of each key and list entry. Values may be shared: write to none."""

    source: str
    value: dict[str, Value]
    places: Mapping[KeyPath, Place]

    def place(self, path: KeyPath) -> Place:
        """The place of the value; of a missing one, that of the nearest mapping or list around it."""
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
        unchanged = {old: place for old, place in self.places.items() if old[: len(keys)] != keys}
        made = {keys[:length]: origin for length in range(1, len(keys) + 1)}
        changed = _replaced(self.value, keys, value)
        return Document(self.source, cast(dict[str, Value], changed), made | unchanged)


def path_text(path: KeyPath) -> str:
    """The path as a user writes it.

    >>> path_text(("features", 0, "name"))
    'features[0].name'
    """
    parts = []
    for key in path:
        if isinstance(key, int):
            parts.append(f"[{key}]")
        else:
            parts.append(f".{_shortened(key) if key.isprintable() and key else repr(_shortened(key))}")
    return "".join(parts).removeprefix(".")


def value_text(value: Value) -> str:
    """A value as YAML would show it, short enough for a message.

    >>> value_text(True), value_text(None), value_text("a" * 99), value_text([1, 2]), value_text(0.5)
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


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "..."


def _keys(value: Value, path: str, place: Place) -> KeyPath:
    """The keys of a path such as a.b or features[0].name; an error where the value cannot have such a key."""
    keys: KeyPath = ()
    for part in re.sub(r"\[(\d+)\]", r".\1", path).split("."):
        if not part:
            raise ConfigError((Problem(place, path, "a path is keys joined by dots, such as train.l2"),))
        if value is not None and not isinstance(value, dict | list):
            problem = f"{path_text(keys)} is {value_text(value)}, not a mapping"
            raise ConfigError((Problem(place, "", problem),))
        key: str | int = part
        if isinstance(value, list):
            if not re.fullmatch(r"[0-9]{1,9}", part) or int(part) >= len(value):
                problem = f"{path_text(keys)} has {len(value)} entries, numbered from 0"
                raise ConfigError((Problem(place, "", problem),))
            key = int(part)
        value = _child(value, key)
        keys = (*keys, key)
    return keys


def _child(parent: Value, key: str | int) -> Value:
    if isinstance(parent, list) and isinstance(key, int):
        return parent[key]
    return parent.get(str(key)) if isinstance(parent, dict) else None


def _replaced(parent: Value, keys: KeyPath, value: Value) -> Value:
    if not keys:
        return value
    child = _replaced(_child(parent, keys[0]), keys[1:], value)
    if isinstance(parent, list):
        return [child if index == keys[0] else entry for index, entry in enumerate(parent)]
    return {**(parent if isinstance(parent, dict) else {}), str(keys[0]): child}
