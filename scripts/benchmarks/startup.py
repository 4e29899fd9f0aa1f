"""CPU of starting: bare python, ltr --help, ltr train --help, and a training on 1,100 lines.

Each is a process of its own; rounds are interleaved and the ratios to bare python are taken inside a round.
"""

import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec  # noqa: F401 - the commands need what the project installs
import typer  # noqa: F401

from subcommands import ROOT, at_least

GROUPS, CANDIDATES, FEATURES = 110, 10, 4


def options(parser):
    """Options of the command line."""
    parser.add_argument("rounds", nargs="?", type=at_least(1), default=11, help="(default: %(default)s)")


def main(*, rounds):
    """Median seconds of each command, and the median ratio to bare python."""
    with tempfile.TemporaryDirectory() as home:
        write_samples(Path(home, "s.jsonl"))
        ltr = [sys.executable, "-m", "ltr"]
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "ltr --help": [*ltr, "--help"],
            "ltr train --help": [*ltr, "train", "--help"],
            "ltr train, 1,100 lines": [*ltr, "train", f"{home}/s.jsonl", "-o", f"{home}/run", "--overwrite", "-q"],
        }
        seconds: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(rounds):
            for name, command in commands.items():
                seconds[name].append(cpu_seconds_of_process(command))
    bare = seconds["python -c pass"]
    for name, taken in seconds.items():
        ratio = statistics.median(own / base for own, base in zip(taken, bare, strict=True))
        print(f"{name:24} {1000 * statistics.median(taken):7.1f} ms CPU  {ratio:5.1f} x bare python")
    return 0


def write_samples(path: Path) -> None:
    """1,100 lines; the first feature is higher for the right candidate more often than not."""
    generator = random.Random(0)
    with path.open("w") as file:
        for group in range(GROUPS):
            right = generator.randrange(CANDIDATES)
            for position in range(CANDIDATES):
                features = [generator.random() for _ in range(FEATURES)]
                features[0] += 0.5 * (position == right)
                row = {"trace_id": group, "node_id": 0, "query": f"query {group}", "tool": f"tool_{position}"}
                file.write(json.dumps(row | {"features": features, "label": int(position == right)}) + "\n")


def cpu_seconds_of_process(command: list[str]) -> float:
    """CPU time of a command, which must succeed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=os.environ | {"PYTHONPATH": str(ROOT)})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
