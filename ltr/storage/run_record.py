"""run.json, the record of a run: written last, it says that the run is complete and what its files were."""

from pathlib import Path
from typing import Final, Literal

import msgspec

from ltr.errors import FileError
from ltr.files.content_digests import digest_file
from ltr.files.path_arguments import AnyPath
from ltr.storage.record_reader import Json, read_record

RUN, TOOLS = "run.json", "tools.jsonl"  # TOOLS: the catalogue that the run ranks
RUN_FORMAT: Final = "ltr-run/2"


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


def run_record(directory: AnyPath) -> RunRecord | None:
    """run.json; None where there is none that can be read."""
    try:
        return read_record(Path(directory, RUN), RunRecord)
    except FileError:
        return None


def file_digest(path: Path) -> str:
    """The sha256 of a file of a run."""
    return digest_file(path).sha256


def refuse_changed(file: Path) -> None:
    """Raise where run.json beside the file says that it was another when the run ended."""
    record = run_record(file.parent)
    expected = None if record is None else record.artifacts.get(file.name)
    if expected is not None and expected != file_digest(file):
        raise FileError(str(file), f"its checksum is not the one in {RUN}: it was changed or damaged")
