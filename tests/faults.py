"""A disk that fails, or a process that dies, at the n-th call that changes what lies on it."""

import errno
import os
import shutil
import signal
import stat
import traceback
import warnings
from pathlib import Path

import pytest

CALLS = ("mkdir", "write", "fsync", "rename", "replace")
OPEN_FILES = Path("/proc/self/fd")
lists_open_files = pytest.mark.skipif(not OPEN_FILES.exists(), reason="the system does not list open files")
CODES = (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EROFS, errno.EACCES)


class FaultyDisk:
    """The system's calls; the n-th fails with the code, or, without a code, is made and the process killed after it."""

    def __init__(self, fault_at: int, code: int | None) -> None:
        self.calls, self.fault_at, self.code = 0, fault_at, code
        self.real = {name: getattr(os, name) for name in CALLS}

    def __enter__(self):
        for name, call in self.real.items():
            setattr(os, name, self.counted(call))
        return self

    def __exit__(self, *error) -> None:
        for name, call in self.real.items():
            setattr(os, name, call)

    def counted(self, call):
        def counting(*args, **kwargs):
            if call is self.real["write"] and not stat.S_ISREG(os.fstat(args[0]).st_mode):
                return call(*args, **kwargs)  # a pipe is no disk
            self.calls += 1
            if self.calls == self.fault_at and self.code is not None:
                raise OSError(self.code, os.strerror(self.code))
            try:
                return call(*args, **kwargs) if call is not self.real["fsync"] else None  # the power stays on
            finally:
                if self.calls == self.fault_at:
                    os.kill(os.getpid(), signal.SIGKILL)

        return counting


def open_files() -> int:
    """How many files this process has open."""
    return sum(1 for _ in OPEN_FILES.iterdir())


def in_fork(work) -> int:
    """The exit code of `work` in a process of its own, negative for a signal: -9 after a kill."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons fear the threads of the one who forks
        child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 1
    try:
        code = work() or 0
    except SystemExit as done:
        code = done.code if isinstance(done.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def contents(folder: Path) -> dict[str, bytes | None]:
    """Everything below the folder, by its path: the bytes of files, None for directories."""
    paths = sorted(folder.rglob("*"))
    return {path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None for path in paths}


def restore(folder: Path, before: dict[str, bytes | None]) -> None:
    """Make the folder hold that again, and nothing else."""
    shutil.rmtree(folder)
    folder.mkdir()
    for name, content in before.items():
        path = folder / name
        if content is None:
            path.mkdir()
        else:
            path.write_bytes(content)
