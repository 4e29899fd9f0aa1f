"""Paths relative to a directory, and back."""

import os
from contextlib import suppress
from pathlib import Path

from ltr.files.path_arguments import AnyPath


def path_from(directory: AnyPath, name: AnyPath) -> str:
    """The path relative to the directory. Links are followed, because `..` leads out of the place a link points to.

    The last part is not followed: its extension says how to read the file.
    """
    folder, last = os.path.split(os.path.join(os.getcwd(), name))  # noqa: PTH118, PTH109
    return Path(os.path.relpath(os.path.join(os.path.realpath(folder), last), os.path.realpath(directory))).as_posix()  # noqa: PTH118


def path_to(directory: AnyPath, name: AnyPath) -> Path:
    """The path that the name stands for in a file of the directory; `~` is a home, where there is such a user."""
    with suppress(ValueError):  # a character that no name of a user can have
        name = os.path.expanduser(name)  # noqa: PTH111  # Path's own raises where there is no such user
    return Path(directory, name)
