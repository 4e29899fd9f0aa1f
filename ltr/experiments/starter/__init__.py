"""A config and a small data set to start from, shipped inside the package."""

from importlib.resources import files
from pathlib import Path

from ltr.disk import make_directory
from ltr.files import locked, new_files, refuse_existing, write_file
from ltr.paths import AnyPath

FILES = ("ltr.yaml", "data/train.jsonl.gz", "data/test.jsonl.gz", "data/tools.json")


def write_starter(directory: AnyPath, *, overwrite: bool = False) -> list[Path]:
    """The files of the starter, written under the directory; none replaces another unless asked to."""
    targets = [Path(directory, name) for name in FILES]
    refuse_existing(*targets, overwrite=overwrite)
    with locked(directory), new_files(targets[0]) as new:
        for name in FILES:
            make_directory((new / name).parent)
            write_file(new / name, files("ltr.experiments.starter").joinpath(*name.split("/")).read_bytes())
    return targets
