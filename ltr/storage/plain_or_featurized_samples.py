"""Samples or featurised files become groups, with the fitted features that they bear."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ltr.data.catalogues.tools import read_tools
from ltr.data.config import DataConfig
from ltr.data.data_frame_rows import TableRows
from ltr.data.groups import Groups, read_groups
from ltr.data.previous_tools import past_from_labels
from ltr.data.source_files import GIVEN_IN_PYTHON, SourceFile
from ltr.errors import DataError, FileError, UsageError
from ltr.features.fitted_features import FittedFeatures
from ltr.files.content_digests import digest_file
from ltr.files.path_arguments import STDIN, expand
from ltr.storage.feature_records import fit_digest

if TYPE_CHECKING:
    from ltr.data.sample_shards import SampleShards


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
        from ltr.storage.columns_file import load_columns  # most samples are not featurised yet

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
    from ltr.data.sample_shards import sample_shards  # what fits memory does not need it

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
        from ltr.data.catalogues.graphs import read_graphs

        graphs = read_graphs(data.graphs)
    return {"tools": read_tools(data.tools) if data.tools else None, "graphs": graphs}


def _fingerprints(data: DataConfig) -> tuple[SourceFile, ...]:
    """The files of those catalogues."""
    return tuple(fingerprinted(path) for path in (data.tools, data.graphs) if path and path != STDIN)


def fingerprinted(path: str) -> SourceFile:
    """The file with the digest of its content; of a directory of columns its manifest, which has those of its parts."""
    from ltr.storage.sharded_columns import MANIFEST

    path = str(Path(path, MANIFEST)) if Path(path).is_dir() else path
    content = digest_file(path)
    return SourceFile(path, 0, sha256=content.sha256, byte_count=content.byte_count)


def _with_state(groups: Groups) -> tuple[Groups, FittedFeatures | None]:
    """Ready numbers with the state that lies beside their files, and the names it gives them."""
    from ltr.storage.featurized_jsonl import sidecar, stored_state

    ready, stored = groups.candidates, stored_state(groups.candidates.files)
    if stored is None:
        return groups, None
    features, path = stored.features, ready.files[0].path
    if ready.features is None or ready.features.shape[1] != len(features.names) or ready.kind != features.kind:
        raise DataError(f"{sidecar(path)}: its {len(features.names)} {features.kind} features do not fit {path}")
    fit = fit_digest(features)
    ready = replace(ready, feature_names=features.names, fit=fit, are_applied=stored.is_applied)
    return replace(groups, candidates=ready), features
