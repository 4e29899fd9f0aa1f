"""Atomic writes: a file appears under its name complete or not at all.

An error says which file, and why. `directory` does the same for a directory, such as a run.
"""

import io
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ltr.disk import disk_errors, refuse_special, sync_directory, temporary_name
from ltr.files.reading import BLOCK, zstd_module
from ltr.paths import AnyPath

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class Sink(io.RawIOBase):
    """The temporary file of one write; it has as much of the interface of a file as numpy.savez uses."""

    def __init__(self, path: Path, temporary: Path) -> None:
        self._path = path
        self._temporary = temporary
        with disk_errors(path):
            self._descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)

    def writable(self) -> bool:
        """True, for the interface of a file."""
        return True

    def write(self, content: "ReadableBuffer") -> int:
        """Write all of the content, in as many system calls as that takes."""
        rest = memoryview(content).cast("B")
        with disk_errors(self._path):
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        return memoryview(content).nbytes

    def publish(self) -> None:
        """Rename the file to its path; from here on a power cut leaves the old file or this one."""
        with disk_errors(self._path):
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
    """Yield a sink whose bytes are all under `path` after the block; if anything fails the old file stays."""
    target = Path(path)
    refuse_special(target)
    # in the same directory: only there is a rename atomic
    sink = Sink(target, target.with_name(temporary_name()))
    try:
        yield sink
        sink.publish()
    finally:
        sink.discard()


def write_file(path: AnyPath, content: bytes | str) -> None:
    """Write the content under the path, complete or not at all; text in UTF-8, its line ends unchanged."""
    with atomic_file(path) as sink:
        sink.write(content.encode() if isinstance(content, str) else content)


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
    """Yield the lines with their ends, joined to blocks of about a megabyte."""
    waiting, size = list[bytes](), 0
    for line in lines:
        waiting.append(line)
        size += len(line)
        if size >= BLOCK:
            yield b"\n".join([*waiting, b""])
            waiting, size = [], 0
    if waiting:
        yield b"\n".join([*waiting, b""])
