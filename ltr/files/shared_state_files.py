"""States that lie in files: any process that sees the files reads them when it needs them."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from ltr.arrays import Array, State
from ltr.errors import DiskError, FileError, reason

LARGEST_IN_MEMORY = 1 << 18  # bytes of an array; a larger one goes to the file


@dataclass(frozen=True, slots=True)
class ArrayPlace:
    """Where an array lies in a file, and what it is."""

    begin: int
    dtype: str
    shape: tuple[int, ...]
    is_turned: bool  # column after column, as it was in memory: a product may round otherwise in another order


@dataclass(frozen=True, slots=True)
class StoredState:
    """A state whose large arrays lie in a file."""

    path: str
    content: Any  # the state, with an ArrayPlace for each of these arrays

    @classmethod
    def written(cls, path: Path, state: State) -> Self:
        """The state, of which the file takes the large arrays.

        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     stored = StoredState.written(Path(folder, "one"), {"learned": {"numbers": np.arange(40_000)}})
        ...     stored.content["learned"], stored.read()["learned"]["numbers"].sum().item()
        ({'numbers': ArrayPlace(begin=0, dtype='<i8', shape=(40000,), is_turned=False)}, 799980000)
        """
        try:
            with path.open("wb") as file:

                def put(array: Array) -> Array | ArrayPlace:
                    if array.nbytes <= LARGEST_IN_MEMORY:
                        return array
                    is_turned = array.flags.f_contiguous and not array.flags.c_contiguous
                    place = ArrayPlace(file.tell(), array.dtype.str, array.shape, is_turned)
                    laid_out = np.ascontiguousarray(array.T if is_turned else array)
                    file.write(laid_out.reshape(-1).view(np.uint8).data)
                    return place

                return cls(str(path), _changed(state, np.ndarray, put))
        except OSError as error:
            raise DiskError(str(path.parent), reason(error)) from error

    def read(self) -> State:
        """The state, all in memory."""
        state: State = _changed(self.content, ArrayPlace, self._array)
        return state

    def _array(self, place: ArrayPlace) -> Array:
        length = math.prod(place.shape)
        try:
            numbers = np.fromfile(self.path, place.dtype, length, offset=place.begin)
        except FileNotFoundError as error:
            raise FileError(self.path, f"{reason(error)}; TMPDIR must lie where all nodes see it") from error
        except OSError as error:
            raise FileError(self.path, reason(error)) from error
        if len(numbers) < length:
            raise FileError(self.path, "is shorter than what was written")
        return numbers.reshape(place.shape, order="F" if place.is_turned else "C")


def _changed(value: Any, kind: type, change: Callable[[Any], Any]) -> Any:
    """The value, in which everything of the kind is changed; it may lie in mappings."""
    if isinstance(value, dict):
        return {key: _changed(inner, kind, change) for key, inner in value.items()}
    return change(value) if isinstance(value, kind) else value
