"""Samples or featurised files become groups, with the features that they bear; and featurised groups become JSONL."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.catalogues import read_tools
from ltr.errors import DataError, FileError, UsageError
from ltr.features import FittedFeatures
from ltr.featurized.columns import MANIFEST, STATE, ColumnShards, load_columns, read_manifest, save_columns
from ltr.featurized.states import FeatureState, fit_digest, load_features, write_state
from ltr.files import ContentDigest, put_back, write_lines
from ltr.jsonl import sample_lines
from ltr.paths import STDIN, AnyPath, expand, shown
from ltr.samples import (
    GIVEN_IN_PYTHON,
    Candidates,
    DataConfig,
    Groups,
    SourceFile,
    TableRows,
    past_from_labels,
    read_groups,
)

if TYPE_CHECKING:
    from ltr.samples import SampleShards

LISTED = 1 << 12  # rows that are lists of Python numbers at once: they take eight times the memory of an array


def read(
    paths: str | tuple[str, ...] | TableRows, data: DataConfig, *, labels_required: bool = True
) -> tuple[Groups, FittedFeatures | None]:
    """The groups of samples or featurised files, and the fitted features they bear, if any."""
    groups, state = _read(paths, data, labels_required=labels_required)
    return (groups if data.previous is None else past_from_labels(groups)), state


def _read(
    paths: str | tuple[str, ...] | TableRows, data: DataConfig, *, labels_required: bool
) -> tuple[Groups, FittedFeatures | None]:
    """The groups as the files say them."""
    files = [] if isinstance(paths, TableRows) else expand(paths)
    if lost := next((name for name in files if name in GIVEN_IN_PYTHON), ""):
        raise UsageError(f"{lost}: the samples were given in Python, and a run does not keep them; name them as a file")
    if directory := next((name for name in files if Path(name).is_dir()), ""):
        problem = "a directory; a file is needed here: train, evaluate, validate and rank --samples read one of columns"
        raise FileError(directory, problem)
    packed = [name for name in files if name.endswith(".npz")]
    if packed and len(files) > 1:
        raise UsageError(f"{packed[0]}: a file of featurised columns is read alone")
    if packed:
        return load_columns(packed[0])
    source = paths if isinstance(paths, TableRows) else files
    groups = read_groups(source, **_catalogues(data), labels_required=labels_required)
    groups = replace(groups, candidates=replace(groups.candidates, catalogues=_fingerprints(data)))
    if groups.candidates.features is None:
        return groups, None
    return _with_state(groups)


@contextmanager
def read_shards(
    paths: str | tuple[str, ...], data: DataConfig, *, rows: int | None = None, labels_required: bool = True
) -> "Iterator[SampleShards]":
    """The groups of samples in shards of about so many rows, for the time of the block."""
    from ltr.samples import sample_shards

    files = expand(paths)
    if packed := next((name for name in files if name.endswith(".npz")), ""):
        raise UsageError(f"{packed}: a file of featurised columns; samples can be cut into shards, and it holds none")
    options = _catalogues(data) | {"catalogues": _fingerprints(data)}
    with sample_shards(files, rows=rows, labels_required=labels_required, **options) as shards:
        yield shards


def _catalogues(data: DataConfig) -> dict[str, Any]:
    """The catalogues of tools and of graphs that the config names; None for one that it does not."""
    graphs = None
    if data.graphs:
        from ltr.catalogues import read_graphs

        graphs = read_graphs(data.graphs)
    return {"tools": read_tools(data.tools) if data.tools else None, "graphs": graphs}


def _fingerprints(data: DataConfig) -> tuple[SourceFile, ...]:
    """The files of those catalogues."""
    return tuple(fingerprinted(path) for path in (data.tools, data.graphs) if path and path != STDIN)


def fingerprinted(path: str) -> SourceFile:
    """The file with the digest of its content; of a directory of columns its manifest, which has those of its parts."""
    path = str(Path(path, MANIFEST)) if Path(path).is_dir() else path
    content = ContentDigest.of(path)
    return SourceFile(path, 0, sha256=content.sha256, byte_count=content.byte_count)


def _with_state(groups: Groups) -> tuple[Groups, FittedFeatures | None]:
    """Ready numbers with the state that lies beside their files, and the names it gives them."""
    ready, stored = groups.candidates, stored_state(groups.candidates.files)
    if stored is None:
        return groups, None
    features, path = stored.features, ready.files[0].path
    if ready.features is None or ready.features.shape[1] != len(features.names) or ready.kind != features.kind:
        raise DataError(f"{sidecar(path)}: its {len(features.names)} {features.kind} features do not fit {path}")
    fit = fit_digest(features)
    ready = replace(ready, feature_names=features.names, fit=fit, are_applied=stored.is_applied)
    return replace(groups, candidates=ready), features


def save_featurized(
    path: AnyPath, groups: Groups, phi: FloatArray, features: FittedFeatures, *, is_applied: bool = False
) -> None:
    """Write the groups with their phi and the fitted features: as an .npz, else as lines with a state beside them."""
    if os.fspath(path).endswith(".npz"):
        save_columns(path, groups, phi, features, is_applied=is_applied)
    else:
        write_featurized(path, groups, phi, features, is_applied=is_applied)


def write_featurized(
    path: AnyPath, groups: Groups, phi: FloatArray, features: FittedFeatures, *, is_applied: bool = False
) -> None:
    """Write each sample's line with its features added, in file order, and the fitted features beside it."""
    candidates = groups.candidates
    if any(source.path == shown(STDIN) for source in candidates.files):
        raise UsageError("lines of stdin cannot be repeated; write an .npz, or read the samples from a file")
    in_file, seen = np.argsort(candidates.lines, kind="stable"), ContentDigest()

    def lines() -> Iterator[bytes]:
        for line in _with_features(candidates, _listed(phi, in_file)):
            seen.update(line + b"\n")
            yield line
        write_state(sidecar(path), features, is_applied=is_applied, samples=seen.sha256)  # before they appear

    write_lines(path, lines())


def _listed(phi: FloatArray, order: IntArray) -> Iterator[list[float]]:
    """The rows in that order as lists, a few thousand of them at once."""
    for first in range(0, len(order), LISTED):
        yield from phi[order[first : first + LISTED]].tolist()


def _with_features(candidates: Candidates, rows: Iterator[list[float]]) -> Iterator[bytes]:
    for source in candidates.files:
        seen = ContentDigest()
        for _, line in sample_lines(source.path, digest=seen):
            if line and not line.isspace():
                yield _line_with_features(line.replace(b"\n", b" "), rows)  # of an array a value may be several lines
        if seen.sha256 != source.sha256:
            raise FileError(source.path, "was changed while it was read")


def _line_with_features(line: bytes, rows: Iterator[list[float]]) -> bytes:
    """The line with the features of its candidates, but none has none; all else stays byte for byte as it is."""
    sample = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
    if _is_none(sample):
        return line
    listed = sample.get("candidates")
    if listed is None or bytes(listed) == b"null":
        return msgspec.json.encode(sample | {"features": next(rows, [])})
    candidates = msgspec.json.decode(listed, type=list[dict[str, msgspec.Raw]])
    with_rows = [
        candidate if _is_none(candidate) else candidate | {"features": next(rows, [])} for candidate in candidates
    ]
    return msgspec.json.encode(sample | {"candidates": with_rows})


def _is_none(candidate: dict[str, msgspec.Raw]) -> bool:
    none = candidate.get("none")
    return none is not None and bytes(none) == b"true"


def sidecar(path: AnyPath) -> Path:
    """Where the fitted features of a featurised JSONL lie.

    >>> sidecar("out/train.jsonl.gz").name
    'train.features.json'
    """
    plain = Path(path)
    while plain.suffix in (".gz", ".zst", ".jsonl"):
        plain = plain.with_suffix("")
    return plain.with_name(f"{plain.name}.features.json")


def stored_state(sources: Sequence[SourceFile]) -> FeatureState | None:
    """The one state that lies beside files of featurised JSONL; None where none has one."""
    stated = [source for source in sources if sidecar(source.path).exists()]
    if not stated:
        return None
    if len(stated) < len(sources):
        bare = next(source.path for source in sources if source not in stated)
        raise UsageError(f"{bare}: no state lies beside it, and one beside {stated[0].path}; read them apart")
    states = [load_features(sidecar(source.path)) for source in sources]
    for source, state in zip(sources, states, strict=True):
        if state.samples != source.sha256:
            raise FileError(
                str(sidecar(source.path)), f"belongs to other lines than {source.path} has; featurize again"
            )
        if fit_digest(state.features) != fit_digest(states[0].features):
            raise UsageError(f"{source.path}: its features were fitted on other data than those of {sources[0].path}")
    return replace(states[0], is_applied=any(state.is_applied for state in states))


def with_feature_names(groups: Groups, files: Sequence[str]) -> Groups:
    """Ready numbers with the names from the state beside their file, where there is one."""
    ready = groups.candidates
    if ready.features is None or len(files) > 1 or not sidecar(files[0]).exists():
        return groups
    names = load_features(sidecar(files[0])).features.names
    if len(names) != ready.features.shape[1]:
        raise DataError(f"{sidecar(files[0])}: its {len(names)} features do not fit {files[0]}")
    return replace(groups, candidates=replace(ready, feature_names=names))


def stored_features(path: AnyPath) -> FittedFeatures | None:
    """Return the features that made featurised data; None of anything else, such as a model."""
    if os.fspath(path).endswith(".npz"):
        return load_columns(path)[1]
    if ColumnShards.lie_in(directory := put_back(path)):
        read_manifest(directory)
        return load_features(directory / STATE).features
    return load_features(sidecar(put_back(path))).features if ".jsonl" in Path(path).suffixes else None
