"""What a run keeps for updates: update.npz of its training, compacted.npz with the outcomes that were folded in."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ltr.arrays import Array, FloatArray, Ragged
from ltr.errors import FileError
from ltr.files.mergeable_tables import Part, Table
from ltr.files.npz import DAMAGES, read_arrays, write_arrays
from ltr.files.path_arguments import AnyPath
from ltr.training.none_logit import INPUTS, is_curvature

UPDATE, COMPACTED, JOURNAL = "update.npz", "compacted.npz", "outcomes.journal"
LARGEST = 1 << 30
MOST_COLUMNS = 2048  # of a Hessian that is kept: 32 MB


@dataclass(frozen=True, slots=True)
class NoneLearned:
    """The coefficients of P(none) and the curvature of their objective."""

    b: FloatArray
    hessian: FloatArray


@dataclass(frozen=True, slots=True)
class UpdateBase:
    """What stands for the data a model was learned from: the curvature of its objective, and exact counts."""

    hessian: FloatArray  # (weights, weights), of the sum over the groups
    parts: Mapping[str, Part]  # what features that count by name have counted
    w: FloatArray | None = None  # after outcomes were folded in; None: that of the model
    folded_bytes: int = 0  # of the journal: outcomes that w, hessian and parts know
    folded: int = 0  # so many outcomes
    model: bytes = field(default=b"")  # whose journal it is
    none: NoneLearned | None = None  # of P(none), after outcomes were folded in; None: what the model has


def write_base(path: AnyPath, base: UpdateBase) -> None:
    """Write the file, complete or not at all."""
    numbers = np.array([base.folded_bytes, base.folded], dtype=np.int64)
    arrays: dict[str, Array] = {"hessian": base.hessian, "folded": numbers}
    if base.w is not None:
        arrays["w"] = base.w
    if base.none is not None:
        arrays |= {"none_b": base.none.b, "none_hessian": base.none.hessian}
    if base.model:
        arrays["model"] = np.frombuffer(base.model, dtype=np.uint8)
    for feature, part in base.parts.items():
        for name, counted in part.items():
            arrays |= {f"{feature}/{name}/{key}": array for key, array in _table_arrays(counted)}
    write_arrays(path, arrays)


def read_base(path: AnyPath, columns: int) -> UpdateBase:
    """The content of such a file, for a model with so many weights; anything else is refused."""
    arrays = read_arrays(path, limit=LARGEST)
    try:
        return _base(arrays, columns)
    except DAMAGES as error:
        raise FileError(str(path), f"not what updates need: {error}") from error


def _base(arrays: dict[str, Array], columns: int) -> UpdateBase:
    hessian, w = arrays.pop("hessian"), arrays.pop("w", None)
    if not is_curvature(hessian, columns):
        raise ValueError(f"a symmetric matrix of {columns} columns is needed")
    if w is not None and not _are_weights(w, columns):
        raise ValueError(f"{columns} weights are needed")
    none = _none(arrays)
    folded_bytes, folded = arrays.pop("folded").tolist()
    model = arrays.pop("model", np.empty(0, dtype=np.uint8)).tobytes()
    tables: dict[tuple[str, str], dict[str, Array]] = {}
    for key, array in arrays.items():
        feature, name, *rest = key.split("/")
        tables.setdefault((feature, name), {})["/".join(rest)] = array
    parts: dict[str, Part] = {}
    for (feature, name), columns_of in tables.items():
        parts.setdefault(feature, {})[name] = _table(columns_of)
    return UpdateBase(hessian, parts, w, int(folded_bytes), int(folded), model, none)


def _none(arrays: dict[str, Array]) -> NoneLearned | None:
    b, hessian = arrays.pop("none_b", None), arrays.pop("none_hessian", None)
    if b is None and hessian is None:
        return None
    if b is None or hessian is None or not _are_weights(b, len(INPUTS)) or not is_curvature(hessian, len(INPUTS)):
        raise ValueError(f"P(none) needs {len(INPUTS)} coefficients and their curvature")
    return NoneLearned(b, hessian)


def _are_weights(array: Array, columns: int) -> bool:
    return array.shape == (columns,) and array.dtype == float and bool(np.isfinite(array).all())


def _table_arrays(counted: Table) -> Iterator[tuple[str, Array]]:
    """The arrays of a table whose facts are texts."""
    yield "keys", np.ascontiguousarray(counted.keys).view(np.uint8).reshape(len(counted), counted.keys.dtype.itemsize)
    yield from ((f"sums/{name}", column) for name, column in counted.sums.items())
    for name, column in counted.facts.items():
        yield f"facts/{name}/texts", column.codes
        yield f"facts/{name}/starts", column.starts


def _table(arrays: dict[str, Array]) -> Table:
    """The table of these arrays; its columns have a row for each key."""
    raw = arrays.pop("keys")
    if raw.ndim != 2 or raw.dtype != np.uint8 or raw.shape[1] not in (8, 16):
        raise ValueError("keys of 8 or 16 bytes are needed")
    keys = np.ascontiguousarray(raw).view(f"S{raw.shape[1]}").ravel()
    sums = {key.removeprefix("sums/"): array for key, array in arrays.items() if key.startswith("sums/")}
    names = [key[len("facts/") : -len("/starts")] for key in arrays if key.endswith("/starts")]
    facts = {name: Ragged(arrays[f"facts/{name}/starts"], arrays[f"facts/{name}/texts"]) for name in names}
    for fact in facts.values():
        starts = fact.starts
        if starts.ndim != 1 or starts[0] != 0 or (np.diff(starts) < 0).any() or starts[-1] != len(fact.codes):
            raise ValueError("texts and their ends do not fit")
    lengths = {len(keys), *map(len, sums.values()), *(len(fact.starts) - 1 for fact in facts.values())}
    if len(lengths) > 1:
        raise ValueError("a table has columns of several lengths")
    return Table(keys, sums, facts)


def files_of(directory: Path) -> tuple[Path, Path, Path]:
    """Where the base of the training, the compacted one, and the journal lie."""
    return directory / UPDATE, directory / COMPACTED, directory / JOURNAL
