"""Attacks: cases that are done once and counted, in forks of a process that has loaded all of ltr.

With LTR_STRESS_RESUME a call goes on behind the cases that an earlier one with the same settings did. Several processes
share the cases of a part with LTR_STRESS_SHARE=0/3, 1/3 and 2/3; a call without it then tells of all.
"""

import contextlib
import hashlib
import importlib
import json
import os
import pkgutil
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from subcommands import ROOT

STATE = ROOT / ".stress"
WITH_TIMES = ("run.json", "log.jsonl")  # they hold times of day, and differ between equal runs
FOUND_LATE = (
    *("scipy.optimize", "scipy.sparse.linalg", "scipy.special", "jinja2", "yaml", "rich.table", "rich.progress"),
    *("typer._adapters", "pydantic.dataclasses", "zoneinfo", "glob", "email.parser", "encodings.cp437"),
    *("encodings.unicode_escape", "encodings.utf_32_le", "multiprocessing.resource_tracker"),
)


@dataclass(frozen=True, slots=True)
class Figure:
    """What a part found, in one line, and how long it took."""

    text: str
    is_good: bool
    seconds: float | None = None  # None: as long as the part ran


class Cases:
    """Outcomes by case, a line each in a file of .stress/."""

    def __init__(self, part, settings=""):
        digest = hashlib.sha256(settings.encode()).hexdigest()[:8]
        self.path, self.seconds = STATE / f"{part}-{digest}.jsonl", 0.0
        self.mine, self.of = map(int, os.environ.get("LTR_STRESS_SHARE", "0/1").split("/"))
        lines = []
        if os.environ.get("LTR_STRESS_RESUME") and self.path.exists():
            whole = (line for line in self.path.read_text().splitlines(keepends=True) if line.endswith("\n"))
            lines = [json.loads(line) for line in whole]
        if lines[:1] != [{"settings": settings}]:
            STATE.mkdir(exist_ok=True)
            self.path.write_text(json.dumps({"settings": settings}) + "\n")
            lines = []
        self.entries = {json.dumps(entry["case"]): entry for entry in lines[1:]}

    def outcomes(self, cases, work):
        """Yield each case (a tuple of plain values) with what work(*case) returned, plain values too."""
        for place, case in enumerate(cases):
            key = json.dumps(case)
            if key not in self.entries:
                if place % self.of != self.mine:
                    continue
                begin = time.monotonic()
                outcome = work(*case)
                line = json.dumps({"case": case, "outcome": outcome, "seconds": time.monotonic() - begin})
                with self.path.open("a") as file:
                    file.write(line + "\n")
                self.entries[key] = json.loads(line)
            self.seconds += self.entries[key]["seconds"]
            yield case, self.entries[key]["outcome"]

    def attacked(self, name, cases, work, shown=5):
        """Print a line of an attack; return how many were tried, and what went wrong.

        `work` returns the problems of a case, or how many it tried and their problems. A case that could try nothing is
        the last.
        """
        tried, problems = 0, []
        for case, outcome in self.outcomes(((name, *each) for each in cases), lambda _, *each: work(*each)):
            number, found = outcome if len(outcome) == 2 and isinstance(outcome[0], int) else (1, outcome)
            tried += number
            problems += [f"{' '.join(map(str, case[1:]))}: {problem}" for problem in found]
            if not number:
                break
        print(f"{name:36} {tried:7,} tried, {len(problems)} wrong", *problems[:shown], sep="\n    ", flush=True)
        return tried, len(problems)

    def all_attacked(self, attacks):
        """Return how many cases of attacks, each a name with its cases and its work, were tried, and went wrong."""
        counts = [self.attacked(name, *attack) for name, attack in attacks.items()]
        return sum(tried for tried, _ in counts), sum(wrong for _, wrong in counts)


@contextlib.contextmanager
def scratch(*, is_loaded=True):
    """Work in a temporary directory with a cache of vectors of its own; `ltr` is loaded for forks."""
    if is_loaded:
        preload()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        os.environ["LTR_CACHE_DIR"] = str(Path(folder, "cache"))
        yield Path(folder)


def preload():
    """Load whatever a command may load, with the settings that the command line makes before."""
    for library in ("OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
        os.environ.setdefault(library, "1")
    import ltr

    for name in (*(module.name for module in pkgutil.walk_packages(ltr.__path__, "ltr.")), *FOUND_LATE):
        with contextlib.suppress(ImportError):  # of an extra that is not installed
            importlib.import_module(name)


def call(words, *, is_shown=False):
    """Return the exit code of a command of ltr in this process, which must end afterwards."""
    from ltr.__main__ import main

    sys.argv = ["ltr", *map(str, words)]
    with contextlib.ExitStack() as stack:
        if not is_shown:
            nowhere = stack.enter_context(Path(os.devnull).open("w"))
            stack.enter_context(contextlib.redirect_stdout(nowhere))
            stack.enter_context(contextlib.redirect_stderr(nowhere))
        try:
            main()
        except SystemExit as done:
            return done.code if isinstance(done.code, int) else 1
    return 0


def fork(work):
    """Return the number of a process that does the work and ends with the code that it returns, 1 where it raises."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        code = work() or 0
    finally:
        os._exit(code)


def finished(child):
    """Wait for a process and return its exit code, negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def command(words):
    """Start a command of ltr in a fork and return its number."""
    return fork(lambda: call(words.split() if isinstance(words, str) else words))


def must(*lines):
    """Run commands that prepare something, and end where one fails."""
    for line in lines:
        if code := finished(command(line)):
            raise RuntimeError(f"ltr {line} ends with {code} though nothing attacks it: run it by hand")


def files_without_times(home):
    """Return the bytes of every file under the directory by its path, but of those that hold times."""
    files = (path for path in sorted(Path(home).rglob("*")) if path.is_file() and path.name not in WITH_TIMES)
    return {str(path.relative_to(home)): path.read_bytes() for path in files}


def clean(path):
    """Remove the file or directory, if it is there; a worker of a killed batch may still write for a moment."""
    for _ in range(50):
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
        if not path.exists():
            return
        time.sleep(0.1)
