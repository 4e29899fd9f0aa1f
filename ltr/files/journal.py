"""A journal: lines with checksums that several processes append to. No line is ever changed or removed."""

import hashlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ltr.errors import FileError, reason
from ltr.files.filesystem_operations import named_failures, refuse_special, sync_directory
from ltr.files.path_arguments import AnyPath

DIGEST = 16  # hexadecimal digits before the content of a line


@dataclass(frozen=True, slots=True)
class JournalLines:
    """The lines of a journal from some place on."""

    contents: tuple[bytes, ...]
    end: int  # where the next line begins
    damaged: int  # lines whose checksum does not fit: a write that a kill cut off, or a damage
    is_cut: bool  # whether the last line has no end: the next append ends it, and it counts as damaged from then on


def append_line(path: AnyPath, content: bytes) -> None:
    """Append the content, which holds no line end, as one line that is on the disk when this returns.

    Other processes wait meanwhile. What an earlier write left unfinished becomes a damaged line of its own.
    """
    file = Path(path)
    if b"\n" in content:
        raise ValueError("a line of a journal holds no line end")
    refuse_special(file)
    with named_failures(file):
        is_new = not file.exists()
        descriptor = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            with _lock(descriptor, exclusive=True):
                size = os.fstat(descriptor).st_size
                is_cut = size > 0 and _last_byte(descriptor, size) != b"\n"
                rest = memoryview((b"\n" if is_cut else b"") + _checksum(content) + b" " + content + b"\n")
                while rest:
                    rest = rest[os.write(descriptor, rest) :]
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if is_new:
            sync_directory(file.parent)


def read_journal(path: AnyPath, start: int = 0) -> JournalLines:
    """The lines from byte `start` on, where a line begins; those of no file are none."""
    file = Path(path)
    try:
        descriptor = os.open(file, os.O_RDONLY)
    except FileNotFoundError:
        return _no_lines(file, start)
    except (OSError, ValueError) as error:
        raise FileError(str(file), reason(error)) from error
    try:
        with os.fdopen(descriptor, "rb") as content, _lock(content.fileno(), exclusive=False):
            if content.seek(0, os.SEEK_END) < start:
                return _no_lines(file, start)
            content.seek(start)
            text = content.read()
    except OSError as error:
        raise FileError(str(file), reason(error)) from error
    whole, _, unfinished = text.rpartition(b"\n")
    lines = whole.split(b"\n") if whole else []
    sound = [line[DIGEST + 1 :] for line in lines if line[: DIGEST + 1] == _checksum(line[DIGEST + 1 :]) + b" "]
    damaged = sum(1 for line in lines if line) - len(sound)
    return JournalLines(tuple(sound), start + len(text) - len(unfinished), damaged, bool(unfinished))


def _no_lines(file: Path, start: int) -> JournalLines:
    """Those of a journal that is not there: none, unless some of it has been read before."""
    if start:
        raise FileError(str(file), f"its first {start:,} bytes have been read before; it was cut or removed since")
    return JournalLines((), 0, 0, False)


def _checksum(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=DIGEST // 2).hexdigest().encode()


def _last_byte(descriptor: int, size: int) -> bytes:
    os.lseek(descriptor, size - 1, os.SEEK_SET)  # what is written goes to the end all the same
    return os.read(descriptor, 1)


@contextmanager
def _lock(descriptor: int, *, exclusive: bool) -> Iterator[None]:
    """Wait for the lock of the file; where files cannot be locked, as on Windows, nobody waits."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
    except OSError:  # some network disks
        yield
        return
    try:
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
