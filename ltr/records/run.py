"""What run.json says, and how a file with a record is read: types are checked, an earlier format is refused as such."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import msgspec

from ltr.errors import FileError, LtrError
from ltr.files import read_bytes

RUN_FORMAT: Final = "ltr-run/2"
LARGEST_DOCUMENT, LARGEST_ARRAYS = 16 << 20, 512 << 20
LARGEST_RECORD = 256 << 20  # metrics.json has a value for each part of a breakdown
EARLIER = ("/1", "ltr-model/2", "ltr-metrics/2", "ltr-leaderboard/2")
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
UNUSABLE = (msgspec.MsgspecError, KeyError, IndexError, ValueError, TypeError, OverflowError, RecursionError, LtrError)
Document = TypeVar("Document")
Json = Any  # a value of plain JSON whose shape is somebody else's


class InputRecord(msgspec.Struct):
    """A file that was read, its content decompressed."""

    path: str
    bytes: int = 0
    sha256: str = ""


class TaskRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What decides every number of a run."""

    config: dict[str, Json]  # every key but its name
    inputs: dict[str, str]  # sha256 of each file, by its path
    versions: dict[str, str | None]  # of ltr, and of the packages that may move the last bits; None: not installed


class RunRecord(msgspec.Struct, kw_only=True):
    """run.json: written last, it says that the run is complete and what its files were."""

    format: Literal["ltr-run/2"]
    status: str = "complete"
    name: str = ""
    seed: int = 0
    recipe: str = ""  # the defaults under the config, with their version, such as recommended/2
    inputs: list[InputRecord] = []
    warnings: list[str] = []
    timings: dict[str, float] = {}
    task: TaskRecord | None = None
    artifacts: dict[str, str] = {}
    machine: dict[str, Json] = {}
    workers: list[str] = []  # of a cluster: the kinds of machine that worked


class Covered(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much of the journal of a run its last refit knows."""

    bytes: int = 0
    outcomes: int = 0
    chosen_on: int = 0  # queries that its settings were chosen on; 0: those of the training


def read_record(path: Path, kind: Callable[..., Document], *, limit: int = LARGEST_RECORD) -> Document:
    """Return the record that the file holds; an error names the file and the field."""
    content = read_bytes(path, limit=limit)
    try:
        return msgspec.json.decode(content, type=kind)
    except UNREADABLE as error:
        with suppress(*UNREADABLE):  # a value of another type may stand before what is no JSON
            refuse_earlier(path, msgspec.json.decode(content))
        raise FileError(str(path), f"not what ltr writes: {error}") from error


def refuse_earlier(path: Path, document: Json) -> None:
    """Raise for a file of an earlier format, or for metrics as they were written before they had one."""
    name = document.get("format") if isinstance(document, dict) else None
    is_flat = isinstance(document, dict) and name is None and "num_queries" in document
    if is_flat or (isinstance(name, str) and name.startswith("ltr-") and name.endswith(EARLIER)):
        raise FileError(str(path), "made by an earlier version; train (featurise, evaluate, bench) again")
