"""Names that are safe for files, inside one directory."""

import hashlib
import re
import unicodedata
from pathlib import Path

from ltr.errors import UsageError
from ltr.files.path_arguments import AnyPath

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


def path_inside(root: AnyPath, name: str) -> Path:
    """root / safe_name(name); refused when a symbolic link there leads out of root."""
    path = Path(root) / safe_name(name)
    if not path.resolve().is_relative_to(Path(root).resolve()):
        raise UsageError(f"{path}: leads out of {root}; another name is needed")
    return path
