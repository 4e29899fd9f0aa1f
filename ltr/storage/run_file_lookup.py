"""A file of a run, found in a directory that may be one."""

import os
from pathlib import Path

from ltr.errors import FileError
from ltr.files.crash_recovery import put_back
from ltr.files.path_arguments import AnyPath


def run_file(directory: AnyPath, name: str) -> Path:
    """The file of that name in a run directory; an error where there is none, which names a run that lies there."""
    file = put_back(directory) / name
    if os.path.lexists(file):
        return file
    if not Path(directory).is_dir():
        is_file = os.path.lexists(directory)
        raise FileError(str(directory), "a file; name the run directory" if is_file else "no such run directory")
    runs = sorted(other.parent.as_posix() for other in Path(directory).glob(f"[!.]*/{name}"))
    way_out = f"name a run directory, such as {runs[0]}" if runs else "not a run; ltr train SAMPLES -o DIR makes one"
    raise FileError(str(directory), f"holds no {name}; {way_out}")
