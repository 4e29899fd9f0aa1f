"""CPU of starting: bare python, ltr --help, ltr train --help, and a training on 1,100 lines.

Each is a process of its own; rounds are interleaved and the ratios to bare python are taken inside a round.
"""

import statistics
import sys
import tempfile
from pathlib import Path

import msgspec  # noqa: F401 - the commands need what the project installs
import typer  # noqa: F401

from benchmarks.reading import write_samples
from processes import LTR, spent
from subcommands import at_least


def options(parser):
    """Options of the command line."""
    parser.add_argument("rounds", nargs="?", type=at_least(1), default=11, help="(default: %(default)s)")


def main(*, rounds):
    """Median seconds of each command, and the median ratio to bare python."""
    with tempfile.TemporaryDirectory() as home:
        write_samples(Path(home, "s.jsonl"), 1_100)
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "ltr --help": [*LTR, "--help"],
            "ltr train --help": [*LTR, "train", "--help"],
            "ltr train, 1,100 lines": [*LTR, "train", "s.jsonl", "-o", "run", "--overwrite", "-q"],
        }
        used = [{name: spent(*words, cwd=home) for name, words in commands.items()} for _ in range(rounds)]
    for name in commands:
        if any(taken[name].code for taken in used):
            sys.exit(f"{name}: {used[0][name].stderr}")
        seconds = statistics.median(taken[name].cpu for taken in used)
        ratio = statistics.median(taken[name].cpu / taken["python -c pass"].cpu for taken in used)
        print(f"{name:24} {1000 * seconds:7.1f} ms CPU  {ratio:5.1f} x bare python")
