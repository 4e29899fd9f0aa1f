"""What the part and the state of a feature may hold."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ltr.errors import DataError
from ltr.files.mergeable_tables import Part, Table

ARRAY_KINDS = "biuf"
LARGEST = 1 << 63


def refuse_other_part(name: str, part: Any) -> None:
    """Raise where a part is none that tables add up to."""
    if not (isinstance(part, dict) and all(isinstance(table, Table) for table in part.values())):
        needed = "a dict of tables (ltr.files.mergeable_tables.table) is needed, or a merge of its own"
        raise DataError(f"the feature {name}: its count gave {type(part).__name__}; {needed}")


def alike(name: str, parts: Sequence[Part]) -> Sequence[Part]:
    """The parts of shards, which must have the same tables to add up."""
    first, *others = map(_columns, parts)
    for other in others:
        if other != first:
            differ = ", ".join(sorted({place for place, _ in first.items() ^ other.items()}))
            needed = "each shard needs the same tables, of the same columns"
            raise DataError(f"the feature {name}: its count gave other tables of another shard ({differ}); {needed}")
    return parts


def _columns(part: Part) -> dict[str, str]:
    """The columns of the tables, and what a row of each is."""
    columns = {f"{name}.{key}": column for name, table in part.items() for key, column in _of_table(table)}
    return {place: _row(column) for place, column in columns.items()}


def _row(column: Any) -> str:
    return str(column.shape[1:]) if isinstance(column, np.ndarray) else "lists or vectors"


def _of_table(table: Table) -> list[tuple[str, Any]]:
    return [("keys", table.keys), *table.sums.items(), *table.facts.items()]


def refuse_other_state(name: str, state: Any) -> None:
    """Raise where a state is, or holds, what a model could not store and restore unchanged.

    >>> refuse_other_state("tool.own", {"counts": np.array([1, 2]), "mean": 0.5})
    """
    unchecked: list[tuple[str, Any]] = [("state", state)]
    while unchecked:
        path, value = unchecked.pop()
        is_whole = path == "state"
        is_array = isinstance(value, np.ndarray) and value.dtype.kind in ARRAY_KINDS and "[" not in path
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            unchecked += [(f"{path}.{key}", inner) for key, inner in value.items()]
        elif isinstance(value, list) and not is_whole:
            unchecked += [(f"{path}[{place}]", inner) for place, inner in enumerate(value) if not _is_json(inner)]
        elif not is_array and (is_whole or not _is_json(value)):
            what = f"an array of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
            raise DataError(
                f"the feature {name}: its fit gave {what} at {path}; "
                "a dict of JSON (text keys, finite numbers) and of numpy arrays of numbers is needed, or one such array"
            )


def _is_json(value: Any) -> bool:
    """Whether it is a value JSON has, and no list or object."""
    if type(value) is float:
        return bool(np.isfinite(value))
    if type(value) is int:
        return abs(value) < LARGEST
    return value is None or type(value) in (bool, str)
