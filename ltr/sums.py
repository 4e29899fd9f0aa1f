"""Records that add up: what is known of two sets of queries makes what is known of both."""

from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any, Generic, Self, TypeVar, cast

import numpy as np

from ltr.arrays import Array
from ltr.errors import UsageError

Part = TypeVar("Part", bound="AddsUp")
Place = tuple[str, ...]  # of a column: the names of the fields and keys that lead to it
EMPTY = np.empty(0)


class AddsUp:
    """A frozen dataclass that adds up, field by field.

    Columns (arrays) stand one after the other, numbers are added, dicts by key, sets and tuples joined; None is
    nothing, and of anything else the first stays.
    """

    __slots__ = ()

    def __add__(self, other: Self) -> Self:
        """Return what is known of both."""
        return added([self, other])

    def aligned(self, before: Self) -> Self:  # noqa: ARG002
        """Return this as it stands after what was added before (its columns lie elsewhere): with codes that go on."""
        return self

    def settled(self) -> Self:
        """Return the sum with whatever follows from the whole, such as means."""
        return self


class Total(Generic[Part]):
    """Take parts in, in their order; `sum` is what they come to.

    Each column is copied once, and its pieces are given back before the next is joined: of many parts as large as
    memory allows, no more than the parts and one column lie there at a time.
    """

    def __init__(self) -> None:
        self._pieces: dict[Place, list[Array]] = {}
        self._total: Part | None = None
        self._only: Part | None = None

    def add(self, part: Part) -> None:
        """Take in the next part."""
        self._only = part if self._total is None else None
        light = _without_columns(part, self._total, (), self._pieces)
        self._total = light if self._total is None else _sum(self._total, light)

    def sum(self) -> Part:
        """Return the sum, of a single part itself; what was taken in is given back, so that it is asked for once."""
        if self._total is None:
            raise UsageError("no shard was evaluated")
        return self._only or cast(Part, _with_columns(self._total, (), self._pieces))


def added(parts: Iterable[Part]) -> Part:
    """Add up parts in their order."""
    total = Total[Part]()
    for part in parts:
        total.add(part)
    return total.sum()


def _without_columns(value: Any, before: Any, place: Place, pieces: dict[Place, list[Array]]) -> Any:
    """Return the value with its columns put to the pieces of each place."""
    if isinstance(value, AddsUp):
        part = value if before is None else value.aligned(before)
        inside = {field.name: (getattr(part, field.name), getattr(before, field.name, None)) for field in fields(part)}  # type: ignore[arg-type]
        changed = {name: _without_columns(*pair, (*place, name), pieces) for name, pair in inside.items()}
        return replace(part, **changed)  # type: ignore[type-var]
    if isinstance(value, dict):
        earlier = before or {}
        return {key: _without_columns(of, earlier.get(key), (*place, key), pieces) for key, of in value.items()}
    if not isinstance(value, np.ndarray):
        return value
    pieces.setdefault(place, []).append(value)
    return EMPTY


def _sum(total: Any, more: Any) -> Any:
    """Return both added up; a dict of the total is ours, and grows where it is."""
    if total is None or more is None:
        return more if total is None else total
    if isinstance(total, AddsUp):
        names = [field.name for field in fields(total)]  # type: ignore[arg-type]
        return replace(total, **{name: _sum(getattr(total, name), getattr(more, name)) for name in names})  # type: ignore[type-var]
    if isinstance(total, dict):
        for key, value in more.items():
            total[key] = _sum(total.get(key), value)
        return total
    if isinstance(total, set):
        return total | more
    if isinstance(total, tuple):
        return tuple(dict.fromkeys((*total, *more)))
    if isinstance(total, bool | str | list | np.ndarray) or not hasattr(total, "__add__"):
        return total
    return total + more


def _with_columns(value: Any, place: Place, pieces: dict[Place, list[Array]]) -> Any:
    """Return the value with the joined columns, settled from the inside."""
    if isinstance(value, AddsUp):
        inside = {field.name: getattr(value, field.name) for field in fields(value)}  # type: ignore[arg-type]
        changed = {name: _with_columns(of, (*place, name), pieces) for name, of in inside.items()}
        return replace(value, **changed).settled()  # type: ignore[type-var]
    if isinstance(value, dict):
        return {key: _with_columns(of, (*place, key), pieces) for key, of in value.items()}
    return np.concatenate(pieces.pop(place)) if isinstance(value, np.ndarray) else value
