"""The keys of a config as their classes declare them, read off the sources: help is shown before any of them loads."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import ltr
from ltr.errors import suggestion

SHORTEST_GUESSED = 4  # anything is like a key of one letter
FIELD = re.compile(r'^    (\w+): ([^=\n]+?)(?: = .*)?\n    """((?:.|\n)*?)"""', re.MULTILINE)


class Key(NamedTuple):
    """A key of a config: its type as it is written, and what it means."""

    types: str
    meaning: str


@cache
def declared_keys() -> Mapping[str, Key]:
    """Return every key of a run's config that is no section, by its path.

    >>> declared_keys()["train.l2_rule"].types
    'Literal["best", "one_se"]'
    """
    return dict(_keys("RunConfig", "ltr.config.run"))


def _keys(name: str, module: str, above: str = "") -> Iterator[tuple[str, Key]]:
    """Yield the keys of a class, those of its sections in their place; the module defines or imports it."""
    source = _source(module)
    start = source.find(f"\nclass {name}:\n") + 1
    if not start:
        imported = re.search(rf"^ *from (\S+) import (?:\([^)]*|[^\n(]*)\b{name}\b", source, re.MULTILINE)
        yield from _keys(name, imported[1] if imported else "", above)
        return
    declared = source[start : source.index("\n    def ", start)]
    for key, types, meaning in FIELD.findall(declared):
        if types.endswith("Config"):
            yield from _keys(types, module, f"{key}.")
        else:
            yield above + key, Key(types, " ".join(meaning.split()))


def near_path(name: str, paths: Iterable[str]) -> str:
    """Return the path whose last key is the name, whose words begin with its letters, or is like it; "" without one.

    >>> [near_path(name, ["seed", "train.l2", "train.learning_rate"]) for name in ("l2", "lr", "learn_rate", "x")]
    ['train.l2', 'train.learning_rate', 'train.learning_rate', '']
    """
    last: dict[str, str] = {}
    for path in paths:
        last.setdefault(path.rpartition(".")[2], path)
    initials = {"".join(word[0] for word in key.split("_")): key for key in reversed(last) if "_" in key}
    key = name if name in last else initials.get(name, "")
    if not key and len(name) >= SHORTEST_GUESSED:
        key = suggestion(name, last).removeprefix("; did you mean ").removesuffix("?")
    return last.get(key, "")


@cache
def _source(module: str) -> str:
    """Return the text of a module of ltr, which is not imported."""
    package: Any = ltr
    file = package.__file__.removesuffix("ltr/__init__.py").removesuffix("ltr\\__init__.py") + module.replace(".", "/")
    for path in (f"{file}.py", f"{file}/__init__.py"):
        try:
            text: bytes = package.__loader__.get_data(path)
        except OSError:
            continue
        return text.decode()
    raise ModuleNotFoundError(module)
