"""Rows of vectors, dense or sparse: what features take, add up, scale and multiply without knowing which."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from ltr.arrays import Array, FloatArray, IntArray
from ltr.encoders.dense_vectors import Dense
from ltr.encoders.sparse_vectors import Sparse
from ltr.errors import DataError
from ltr.files.learned_state_types import Axes


class Vectors(Protocol):
    """One row a text, as `Encoder.encode` gives them: of length 1, or zero for a text that says nothing.

    What `sums` gives need not have length 1; `unit` makes it so.
    """

    def __len__(self) -> int:
        """How many rows there are."""
        ...

    @property
    def numbers(self) -> npt.NDArray[np.floating[Any]]:
        """What it holds of all rows."""
        ...

    def take(self, rows: IntArray) -> Self:
        """These rows, in this order; a row may be taken often."""
        ...

    def sums(self, owner: IntArray, rows: IntArray, weights: FloatArray, count: int) -> Self:
        """`count` rows: row o is the sum of weights[i] * row rows[i] over the places i whose owner[i] is o.

        owner, rows and weights have one shape, (places,); an owner without a place has a zero row.
        """
        ...

    def scaled(self, factor: float) -> Self:
        """Each row times the factor, in double precision."""
        ...

    def unit(self) -> Self:
        """Each row divided by its length; a zero row stays zero."""
        ...

    def dots(self, rows: IntArray, other: "Vectors", other_rows: IntArray) -> FloatArray:
        """Product of each of the rows with the row of `other` at the same place, (places,)."""
        ...

    def squares(self) -> FloatArray:
        """Product of each row with itself, (rows,)."""
        ...

    def arrays(self) -> dict[str, Array]:
        """Plain arrays for a state, the numbers in half precision; `vectors_from` reads them."""
        ...


def stacked_rows(parts: Sequence[Vectors]) -> Vectors:
    """The rows of all parts, one part after the other; at least one part, all of one kind and width.

    >>> stacked_rows([Dense(np.array([[1.0, 0.0]])), Dense(np.array([[0.0, 1.0]]))]).numbers.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    if len(parts) == 1:
        return parts[0]
    refuse_other_width(parts)
    dense = [part for part in parts if isinstance(part, Dense)]
    sparse = [part for part in parts if isinstance(part, Sparse)]
    if len(dense) == len(parts):
        return Dense.stacked(dense)
    if len(sparse) == len(parts):
        return Sparse.stacked(sparse)
    raise TypeError("dense vectors stack on dense vectors, sparse ones on sparse ones")


def refuse_other_width(parts: Sequence[Vectors]) -> None:
    """Raise unless all parts are dense, or all sparse, and as wide: vectors of a state may be of another encoder."""
    forms = {f"dense ones of {part.numbers.shape[1]} numbers" for part in parts if isinstance(part, Dense)}
    forms |= {f"sparse ones of {part.dimensions} numbers" for part in parts if isinstance(part, Sparse)}
    if len(forms) > 1:
        both_forms = " and ".join(sorted(forms))
        raise DataError(f"vectors of one kind and width are needed, found {both_forms}: what was learned is damaged")


@dataclass(frozen=True, slots=True)
class StoredVectors:
    """The type of vectors in a state: what `arrays` returns, one row for each place of the axis."""

    axis: str

    def check(self, value: Any, path: str, axes: Axes) -> None:
        """Raise unless they can be read and are as many."""
        try:
            vectors = vectors_from(value if isinstance(value, dict) else {})
            if isinstance(vectors, Sparse) and axes.encoded is not None:  # no array of theirs is as wide as they say
                refuse_other_width([vectors, axes.encoded()])
        except DataError as error:
            raise DataError(f"{path}: {error}") from error
        axes.set_length(self.axis, len(vectors), path)


def vectors_from(arrays: Mapping[str, Array]) -> Vectors:
    """The vectors whose `arrays` a state holds; a DataError where they cannot be vectors.

    >>> vectors_from(Dense(np.array([[0.5, 0.25]])).arrays()).numbers.tolist()
    [[0.5, 0.25]]
    """
    is_plain = all(hasattr(array, "dtype") for array in arrays.values())
    if is_plain and set(arrays) == {"numbers"}:
        return Dense.restored(arrays)
    if is_plain and set(arrays) == {"starts", "columns", "numbers", "dimensions"}:
        return Sparse.restored(arrays)
    raise DataError(f"{', '.join(sorted(arrays)) or 'no arrays'}: neither dense nor sparse vectors")
