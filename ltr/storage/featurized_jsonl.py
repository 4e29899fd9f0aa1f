"""Featurised groups as JSONL, with the state that made the numbers beside it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.data.candidates import Candidates
from ltr.data.groups import Groups
from ltr.data.json_stream import sample_lines
from ltr.data.source_files import SourceFile
from ltr.errors import DataError, FileError, UsageError
from ltr.features.fitted_features import FittedFeatures
from ltr.files.atomic_write import write_lines
from ltr.files.content_digests import ContentDigest
from ltr.files.path_arguments import STDIN, AnyPath, shown
from ltr.storage.feature_records import fit_digest
from ltr.storage.feature_state_file import FeatureState, load_features, write_state

LISTED = 1 << 12  # rows that are lists of Python numbers at once: they take eight times the memory of an array


def write_featurized(
    path: AnyPath, groups: Groups, phi: FloatArray, features: FittedFeatures, *, is_applied: bool = False
) -> None:
    """Each sample's line with its features added, in file order, and the fitted features beside it."""
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
