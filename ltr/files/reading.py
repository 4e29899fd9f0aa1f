"""Bytes and lines of plain and compressed files; an error says why a file cannot be read."""

import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ltr.errors import FileError, SampleError, UsageError, reason
from ltr.files.crash_recovery import put_back
from ltr.files.path_arguments import STDIN, AnyPath, shown

if TYPE_CHECKING:
    from ltr.files.content_digests import ContentDigest

BLOCK = 1 << 20
LARGEST_LINE = 64  # MiB, of a line or a JSON value, unless LTR_LARGEST_LINE says another number
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
FOREIGN_STARTS = {
    b"\x1f\x8b": "gzip data; a name that ends in .gz is needed",
    b"\x28\xb5\x2f\xfd": "zstd data; a name that ends in .zst is needed",
    b"PK\x03\x04": "a zip archive, or a workbook; hand over the files in it, or save the workbook as CSV",
    b"PAR1\x15": "Parquet data; save it as CSV, or hand over the data frame in Python",
    b"\xff\xfe": "UTF-16 text; UTF-8 is needed",
    b"\xfe\xff": "UTF-16 text; UTF-8 is needed",
}


def largest_line() -> int:
    """The most bytes that a line, or a JSON value, may have.

    >>> largest_line() >> 20
    64
    """
    text = os.environ.get("LTR_LARGEST_LINE", str(LARGEST_LINE))
    if not (text.isdecimal() and text.isascii() and 1 <= int(text[:9]) <= 1 << 20):
        raise UsageError(f"LTR_LARGEST_LINE is {text[:40]!r}; a whole number of MiB is needed")
    return int(text) << 20


def too_long(path: AnyPath, line: int, what: str = "line") -> SampleError:
    """The error for a line, or a JSON value, beyond the limit."""
    most = largest_line() >> 20
    advice = f"set LTR_LARGEST_LINE={2 * most} to read up to {2 * most} MiB"
    return SampleError(shown(path), line, "", f"the {what} is longer than {most} MiB; {advice}")


def read_lines(path: AnyPath, *, digest: "ContentDigest | None" = None) -> Iterator[tuple[int, bytes]]:
    """Line numbers from 1 and lines without their ends, of a plain, .gz or .zst file, or of stdin for `-`.

    A line ends at LF or CRLF only: U+2028 is text. A UTF-8 byte order mark is dropped. No line beyond
    the limit is held in memory. The digest is updated with the decompressed content as it is read.
    """
    return enumerate(split_lines(utf8_blocks(path, digest=digest), path), start=1)


def split_lines(
    blocks: Iterable[bytes], path: AnyPath, number: int = 1, *, with_returns: bool = False
) -> Iterator[bytes]:
    """The lines of the blocks, without their ends; path and first number serve the error about one that is too long.

    With returns, a CR before the LF belongs to the line.
    """
    unfinished, size, most = [b""], 0, largest_line()
    for block in blocks:
        lines = block.split(b"\n")
        unfinished.append(lines[0])
        size += len(lines[0])
        if size > most:
            raise too_long(path, number)
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


def read_line_blocks(path: AnyPath, *, digest: "ContentDigest | None" = None) -> Iterator[tuple[int, bytes]]:
    """Complete lines, about a megabyte at a time, each block with the number of its first: for readers of columns."""
    number, unfinished, most = 1, b"", largest_line()
    for block in utf8_blocks(path, digest=digest):
        lines, end, rest = block.rpartition(b"\n")
        if end:
            yield number, unfinished + lines + end
            number, unfinished = number + lines.count(b"\n") + 1, rest
        else:
            unfinished += rest
        if len(unfinished) > most:
            raise too_long(path, number)
    if unfinished:
        yield number, unfinished + b"\n"


def utf8_blocks(path: AnyPath, *, digest: "ContentDigest | None" = None) -> Iterator[bytes]:
    """The content about a megabyte at a time, without a byte order mark; other encodings are refused by name."""
    is_first = True
    for block in read_blocks(path):
        if digest is not None:
            digest.update(block)
        if is_first and (problem := foreign_start(block)):
            raise FileError(shown(path), problem)
        yield block.removeprefix(BYTE_ORDER_MARK) if is_first else block
        is_first = False


def foreign_start(content: bytes) -> str:
    r"""What content is that begins as no UTF-8 text does; "" where it may be one.

    >>> foreign_start(b"PAR1"), foreign_start(b"PK\x03\x04")[:13]
    ('', 'a zip archive')
    """
    problem = next((problem for start, problem in FOREIGN_STARTS.items() if content.startswith(start)), "")
    is_binary = b"\0" in content[:4]
    return problem or ("UTF-16, UTF-32 or binary data; UTF-8 text is needed" if is_binary else "")


def read_blocks(path: AnyPath) -> Iterator[bytes]:
    """The content, decompressed by extension, about a megabyte at a time."""
    with _opened(path) as (read, damages):
        passed = 0
        while True:
            try:
                block = read(BLOCK)
            except damages as damage:
                place = f"after {passed:,} bytes" if passed else "near the beginning, or not what the name says"
                problem = f"compressed data damaged {place} ({damage})"
                raise FileError(shown(path), problem) from damage
            except OSError as error:
                raise FileError(shown(path), reason(error)) from error
            if not block:
                return
            yield block
            passed += len(block)


def read_bytes(path: AnyPath, *, limit: int | None = None) -> bytes:
    """The whole content; a file larger than `limit` bytes, or than a line may be, is refused before its end is read."""
    most = largest_line() if limit is None else limit
    blocks, size = [], 0
    for block in read_blocks(path):
        blocks.append(block)
        size += len(block)
        if size > most:
            raise FileError(shown(path), f"larger than {most} bytes")
    return b"".join(blocks)


@contextmanager
def _opened(path: AnyPath) -> Iterator[tuple[Callable[[int], bytes], tuple[type[Exception], ...]]]:
    """A read function, and the exceptions that its format raises for damaged data."""
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
    """The file opened for reading. Pipes, devices and directories are refused: they can block or never end."""
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
    """The status of the file, after it, or its directory, was put back if a process was killed while it replaced it."""
    with suppress(FileNotFoundError):
        return path.stat()
    put_back(path.parent)
    return put_back(path).stat()


def zstd_module() -> Any:
    """The zstd of the standard library where it has one; unlike `zstandard` it notices truncated files."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd
