"""Interrupt compiled trainings and batches at random moments: the exit code says so, and no process is left.

Half of the signals go to `ltr train` inside compiled epochs (with the extra `fast`), half to `ltr run --jobs 2`;
half are SIGINT, half SIGTERM. Ends with 1 when a command takes more than 2 seconds to end, ends with another code than
130 or 143, prints a traceback, or leaves a process.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from stresses.cases import Cases, Figure
from stresses.kills import write_samples
from subcommands import ROOT, at_least

SECONDS = 2.0
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
    cases, good = Cases("signals", ""), 0
    with tempfile.TemporaryDirectory() as folder:
        write_samples(Path(folder) / "samples.jsonl")
        Path(folder, "long.yaml").write_text(CONFIG)
        warm_up(folder)

        def sent(index):
            name, code = list(COMMANDS)[index % 2], signal.SIGTERM if index // 2 % 2 else signal.SIGINT
            moment = random.Random(index).uniform(1.0, 6.0)
            problems = problems_of(name, Path(folder) / f"{index}", code, moment)
            return [f"{name} {code.name} after {moment:.2f} s: {problem}" for problem in problems]

        for _, problems in cases.outcomes([(index,) for index in range(number)], sent):
            good += not problems
            print(*problems, sep="\n", end="\n" if problems else "", flush=True)
    text = f"{good} of {number} signals: 130 or 143 within {SECONDS:g} s, nothing printed, no process left"
    return Figure(text, is_good=good == number, seconds=cases.seconds)


def warm_up(folder):
    """Compile, where numba is installed: the cache serves what follows."""
    words = ("train", "samples.jsonl", "--epochs", "200", "-o", "warm-up", "-q")
    command = [sys.executable, "-m", "ltr", *words]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run(command, cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=False, **quiet)


def problems_of(name, out, number, moment):
    """What the command does wrong when the signal reaches it."""
    command = [sys.executable, "-m", "ltr", *COMMANDS[name], "-o", str(out), "-q"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, cwd=out.parent, env=environment, start_new_session=True, **pipes)
    time.sleep(moment)
    process.send_signal(number)
    begin = time.monotonic()
    try:
        _, message = process.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        _, message = process.communicate()
    seconds, text = time.monotonic() - begin, message.decode(errors="replace").strip()
    problems = [] if process.returncode == CODES[number] else [f"exit code {process.returncode}"]
    problems += [f"took {seconds:.1f} s"] if seconds > SECONDS else []
    problems += [f"printed {text[-300:]!r}"] if text else []
    return problems + (["left a process"] if is_left(process.pid) else [])


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
