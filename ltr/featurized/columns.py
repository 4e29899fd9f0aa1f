"""Featurised groups as columns: a .npz file, or a directory of parts of whole traces.

    manifest.json                   what the parts are, with counts and checksums; written last
    features.json, features.npz     the state of the features, as beside featurised JSONL
    part-00000.npz ...              the columns of consecutive groups, as in a file of featurised samples

A trace lies in one part. The parts follow each other in the order of the samples.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar, Final, Literal

import msgspec
import numpy as np

from ltr.arrays import LARGEST, Array, FloatArray, as_floats, as_offsets, refuse_outside
from ltr.errors import DataError, FileError, UsageError, count
from ltr.features import FittedFeatures
from ltr.featurized.states import FORMAT as STATE_FORMAT
from ltr.featurized.states import (
    StateRecord,
    feature_records,
    fit_digest,
    load_features,
    restored_features,
    write_state,
)
from ltr.files import (
    ContentDigest,
    DirectoryKind,
    locked,
    new_directory,
    put_back,
    read_arrays,
    write_arrays,
    write_file,
)
from ltr.logs import LOG, stage
from ltr.paths import AnyPath
from ltr.records.run import LARGEST_DOCUMENT, UNUSABLE, read_record
from ltr.samples import Groups, Kind, Shards, SourceFile

LARGEST_COLUMNS = 64 << 30  # a billion numbers and more; the file's own size is the limit that counts
MANIFEST, STATE, STATE_ARRAYS = "manifest.json", "features.json", "features.npz"
PART_NAME = r"part-[0-9]{5,9}\.npz"
FORMAT: Final = "ltr-columns/2"
Count = Annotated[int, msgspec.Meta(ge=1)]


def save_columns(
    path: AnyPath, groups: Groups, phi: FloatArray, features: FittedFeatures, *, is_applied: bool = False
) -> None:
    """The groups with their phi, and the fitted features, in one .npz; applied as they are, or cross-fitted."""
    arrays: dict[str, Array] = {}
    record = StateRecord(STATE_FORMAT, is_applied, features.kind, *feature_records(features, arrays))
    state: dict[str, Array] = {"state": np.frombuffer(msgspec.json.encode(record), dtype=np.uint8)}
    learned = {f"state.{name}": array for name, array in arrays.items()}
    write_arrays(path, state | columns_of(groups, phi) | learned)


def columns_of(groups: Groups, phi: FloatArray) -> dict[str, Array]:
    """Return the groups with their phi as arrays by name: all of a file but the state of its features."""
    return {"phi": phi} | replace(groups, outcomes=None).arrays()  # in columns an outcome is a sample


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
        content = ContentDigest.of(path)
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
    return replace(Groups.of_arrays(arrays, offsets, kind=features.kind, files=(source,), **numbers), outcomes=None)


def refuse_other_shapes(arrays: Mapping[str, Array], width: int) -> None:
    """Raise an error of any kind in UNUSABLE unless the arrays are of as many groups and rows, and phi of the width.

    Nothing is said of the numbers in them: who wrote the file has checked those.
    """
    rows = len(arrays["phi"])
    groups = len(as_offsets(arrays["offsets"], rows)) - 1
    sizes = {"groups": groups, "rows": rows}
    shapes = {name: (sizes[axis],) for name, axis in Groups.axes().items()}
    for name, shape in (shapes | {"phi": (rows, width)}).items():
        if (array := arrays.get(name)) is not None and (array.shape != shape or array.dtype.kind not in "if"):
            raise DataError(f"{name}: numbers of shape {shape} are needed, found {array.dtype} of shape {array.shape}")


class ShardRecord(msgspec.Struct, forbid_unknown_fields=True):
    """A part: its file, what is in it, and the digest of its bytes."""

    file: Annotated[str, msgspec.Meta(pattern=f"^{PART_NAME}$")]
    groups: Count
    candidates: Count
    traces: Count
    sha256: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    bytes: Count


class ManifestRecord(msgspec.Struct, forbid_unknown_fields=True):
    """manifest.json."""

    format: Literal["ltr-columns/2"]
    kind: Kind
    features: list[str]
    fit: str  # the digest of the fitted features
    is_applied: bool  # fitted before, on whatever samples, and not cross-fitted on these
    state: tuple[str, str]  # sha256 of features.json and features.npz
    parts: Annotated[list[ShardRecord], msgspec.Meta(min_length=1)]

    @property
    def groups(self) -> int:
        """All groups."""
        return sum(part.groups for part in self.parts)

    @property
    def candidates(self) -> int:
        """All candidates."""
        return sum(part.candidates for part in self.parts)


class FormatRecord(msgspec.Struct):
    """The format that any manifest names."""

    format: str


def _is_columns(directory: Path) -> bool:
    try:
        return bool(read_record(directory / MANIFEST, ManifestRecord))
    except FileError:
        return False


class PartWriter:
    """Takes the parts one after the other, in the order of the samples."""

    def __init__(self, home: Path, kind: Kind) -> None:
        self._home, self._kind = home, kind
        self.parts: list[ShardRecord] = []

    def add(self, groups: Groups, phi: FloatArray) -> None:
        """Write the next part: groups of whole traces, with their phi."""
        name = f"part-{len(self.parts):05}.npz"
        write_arrays(self._home / name, columns_of(groups, phi))
        content = ContentDigest.of(self._home / name)
        counts = len(groups.offsets) - 1, len(groups.labels), len(groups.candidates.trace_ids)
        self.parts.append(ShardRecord(name, *counts, content.sha256, content.byte_count))


@contextmanager
def new_columns(
    target: AnyPath, features: FittedFeatures, *, is_applied: bool = False, overwrite: bool = False
) -> Iterator[PartWriter]:
    """Write a directory of columns: after the block it is complete under the target's name, or nothing is left.

    `is_applied`: the features were fitted before, and not cross-fitted on these samples.
    """
    with locked(target):
        ColumnShards.KIND.refuse_taken(target, overwrite=overwrite)
        with new_directory(target) as home:
            writer = PartWriter(home, features.kind)
            yield writer
            state = write_state(home / STATE, features, is_applied=is_applied)
            names, fit, digests = list(features.names), fit_digest(features), (_sha256(state[0]), _sha256(state[1]))
            manifest = ManifestRecord(FORMAT, features.kind, names, fit, is_applied, digests, writer.parts)
            write_file(home / MANIFEST, msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")


def _sha256(path: Path) -> str:
    return ContentDigest.of(path).sha256


@dataclass(frozen=True, slots=True, eq=False)
class ColumnShards(Shards):
    """The parts of a directory as groups that bear their phi, each read when it is asked for."""

    KIND: ClassVar[DirectoryKind] = DirectoryKind(
        files=(MANIFEST, STATE, STATE_ARRAYS), numbered=re.compile(PART_NAME), is_one=_is_columns
    )
    path: Path
    manifest: ManifestRecord
    features: FittedFeatures

    @staticmethod
    def lie_in(directory: AnyPath) -> bool:
        """Return whether the directory is one of columns, sound or not."""
        return Path(directory, MANIFEST).exists()

    def __len__(self) -> int:
        return len(self.manifest.parts)

    def __getitem__(self, number: int) -> Groups:
        """The groups of a part."""
        part = self.manifest.parts[number]
        source = SourceFile(str(self.path / part.file), 0, 1, part.sha256, part.bytes)
        arrays = read_arrays(source.path, limit=LARGEST_COLUMNS)
        with usable_part(source.path):
            fit, is_applied = self.manifest.fit, self.manifest.is_applied
            return groups_of_columns(source, arrays, self.features, fit=fit, is_applied=is_applied)

    @property
    def part_files(self) -> tuple[SourceFile, ...]:
        """What a run records as read: the manifest, which holds the checksums of all parts."""
        content = ContentDigest.of(self.path / MANIFEST)
        return (SourceFile(str(self.path / MANIFEST), 0, 1, content.sha256, content.byte_count),)

    def extent(self) -> tuple[int, float]:
        """The candidates of the longest group, and the greatest label."""
        longest, greatest = 0, 0.0
        for number in range(len(self)):
            arrays = self.arrays(number, ("offsets", "labels"))
            with usable_part(self.path / self.manifest.parts[number].file):
                longest = max(longest, int(np.diff(arrays["offsets"]).max()))
                greatest = max(greatest, float(np.nanmax(arrays["labels"], initial=0.0)))
        return longest, greatest

    def arrays(self, index: int, names: Sequence[str]) -> dict[str, Array]:
        """Those of the named columns that the part has, without the others: quicker than its groups."""
        path = self.path / self.manifest.parts[index].file
        return read_arrays(path, limit=LARGEST_COLUMNS, names=names)


@contextmanager
def usable_part(path: AnyPath) -> Iterator[None]:
    """Whatever shows in the block that the part is none becomes an error that names it."""
    try:
        yield
    except UNUSABLE as error:
        raise FileError(str(path), f"not a part of featurised samples: {error}") from error


def columns_directory(samples: str | Sequence[str]) -> str | None:
    """The directory that these samples are; None of files. Beside a directory nothing else is read."""
    names = [samples] if isinstance(samples, str) else list(samples)
    directories = [name for name in names if put_back(name).is_dir()]
    if directories and len(names) > 1:
        raise UsageError(f"{directories[0]}: a directory of columns is read alone")
    return directories[0] if directories else None


def open_columns(path: AnyPath) -> ColumnShards:
    """The directory, after every file in it was compared with its checksum; the first that differs is named."""
    home, manifest = put_back(path), read_manifest(path)
    for name, digest in zip((STATE, STATE_ARRAYS), manifest.state, strict=True):
        _refuse_other(home / name, digest)
    features = load_features(home / STATE).features
    if list(features.names) != manifest.features or fit_digest(features) != manifest.fit:
        raise FileError(str(home / MANIFEST), f"does not belong to {STATE}; featurize again")
    for part in manifest.parts:
        _refuse_other(home / part.file, part.sha256)
    counts = (manifest.candidates, "candidate"), (manifest.groups, "group"), (len(manifest.parts), "part")
    LOG.info(f"found {path}: {', '.join(count(number, noun) for number, noun in counts)}")
    return ColumnShards(home, manifest, features)


def read_manifest(path: AnyPath) -> ManifestRecord:
    """What the directory says of its parts; one that another version wrote is refused as such."""
    file = put_back(path) / MANIFEST
    if not file.exists():
        kind = f"a directory of columns, which `ltr featurize SAMPLES -o DIR/` writes, has a {MANIFEST}"
        raise FileError(str(path), f"a directory; name the files in it, or a glob in quotes ({kind})")
    its_format = read_record(file, FormatRecord).format
    if its_format != FORMAT:
        raise FileError(str(file), f"of the format {its_format!r}, and this version reads {FORMAT}; featurize again")
    manifest = read_record(file, ManifestRecord)
    names = [part.file for part in manifest.parts]
    if len(set(names)) < len(names):
        raise FileError(str(file), "names a part twice")
    return manifest


def _refuse_other(path: Path, sha256: str) -> None:
    """Raise for a file that is missing, or that is not the one that was written."""
    if not path.exists():
        raise FileError(str(path), f"missing, though {MANIFEST} names it; featurize again")
    if _sha256(path) != sha256:
        raise FileError(str(path), f"damaged: its checksum is not the one in {MANIFEST}; featurize again")
