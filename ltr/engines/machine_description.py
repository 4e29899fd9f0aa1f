"""What kind of machine does the work: results have the same bytes on machines of one kind."""

import hashlib
import os
import platform
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

from ltr import __version__
from ltr.errors import FileError
from ltr.files.reading import read_bytes

SETTINGS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")  # what BLAS adds up depends on its threads


@dataclass(frozen=True, slots=True)
class Machine:
    """Where work is done: its address and kind, and the code of ltr that lies there."""

    address: str
    processor: str
    numpy: str
    threads: int
    ltr: str

    @property
    def kind(self) -> str:
        """What the last digits of a result depend on."""
        return f"{self.processor}, numpy {self.numpy}, BLAS threads: {self.threads}"


def this_machine(address: str = "") -> Machine:
    """The machine of this process."""
    return Machine(address, processor(), version("numpy"), min(wanted_threads(), usable_processors()), code_version())


def wanted_threads() -> int:
    """How many threads BLAS is told to use; without a word, one for each processor.

    The first setting of the environment counts, as in OpenBLAS.
    """
    settings = (os.environ.get(name, "") for name in SETTINGS)
    return next((int(text) for text in settings if text.isdecimal() and int(text) > 0), usable_processors())


def usable_processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor() -> str:
    """The name of the processor."""
    try:
        lines = read_bytes("/proc/cpuinfo").decode(errors="replace").splitlines()
    except FileError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine()


@cache
def code_version() -> str:
    """The version of ltr, with a digest of its code: a checkout may have any code under one version."""
    root = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py"), key=lambda path: path.relative_to(root).as_posix()):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return f"{__version__} (code {digest.hexdigest()[:12]})"
