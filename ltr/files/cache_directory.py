"""Where the platform keeps what can be made again."""

import os
import sys
from pathlib import Path


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
