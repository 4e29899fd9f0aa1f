"""Paths that a user gives: patterns, - for stdin, and how a path is shown."""

import os
from collections.abc import Iterable

from ltr.errors import FileError, UsageError

AnyPath = str | os.PathLike[str]
STDIN = "-"


def expand(patterns: AnyPath | Iterable[AnyPath]) -> list[str]:
    """The files of names and globs; a glob stands for the regular files that match it, sorted.

    The name of an existing file is never a glob, even with brackets. A glob that matches nothing is an error.
    """
    import glob

    files: list[str] = []
    names: object = [patterns] if isinstance(patterns, str | os.PathLike) else patterns
    for name in names if isinstance(names, Iterable) else [names]:
        if not isinstance(name, str | os.PathLike):
            raise UsageError(f"found {type(name).__name__} where the name of a file is needed")
        pattern = os.fspath(name)
        if not glob.has_magic(pattern) or os.path.lexists(pattern):
            files.append(pattern)
            continue
        matches = sorted(filter(os.path.isfile, glob.glob(pattern, recursive=True)))  # noqa: PTH207
        if not matches:
            raise FileError(pattern, "no regular file matches")
        files += matches
    if files.count(STDIN) > 1:
        raise UsageError("- (stdin) can be read once only")
    return files


def shown(path: AnyPath) -> str:
    """The name to print for a path.

    >>> shown("-")
    '<stdin>'
    """
    return "<stdin>" if os.fspath(path) == STDIN else os.fspath(path)
