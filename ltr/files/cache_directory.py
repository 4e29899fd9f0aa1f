"""Where the platform keeps what can be made again, and who may write there."""

import os
import sys
from pathlib import Path

from ltr.errors import UsageError

OTHERS = 0o022  # the right of the group, and of everybody, to write
NAME_ANOTHER = "name a cache directory of your own (LTR_CACHE_DIR)"


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
    """The directory, made for this user alone when it is not there; refused where it is not."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    refuse_shared(directory)
    return directory
