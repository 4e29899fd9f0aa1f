"""Samples given in Python as lines of JSON: rows of a data frame of pandas or polars, a list of dicts, a Dataset."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from os import PathLike
from typing import Any, Protocol

import msgspec

from ltr.errors import DataError, FieldError, SampleError, UsageError
from ltr.files import ContentDigest
from ltr.jsonl import excerpt
from ltr.samples.candidates import DATASET, FRAME, LIST

IDS = ("trace_id", "node_id", "candidate_id")
MISSING_TYPES = ("NAType", "NaTType")  # of pandas
WHAT_IS_READ = "names of files, a list of dicts, a data frame or a Dataset are needed"


class DataFrame(Protocol):
    """What a frame of pandas or polars has."""

    @property
    def columns(self) -> Any:
        """The names of its columns."""


class Dataset(Protocol):
    """What a Dataset of Hugging Face has: names of columns, and rows that are dicts."""

    @property
    def column_names(self) -> Any:
        """The names of its columns."""

    def __iter__(self) -> Iterator[Any]:
        """Its rows."""


Table = DataFrame | Dataset | Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True, eq=False)
class TableRows:
    """Rows, and the name under which messages and records speak of them; rows count from 1."""

    name: str
    rows: Any

    def lines(self, *, digest: ContentDigest) -> Iterator[tuple[int, bytes]]:
        """Number and JSON of each row; the digest is updated with both."""
        for number, row in enumerate(_mappings(self), start=1):
            try:
                line = msgspec.json.encode({_key(key): _plain(key, value) for key, value in row.items()})
            except FieldError as cause:
                raise SampleError(self.name, number, *cause.args) from cause
            digest.update(line + b"\n")
            yield number, line


def rows_of(samples: object) -> TableRows | None:
    """The rows of a data frame, a list of dicts or a Dataset; None of paths and numbers, an error of other objects."""
    if isinstance(samples, TableRows):
        return samples
    if hasattr(samples, "collect_schema") and not hasattr(samples, "iter_rows"):
        raise UsageError("a lazy frame has no rows yet; give what its collect() returns")
    if hasattr(samples, "columns") and (hasattr(samples, "itertuples") or hasattr(samples, "iter_rows")):
        return TableRows(FRAME, samples)
    if isinstance(samples, Mapping):
        parts = ", ".join(map(str, samples))
        raise UsageError(f"found a {type(samples).__name__} of {excerpt(parts)}; {WHAT_IS_READ}, such as one of those")
    if hasattr(samples, "column_names") and isinstance(samples, Iterable):
        return TableRows(DATASET, samples)
    if isinstance(samples, Iterator):
        raise UsageError(f"found a {type(samples).__name__}, which can be read once; give list(...) of it")
    if isinstance(samples, list | tuple) and samples and not isinstance(samples[0], str | PathLike):
        return TableRows(LIST, samples)
    return None


def _mappings(table: TableRows) -> Iterator[Mapping[str, Any]]:
    rows = table.rows
    if table.name != FRAME:
        for number, row in enumerate(rows, start=1):
            if not isinstance(row, Mapping):
                raise SampleError(table.name, number, "", f"found {type(row).__name__}; a dict of the fields is needed")
            yield row
        return
    columns = list(rows.columns)
    if len(set(columns)) < len(columns):
        raise DataError(f"{FRAME}: two columns have the same name")
    values = rows.iter_rows() if hasattr(rows, "iter_rows") else rows.itertuples(index=False, name=None)
    for row in values:
        yield dict(zip(columns, row, strict=True))


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise FieldError("", f"found the name {key!r}; a text is needed")
    return key


def _plain(key: str, value: Any) -> Any:
    """The value as JSON has it: NaN is absent, a boolean label is 0 or 1."""
    value = _of_python(value)
    match value:
        case bool() if key == "label":
            return int(value)
        case float() if math.isnan(value):
            return None
        case float() if math.isinf(value):
            raise FieldError(key, f"found {value}; a finite number is needed")
        case float() if key in IDS and value.is_integer():  # a column of integers with one missing
            return int(value)
        case None | bool() | int() | float() | str():
            return value
        case date():
            return value.isoformat()
        case Mapping():
            return {_key(name): _plain(name, inner) for name, inner in value.items()}
        case list() | tuple():
            return [_plain(key if key != "label" else "", inner) for inner in value]
    raise FieldError(key, f"found a value of type {type(value).__name__}, which samples do not hold")


def _of_python(value: Any) -> Any:
    """A number, an array or a missing value of another package as Python's own; any other value as it is."""
    if type(value).__name__ in MISSING_TYPES:
        return None
    if isinstance(value, Decimal):
        return float(value)
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return value.tolist()
    return value.to_list() if hasattr(value, "to_list") else value  # a series inside a cell
