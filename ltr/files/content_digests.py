"""Digests of what is in a file."""

import hashlib
from functools import cache
from pathlib import Path

from ltr.files.path_arguments import AnyPath
from ltr.files.reading import read_blocks


class ContentDigest:
    """Length and sha256 of the blocks of a file.

    >>> digest = ContentDigest()
    >>> digest.update(b"abc")
    >>> digest.byte_count, digest.sha256[:8]
    (3, 'ba7816bf')
    """

    def __init__(self) -> None:
        self.byte_count = 0
        self._hash = hashlib.sha256()

    def update(self, block: bytes) -> None:
        """Count one more block."""
        self.byte_count += len(block)
        self._hash.update(block)

    @property
    def sha256(self) -> str:
        """The digest of all blocks so far, in hexadecimal."""
        return self._hash.hexdigest()


def digest_file(path: AnyPath) -> ContentDigest:
    """The digest of the decompressed content: packing a file does not change it."""
    digest = ContentDigest()
    for block in read_blocks(path):
        digest.update(block)
    return digest


def sha256(path: Path) -> str:
    """The digest of a file, read once in a process unless the file changes."""
    status = path.stat()
    return _sha256(path, status.st_size, status.st_mtime_ns)


@cache
def _sha256(path: Path, _size: int, _changed: int) -> str:
    """The digest, computed again where size or time of change, which only tell files apart, differ."""
    return digest_file(path).sha256
