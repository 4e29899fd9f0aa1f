"""Whether a run directory is as it was written: every file with its checksum, a config and a model that load."""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from ltr.audit.findings import AuditReport, Finding
from ltr.config.run import load_config
from ltr.errors import LtrError
from ltr.files.content_digests import digest_file
from ltr.files.path_arguments import AnyPath
from ltr.files.reading import read_bytes
from ltr.files.relative_paths import path_to
from ltr.storage.model_file import MODEL, load_model
from ltr.storage.run_directory import CONFIG
from ltr.storage.run_record import RUN

LARGEST_RECORD = 16 << 20


class _Input(msgspec.Struct):
    """A file that the run read."""

    path: str
    sha256: str


class _Record(msgspec.Struct):
    """The part of run.json that says what the files were."""

    artifacts: dict[str, str]
    status: str | None = None
    inputs: list[_Input] = []


def audit_run(directory: AnyPath) -> AuditReport:
    """Whether the run is complete and every file of it is as it was written."""
    return AuditReport.of(run_findings(Path(directory)), {})


def run_findings(directory: Path) -> Iterator[Finding]:
    """Everything about the run that is not as it was written."""
    path = directory / RUN
    try:
        record = msgspec.json.decode(read_bytes(path, limit=LARGEST_RECORD), type=_Record)
    except (LtrError, msgspec.MsgspecError, ValueError, RecursionError) as error:
        yield _error("incomplete", f"no usable {RUN}, so the run did not finish: {error}", path)
        return
    if record.status != "complete":
        yield _error("incomplete", f"status {record.status!r}; complete is needed", path)
    for name, checksum in record.artifacts.items():
        file = directory / Path(name).name  # whatever the record says, nothing outside the run is read
        if not os.path.isfile(file):  # noqa: PTH113  # False for a name that no file can have
            yield _error("missing-file", f"{name} is in {RUN} and not in the directory", file)
        elif digest_file(file).sha256 != checksum.removeprefix("sha256:"):
            yield _error("checksum", f"{name} is not what it was when the run ended: changed or damaged", file)
    yield from changed_inputs(directory, record.inputs)
    for name, load in ((CONFIG, load_config), (MODEL, load_model)):
        if (directory / name).exists():
            try:
                load(directory / name)
            except LtrError as error:
                yield _error("unreadable", str(error), directory / name)


def changed_inputs(directory: Path, inputs: list[_Input]) -> Iterator[Finding]:
    """Input files that have changed since the run, or that are gone: the run cannot be repeated with them."""
    for recorded in inputs:
        path = path_to(directory, recorded.path)
        where = (path.as_posix(),)
        if not os.path.isfile(path):  # noqa: PTH113  # as above
            message = "an input of the run is no longer there"
            yield Finding(severity="info", code="input-missing", message=message, where=where)
        elif digest_file(path).sha256 != recorded.sha256:
            message = "an input of the run has changed since: the same config gives another result"
            yield Finding(severity="warning", code="input-changed", message=message, where=where)


def _error(code: str, message: str, path: Path) -> Finding:
    return Finding(severity="error", code=code, message=message, where=(path.as_posix(),))
