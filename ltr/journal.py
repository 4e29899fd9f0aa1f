"""A journal: a file to which several processes append lines. None is lost that was said to be written."""

import hashlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ltr.disk import disk_errors, refuse_special, sync_directory
from ltr.errors import FileError, reason
from ltr.paths import AnyPath

DIGEST = 16  # hexadecimal digits before the content of a line


@dataclass(frozen=True, slots=True)
class JournalLines:
    """The lines of a journal from some place on."""

    contents: tuple[bytes, ...]
    end: int  # where the next line begins
    damaged: int  # lines whose checksum does not fit: a write that a kill cut off, or a damage
    is_cut: bool  # whether the last line has no end: the next append ends it, and it counts as damaged from then on


class JournalFile:
    """Lines with a checksum each. A file that is not there is a journal without lines.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     journal = JournalFile(Path(folder, "journal"))
    ...     journal.append(b"one")
    ...     journal.read().contents
    (b'one',)
    """

    def __init__(self, path: AnyPath) -> None:
        self.path = Path(path)

    def append(self, content: bytes) -> None:
        """Append the content, which holds no line end, as one line that is on the disk when this returns.

        Other processes wait meanwhile. What an earlier write left unfinished becomes a damaged line of its own.
        """
        if b"\n" in content:
            raise ValueError("a line of a journal holds no line end")
        refuse_special(self.path)
        with disk_errors(self.path):
            is_new = not self.path.exists()
            descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
            try:
                with _locked_file(descriptor, exclusive=True):
                    is_cut = os.fstat(descriptor).st_size > 0 and _last_byte(descriptor) != b"\n"
                    rest = memoryview((b"\n" if is_cut else b"") + _checksum(content) + b" " + content + b"\n")
                    while rest:
                        rest = rest[os.write(descriptor, rest) :]
                    os.fsync(descriptor)
            finally:
                os.close(descriptor)
            if is_new:
                sync_directory(self.path.parent)

    def read(self, start: int = 0) -> JournalLines:
        """Return the lines from byte `start` on, where a line begins."""
        size, text = 0, b""
        try:
            with self.path.open("rb") as file, _locked_file(file.fileno(), exclusive=False):
                size = file.seek(0, os.SEEK_END)
                file.seek(start)
                text = file.read()
        except FileNotFoundError:
            pass
        except (OSError, ValueError) as error:
            raise FileError(str(self.path), reason(error)) from error
        if size < start:
            problem = f"its first {start:,} bytes have been read before; it was cut or removed since"
            raise FileError(str(self.path), problem)
        whole, _, unfinished = text.rpartition(b"\n")
        lines = whole.split(b"\n") if whole else []
        sound = [line[DIGEST + 1 :] for line in lines if line[: DIGEST + 1] == _checksum(line[DIGEST + 1 :]) + b" "]
        damaged = sum(1 for line in lines if line) - len(sound)
        return JournalLines(tuple(sound), start + len(text) - len(unfinished), damaged, bool(unfinished))


def _checksum(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=DIGEST // 2).hexdigest().encode()


def _last_byte(descriptor: int) -> bytes:
    os.lseek(descriptor, -1, os.SEEK_END)  # what is written goes to the end all the same
    return os.read(descriptor, 1)


@contextmanager
def _locked_file(descriptor: int, *, exclusive: bool) -> Iterator[None]:
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
