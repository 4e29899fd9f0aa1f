"""Files appear under their name whole or not at all, and a failed write says which file and why."""

import io
import os
import stat
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from ltr.errors import DiskError
from ltr.files.reading import BLOCK, AnyPath, reason, zstd_module

if TYPE_CHECKING:
    import msgspec
    from _typeshed import ReadableBuffer


class Sink(io.RawIOBase):
    """Where the bytes of one file go until it is whole; as much of a file as numpy.savez asks for."""

    def __init__(self, path: Path, temporary: Path) -> None:
        self._path = path
        self._temporary = temporary
        with _named(path):
            self._descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)

    def writable(self) -> bool:
        """It is what a sink is for."""
        return True

    def write(self, content: "ReadableBuffer") -> int:
        """Write all of the content, in as many system calls as that takes."""
        rest = memoryview(content).cast("B")
        with _named(self._path):
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        return memoryview(content).nbytes

    def publish(self) -> None:
        """Put the file under its name; from here on a power cut leaves the old file or this one."""
        with _named(self._path):
            os.fsync(self._descriptor)
            self._close()
            self._temporary.replace(self._path)
            _sync_directory(self._path.parent)

    def discard(self) -> None:
        """Remove what has no name yet; a failure that led here is the one to report."""
        with suppress(OSError):
            self._close()
        with suppress(OSError):
            self._temporary.unlink()

    def _close(self) -> None:
        descriptor, self._descriptor = (
            self._descriptor,
            -1,
        )  # a descriptor whose close failed is gone all the same
        if descriptor >= 0:
            os.close(descriptor)


@contextmanager
def atomic_file(path: AnyPath) -> Iterator[Sink]:
    """A sink whose bytes are all under `path` after the block; if anything fails the old file stays."""
    target = Path(path)
    _require_replaceable(target)
    # in the same directory: only there is a rename atomic
    sink = Sink(target, target.with_name(f".ltr-{os.urandom(8).hex()}.tmp"))
    try:
        yield sink
        sink.publish()
    finally:
        sink.discard()


def _require_replaceable(path: Path) -> None:
    """Refuse what a rename would wrongly replace: a directory, a pipe, a device such as /dev/null."""
    with _named(path):
        if not os.path.lexists(path):
            return
        mode = path.lstat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
        kind = "a directory" if stat.S_ISDIR(mode) else "not a regular file"
        raise DiskError(str(path), f"{kind}; it cannot be replaced")


def _sync_directory(path: Path) -> None:
    if sys.platform == "win32":  # a directory cannot be opened there, and a rename is durable without
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise DiskError(str(path), reason(error)) from error


def write_bytes(path: AnyPath, content: bytes) -> None:
    """The content under the path, whole or not at all."""
    with atomic_file(path) as sink:
        sink.write(content)


def write_text(path: AnyPath, text: str) -> None:
    """The text in UTF-8, its line ends as they are, whole or not at all."""
    write_bytes(path, text.encode())


def write_lines(path: AnyPath, lines: Iterable[bytes]) -> None:
    """Each line and an LF, compressed by extension (.gz, .zst); the same lines give the same bytes."""
    packer = _packer(path)
    with atomic_file(path) as sink:
        for block in _joined(lines):
            sink.write(packer.compress(block))
        sink.write(packer.flush())


def encode_lines(rows: Iterable["msgspec.Struct | Mapping[str, Any]"]) -> Iterator[bytes]:
    """Each struct or mapping as one line of JSON, without its end. A number that is not finite would become null.

    >>> import msgspec
    >>> row = msgspec.defstruct("Row", [("trace_id", str), ("rank", int)])
    >>> list(encode_lines([row("t1", 2)]))
    [b'{"trace_id":"t1","rank":2}']
    """
    import msgspec

    return map(msgspec.json.Encoder().encode, rows)


def make_directory(path: AnyPath) -> Path:
    """The directory, made with its parents when it is not there."""
    directory = Path(path)
    with _named(directory):
        directory.mkdir(parents=True, exist_ok=True)
    return directory


def remove(path: AnyPath) -> None:
    """Take the file away, if it is there."""
    with _named(Path(path)):
        Path(path).unlink(missing_ok=True)


def drop(stream: TextIO) -> None:
    """Let go what the stream still holds, and what follows: nobody takes it."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


class _Plain:
    def compress(self, block: bytes) -> bytes:
        return block

    def flush(self) -> bytes:
        return b""


def _packer(path: AnyPath) -> Any:
    if os.fspath(path).endswith(".gz"):
        return zlib.compressobj(wbits=31)  # a gzip header with neither time nor name
    if os.fspath(path).endswith(".zst"):
        zstd = zstd_module()
        return zstd.ZstdCompressor(options={zstd.CompressionParameter.checksum_flag: 1})  # off, flipped bits pass
    return _Plain()


def _joined(lines: Iterable[bytes]) -> Iterator[bytes]:
    held: list[bytes] = []
    size = 0
    for line in lines:
        held.append(line)
        size += len(line)
        if size >= BLOCK:
            yield b"\n".join([*held, b""])
            held, size = [], 0
    if held:
        yield b"\n".join([*held, b""])


def cell(value: object) -> str:
    """A value between tabs, nothing for None; what would end the cell, or move a terminal, is written out.

    >>> cell("a\\tb"), cell(None)
    ('a\\\\tb', '')
    """
    text = "" if value is None else str(value)
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)
