"""Kill trainings at random moments, resume each, and compare every byte with a run that was not killed.

Ends with 1 when any byte differs.
"""

import random
import signal
import tempfile
import time
from pathlib import Path

import numpy as np

from stresses.killing import files_without_times, kill_after, start
from subcommands import at_least

GROUPS, SIZE, EPOCHS = 1500, 12, 400  # seconds without numba: most kills find a checkpoint


def options(parser):
    """Options of the command line."""
    parser.add_argument("number", nargs="?", type=at_least(1), default=20, help="of kills (default: %(default)s)")


def main(*, number):
    """A line a kill."""
    with tempfile.TemporaryDirectory() as folder:
        samples = Path(folder) / "samples.jsonl"
        write_samples(samples)
        begin = time.monotonic()
        whole = Path(folder) / "whole" / "run"
        if train(whole, samples).wait():
            return "a training that is not killed fails: run ltr train by hand"
        seconds, expected, failures = time.monotonic() - begin, files_without_times(whole), 0
        print(f"a whole run takes {seconds:.1f} s: {len(expected)} files without times")
        generator = random.Random(0)
        for kill in range(number):
            home = Path(folder) / f"killed-{kill}" / "run"  # as deep, and of that name: both stand in its config
            moment = generator.uniform(0.1, 1.0) * seconds
            code = kill_after(moment, train(home, samples))
            end = "killed" if code == -signal.SIGKILL else f"had ended with {code}"
            checkpoint = f"checkpoint {'there' if (home / 'checkpoints').exists() else 'not there'}"
            resumed = train(home, samples, "--resume")
            is_same = resumed.wait() == 0 and files_without_times(home) == expected
            failures += not is_same
            result = "same bytes" if is_same else "OTHER"
            print(f"kill {kill + 1:2} after {moment:5.2f} s: {end}, {checkpoint}, then {result}", flush=True)
    print(f"{number - failures} of {number} ended in the same bytes")
    return int(failures > 0)


def train(home, samples, *flags):
    """The training as a process."""
    settings = ["--epochs", EPOCHS, "--set", "train.learning_rate=0.001"]
    return start("train", samples, "-o", home, *settings, *flags)


def write_samples(path):
    """Groups of ready numbers, one right candidate each."""
    rng = np.random.default_rng(0)
    with path.open("w") as file:
        for group in range(GROUPS):
            right = rng.integers(SIZE)
            for position, x in enumerate(rng.normal(size=(SIZE, 4)).tolist()):
                ids = f'"trace_id": "t{group // 3}", "node_id": "n{group % 3}"'
                names = f'"query": "q{group}", "tool": "a{position}"'
                file.write(f'{{{ids}, {names}, "features": {x}, "label": {int(position == right)}}}\n')
