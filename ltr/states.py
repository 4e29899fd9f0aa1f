"""Types of states: what the JSON and the arrays that a feature or an encoder has learned must be to be used.

A type is declared beside the function that learns it, and checked once when a state is read from a file.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Protocol, TypeVar

import msgspec
import numpy as np

from ltr.arrays import Array, unpack_texts
from ltr.errors import DataError

Function = TypeVar("Function", bound=Callable[..., Any])

Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 53)]
LARGEST_LEARNED = 1e38  # beyond it, squares and sums of a few numbers might not be finite
Amount = Annotated[float, msgspec.Meta(ge=0)]


@dataclass(frozen=True, slots=True)
class Axes:
    """The axes of one state: how long each is, and which arrays hold places on one, to be compared at the end.

    `encoded` gives vectors of no text: as wide as those that the state holds must be.
    """

    encoded: Callable[[], Any] | None = None
    lengths: dict[str, tuple[int, str]] = field(default_factory=dict)  # and the path of what has the length
    places: list[tuple[str, Array, str]] = field(default_factory=list)  # path, numbers, axis

    def set_length(self, axis: str | int, length: int, path: str) -> None:
        """Note the length of an axis; raise where it already has another."""
        expected, other = (axis, "") if isinstance(axis, int) else self.lengths.setdefault(axis, (length, path))
        if length != expected:
            raise DataError(f"{path} has {length} entries; {expected} are needed{f', as {other} has' if other else ''}")

    def refuse_places_outside(self) -> None:
        """Raise for an array of places with one that its axis does not have."""
        for path, numbers, axis in self.places:
            length = self.lengths[axis][0]
            if numbers.size and not 0 <= numbers.min() <= numbers.max() < length:
                raise DataError(f"{path} holds a place outside the {length} {axis}")


class StateType(Protocol):
    """The type of a state, or of a part of one."""

    def check(self, value: Any, path: str, axes: Axes) -> None:
        """Raise a DataError, which names the path, unless the value is of the type."""
        ...


def refuse_other_type(state: Any, declared: StateType, path: str, encoded: Callable[[], Any] | None = None) -> None:
    """Raise a DataError unless the state is of the declared type, and its vectors as wide as the encoded ones.

    >>> refuse_other_type({"wins": np.array([2, 0])}, Record(wins=Integers("tools")), "state")
    """
    axes = Axes(encoded)
    declared.check(state, path, axes)
    axes.refuse_places_outside()


def learns(declared: StateType) -> Callable[[Function], Function]:
    """Declare the type of the state that a function learns, so that a model with another state is refused.

    >>> @learns(Record(size=Json(Amount)))
    ... def fit(groups, context):
    ...     return {"size": 1.0}
    >>> declared_type(fit).names
    ('size',)
    """

    def declare(function: Function) -> Function:
        function.state_type = declared  # type: ignore[attr-defined]
        return function

    return declare


def declared_type(function: object) -> Any:
    """Return the declared type of the state that the function, or the encoder, learns; None without one."""
    return getattr(function, "state_type", None)


class Record:
    """A mapping with exactly these keys."""

    def __init__(self, **parts: StateType) -> None:
        self.parts: Mapping[str, StateType] = parts

    @property
    def names(self) -> tuple[str, ...]:
        """Return the keys."""
        return tuple(self.parts)

    def check(self, value: Any, path: str, axes: Axes) -> None:
        """Raise unless the keys are those, and each value is of its type."""
        if not isinstance(value, dict) or value.keys() != self.parts.keys():
            content = ", ".join(map(repr, value)) if isinstance(value, dict) else type(value).__name__
            needed = f"a mapping of {', '.join(self.parts)}" if self.parts else "an empty mapping"
            raise DataError(f"{path}: {needed} is needed, found {content or 'nothing'}")
        for name, part in self.parts.items():
            part.check(value[name], f"{path}.{name}", axes)


NOTHING = Record()  # of an encoder that learns nothing


@dataclass(frozen=True, slots=True)
class Json:
    """What JSON can hold, of a type that msgspec knows."""

    kind: Any

    def check(self, value: Any, path: str, axes: Axes) -> None:  # noqa: ARG002  # JSON has no axes
        """Raise unless msgspec takes the value for the type."""
        try:
            msgspec.convert(value, self.kind)
        except msgspec.ValidationError as error:
            raise DataError(f"{path}: {error}") from error


class Integers:
    """An array of integers from 0, or of places on the axis `below`.

    An axis is a length, or a name: axes of one name are as long as each other.
    """

    dtypes, words = "i", "integers"

    def __init__(self, *axes: str | int, below: str = "", rising: bool = False) -> None:
        self.axes, self.below, self.rising = axes, below, rising

    def check(self, value: Any, path: str, axes: Axes) -> None:
        """Raise unless dtype, shape and range fit."""
        if not isinstance(value, np.ndarray) or value.dtype.kind not in self.dtypes or value.ndim != len(self.axes):
            is_array = isinstance(value, np.ndarray)
            form = f"{value.dtype} of shape {value.shape}" if is_array else type(value).__name__
            raise DataError(f"{path}: {len(self.axes)}-dimensional {self.words} are needed, found {form}")
        for axis, length in zip(self.axes, value.shape, strict=True):
            axes.set_length(axis, length, path)
        if value.size and not 0 <= value.min() <= value.max() < math.inf:
            raise DataError(f"{path}: {self.words} from 0 are needed, found {value.min()} to {value.max()}")
        if self.rising and (value[1:] < value[:-1]).any():
            raise DataError(f"{path}: rising numbers are needed")
        if self.below:
            axes.places.append((path, value, self.below))


class Floats(Integers):
    """An array of numbers that single precision can hold, of 0 or more unless `signed`."""

    dtypes, words = "f", "numbers"

    def __init__(self, *axes: str | int, signed: bool = False) -> None:
        super().__init__(*axes)
        self.signed = signed

    def check(self, value: Any, path: str, axes: Axes) -> None:
        """Raise unless dtype, shape and range fit."""
        is_array = isinstance(value, np.ndarray) and value.dtype.kind == "f"
        if is_array and not float(np.abs(value).max(initial=0)) <= LARGEST_LEARNED:  # NaN is not
            raise DataError(f"{path}: finite numbers of at most {LARGEST_LEARNED:g} are needed")
        super().check(np.abs(value) if is_array and self.signed else value, path, axes)


class Bytes(Integers):
    """An array of bytes."""

    dtypes, words = "u", "bytes"


@dataclass(frozen=True, slots=True)
class Offsets:
    """Where the entries of each row begin, and the last ones end: from 0 to the number of entries, rising."""

    rows: str
    entries: str

    def check(self, value: Any, path: str, axes: Axes) -> None:
        """Raise unless they are offsets, as many as rows and one."""
        Integers(f"{self.rows} and one", rising=True).check(value, path, axes)
        if not len(value) or value[0] != 0:
            raise DataError(f"{path}: offsets begin with 0")
        axes.set_length(self.rows, len(value) - 1, path)
        axes.set_length(self.entries, int(value[-1]), path)


class TextTable:
    """Texts, as `pack_texts` makes them, and columns beside them."""

    def __init__(self, axis: str, **columns: StateType) -> None:
        self.axis = axis
        self.record = Record(texts=Bytes(f"bytes of {axis}"), ends=Integers(axis), **columns)

    def check(self, value: Any, path: str, axes: Axes) -> None:
        """Raise unless the texts can be read and the columns fit them."""
        self.record.check(value, path, axes)
        try:
            unpack_texts(value["texts"], value["ends"])
        except ValueError as error:  # of UTF-8, too
            raise DataError(f"{path}: {error}") from error
