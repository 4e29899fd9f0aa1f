"""Interrupt compiled trainings and batches at random moments: the exit code says so, and no process is left.

Half of the signals go to `ltr train` inside compiled epochs (with the extra `fast`), half to `ltr run --jobs 2`;
half are SIGINT, half SIGTERM, after so many seconds of processors, whatever else runs. Ends with 1 when
a command takes more than 2 seconds to end, and more than 1 of processors (beside other work the wall says little), ends
with another code than 130 or 143, prints anything, or leaves a process.
"""

import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from stresses.cases import Cases, Figure
from stresses.kills import write_samples
from subcommands import ROOT, at_least

SECONDS, CPU_SECONDS = 2.0, 1.0
EARLIEST = 0.15  # seconds of processors: what Python loads before ltr, no command can guard
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}
CONFIG = """
name: long
data: {train: samples.jsonl}
train: {epochs: 10000000, learning_rate: 0.00001}
sweep: {train.l2: [0.1, 0.01, 0.001]}
"""
COMMANDS = {
    "train": ("train", "samples.jsonl", "--epochs", "10000000", "--set", "train.learning_rate=0.00001"),
    "run --jobs 2": ("run", "long.yaml", "--jobs", "2"),
}


def options(parser):
    """Options of the command line."""
    parser.add_argument("number", nargs="?", type=at_least(1), default=40, help="of signals (default: %(default)s)")


def main(*, number):
    """A line a signal that did not end as it should."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job inherits that it is ignored
    cases, good, quick, farthest = Cases("signals", ""), 0, 0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        write_samples(Path(folder) / "samples.jsonl")
        Path(folder, "long.yaml").write_text(CONFIG)
        warm_up(folder)

        def sent(index):
            name, code = list(COMMANDS)[index % 2], signal.SIGTERM if index // 2 % 2 else signal.SIGINT
            moment = random.Random(index).uniform(EARLIEST, 2.5)
            problems, seconds, cpu = ended(name, Path(folder) / f"{index}", code, moment)
            return [f"{name} {code.name} after {moment:.2f} s: {problem}" for problem in problems], seconds, cpu

        for _, (problems, seconds, cpu) in cases.outcomes([(index,) for index in range(number)], sent):
            good, quick, farthest = good + (not problems), quick + (seconds <= SECONDS), max(farthest, cpu)
            print(*problems, sep="\n", end="\n" if problems else "", flush=True)
    text = f"{good} of {number} signals: 130 or 143, nothing printed, no process left, within {farthest:.1f} s of "
    text += f"processors; {quick} within {SECONDS:g} s on the wall"
    return Figure(text, is_good=good == number, seconds=cases.seconds)


def warm_up(folder):
    """Compile, where numba is installed: the cache serves what follows."""
    words = ("train", "samples.jsonl", "--epochs", "200", "-o", "warm-up", "-q")
    command = [sys.executable, "-m", "ltr", *words]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run(command, cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=False, **quiet)


def ended(name, out, number, moment):
    """What the command does wrong at the signal; the seconds that it takes to end, on the wall and of processors."""
    command = [sys.executable, "-m", "ltr", *COMMANDS[name], "-o", str(out), "-q"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    pipes, before = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}, cpu_of_children()
    process = subprocess.Popen(command, cwd=out.parent, env=environment, start_new_session=True, **pipes)
    while (until_then := cpu_of_group(process.pid)) < moment:
        time.sleep(0.02)
    process.send_signal(number)
    begin = time.monotonic()
    try:
        _, message = process.communicate(timeout=600)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        _, message = process.communicate()
    seconds, cpu = time.monotonic() - begin, max(0.0, cpu_of_children() - before - until_then)
    text = message.decode(errors="replace").strip()
    problems = [] if process.returncode == CODES[number] else [f"exit code {process.returncode}"]
    problems += [f"took {seconds:.1f} s, {cpu:.1f} of processors"] if seconds > SECONDS and cpu > CPU_SECONDS else []
    problems += [f"printed {text[-300:]!r}"] if text else []
    return problems + (["left a process"] if is_left(process.pid) else []), seconds, cpu


def cpu_of_children():
    """Seconds of processors of all processes that this one has waited for, and of those that they waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def cpu_of_group(group):
    """Seconds of processors that the processes of the group have used."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        ticks += sum(map(int, fields[11:15])) if int(fields[2]) == group else 0
    return ticks / os.sysconf("SC_CLK_TCK")


def is_left(group):
    """Whether a process of the group is left a second later; then it is killed. Zombies have ended."""
    deadline = time.monotonic() + 1
    while True:
        listed = subprocess.run(["ps", "-A", "-o", "pgid=,stat="], capture_output=True, text=True, check=True).stdout
        if not any(words[0] == str(group) and words[1][0] != "Z" for words in map(str.split, listed.splitlines())):
            return False
        if time.monotonic() > deadline:
            os.killpg(group, signal.SIGKILL)
            return True
        time.sleep(0.05)
