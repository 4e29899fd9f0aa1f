"""A config and a small data set to start from, shipped inside the package."""

from importlib.resources import files
from pathlib import Path

from ltr.files.atomic_write import write_bytes
from ltr.files.directory_lock import locked
from ltr.files.filesystem_operations import make_directory
from ltr.files.output_replacement import new_files, refuse_existing
from ltr.files.path_arguments import AnyPath

FILES = ("ltr.yaml", "data/train.jsonl.gz", "data/test.jsonl.gz", "data/tools.json")


def write_starter(directory: AnyPath, *, overwrite: bool = False) -> list[Path]:
    """The files of the starter, written under the directory; none replaces another unless asked to."""
    targets = [Path(directory, name) for name in FILES]
    refuse_existing(*targets, overwrite=overwrite)
    with locked(directory), new_files(targets[0]) as new:
        for name in FILES:
            make_directory((new / name).parent)
            write_bytes(new / name, files("ltr.experiments.starter").joinpath(*name.split("/")).read_bytes())
    return targets
