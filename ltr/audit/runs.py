"""Whether a run directory is whole: every file as run.json says, a config that loads, a model that loads."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from ltr.audit.findings import Finding
from ltr.config.run import load_config
from ltr.errors import LtrError
from ltr.files.reading import digest, read_bytes
from ltr.storage.model_file import load_router
from ltr.storage.run_directory import CONFIG, RUN

LARGEST_RECORD = 16 << 20


def run_findings(directory: Path) -> Iterator[Finding]:
    """Everything about the run that is not as it was written."""
    try:
        record = _record(directory / RUN)
    except (LtrError, ValueError, TypeError, RecursionError) as error:
        yield _error("incomplete", f"no usable {RUN}, so the run did not finish: {error}", directory / RUN)
        return
    if record.get("status") != "complete":
        yield _error("incomplete", f"status {record.get('status')!r}; complete is needed", directory / RUN)
    yield from _files(directory, record["artifacts"])
    yield from _inputs(directory, record.get("inputs", []))
    for name, load in ((CONFIG, load_config), ("model.json", load_router)):
        if (directory / name).exists():
            try:
                load(directory / name)
            except LtrError as error:
                yield _error("unreadable", str(error), directory / name)


def _record(path: Path) -> dict[str, Any]:
    record = msgspec.json.decode(read_bytes(path, limit=LARGEST_RECORD), type=dict[str, Any])
    files = record.get("artifacts")
    if not (isinstance(files, dict) and all(isinstance(each, str) for each in files.values())):
        raise ValueError("it does not list the files of the run")
    return record


def _files(directory: Path, recorded: dict[str, str]) -> Iterator[Finding]:
    """Files that are missing or whose checksum is another."""
    for name, expected in recorded.items():
        path = directory / Path(name).name  # whatever the record says, nothing outside the run is read
        if not path.is_file():
            yield _error("missing-file", f"{name} is in {RUN} and not in the directory", path)
        elif digest(path).sha256 != expected.removeprefix("sha256:"):
            yield _error("checksum", f"{name} is not what it was when the run ended: changed or damaged", path)


def _inputs(directory: Path, recorded: list[dict[str, Any]]) -> Iterator[Finding]:
    """Input files that have changed since: the run cannot be repeated with them."""
    for each in recorded:
        path = directory / str(each.get("path"))
        if not path.is_file():
            message = "an input of the run is no longer there"
            yield Finding(severity="info", code="input-missing", message=message, where=(path.as_posix(),))
        elif digest(path).sha256 != each.get("sha256"):
            message = "an input of the run has changed since: the same config gives another result"
            yield Finding(severity="warning", code="input-changed", message=message, where=(path.as_posix(),))


def _error(code: str, message: str, path: Path) -> Finding:
    return Finding(severity="error", code=code, message=message, where=(path.as_posix(),))
