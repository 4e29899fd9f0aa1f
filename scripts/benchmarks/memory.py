"""Time and peak memory of training on ten million candidates, 4 features.

Each trainer runs in a process of its own; memory is what it adds to the columns (phi, labels, offsets), as a share.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.resources import in_own_process
from ltr import TrainConfig, fit
from subcommands import at_least

EPOCHS = 10
CONFIGS = {"newton": TrainConfig(trainer="newton"), "descent": TrainConfig(epochs=EPOCHS)}


def options(parser):
    """Options of the command line."""
    text = "of ten candidates each (default: %(default)s)"
    parser.add_argument("groups", nargs="?", type=at_least(1), default=1_000_000, help=text)
    parser.add_argument("--trainer", choices=tuple(CONFIGS), help=argparse.SUPPRESS)


def main(*, groups, trainer):
    """One line a trainer."""
    if trainer:
        print(measured(trainer, groups))
        return 0
    for name in CONFIGS:
        process = in_own_process("memory", "--trainer", name, groups)
        if process.returncode:
            sys.exit(process.stderr)
        print(process.stdout, end="", flush=True)
    return 0


def measured(name, groups):
    """The line of one trainer."""
    few = draws(120_000)
    fit(*few, CONFIGS[name])  # what is loaded and compiled once is not a matter of the data
    del few
    data = draws(groups)
    held, own = resident_mb("VmRSS"), sum(array.nbytes for array in data) / 2**20
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    start = time.process_time()
    model = fit(*data, CONFIGS[name])
    seconds, peak = time.process_time() - start, resident_mb("VmHWM")
    work = f"{EPOCHS} epochs" if name == "descent" else str(model.training.optimum)
    return f"{name}, {work}: {seconds:.2f} s CPU; columns {own:.0f} MB, peak {1 + (peak - held) / own:.2f} times them"


def draws(groups):
    """Draws of ten, made some thousand groups at a time so that the making leaves no peak."""
    rng, offsets = np.random.default_rng(0), np.arange(0, groups * 10 + 1, 10)
    phi, labels = np.empty((groups * 10, 4)), np.zeros(groups * 10)
    for first in range(0, groups, 10_000):
        rows = slice(first * 10, min(first + 10_000, groups) * 10)
        phi[rows] = rng.normal(size=(rows.stop - rows.start, 4))
        utility = (phi[rows] @ [1.0, -0.5, 0.3, 0.0] + rng.gumbel(size=rows.stop - rows.start)).reshape(-1, 10)
        labels[rows].reshape(-1, 10)[np.arange(len(utility)), utility.argmax(axis=1)] = 1
    return phi, labels, offsets


def resident_mb(key):
    """MB of this process: VmRSS for what it holds, VmHWM for the most it ever held."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(key))
    return int(line.split()[1]) / 1024
