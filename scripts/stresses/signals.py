"""Interrupt compiled trainings and batches at random moments: the exit code says so, and no process is left.

Half of the signals go to `ltr train` inside compiled epochs (with the extra `fast`), half to `ltr run --jobs 2`;
half are SIGINT, half SIGTERM, after so many seconds of processors, whatever else runs. Ends with 1 when
a command takes more than 2 seconds to end, and more than 1 of processors (beside other work the wall says little), ends
with another code than 130 or 143, prints anything, or leaves a process.
"""

import os
import random
import signal
import subprocess
import time
from pathlib import Path

from processes import cpu_of_children, run, start
from stresses.attacks import Cases, Figure, scratch
from stresses.kills import write_ready
from subcommands import at_least

SECONDS, CPU_SECONDS = 2.0, 1.0
EARLIEST = 0.15  # seconds of processors: what Python loads before ltr, no command can guard
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}
CONFIG = """
name: long
data: {train: samples.jsonl}
train: {epochs: 10000000, learning_rate: 0.00001}
sweep: {train.l2: [0.1, 0.01, 0.001]}
"""
COMMANDS = ("train samples.jsonl --epochs 10000000 --set train.learning_rate=0.00001 -q", "run long.yaml --jobs 2 -q")


def options(parser):
    """Options of the command line."""
    parser.add_argument("number", nargs="?", type=at_least(1), default=40, help="of signals (default: %(default)s)")


def main(*, number):
    """A line a signal that did not end as it should."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job inherits that it is ignored
    cases, good, quick, farthest = Cases("signals"), 0, 0, 0.0
    with scratch(is_loaded=False):
        write_ready("samples.jsonl")
        Path("long.yaml").write_text(CONFIG)
        run("train", "samples.jsonl", "--epochs", 200, "-o", "warm-up", "-q")  # where numba is installed, it compiles

        def sent(index):
            code, moment = list(CODES)[index // 2 % 2], random.Random(index).uniform(EARLIEST, 2.5)
            problems, seconds, cpu = ended([*COMMANDS[index % 2].split(), "-o", f"out-{index}"], code, moment)
            title = f"{COMMANDS[index % 2]}, {code.name} after {moment:.2f} s"
            return [f"{title}: {problem}" for problem in problems], seconds, cpu

        for _, (problems, seconds, cpu) in cases.outcomes([(index,) for index in range(number)], sent):
            good, quick, farthest = good + (not problems), quick + (seconds <= SECONDS), max(farthest, cpu)
            print(*problems, sep="\n", end="\n" if problems else "", flush=True)
    text = f"{good} of {number} signals: 130 or 143, nothing printed, no process left, within {farthest:.1f} s of "
    text += f"processors; {quick} within {SECONDS:g} s on the wall"
    return Figure(text, is_good=good == number, seconds=cases.seconds)


def ended(words, number, moment):
    """Return what the command does wrong at the signal; the seconds that it takes to end, and those of processors."""
    before = cpu_of_children()
    process = start(*words, stderr=subprocess.PIPE, start_new_session=True)
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


def cpu_of_group(group):
    """Return the seconds of processors that the processes of the group have used."""
    return sum(cpu for number, cpu, _ in processes() if number == group)


def processes():
    """Yield of each process its group, its seconds of processors, and its state."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        yield int(fields[2]), sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK"), fields[0]


def is_left(group):
    """Return whether a process of the group is left a second later; then it is killed. Zombies have ended."""
    deadline = time.monotonic() + 1
    while any(number == group and state != "Z" for number, _, state in processes()):
        if time.monotonic() > deadline:
            os.killpg(group, signal.SIGKILL)
            return True
        time.sleep(0.05)
    return False
