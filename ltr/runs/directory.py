"""A run directory: what lies in it under which name, and run.json with the checksums of all other files."""

import os
import platform
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import msgspec

from ltr import __version__
from ltr.catalogues import ToolCatalogue, read_tools
from ltr.errors import FileError, reason
from ltr.files import ContentDigest, DirectoryKind, put_back, read_lines, write_file, write_lines
from ltr.jsonl import records
from ltr.paths import STDIN, AnyPath, path_from, shown
from ltr.records.metrics import MetricsRecord, QueryRecord, ToolRecord
from ltr.records.run import Covered, InputRecord, Json, RunRecord, TaskRecord, read_record
from ltr.samples import GIVEN_IN_PYTHON, SourceFile

CHECKPOINT = re.compile(r"(task|progress)\.json")
NEEDED = {"": "a line as ltr writes it is needed"}
BROKEN_OFF = "holds a training that was broken off; add --resume to go on, or --overwrite"


class Part:
    """The names of what lies in a run directory."""

    MODEL: Final = "model.json"
    ARRAYS: Final = "model.npz"  # beside it, when something learned is an array
    CONFIG: Final = "config.yaml"
    METRICS: Final = "metrics.json"
    CURVES: Final = "curves.json"
    PER_QUERY: Final = "per_query.jsonl"
    BY_TOOL: Final = "by_tool.jsonl"
    EXAMPLES: Final = "examples.jsonl"
    HISTORY: Final = "history.jsonl"
    LOG: Final = "log.jsonl"
    TOOLS: Final = "tools.jsonl"  # the catalogue that the run ranks
    TRAINING: Final = "training.npz"  # what the run was learned from
    REPORT: Final = "report.html"
    RUN: Final = "run.json"
    CHECKPOINTS: Final = "checkpoints"  # a directory: how far a training is that is not complete
    JOURNAL: Final = "outcomes.journal"
    UPDATED: Final = "updated"  # a directory: the model after a refit
    COVERED: Final = "outcomes.json"  # in it: the outcomes that the refit knows


FILES = (
    *(Part.MODEL, Part.ARRAYS, Part.CONFIG, Part.METRICS, Part.CURVES, Part.PER_QUERY, Part.BY_TOOL, Part.EXAMPLES),
    *(Part.HISTORY, Part.LOG, Part.TOOLS, Part.TRAINING, Part.REPORT),
)
EARLIER = ("update.npz", "compacted.npz")  # of runs that an earlier version made: they are replaced like any other


@dataclass(frozen=True, slots=True)
class StoredQueries:
    """The records of the queries of a run, read from their file one by one, each time they are asked for."""

    path: Path

    def __iter__(self) -> Iterator[QueryRecord]:
        return (query for _, query in records(self.path, read_lines(self.path), QueryRecord, NEEDED))


class RunDirectory:
    """The one home of what lies on disk of a run, an evaluation or a pack. Its files are untrusted.

    Types are checked when a record is read, and texts stay texts.
    """

    def __init__(self, path: AnyPath) -> None:
        self.path = put_back(path)

    @classmethod
    def around(cls, path: AnyPath) -> "RunDirectory":
        """Return the directory, or the one in which a file such as model.json lies."""
        home = put_back(path)
        return cls(home if home.is_dir() else home.parent)

    def file(self, name: str) -> Path:
        """Return the path of a file that is there; the error about one that is not names a run that lies below."""
        file = self.path / name
        if os.path.lexists(file):
            return file
        if not self.path.is_dir():
            is_file = os.path.lexists(self.path)
            raise FileError(str(self.path), "a file; name the run directory" if is_file else "no such run directory")
        runs = sorted(other.parent.as_posix() for other in self.path.glob(f"[!.]*/{name}"))
        way_out = (
            f"name a run directory, such as {runs[0]}" if runs else "not a run; ltr train SAMPLES -o DIR makes one"
        )
        raise FileError(str(self.path), f"holds no {name}; {way_out}")

    @property
    def record(self) -> RunRecord | None:
        """run.json; None where there is none that can be read."""
        try:
            return read_record(self.path / Part.RUN, RunRecord)
        except FileError:
            return None

    @property
    def task(self) -> TaskRecord | None:
        """The task of a complete run; None without one."""
        return None if (record := self.record) is None else record.task

    @property
    def is_whole(self) -> bool:
        """Whether the run is complete, and every file that its record names is still there."""
        record = self.record
        return record is not None and all(
            name in FILES and (self.path / name).is_file() for name in record.artifacts or ("",)
        )

    def refuse_changed(self, name: str) -> Path:
        """Return the path of a file; raise where run.json says that it was another when the run ended."""
        record, file = self.record, self.path / name
        expected = None if record is None else record.artifacts.get(name)
        if expected is not None and expected != ContentDigest.of(file).sha256:
            raise FileError(str(file), f"its checksum is not the one in {Part.RUN}: it was changed or damaged")
        return file

    def complete(self, record: RunRecord) -> None:
        """Write run.json: the run is complete, and this is what its files were."""
        there = [name for name in FILES if (self.path / name).exists()]
        written = {name: ContentDigest.of(self.path / name).sha256 for name in there}
        self.write(Part.RUN, msgspec.structs.replace(record, artifacts=written, machine=machine()))

    def write(self, name: str, content: Json) -> None:
        """Write a part: text as it is, lines of records, or a record."""
        file = self.path / name
        if isinstance(content, str):
            write_file(file, content)
        elif name.endswith(".jsonl"):
            write_lines(file, map(msgspec.json.encode, content))
        elif name == Part.CURVES:
            write_file(file, msgspec.json.encode(content) + b"\n")
        else:
            write_file(file, msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n")

    def write_results(
        self, metrics: MetricsRecord, curves: Mapping[str, Json], by_tool: Sequence[ToolRecord] = ()
    ) -> None:
        """Write the metrics; curves and counts by tool where there are any."""
        if curves:
            self.write(Part.CURVES, curves)
        self.write(Part.METRICS, metrics)
        if by_tool:
            self.write(Part.BY_TOOL, by_tool)

    @property
    def metrics(self) -> MetricsRecord:
        """metrics.json, which must be there."""
        return read_record(self.file(Part.METRICS), MetricsRecord)

    @property
    def queries(self) -> StoredQueries:
        """The lines of per_query.jsonl, read when they are asked for."""
        return StoredQueries(self.path / Part.PER_QUERY)

    def write_tools(self, tools: ToolCatalogue | None) -> None:
        """Write the catalogue that the run ranks, where it has one."""
        if tools:
            self.write(Part.TOOLS, ({"name": name, **text._asdict()} for name, text in tools.items()))

    def tools(self) -> ToolCatalogue | None:
        """Return that catalogue as it was written; None without any."""
        return read_tools(self.refuse_changed(Part.TOOLS)) if (self.path / Part.TOOLS).exists() else None

    @property
    def has_outcomes(self) -> bool:
        """Whether outcomes were written for the run."""
        return os.path.lexists(self.path / Part.JOURNAL)

    @property
    def updated(self) -> Path:
        """The directory whose model serves: that of the last refit, else that of the run."""
        updated = put_back(self.path / Part.UPDATED)
        return updated if (updated / Part.COVERED).is_file() else self.path

    @property
    def covered(self) -> Covered:
        """What the last refit knows."""
        file = put_back(self.path / Part.UPDATED) / Part.COVERED
        try:
            return msgspec.json.decode(file.read_bytes(), type=Covered)
        except FileNotFoundError:
            return Covered()
        except OSError as error:
            raise FileError(str(file), reason(error)) from error
        except msgspec.DecodeError as error:
            raise FileError(str(file), f"{error}; remove {Part.UPDATED}, then update again") from error


def _is_run(directory: Path) -> bool:
    """Whether run.json says so, or nothing but the checkpoints of a training that was broken off lie there."""
    names = {entry.name for entry in directory.iterdir()}
    return RunDirectory(directory).record is not None or names == {Part.CHECKPOINTS}


def _is_evaluation(directory: Path) -> bool:
    try:
        return bool(read_record(directory / Part.METRICS, MetricsRecord))
    except FileError:
        return False


RUN_KIND = DirectoryKind(
    files=(*FILES, Part.RUN, *EARLIER),
    folders={Part.CHECKPOINTS: CHECKPOINT},
    is_one=_is_run,
    begun=(Part.CHECKPOINTS, BROKEN_OFF),
)
EVALUATION_KIND = DirectoryKind(files=(Part.METRICS, Part.CURVES, Part.PER_QUERY, Part.BY_TOOL), is_one=_is_evaluation)


def inputs(files: Iterable[SourceFile], directory: Path) -> list[InputRecord]:
    """Return path, length and sha256 of each file that was read, the content decompressed."""
    named = {file.path: file for file in files}
    return [InputRecord(_as_text(path, directory), file.byte_count, file.sha256) for path, file in named.items()]


def _as_text(path: str, directory: Path) -> str:
    """Return the path from the directory; from ~ where only the file is below it, so that nobody reads whose it is."""
    if path in (shown(STDIN), *GIVEN_IN_PYTHON):
        return path
    from_home = path_from(Path.home(), path)
    is_relative = from_home.startswith("../") or not path_from(Path.home(), directory).startswith("../")
    text = path_from(directory, path) if is_relative else f"~/{from_home}"
    return os.fsencode(text).decode("utf-8", "backslashreplace")


def machine() -> dict[str, str | int | list[str] | None]:
    """Return versions and hardware that the last bits of a number may depend on."""
    import numpy as np

    from ltr.training import is_loaded

    config: Any = np.show_config(mode="dicts")
    blas = config["Build Dependencies"]["blas"]
    versions = {"numba": version("numba")} if is_loaded() else {}
    return {
        "ltr": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        **versions,
        "blas": f"{blas.get('name')} {blas.get('version')}",
        "cpu_features": config["SIMD Extensions"].get("found", []),
        "platform": platform.platform(),
        "cpus": os.cpu_count(),
        "byteorder": sys.byteorder,
    }
