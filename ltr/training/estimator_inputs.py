"""What the estimator is given, checked as scikit-learn's tools expect: X, y, qid and sample_weight."""

import warnings
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ltr.arrays import BoolArray, FloatArray, IntArray, as_array, as_floats, code_sums, ragged
from ltr.errors import ArrayError, DataError


class InputError(DataError, ValueError):
    """X, y, qid or sample_weight that cannot be used; scikit-learn's tools know it as a ValueError."""


@dataclass(frozen=True, slots=True)
class Queries:
    """The rows of each query together: `rows` are places in X, group g owns offsets[g]:offsets[g + 1] of them."""

    rows: IntArray
    offsets: IntArray

    @classmethod
    def of(cls, qid: npt.ArrayLike | None, count: int) -> "Queries":
        """One query an id, in order of first appearance; one query of all rows without ids."""
        if qid is None:
            return cls(np.arange(count), np.array([0, count]))
        try:
            ids = as_array("qid", qid)
        except ArrayError as error:
            raise InputError(str(error)) from error
        if ids.shape != (count,):
            raise InputError(f"qid: one a row is needed ({count},), found shape {ids.shape}")
        rows_of: dict[Hashable, list[int]] = {}
        for row, each in enumerate(ids.tolist()):
            if each is None or each != each:  # NaN alone is unlike itself
                raise InputError(f"qid[{row}]: {each} is no id")
            rows_of.setdefault(each, []).append(row)
        sizes = np.array([0, *map(len, rows_of.values())], dtype=np.int64)
        return cls(np.array([row for rows in rows_of.values() for row in rows], dtype=np.int64), np.cumsum(sizes))

    def those(self, kept: BoolArray) -> "Queries":
        """The queries that are kept."""
        sizes = np.diff(self.offsets)[kept]
        owner, within = ragged(sizes)
        return Queries(self.rows[self.offsets[:-1][kept][owner] + within], np.concatenate([[0], np.cumsum(sizes)]))

    def in_input_order(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Values of the grouped rows, as the rows stand in X."""
        placed = np.empty_like(values)
        placed[self.rows] = values
        return placed


def query_weights(queries: Queries, sample_weight: npt.ArrayLike | None) -> FloatArray:
    """Mean weight of each query's rows, 0 or more, not 0 everywhere; 1 without any."""
    if sample_weight is None:
        return np.ones(len(queries.offsets) - 1)
    weights = column("sample_weight", sample_weight, len(queries.rows))
    if (weights < 0).any():
        raise InputError(f"sample_weight[{int(np.argmax(weights < 0))}]: found a weight below 0")
    sizes = np.diff(queries.offsets)
    codes = np.repeat(np.arange(len(sizes)), sizes)
    means = code_sums(codes, weights[queries.rows], len(sizes)) / sizes
    if not means.any():
        raise InputError("sample_weight is zero everywhere")
    return means


def matrix(X: npt.ArrayLike) -> FloatArray:  # noqa: N803
    """X as rows by features, every number finite."""
    if hasattr(X, "toarray"):
        raise InputError("X is sparse; dense data is required: use X.toarray()")
    given = _numbers("X", X)
    if given.ndim != 2:
        raise InputError(f"Expected 2D array, got {given.ndim}D array instead. Reshape your data: rows x features")
    for axis, what in enumerate(("sample", "feature")):
        if given.shape[axis] == 0:
            raise InputError(f"0 {what}(s) (shape={given.shape}) while a minimum of 1 is required.")
    return given


def column(name: str, values: npt.ArrayLike, count: int) -> FloatArray:
    """One finite number a row; a single column of a table is taken for one."""
    if values is None:
        raise InputError(f"{name} is None: this estimator requires y to be passed, but the target y is None")
    given = _numbers(name, values)
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    if given.shape != (count,):
        raise InputError(f"{name}: one number a row is needed ({count},), found shape {given.shape}")
    return given


def _numbers(name: str, values: npt.ArrayLike) -> FloatArray:
    array = np.asarray(values)
    if array.dtype.kind == "c":
        raise InputError(f"{name}: Complex data not supported")
    try:
        given = as_floats(name, array.astype(np.float64) if array.dtype.kind in "bO" else array)
    except (ArrayError, ValueError) as error:
        raise InputError(f"{name}: {error}") from error
    if not np.isfinite(given).all():
        raise InputError(f"{name} contains NaN or infinity")
    return given


def column_names(X: object) -> npt.NDArray[np.object_] | None:  # noqa: N803
    """The names of a table's columns; None unless all are text."""
    columns = getattr(X, "columns", None)
    names = [] if columns is None else list(columns)
    return np.array(names, dtype=object) if names and all(isinstance(name, str) for name in names) else None


def refuse_other_names(fitted: npt.NDArray[np.object_] | None, given: npt.NDArray[np.object_] | None) -> None:
    """Raise for columns of other names, or in another order, than those of the fit; warn where one side has none."""
    if fitted is None and given is not None:
        warnings.warn("X has feature names, but ListwiseRanker was fitted without feature names", stacklevel=4)
    elif fitted is not None and given is None:
        text = "X does not have valid feature names, but ListwiseRanker was fitted with feature names"
        warnings.warn(text, stacklevel=4)
    elif fitted is not None and given is not None and list(fitted) != list(given):
        raise InputError(names_message(list(fitted), list(given)))


def names_message(fitted: list[str], given: list[str]) -> str:
    """What is wrong with the names, as scikit-learn words it."""
    text = "The feature names should match those that were passed during fit.\n"
    unexpected, missing = [each for each in given if each not in fitted], [each for each in fitted if each not in given]
    for names, words in ((unexpected, "unseen at fit time"), (missing, "seen at fit time, yet now missing")):
        if names:
            text += f"Feature names {words}:\n" + "".join(f"- {name}\n" for name in sorted(names)[:5])
    if not unexpected and not missing:
        text += "Feature names must be in the same order as they were in fit.\n"
    return text
