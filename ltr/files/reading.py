"""Bytes, lines and fingerprints of plain and compressed files; what cannot be read says why."""

import os
import stat
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from ltr.errors import FileError, SampleError, UsageError

AnyPath = str | os.PathLike[str]

STDIN = "-"
BLOCK = 1 << 20
LARGEST_LINE = 64 << 20
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
FOREIGN_STARTS = {
    b"\x1f\x8b": "gzip data; a name that ends in .gz is needed",
    b"\x28\xb5\x2f\xfd": "zstd data; a name that ends in .zst is needed",
    b"\xff\xfe": "UTF-16 text; UTF-8 is needed",
    b"\xfe\xff": "UTF-16 text; UTF-8 is needed",
}


class Fingerprint:
    """Length and sha256 of the bytes that passed by.

    >>> seen = Fingerprint()
    >>> seen.update(b"abc")
    >>> seen.byte_count, seen.sha256[:8]
    (3, 'ba7816bf')
    """

    def __init__(self) -> None:
        import hashlib

        self.byte_count = 0
        self._hash = hashlib.sha256()

    def update(self, block: bytes) -> None:
        """Count one more block."""
        self.byte_count += len(block)
        self._hash.update(block)

    @property
    def sha256(self) -> str:
        """The digest so far, in hexadecimal."""
        return self._hash.hexdigest()


def digest(path: AnyPath) -> Fingerprint:
    """Fingerprint of the decompressed content: packing a file does not change it."""
    fingerprint = Fingerprint()
    for block in read_blocks(path):
        fingerprint.update(block)
    return fingerprint


def read_lines(path: AnyPath, *, fingerprint: Fingerprint | None = None) -> Iterator[tuple[int, bytes]]:
    """Line numbers from 1 and lines without their ends, of a plain, .gz or .zst file, or of stdin for `-`.

    A line ends at LF or CRLF only: U+2028 is text. A UTF-8 byte order mark is dropped. No line beyond
    LARGEST_LINE is held in memory. The fingerprint sees the decompressed content on its way.
    """
    return enumerate(_lines(path, fingerprint), start=1)


def _lines(path: AnyPath, fingerprint: Fingerprint | None) -> Iterator[bytes]:
    number, unfinished, held = 1, [b""], 0
    for block in _utf8_blocks(path, fingerprint):
        lines = block.split(b"\n")
        unfinished.append(lines[0])
        held += len(lines[0])
        if held > LARGEST_LINE:
            raise SampleError(shown(path), number, "", f"the line is longer than {LARGEST_LINE >> 20} MiB")
        if len(lines) == 1:
            continue
        lines[0] = b"".join(unfinished)
        last = lines.pop()
        number += len(lines)
        unfinished, held = [last], len(last)
        yield from _without_returns(lines, block)
    if held:
        yield b"".join(unfinished).removesuffix(b"\r")


def _without_returns(lines: list[bytes], block: bytes) -> list[bytes]:
    if b"\r" not in block and not lines[0].endswith(b"\r"):  # one search a block, not one a line
        return lines
    return [line.removesuffix(b"\r") for line in lines]


def read_line_blocks(path: AnyPath, *, fingerprint: Fingerprint | None = None) -> Iterator[tuple[int, bytes]]:
    """Whole lines, about a megabyte at a time, each block with the number of its first: for readers of columns."""
    number, unfinished = 1, b""
    for block in _utf8_blocks(path, fingerprint):
        whole, end, rest = block.rpartition(b"\n")
        if end:
            yield number, unfinished + whole + end
            number, unfinished = number + whole.count(b"\n") + 1, rest
        else:
            unfinished += rest
        if len(unfinished) > LARGEST_LINE:
            raise SampleError(shown(path), number, "", f"the line is longer than {LARGEST_LINE >> 20} MiB")
    if unfinished:
        yield number, unfinished + b"\n"


def _utf8_blocks(path: AnyPath, fingerprint: Fingerprint | None) -> Iterator[bytes]:
    blocks = read_blocks(path)
    first = next(blocks, b"")
    for start, problem in FOREIGN_STARTS.items():
        if first.startswith(start):
            raise FileError(shown(path), problem)
    if b"\0" in first[:4]:
        raise FileError(shown(path), "UTF-16, UTF-32 or binary data; UTF-8 text is needed")
    if fingerprint is not None:
        fingerprint.update(first)
    yield first.removeprefix(BYTE_ORDER_MARK)
    for block in blocks:
        if fingerprint is not None:
            fingerprint.update(block)
        yield block


def read_blocks(path: AnyPath) -> Iterator[bytes]:
    """The content, decompressed by extension, about a megabyte at a time."""
    with _opened(path) as (read, damages):
        passed = 0
        while True:
            try:
                block = read(BLOCK)
            except damages as damage:
                problem = f"compressed data damaged after {passed} bytes ({damage})"
                raise FileError(shown(path), problem) from damage
            except OSError as error:
                raise FileError(shown(path), reason(error)) from error
            if not block:
                return
            yield block
            passed += len(block)


def read_bytes(path: AnyPath, *, limit: int = LARGEST_LINE) -> bytes:
    """The whole content; beyond `limit` bytes it is refused, not read."""
    blocks, held = [], 0
    for block in read_blocks(path):
        blocks.append(block)
        held += len(block)
        if held > limit:
            raise FileError(shown(path), f"larger than {limit} bytes")
    return b"".join(blocks)


class _Read(Protocol):
    def __call__(self, size: int, /) -> bytes: ...


@contextmanager
def _opened(path: AnyPath) -> Iterator[tuple[_Read, tuple[type[Exception], ...]]]:
    """A read function, and the exceptions by which its format says that the data is damaged."""
    if os.fspath(path) == STDIN:
        stdin: Any = sys.stdin.buffer
        yield stdin.read1, ()  # what was typed arrives at once
        return
    with regular_file(path) as raw:
        if os.fspath(path).endswith(".gz"):
            import gzip

            yield gzip.GzipFile(fileobj=raw).read, (EOFError, zlib.error, gzip.BadGzipFile)
        elif os.fspath(path).endswith(".zst"):
            zstd = zstd_module()
            yield zstd.ZstdFile(raw).read, (EOFError, zstd.ZstdError)
        else:
            yield raw.read, ()


@contextmanager
def regular_file(path: AnyPath) -> Iterator[BinaryIO]:
    """The file opened for reading; what is not a regular file is refused before it can block or never end."""
    try:
        mode = Path(path).stat().st_mode
        if stat.S_ISDIR(mode):
            raise FileError(shown(path), "a directory; a file is needed")
        if not stat.S_ISREG(mode):
            raise FileError(shown(path), "not a regular file; name one, or pipe it in and read -")
        raw: Any = Path(path).open("rb", buffering=0)  # noqa: SIM115  # closed below, outside this try
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise FileError(shown(path), reason(error)) from error
    with raw:
        yield raw


def zstd_module() -> Any:
    """The zstd of the standard library where it has one; unlike `zstandard` it notices truncated files."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd


def expand(patterns: AnyPath | Iterable[AnyPath]) -> list[str]:
    """The files that are meant: names as they stand, each glob as the sorted regular files it matches.

    A name that exists is never a glob, whatever brackets it has. A glob that matches nothing is an error.
    """
    import glob

    files: list[str] = []
    for name in [patterns] if isinstance(patterns, str | os.PathLike) else patterns:
        pattern = os.fspath(name)
        if not glob.has_magic(pattern) or os.path.lexists(pattern):
            files.append(pattern)
            continue
        found = sorted(filter(os.path.isfile, glob.glob(pattern, recursive=True)))  # noqa: PTH207
        if not found:
            raise FileError(pattern, "no regular file matches")
        files += found
    if files.count(STDIN) > 1:
        raise UsageError("- (stdin) can be read once only")
    return files


def shown(path: AnyPath) -> str:
    """The name to print for a path.

    >>> shown("-")
    '<stdin>'
    """
    return "<stdin>" if os.fspath(path) == STDIN else os.fspath(path)


def reason(error: Exception) -> str:
    """What the system said, without number and path.

    >>> reason(OSError(28, "No space left on device"))
    'no space left on device'
    """
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return text[:1].lower() + text[1:]
