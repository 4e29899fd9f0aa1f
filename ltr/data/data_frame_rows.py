"""Samples given in Python: the rows of a data frame, pandas' or polars', or a list of dicts, as lines of JSON."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Protocol

import msgspec

from ltr.data.source_files import FRAME, LIST
from ltr.errors import DataError, FieldError, SampleError, UsageError
from ltr.files.content_digests import ContentDigest

IDS = ("trace_id", "node_id", "candidate_id")
MISSING_TYPES = ("NAType", "NaTType")  # of pandas


class DataFrame(Protocol):
    """What a frame of pandas or polars has."""

    @property
    def columns(self) -> Any:
        """The names of its columns."""


Table = DataFrame | Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True, eq=False)
class TableRows:
    """TableRows and the name under which messages and records speak of them; rows count from 1."""

    name: str
    rows: Any

    def lines(self, *, digest: ContentDigest) -> Iterator[tuple[int, bytes]]:
        """Number and JSON of each row; the digest is updated with both."""
        for number, row in enumerate(_mappings(self.rows), start=1):
            try:
                line = msgspec.json.encode({_key(key): _plain(key, value) for key, value in row.items()})
            except FieldError as cause:
                raise SampleError(self.name, number, *cause.args) from cause
            digest.update(line + b"\n")
            yield number, line


def rows_of(samples: object) -> TableRows | None:
    """The rows of a data frame, or of a list of dicts; None of anything else, such as paths."""
    if isinstance(samples, TableRows):
        return samples
    if hasattr(samples, "collect_schema") and not hasattr(samples, "iter_rows"):
        raise UsageError("a lazy frame has no rows yet; give what its collect() returns")
    if hasattr(samples, "columns") and (hasattr(samples, "itertuples") or hasattr(samples, "iter_rows")):
        return TableRows(FRAME, samples)
    if isinstance(samples, list | tuple) and samples and isinstance(samples[0], Mapping):
        return TableRows(LIST, samples)
    return None


def _mappings(rows: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(rows, list | tuple):
        for number, row in enumerate(rows, start=1):
            if not isinstance(row, Mapping):
                raise SampleError(LIST, number, "", f"found {type(row).__name__}; a dict is needed, as before")
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
