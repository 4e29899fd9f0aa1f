"""Featurised groups as the columns of a .npz."""

from collections.abc import Mapping
from dataclasses import replace

import msgspec
import numpy as np

from ltr.arrays import LARGEST, Array, FloatArray, as_floats, as_offsets, refuse_outside
from ltr.data.candidates import Candidates
from ltr.data.columns import columns
from ltr.data.groups import Groups, arrays_of, groups_of
from ltr.data.source_files import SourceFile
from ltr.errors import DataError, FileError, count
from ltr.features.fitted_features import FittedFeatures
from ltr.files.content_digests import digest_file
from ltr.files.npz import read_arrays, write_arrays
from ltr.files.path_arguments import AnyPath
from ltr.logs import LOG, stage
from ltr.storage.feature_records import feature_records, fit_digest, restored_features
from ltr.storage.feature_state_file import FORMAT, UNUSABLE, StateRecord
from ltr.storage.model_file import LARGEST_DOCUMENT

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
    """Return the groups with their phi as arrays by name: all of a file but the state of its features."""
    return {"phi": phi} | arrays_of(replace(groups, outcomes=None))  # in columns an outcome is a sample


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
    numbers = {"features": phi, "feature_names": features.names, "fit": fit, "are_applied": is_applied}
    return replace(groups_of(arrays, offsets, kind=features.kind, files=(source,), **numbers), outcomes=None)


def refuse_other_shapes(arrays: Mapping[str, Array], width: int) -> None:
    """Raise an error of any kind in UNUSABLE unless the arrays are of as many groups and rows, and phi of the width.

    Nothing is said of the numbers in them: who wrote the file has checked those.
    """
    rows = len(arrays["phi"])
    groups = len(as_offsets(arrays["offsets"], rows)) - 1
    sizes = {"groups": groups, "rows": rows}
    held = (*columns(Groups), *columns(Candidates))
    shapes = {column.name: (sizes[column.axis],) for column in held}
    for name, shape in (shapes | {"phi": (rows, width)}).items():
        if (array := arrays.get(name)) is not None and (array.shape != shape or array.dtype.kind not in "if"):
            raise DataError(f"{name}: numbers of shape {shape} are needed, found {array.dtype} of shape {array.shape}")
