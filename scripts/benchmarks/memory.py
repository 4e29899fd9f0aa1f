"""Time and peak memory of training on ten million candidates, 4 features.

Each trainer runs in a process of its own; memory is what it adds to the columns (phi, labels, offsets), as a share.
"""

import argparse
from pathlib import Path

from benchmarks.training import draws
from ltr import TrainConfig, fit
from processes import cpu_seconds, in_own_process, memory_mb
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
    if trainer is None:
        for name in CONFIGS:
            print(in_own_process("memory", "--trainer", name, groups), end="", flush=True)
        return
    fit(*draws(120_000, (10, 10)), CONFIGS[trainer])  # what is loaded and compiled once is no matter of the data
    data = draws(groups, (10, 10))
    held, own = memory_mb("VmRSS"), sum(array.nbytes for array in data) / 2**20
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    seconds, model = cpu_seconds(lambda: fit(*data, CONFIGS[trainer]))
    share = 1 + (memory_mb("VmHWM") - held) / own
    work = f"{EPOCHS} epochs" if trainer == "descent" else str(model.training.optimum)
    print(f"{trainer}, {work}: {seconds:.2f} s CPU; columns {own:.0f} MB, peak {share:.2f} times them")
