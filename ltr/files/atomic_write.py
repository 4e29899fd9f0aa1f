"""Atomic writes: a file appears under its name complete or not at all; an error says which file and why.

`directory_replace` does the same for a directory, such as a run.
"""

import io
import os
import re
import stat
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ltr.errors import DiskError
from ltr.files.reading import BLOCK, AnyPath, reason, zstd_module

if TYPE_CHECKING:
    import msgspec
    from _typeshed import ReadableBuffer

TEMPORARY = re.compile(r"\.ltr-[0-9a-f]{16}\.tmp")


class Sink(io.RawIOBase):
    """The temporary file of one write; it has as much of the interface of a file as numpy.savez uses."""

    def __init__(self, path: Path, temporary: Path) -> None:
        self._path = path
        self._temporary = temporary
        with named_failures(path):
            self._descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)

    def writable(self) -> bool:
        """True, for the interface of a file."""
        return True

    def write(self, content: "ReadableBuffer") -> int:
        """Write all of the content, in as many system calls as that takes."""
        rest = memoryview(content).cast("B")
        with named_failures(self._path):
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        return memoryview(content).nbytes

    def publish(self) -> None:
        """Rename the file to its path; from here on a power cut leaves the old file or this one."""
        with named_failures(self._path):
            os.fsync(self._descriptor)
            self._close()
            self._temporary.replace(self._path)
            sync_directory(self._path.parent)

    def discard(self) -> None:
        """Remove the temporary file, if it is still there, without hiding the failure that led here."""
        with suppress(OSError):
            self._close()
        with suppress(OSError):
            self._temporary.unlink()

    def _close(self) -> None:
        descriptor = self._descriptor
        self._descriptor = -1  # a descriptor whose close failed is gone all the same
        if descriptor >= 0:
            os.close(descriptor)


@contextmanager
def atomic_file(path: AnyPath) -> Iterator[Sink]:
    """A sink whose bytes are all under `path` after the block; if anything fails the old file stays."""
    target = Path(path)
    refuse_special(target)
    # in the same directory: only there is a rename atomic
    sink = Sink(target, target.with_name(f".ltr-{os.urandom(8).hex()}.tmp"))
    try:
        yield sink
        sink.publish()
    finally:
        sink.discard()


def refuse_special(path: Path) -> None:
    """Raise for what a rename would wrongly replace: a directory, a link, a pipe, a device such as /dev/null."""
    with named_failures(path):
        mode = path.lstat().st_mode if os.path.lexists(path) else stat.S_IFREG
    if not stat.S_ISREG(mode):
        kinds = {stat.S_IFDIR: "a directory", stat.S_IFLNK: "a link"}
        kind = kinds.get(stat.S_IFMT(mode), "not a regular file")
        raise DiskError(str(path), f"{kind}; it cannot be replaced")


@contextmanager
def named_failures(path: Path) -> Iterator[None]:
    """Failures of the system in the block become errors that name the path."""
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise DiskError(str(path), reason(error)) from error


def sync_directory(directory: Path) -> None:
    """Make the names in the directory durable: a power cut takes none of them back."""
    if sys.platform == "win32":  # a directory cannot be opened there, and a rename is durable without
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_bytes(path: AnyPath, content: bytes) -> None:
    """Write the content under the path, complete or not at all."""
    with atomic_file(path) as sink:
        sink.write(content)


def write_text(path: AnyPath, text: str) -> None:
    """Write the text in UTF-8, its line ends unchanged, complete or not at all."""
    write_bytes(path, text.encode())


def write_lines(path: AnyPath, lines: Iterable[bytes]) -> None:
    """Write each line and an LF, compressed by extension (.gz, .zst); the same lines give the same bytes."""
    packer: Any = None
    if os.fspath(path).endswith(".gz"):
        packer = zlib.compressobj(wbits=31)  # a gzip header with neither time nor name
    elif os.fspath(path).endswith(".zst"):
        zstd = zstd_module()
        # without the checksum, flipped bits pass unnoticed
        packer = zstd.ZstdCompressor(options={zstd.CompressionParameter.checksum_flag: 1})
    with atomic_file(path) as sink:
        for block in _blocks(lines):
            sink.write(packer.compress(block) if packer else block)
        if packer:
            sink.write(packer.flush())


def _blocks(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines with their ends, joined to blocks of about a megabyte."""
    waiting: list[bytes] = []
    size = 0
    for line in lines:
        waiting.append(line)
        size += len(line)
        if size >= BLOCK:
            yield b"\n".join([*waiting, b""])
            waiting, size = [], 0
    if waiting:
        yield b"\n".join([*waiting, b""])


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
    with named_failures(directory):
        directory.mkdir(parents=True, exist_ok=True)
    return directory


def remove(path: AnyPath) -> None:
    """Remove the file, if it is there."""
    with named_failures(Path(path)):
        Path(path).unlink(missing_ok=True)
