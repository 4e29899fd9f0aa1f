"""Bytes and lines of plain and compressed files, and their digests; an error says why a file cannot be read."""

import hashlib
import os
import stat
import sys
import zlib
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, Self

from ltr.errors import FileError, SampleError, UsageError, reason
from ltr.files.lock import put_back
from ltr.paths import STDIN, AnyPath, shown

BLOCK = 1 << 20
BLANK = b" \t\r\n"
LARGEST_LINE = 64  # MiB, of a line or a JSON value, unless LTR_LARGEST_LINE says another number
FOREIGN_STARTS = {
    b"\x1f\x8b": "gzip data; a name that ends in .gz is needed",
    b"\x28\xb5\x2f\xfd": "zstd data; a name that ends in .zst is needed",
    b"PK\x03\x04": "a zip archive, or a workbook; hand over the files in it, or save the workbook as CSV",
    b"PAR1\x15": "Parquet data; save it as CSV, or hand over the data frame in Python",
    b"\xff\xfe": "UTF-16 text; UTF-8 is needed",
    b"\xfe\xff": "UTF-16 text; UTF-8 is needed",
}


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

    @classmethod
    def of(cls, path: AnyPath) -> Self:
        """Return the digest of the decompressed content of a file: packing it does not change it."""
        digest = cls()
        for block in TextFile(path).raw_blocks():
            digest.update(block)
        return digest

    def update(self, block: bytes) -> None:
        """Count one more block."""
        self.byte_count += len(block)
        self._hash.update(block)

    @property
    def sha256(self) -> str:
        """The digest of all blocks so far, in hexadecimal."""
        return self._hash.hexdigest()


@dataclass(frozen=True, slots=True)
class TextFile:
    """A plain, .gz or .zst file of UTF-8 text, or stdin for `-`.

    A line ends at LF or CRLF only: U+2028 is text. A byte order mark is dropped, other encodings are refused by name,
    and no line beyond the limit is held in memory. The digest is updated with the content as it is read.
    """

    path: AnyPath
    digest: ContentDigest | None = None

    @staticmethod
    def limit() -> int:
        """Return the most bytes that a line, or a JSON value, may have.

        >>> TextFile.limit() >> 20
        64
        """
        text = os.environ.get("LTR_LARGEST_LINE", str(LARGEST_LINE))
        if not (text.isdecimal() and text.isascii() and 1 <= int(text[:9]) <= 1 << 20):
            raise UsageError(f"LTR_LARGEST_LINE is {text[:40]!r}; a whole number of MiB is needed")
        return int(text) << 20

    def refuse_longer(self, size: int, line: int, what: str = "line") -> None:
        """Raise for a line, or a JSON value, of more bytes than the limit."""
        if size > (limit := self.limit()):
            most = limit >> 20
            advice = f"set LTR_LARGEST_LINE={2 * most} to read up to {2 * most} MiB"
            raise SampleError(shown(self.path), line, "", f"the {what} is longer than {most} MiB; {advice}")

    @staticmethod
    def foreign_start(content: bytes) -> str:
        r"""Return what content is that begins as no UTF-8 text does; "" where it may be one.

        >>> TextFile.foreign_start(b"PAR1"), TextFile.foreign_start(b"PK\x03\x04")[:13]
        ('', 'a zip archive')
        """
        problem = next((problem for start, problem in FOREIGN_STARTS.items() if content.startswith(start)), "")
        is_binary = b"\0" in content[:4]
        return problem or ("UTF-16, UTF-32 or binary data; UTF-8 text is needed" if is_binary else "")

    def raw_blocks(self) -> Iterator[bytes]:
        """Yield the content, decompressed by extension, about a megabyte at a time, whatever it is."""
        with _opened(self.path) as (read, damages):
            passed = 0
            while True:
                try:
                    block = read(BLOCK)
                except damages as damage:
                    place = f"after {passed:,} bytes" if passed else "near the beginning, or not what the name says"
                    problem = f"compressed data damaged {place} ({damage})"
                    raise FileError(shown(self.path), problem) from damage
                except OSError as error:
                    raise FileError(shown(self.path), reason(error)) from error
                if not block:
                    return
                yield block
                passed += len(block)

    def blocks(self) -> Iterator[bytes]:
        """Yield the text about a megabyte at a time."""
        is_first = True
        for block in self.raw_blocks():
            if self.digest is not None:
                self.digest.update(block)
            if is_first and (problem := self.foreign_start(block)):
                raise FileError(shown(self.path), problem)
            yield block.removeprefix(BOM_UTF8) if is_first else block
            is_first = False

    def split(
        self, blocks: Iterable[bytes], first: int = 1, *, with_returns: bool = False
    ) -> Iterator[tuple[int, bytes]]:
        """Yield the lines of the blocks without their ends, numbered from the first one.

        With returns, a CR before the LF belongs to the line.
        """
        return enumerate(self._split(blocks, first, with_returns=with_returns), start=first)

    def _split(self, blocks: Iterable[bytes], number: int, *, with_returns: bool) -> Iterator[bytes]:
        unfinished, size = [b""], 0
        for block in blocks:
            lines = block.split(b"\n")
            unfinished.append(lines[0])
            size += len(lines[0])
            self.refuse_longer(size, number)
            if len(lines) == 1:
                continue
            lines[0] = b"".join(unfinished)
            last = lines.pop()
            number += len(lines)
            unfinished, size = [last], len(last)
            if not with_returns and (b"\r" in block or lines[0].endswith(b"\r")):  # one search a block, not one a line
                lines = [line.removesuffix(b"\r") for line in lines]
            yield from lines
        if size:
            last = b"".join(unfinished)
            yield last if with_returns else last.removesuffix(b"\r")

    def line_blocks(self) -> Iterator[tuple[int, bytes]]:
        """Yield complete lines, about a megabyte at a time, with the number of the first: for readers of columns."""
        number, unfinished = 1, b""
        for block in self.blocks():
            lines, end, rest = block.rpartition(b"\n")
            if end:
                yield number, unfinished + lines + end
                number, unfinished = number + lines.count(b"\n") + 1, rest
            else:
                unfinished += rest
            self.refuse_longer(len(unfinished), number)
        if unfinished:
            yield number, unfinished + b"\n"

    def can_be_cut(self) -> bool:
        """Return whether the file can be read again from any byte on: a plain file of lines, no array around them."""
        name = os.fspath(self.path)
        if name == STDIN or name.endswith((".gz", ".zst")):
            return False
        return not next(self.raw_blocks(), b"").removeprefix(BOM_UTF8).lstrip(BLANK).startswith(b"[")

    def cut(self, before: int, firsts: Sequence[int]) -> list["LineRange"]:
        """Return the lines in ranges, each from one of the rising numbers `firsts` on, the first of them 1.

        `before`: how many lines the files before it have.
        """
        with regular_file(self.path) as file:
            modified = _modified(file.fileno())
        begins = [*self._line_starts(firsts), modified[0]]
        if len(begins) == 1:  # an empty file
            return [LineRange(os.fspath(self.path), before + 1, 0, 0, modified)]
        return [
            LineRange(os.fspath(self.path), before + first, begin, end, modified)
            for first, (begin, end) in zip(firsts, pairwise(begins), strict=True)
        ]

    def _line_starts(self, numbers: Sequence[int]) -> Iterator[int]:
        """Yield the byte at which each line begins, of rising numbers."""
        wanted = iter(numbers)
        number, passed, line = next(wanted, None), 0, 1  # the line that the next byte belongs to
        for block in self.raw_blocks():
            at, last = 0, line + block.count(b"\n")
            while number is not None and number <= last:
                while line < number:
                    at, line = block.index(b"\n", at) + 1, line + 1
                yield passed + at
                number = next(wanted, None)
            passed, line = passed + len(block), last


@dataclass(frozen=True, slots=True)
class LineRange:
    """Lines of a plain file, from one byte to another; the first has this number among the lines of all files."""

    path: str
    first: int
    begin: int
    end: int
    modified: tuple[int, int]  # length and time of the file when its lines were counted

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield number and content of each line."""
        return TextFile(self.path).split(self._blocks(), self.first)

    def _blocks(self) -> Iterator[bytes]:
        with regular_file(self.path) as file:
            if _modified(file.fileno()) != self.modified:
                raise FileError(shown(self.path), "was changed while it was read")
            left = self.end - file.seek(self.begin)
            while left > 0:
                block = file.read(min(left, BLOCK))
                if not block:
                    raise FileError(shown(self.path), "was changed while it was read")
                yield block.removeprefix(BOM_UTF8) if left == self.end else block
                left -= len(block)

    def remove(self) -> None:
        """Do nothing: the file is the user's own. A copy in a temporary file gives its space back."""


def read_lines(
    path: AnyPath, *, digest: ContentDigest | None = None, with_returns: bool = False
) -> Iterator[tuple[int, bytes]]:
    """Yield line numbers from 1 and lines without their ends: see `TextFile`."""
    file = TextFile(path, digest)
    return file.split(file.blocks(), with_returns=with_returns)


def read_bytes(path: AnyPath, *, limit: int | None = None) -> bytes:
    """Return the content; a file of more than `limit` bytes, or than a line may have, is refused before its end."""
    most = TextFile.limit() if limit is None else limit
    blocks, size = [], 0
    for block in TextFile(path).raw_blocks():
        blocks.append(block)
        size += len(block)
        if size > most:
            raise FileError(shown(path), f"larger than {most} bytes")
    return b"".join(blocks)


@contextmanager
def _opened(path: AnyPath) -> Iterator[tuple[Callable[[int], bytes], tuple[type[Exception], ...]]]:
    """Yield a read function, and the exceptions that its format raises for damaged data."""
    if os.fspath(path) == STDIN:
        stdin: Any = sys.stdin.buffer
        yield stdin.read1, ()  # returns what is there instead of waiting for a whole block
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
    """Open the file for reading. Pipes, devices and directories are refused: they can block or never end."""
    try:
        mode = _status(Path(path)).st_mode
        if stat.S_ISDIR(mode):
            raise FileError(shown(path), "a directory; a file is needed")
        if not stat.S_ISREG(mode):
            raise FileError(shown(path), "not a regular file; name one, or pipe it in and read -")
        raw: Any = Path(path).open("rb", buffering=0)  # noqa: SIM115  # closed below, outside this try
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise FileError(shown(path), reason(error)) from error
    with raw:
        yield raw


def _status(path: Path) -> os.stat_result:
    """Return the status of the file; put it, or its directory, back if a process was killed while it replaced it."""
    with suppress(FileNotFoundError):
        return path.stat()
    put_back(path.parent)
    return put_back(path).stat()


def _modified(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_size, status.st_mtime_ns


def zstd_module() -> Any:
    """Return the zstd of the standard library where it has one; unlike `zstandard` it notices truncated files."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd
