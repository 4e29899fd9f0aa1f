"""Featurised groups as the columns of a .npz."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

from ltr.arrays import LARGEST, Array, FloatArray, IntArray, as_floats, as_offsets, as_weights, refuse_outside
from ltr.data.candidates import Candidates
from ltr.data.draw_rules_and_probabilities import DRAW_RULES, LOGGED, Draws
from ltr.data.groups import Groups
from ltr.data.none_candidates import ABSENT, RIGHT, WRONG
from ltr.data.source_files import SourceFile
from ltr.data.tool_texts import ToolText
from ltr.errors import DataError, FileError, count
from ltr.features.fitted_features import FittedFeatures
from ltr.files.content_digests import digest_file
from ltr.files.npz import read_arrays, write_arrays
from ltr.files.packed_texts import pack_texts, unpack_texts
from ltr.files.path_arguments import AnyPath
from ltr.logs import LOG, stage
from ltr.storage.feature_records import feature_records, fit_digest, restored_features
from ltr.storage.feature_state_file import FORMAT, UNUSABLE, StateRecord
from ltr.storage.model_file import LARGEST_DOCUMENT

TABLES = ("trace_ids", "node_ids", "query_texts", "name_texts")
CODES = ("offsets", "traces", "queries", "names", "texts")
OPTIONAL = ("weights", "times", "none")
TABLE_OF = {"contexts": "context_texts", "previous": "previous_lists"}  # group columns that may be missing
DRAWS = {"draw_rules": "rules", "draw_probabilities": "probabilities"}  # the columns of rows that were drawn
NOTHING = np.empty(0, dtype=np.int64)
NO_GRAPHS: dict[str, Any] = {"types": NOTHING, "type_texts": (), "graphs": NOTHING, "distinct_graphs": ()}
LARGEST_COLUMNS = 64 << 30  # a billion numbers and more; the file's own size is the limit that counts


def save_columns(
    path: AnyPath, groups: Groups, phi: FloatArray, features: FittedFeatures, *, is_applied: bool = False
) -> None:
    """The groups with their phi, and the fitted features, in one .npz; applied as they are, or cross-fitted."""
    arrays: dict[str, Array] = {}
    record = StateRecord(FORMAT, is_applied, features.kind, *feature_records(features, arrays))
    state: dict[str, Array] = {"state": np.frombuffer(msgspec.json.encode(record), dtype=np.uint8)}
    learned = {f"state.{name}": array for name, array in arrays.items()}
    write_arrays(path, state | columns_of(groups, phi) | learned)


def columns_of(groups: Groups, phi: FloatArray) -> dict[str, Array]:
    """The groups with their phi as arrays by name, texts packed: all of a file but the state of its features."""
    candidates = groups.candidates
    columns: dict[str, Array] = {"phi": phi}
    columns |= {name: getattr(candidates, name) for name in CODES} | {"labels": groups.labels}
    columns |= {name: column for name in OPTIONAL if (column := getattr(groups, name)) is not None}
    if candidates.draws is not None:
        columns |= {name: getattr(candidates.draws, field) for name, field in DRAWS.items()}
    columns |= {name: codes for name in TABLE_OF if (codes := getattr(candidates, name)) is not None}
    tables: dict[str, Sequence[str]] = {name: getattr(candidates, name) for name in TABLES}
    tables |= {field: [getattr(text, field) for text in candidates.tool_texts] for field in ToolText._fields}
    if candidates.contexts is not None:
        tables["context_texts"] = candidates.context_texts
    if candidates.previous is not None:
        tables["previous_lists"] = [msgspec.json.encode(names).decode() for names in candidates.previous_lists]
    for name, table in tables.items():
        columns[name], columns[f"{name}.ends"] = pack_texts(table)
    return columns


def load_columns(path: AnyPath) -> tuple[Groups, FittedFeatures]:
    """Groups that bear their phi, and the features that made it."""
    with stage("reading"):
        arrays = read_arrays(path, limit=LARGEST_COLUMNS)
    if "phi" in arrays and "state" not in arrays:
        raise FileError(str(path), "a part of a directory of columns; name the directory")
    try:
        if arrays["state"].nbytes > LARGEST_DOCUMENT:
            raise DataError(f"its state is larger than {LARGEST_DOCUMENT} bytes")
        record = msgspec.json.decode(arrays["state"].tobytes(), type=StateRecord)
        learned = {name.removeprefix("state."): array for name, array in arrays.items()}
        features = restored_features(record.kind, record.features, record.encoder, learned)
        content = digest_file(path)
        source = SourceFile(str(path), 0, 1, content.sha256, content.byte_count)
        fit = fit_digest(features)
        groups = groups_of_columns(source, arrays, features, fit=fit, is_applied=record.is_applied)
        LOG.info(f"read {path}: {count(len(groups.labels), 'candidate')}, {count(len(groups.offsets) - 1, 'group')}")
        return groups, features
    except UNUSABLE as error:
        raise FileError(str(path), f"not a file of featurised samples: {error}") from error


def groups_of_columns(
    source: SourceFile, arrays: dict[str, Array], features: FittedFeatures, *, fit: str, is_applied: bool
) -> Groups:
    """The groups of `columns_of`, which bear their phi; an error of any kind in UNUSABLE where they do not fit."""
    phi = as_floats("phi", arrays["phi"])
    offsets = as_offsets(arrays["offsets"], len(phi))
    if phi.shape != (len(phi), len(features.names)):
        raise DataError(f"phi of shape {phi.shape} does not fit {len(features.names)} features")
    refuse_outside("phi", phi, offsets, least=-LARGEST)
    labels = _numbers("labels", arrays["labels"], offsets, least=0.0)
    weights, times, none = map(arrays.get, OPTIONAL)
    if weights is not None:
        weights = as_weights(weights, len(offsets) - 1)
    if times is not None:
        times = _numbers("times", times, np.arange(len(offsets)), least=-LARGEST)
    if none is not None:
        none = checked_codes(none, len(offsets) - 1, (ABSENT, WRONG, RIGHT))
    candidates = _candidates(source, arrays, phi, offsets, features=features)
    candidates = replace(candidates, fit=fit, are_applied=is_applied)
    return Groups(candidates, labels, offsets, weights, times, none)


def refuse_other_shapes(arrays: Mapping[str, Array], columns: int) -> None:
    """Raise an error of any kind in UNUSABLE unless the arrays that are there are of as many groups, rows and columns.

    Nothing is said of the numbers in them: who wrote the file has checked those.
    """
    rows = len(arrays["phi"])
    groups = len(as_offsets(arrays["offsets"], rows)) - 1
    shapes = {"phi": (rows, columns), "labels": (rows,), "weights": (groups,), "none": (groups,)}
    for name, shape in (shapes | dict.fromkeys(DRAWS, (rows,))).items():
        if (array := arrays.get(name)) is not None and (array.shape != shape or array.dtype.kind not in "if"):
            raise DataError(f"{name}: numbers of shape {shape} are needed, found {array.dtype} of shape {array.shape}")


def _candidates(
    source: SourceFile, arrays: dict[str, Array], phi: FloatArray, offsets: IntArray, *, features: FittedFeatures
) -> Candidates:
    tables: dict[str, Any] = {
        name: unpack_texts(arrays[name], arrays[f"{name}.ends"]) for name in (*TABLES, *ToolText._fields)
    }
    tool_texts = tuple(ToolText(*texts) for texts in zip(*map(tables.pop, ToolText._fields), strict=True))
    groups, rows = len(offsets) - 1, len(phi)
    if len(tables["node_ids"]) != groups:
        raise DataError(f"{len(tables['node_ids'])} node ids do not fit {groups} groups")
    return Candidates(
        kind=features.kind,
        offsets=offsets,
        traces=checked_codes(arrays["traces"], groups, tables["trace_ids"]),
        queries=checked_codes(arrays["queries"], groups, tables["query_texts"]),
        names=checked_codes(arrays["names"], rows, tables["name_texts"]),
        **tables,
        texts=checked_codes(arrays["texts"], rows, tool_texts) if tool_texts else NOTHING,
        tool_texts=tool_texts,
        **NO_GRAPHS,
        features=phi,
        feature_names=features.names,
        lines=np.ones(rows, dtype=np.int64),
        files=(source,),
        draws=_draws(arrays, offsets) if DRAWS.keys() <= arrays.keys() else None,
        **_context(arrays, groups),
    )


def _context(arrays: dict[str, Array], groups: int) -> dict[str, Any]:
    """What stood before each query, and what was used before, where the file says it."""
    columns: dict[str, Any] = {}
    for name in TABLE_OF.keys() & arrays.keys():
        table: tuple[Any, ...] = tuple(unpack_texts(arrays[TABLE_OF[name]], arrays[f"{TABLE_OF[name]}.ends"]))
        if name == "previous":
            table = tuple(msgspec.json.decode(names, type=tuple[str, ...]) for names in table)
        columns |= {name: checked_codes(arrays[name], groups, table), TABLE_OF[name]: table}
    return columns


def _draws(arrays: dict[str, Array], offsets: IntArray) -> Draws:
    rules, probabilities = map(arrays.__getitem__, DRAWS)
    drawn = _numbers("draw_probabilities", probabilities, offsets, least=0.0)
    if (drawn <= 0).any() or (drawn > 1).any():
        raise DataError("draw_probabilities: numbers above 0, at most 1, are needed")
    return Draws(checked_codes(rules, int(offsets[-1]), (LOGGED, *DRAW_RULES)), drawn)


def checked_codes(codes: Array, length: int, table: Sequence[object]) -> IntArray:
    """The codes, so many places in the table; an error of any kind in UNUSABLE where they do not fit."""
    if codes.shape != (length,) or codes.dtype.kind != "i" or not 0 <= codes.min() <= codes.max() < len(table):
        raise DataError(f"{length} places in a table of {len(table)} are needed")
    return codes.astype(np.int64)


def _numbers(name: str, column: Array, offsets: IntArray, *, least: float) -> FloatArray:
    """The numbers, as samples may hold them; NaN where there is none."""
    if column.shape != (offsets[-1],):
        raise DataError(f"{name}: {offsets[-1]} numbers are needed, found shape {column.shape}")
    numbers = as_floats(name, column)
    refuse_outside(name, np.where(np.isnan(numbers), 0.0, numbers), offsets, least=least)
    return numbers
