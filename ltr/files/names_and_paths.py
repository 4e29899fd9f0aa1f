"""Names of files, made of any text: short, portable, and inside the directory that they belong to."""

import hashlib
import os
import re
import sys
import unicodedata
from contextlib import suppress
from pathlib import Path

from ltr.errors import UsageError
from ltr.files.reading import AnyPath

LONGEST_NAME = 80
SAFE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,79}(?<!\.)")
DEVICES = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)  # Windows opens the device


def safe_name(name: str) -> str:
    """The name itself when it can name a file anywhere, else its safe characters and part of its hash.

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


def cache_directory() -> Path:
    """LTR_CACHE_DIR, else the directory of this platform for caches."""
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


def path_inside(root: AnyPath, name: str) -> Path:
    """root / safe_name(name); refused when a symbolic link there leads out of root."""
    path = Path(root) / safe_name(name)
    if not path.resolve().is_relative_to(Path(root).resolve()):
        raise UsageError(f"{path}: leads out of {root}; another name is needed")
    return path
