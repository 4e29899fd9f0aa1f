"""Checks of X, y, qid and sample_weight, with the messages that scikit-learn's tools expect."""

import warnings
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ltr.arrays import BoolArray, FloatArray, IntArray, as_array, as_floats, code_sums, ragged
from ltr.errors import ArrayError, DataError


class InputError(DataError, ValueError):
    """X, y, qid or sample_weight that cannot be used; a ValueError, as scikit-learn's tools expect."""


@dataclass(frozen=True, slots=True)
class Queries:
    """Rows of X by query: group g has the rows `rows[offsets[g]:offsets[g + 1]]`."""

    rows: IntArray
    offsets: IntArray

    @classmethod
    def of(cls, qid: npt.ArrayLike | None, count: int) -> "Queries":
        """A query for each id, in order of first appearance; all rows are one query without ids."""
        if qid is None:
            return cls(np.arange(count), np.array([0, count]))
        try:
            ids = as_array("qid", qid)
        except ArrayError as error:
            raise InputError(str(error)) from error
        if ids.shape != (count,):
            raise InputError(f"qid: one a row is needed ({count},), found shape {ids.shape}")
        rows_of: dict[Hashable, list[int]] = {}
        for row, query in enumerate(ids.tolist()):
            if query is None or query != query:  # NaN alone differs from itself
                raise InputError(f"qid[{row}]: {query} is no id")
            rows_of.setdefault(query, []).append(row)
        sizes = np.array([0, *map(len, rows_of.values())], dtype=np.int64)
        return cls(np.array([row for rows in rows_of.values() for row in rows], dtype=np.int64), np.cumsum(sizes))

    def where(self, is_wanted: BoolArray) -> "Queries":
        """The queries that are wanted."""
        sizes = np.diff(self.offsets)[is_wanted]
        owner, within = ragged(sizes)
        return Queries(self.rows[self.offsets[:-1][is_wanted][owner] + within], np.concatenate([[0], np.cumsum(sizes)]))

    def in_input_order(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Values of the grouped rows in the order of X."""
        placed = np.empty_like(values)
        placed[self.rows] = values
        return placed


def query_weights(queries: Queries, sample_weight: npt.ArrayLike | None) -> FloatArray:
    """Mean sample_weight of the rows of each query; 1 without sample_weight."""
    if sample_weight is None:
        return np.ones(len(queries.offsets) - 1)
    weights = checked_column("sample_weight", sample_weight, len(queries.rows))
    if (weights < 0).any():
        raise InputError(f"sample_weight[{int(np.argmax(weights < 0))}]: found a weight below 0")
    sizes = np.diff(queries.offsets)
    codes = np.repeat(np.arange(len(sizes)), sizes)
    means = code_sums(codes, weights[queries.rows], len(sizes)) / sizes
    if not means.any():
        raise InputError("sample_weight is zero everywhere")
    return means


def checked_matrix(X: npt.ArrayLike) -> FloatArray:  # noqa: N803
    """X as rows by features, every number finite."""
    if hasattr(X, "toarray"):
        raise InputError("X is sparse; dense data is required: use X.toarray()")
    numbers = _numbers("X", X)
    if numbers.ndim != 2:
        raise InputError(f"Expected 2D array, got {numbers.ndim}D array instead. Reshape your data: rows x features")
    for axis, what in enumerate(("sample", "feature")):
        if numbers.shape[axis] == 0:
            raise InputError(f"0 {what}(s) (shape={numbers.shape}) while a minimum of 1 is required.")
    return numbers


def checked_column(name: str, values: npt.ArrayLike, count: int) -> FloatArray:
    """One finite number for each row; a table of one column will do."""
    if values is None:
        raise InputError(f"{name} is None: this estimator requires y to be passed, but the target y is None")
    numbers = _numbers(name, values)
    if numbers.ndim == 2 and numbers.shape[1] == 1:
        numbers = numbers[:, 0]
    if numbers.shape != (count,):
        raise InputError(f"{name}: one number a row is needed ({count},), found shape {numbers.shape}")
    return numbers


def _numbers(name: str, values: npt.ArrayLike) -> FloatArray:
    array = np.asarray(values)
    if array.dtype.kind == "c":
        raise InputError(f"{name}: Complex data not supported")
    try:
        numbers = as_floats(name, array.astype(np.float64) if array.dtype.kind in "bO" else array)
    except (ArrayError, ValueError) as error:
        raise InputError(f"{name}: {error}") from error
    if not np.isfinite(numbers).all():
        raise InputError(f"{name} contains NaN or infinity")
    return numbers


def column_names(X: object) -> npt.NDArray[np.object_] | None:  # noqa: N803
    """The names of a table's columns; None unless all are text."""
    columns = getattr(X, "columns", None)
    names = [] if columns is None else list(columns)
    return np.array(names, dtype=object) if names and all(isinstance(name, str) for name in names) else None


def refuse_other_names(fitted: npt.NDArray[np.object_] | None, names: npt.NDArray[np.object_] | None) -> None:
    """Raise if the names of the columns, or their order, differ from those of the fit; warn if one side has none."""
    if fitted is None and names is not None:
        warnings.warn("X has feature names, but ListwiseRanker was fitted without feature names", stacklevel=4)
    elif fitted is not None and names is None:
        text = "X does not have valid feature names, but ListwiseRanker was fitted with feature names"
        warnings.warn(text, stacklevel=4)
    elif fitted is not None and names is not None and list(fitted) != list(names):
        raise InputError(_names_message(list(fitted), list(names)))


def _names_message(fitted: list[str], names: list[str]) -> str:
    """What is wrong with the names, in scikit-learn's words."""
    text = "The feature names should match those that were passed during fit.\n"
    unexpected = [name for name in names if name not in fitted]
    missing = [name for name in fitted if name not in names]
    for wrong, reason in ((unexpected, "unseen at fit time"), (missing, "seen at fit time, yet now missing")):
        if wrong:
            text += f"Feature names {reason}:\n" + "".join(f"- {name}\n" for name in sorted(wrong)[:5])
    if not unexpected and not missing:
        text += "Feature names must be in the same order as they were in fit.\n"
    return text
