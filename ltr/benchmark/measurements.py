"""What a bench keeps: each measurement under a name that follows from all that decides it, and the results."""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from ltr.benchmark.measuring import Measurement, Task
from ltr.errors import DiskError, FileError, UsageError
from ltr.files.reading import AnyPath, read_bytes, reason
from ltr.files.writing import make_directory, remove, write_bytes
from ltr.storage.checkpoints import TEMPORARY, refuse_other_task
from ltr.storage.run_directory import REPORT, refuse_unwritable

BENCH, CONFIG, SAMPLED, PER_QUERY = "bench.json", "config.yaml", "sampled.jsonl", "per_query.jsonl"
TABLES = {"quality": "quality.tsv", "latency": "latency.tsv", "cost": "cost.tsv"}
OURS = (BENCH, CONFIG, SAMPLED, PER_QUERY, *TABLES.values(), REPORT)  # bench.json goes first, comes last
MEASURED, TASK = "measured", "task.json"
KEPT = re.compile(r"[0-9a-f]{32}\.json|task\.json")
LARGEST = 1 << 30


def claim(directory: AnyPath, task: Mapping[str, Any], *, overwrite: bool, resume: bool) -> Path:
    """The directory, made if need be, without old results; its measurements stay for the same task, if resumed."""
    home = Path(directory)
    refuse_taken(home, may_go_on=overwrite or resume)
    if resume:
        refuse_other(home, task)
    for name in OURS:
        remove(home / name)
    folder = make_directory(home / MEASURED)
    for path in [*folder.iterdir()]:
        if overwrite or not KEPT.fullmatch(path.name):  # what a killed bench was writing
            remove(path)
    write_bytes(folder / TASK, msgspec.json.encode(task))
    return home


def refuse_other(home: Path, task: Mapping[str, Any]) -> None:
    """Raise where the bench that was begun there is another."""
    begun = _task(home)
    if begun is not None:
        refuse_other_task(home, begun, task)


def refuse_taken(home: Path, *, may_go_on: bool) -> None:
    """Raise unless the directory is free, or a bench that may be replaced or gone on with; before the work."""
    try:
        found = sorted(entry.name for entry in home.iterdir())
    except FileNotFoundError:
        found = []
    except NotADirectoryError as error:
        raise UsageError(f"{home}: not a directory; one of its own is needed") from error
    except (OSError, ValueError) as error:
        raise DiskError(str(home), reason(error)) from error
    refuse_unwritable(home)
    foreign = [name for name in found if name not in (*OURS, MEASURED) and not _is_temporary(Path(name))]
    measured = home / MEASURED
    if measured.is_dir():
        foreign += [each.name for each in measured.iterdir() if not (KEPT.fullmatch(each.name) or _is_temporary(each))]
    if found and (foreign or not measured.is_dir()):
        raise UsageError(f"{home}: holds other things, such as {(foreign or found)[0]!r}; name another directory")
    if found and not may_go_on:
        raise UsageError(f"{home}: holds a bench; add --resume to keep what was measured, or --overwrite")


def _is_temporary(path: Path) -> bool:
    return TEMPORARY.fullmatch(path.name) is not None


def key_of(task: Mapping[str, Any], identity: Mapping[str, Any]) -> str:
    """The name of a measurement: a digest of the task and of the reranker."""
    return hashlib.sha256(msgspec.json.encode([task, identity], order="sorted")).hexdigest()[:32]


def read_measurement(home: Path, key: str, task: Task) -> Measurement | None:
    """What was measured under the key, which must answer the task; None where nothing was."""
    path = home / MEASURED / f"{key}.json"
    if not path.exists():
        return None
    try:
        found = msgspec.json.decode(read_bytes(path, limit=LARGEST), type=Measurement)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise FileError(str(path), f"not a measurement: {error}; remove it to measure again") from error
    if not found.answers(task):
        raise FileError(str(path), "not a measurement of these queries; remove it to measure again")
    return found


def write_measurement(home: Path, key: str, measurement: Measurement) -> None:
    """Keep the measurement under the key."""
    write_bytes(home / MEASURED / f"{key}.json", msgspec.json.encode(measurement))


def _task(home: Path) -> dict[str, Any] | None:
    path = home / MEASURED / TASK
    if not path.exists():
        return None
    try:
        return msgspec.json.decode(read_bytes(path, limit=LARGEST), type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise FileError(str(path), f"not what a bench keeps: {error}; add --overwrite to start anew") from error
