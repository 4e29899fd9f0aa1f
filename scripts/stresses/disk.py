"""Every writing command on a disk that is really full, and as a user who may not write where it should.

A small tmpfs in a mount namespace of its own (unshare), filled but for a few KiB; then a directory without the right to
write, as user 65534 where this is root. A command ends with 74, or in its whole result; what was there stays, and
nothing else is left. stdout on /dev/full ends with 74 and one line. Ends with 1 when any was wrong.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from processes import run
from stresses.attacks import Cases, Figure, call, scratch
from stresses.faults import COMMANDS, Trial, prepare_both
from tests.faults import contents, in_fork

INSIDE = "LTR_STRESS_MOUNTED"  # set in the process that has the small disk
FREE = (0, 4, 16, 64, 256)  # KiB
NOBODY = 65534
PRINTING = (
    *("list metrics", "rank model weather", "evaluate model s.jsonl", "validate s.jsonl", "compare model model"),
    *("config schema", "env", "train s.jsonl -o x --encoder hash --overwrite", "--help"),
)


def main():
    """A line a kind of trouble."""
    if not os.environ.get(INSIDE):
        command = ["unshare", "-rm" if os.getuid() else "-m", sys.executable, *sys.argv]
        return subprocess.run(command, env=os.environ | {INSIDE: "1"}, check=False).returncode
    cases, names = Cases("disk"), [(name,) for name in COMMANDS]
    with scratch() as folder:
        folder.chmod(0o755)
        prepare_both()
        attacks = {"a full disk": (names, full), "no right to write": (names, read_only)}
        attacks["a full stdout"] = [(words,) for words in PRINTING], full_stdout
        tried, wrong = cases.all_attacked(attacks)
    return Figure(f"{tried} commands that could not write, {wrong} wrong", is_good=not wrong, seconds=cases.seconds)


def full(name):
    """Return how many commands were tried on a full disk, and what was wrong."""
    disk, problems = Path("disk"), []
    disk.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(disk)], check=True)
    try:
        for is_again in False, True:
            trial = Trial(name, is_again=is_again, home=disk / "here")
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
    """Write a file that leaves so many KiB."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
    with contextlib.suppress(OSError):
        while True:
            os.write(descriptor, b"x" * 4096)
    os.ftruncate(descriptor, max(0, os.fstat(descriptor).st_size - free * 1024))
    os.close(descriptor)


def read_only(name):
    """Return how many commands were tried in a directory without the right to write, and what was wrong."""
    problems = []
    for is_again in False, True:
        trial = Trial(name, is_again=is_again)
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
    """Call the command for a user who owns nothing."""
    os.environ["LTR_CACHE_DIR"] = tempfile.mkdtemp()
    os.chdir(trial.home)
    if os.getuid() == 0:
        os.chown(os.environ["LTR_CACHE_DIR"], NOBODY, NOBODY)
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    return call(trial.words)


def full_stdout(words):
    """Return what is wrong with a command whose stdout is full."""
    with Path("/dev/full").open("w") as full_device:
        done = run(*words.split(), cwd="new", capture_output=False, stdout=full_device, stderr=subprocess.PIPE)
    lines = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    is_good = done.returncode == 74 and len(lines) == 1 and "Traceback" not in done.stderr
    return [] if is_good else [f"exit {done.returncode}: {done.stderr[-300:]!r}"]
