"""Paths: patterns, - for stdin, a path seen from a directory, names that are safe for files, the place of caches."""

import hashlib
import os
import re
import sys
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ltr.errors import FileError, UsageError

AnyPath = str | os.PathLike[str]
STDIN = "-"
LONGEST_NAME = 80
OTHERS = 0o022  # the right of the group, and of everybody, to write
NAME_ANOTHER = "name a cache directory of your own (LTR_CACHE_DIR)"
SAFE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,79}(?<!\.)")
DEVICES = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)  # Windows opens the device


def expand(patterns: AnyPath | Iterable[AnyPath]) -> list[str]:
    """Return the files of names and globs; a glob stands for the regular files that match it, sorted.

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
    """Return the name to print for a path.

    >>> shown("-")
    '<stdin>'
    """
    return "<stdin>" if os.fspath(path) == STDIN else os.fspath(path)


def path_from(directory: AnyPath, name: AnyPath) -> str:
    """Return the path relative to the directory.

    Links are followed, because `..` leads out of the place that a link points to. The last part
    is not followed: its extension says how to read the file.
    """
    folder, last = os.path.split(os.path.join(os.getcwd(), name))  # noqa: PTH118, PTH109
    return Path(os.path.relpath(os.path.join(os.path.realpath(folder), last), os.path.realpath(directory))).as_posix()  # noqa: PTH118


def path_to(directory: AnyPath, name: AnyPath) -> Path:
    """Return the path that the name stands for in a file of the directory; `~` is a home, where that user exists."""
    with suppress(ValueError):  # a character that no name of a user can have
        name = os.path.expanduser(name)  # noqa: PTH111  # Path's own raises where there is no such user
    return Path(directory, name)


def safe_name(name: str) -> str:
    """Return the name itself when it can name a file anywhere, else its safe characters and part of its hash.

    Safe: 1 to 80 of A-Z a-z 0-9 . _ -, no dot first or last, no Windows device. The hash, of the NFC form,
    keeps two names apart that share their safe characters.

    >>> safe_name("tools-l2.0")
    'tools-l2.0'
    >>> safe_name("../my run")
    'my-run-8700333a'
    >>> safe_name("CON")
    'CON-a3dbc4b6'
    """
    composed = unicodedata.normalize("NFC", name)
    if SAFE.fullmatch(composed) and not DEVICES.fullmatch(composed):
        return composed
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", composed).strip(".-")
    safe = re.sub(r"\..*", "", safe) if DEVICES.fullmatch(safe) else safe
    digest = hashlib.sha256(composed.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{safe[: LONGEST_NAME - 9] or 'name'}-{digest}"


def path_inside(root: AnyPath, name: str) -> Path:
    """Return root / safe_name(name); refuse a symbolic link there that leads out of root."""
    path = Path(root) / safe_name(name)
    if not path.resolve().is_relative_to(Path(root).resolve()):
        raise UsageError(f"{path}: leads out of {root}; another name is needed")
    return path


def cache_directory() -> Path:
    """Return LTR_CACHE_DIR, else the directory of this platform for caches."""
    if own := os.environ.get("LTR_CACHE_DIR"):
        return Path(own)
    try:
        home = Path.home()
    except RuntimeError:  # a user without a directory, as in some containers: the path can hold nothing
        home = Path(os.devnull)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local", "ltr", "Cache")
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "ltr"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache", "ltr")


def refuse_shared(directory: Path) -> None:
    """Raise where another user owns the directory, or can write to it; a link counts as what it points to.

    What lies there could be anybody's: vectors that move an answer, machine code that is run.
    """
    if not hasattr(os, "geteuid") or not directory.exists():
        return
    status = directory.stat()
    if status.st_uid != os.geteuid():
        raise UsageError(f"{directory}: another user owns it; {NAME_ANOTHER}")
    if status.st_mode & OTHERS:
        raise UsageError(
            f"{directory}: other users can write to it; take that right away (chmod go-w), or {NAME_ANOTHER}"
        )


def own_directory(directory: Path) -> Path:
    """Return the directory, made for this user alone when it is not there; raise where it is not."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    refuse_shared(directory)
    return directory
