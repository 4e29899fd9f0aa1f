"""Every writing command on a disk that is really full, and as a user who may not write where it should.

A small tmpfs in a mount namespace of its own (unshare), filled but for a few KiB; then a directory without the right to
write, as user 65534 where this is root. A command ends with 74, or in its whole result; what was there stays, and
nothing else is left. stdout on /dev/full ends with 74 and one line. Ends with 1 when any was wrong.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from stresses.cases import Cases, Figure
from stresses.faults import COMMANDS, Trial, prepare
from stresses.forked import call, preload
from subcommands import ROOT
from tests.faults import contents, in_fork

INSIDE = "LTR_STRESS_MOUNTED"  # set in the process that has the small disk
FREE = (0, 4, 16, 64, 256)  # KiB
SIZE = "8m"
NOBODY = 65534
PRINTING = (
    ("list", "metrics"),
    ("rank", "model", "weather"),
    ("evaluate", "model", "s.jsonl"),
    ("validate", "s.jsonl"),
    ("compare", "model", "model"),
    ("config", "schema"),
    ("env",),
    ("train", "s.jsonl", "-o", "x", "--encoder", "hash", "--overwrite"),
    ("--help",),
)


def options(parser):
    """There are none."""


def main():
    """A line a kind of trouble."""
    if not os.environ.get(INSIDE):
        command = ["unshare", "-rm" if os.getuid() else "-m", sys.executable, *sys.argv]
        return subprocess.run(command, env=os.environ | {INSIDE: "1"}, check=False).returncode
    preload()
    cases, tried, wrong = Cases("disk", ""), 0, 0
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path(folder).chmod(0o755)
        os.environ["LTR_CACHE_DIR"] = str(Path(folder, "cache"))
        for inputs, traces in ("old", range(8, 16)), ("new", range(8)):
            prepare(inputs, traces)
        for check, names in ((full, COMMANDS), (read_only, COMMANDS), (full_stdout, range(len(PRINTING)))):
            each = [(check.__name__, name) for name in names]
            problems, number = [], 0
            for case, (count, found) in cases.outcomes(each, lambda _, name, check=check: check(name)):
                number += count
                problems += [f"{case[1]}: {problem}" for problem in found]
            tried, wrong = tried + number, wrong + len(problems)
            print(f"{check.__doc__.partition(':')[0]}: {number} tried, {len(problems)} wrong", flush=True)
            print(*(f"    {problem}" for problem in problems[:8]), sep="\n", end="\n" if problems else "")
    return Figure(f"{tried} commands that could not write, {wrong} wrong", is_good=not wrong, seconds=cases.seconds)


def full(name):
    """A full disk: how many were tried, and what was wrong."""
    disk, problems = Path("disk"), []
    disk.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(disk)], check=True)
    try:
        outputs, words = COMMANDS[name]
        for is_again in False, True:
            trial = Trial(outputs, tuple(words.split()), is_again, home=disk / "here")
            for free in FREE:
                trial.fresh("new", trial.earlier)
                fill(disk / "filler", free)
                end = in_fork(lambda trial=trial: trial.run(trial.words))
                (disk / "filler").unlink()
                problems += [f"{free} KiB free: {problem}" for problem in trial.after_error(end)]
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    return 2 * len(FREE), problems


def fill(path, free):
    """A file that leaves so many KiB."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
    with contextlib.suppress(OSError):
        while True:
            os.write(descriptor, b"x" * 4096)
    os.ftruncate(descriptor, max(0, os.fstat(descriptor).st_size - free * 1024))
    os.close(descriptor)


def read_only(name):
    """A directory without the right to write: how many were tried, and what was wrong."""
    outputs, words = COMMANDS[name]
    problems = []
    for is_again in False, True:
        trial = Trial(outputs, tuple(words.split()), is_again)
        trial.fresh("new", trial.earlier)
        before = contents(trial.home)
        for path in [trial.home, *trial.home.rglob("*")]:
            path.chmod(0o555 if path.is_dir() else 0o444)
        end = in_fork(lambda trial=trial: as_nobody(trial))
        problems += [f"exit {end}"] if end not in (74, 2) else []
        problems += ["something changed"] if contents(trial.home) != before else []
        for path in [trial.home, *trial.home.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)
    return 2, problems


def as_nobody(trial):
    """The exit code of the command for a user who owns nothing."""
    os.environ["LTR_CACHE_DIR"] = tempfile.mkdtemp()
    os.chdir(trial.home)
    if os.getuid() == 0:
        os.chown(os.environ["LTR_CACHE_DIR"], NOBODY, NOBODY)
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    return call(trial.words)


def full_stdout(place):
    """A full stdout: how many were tried, and what was wrong."""
    words = PRINTING[place]
    shutil.rmtree("x", ignore_errors=True)
    command = [sys.executable, "-m", "ltr", *words]
    with Path("/dev/full").open("w") as full_device:
        pipes = {"stdout": full_device, "stderr": subprocess.PIPE, "text": True}
        done = subprocess.run(command, cwd="new", env=os.environ | {"PYTHONPATH": str(ROOT)}, check=False, **pipes)
    lines = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    is_good = done.returncode == 74 and len(lines) == 1 and "Traceback" not in done.stderr
    return 1, [] if is_good else [f"{' '.join(words)}: exit {done.returncode}: {done.stderr[-300:]!r}"]
