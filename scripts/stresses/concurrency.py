"""Processes at once: on one cold cache, in one directory of runs, in one run, and reports while a run is replaced.

Sixteen processes encode the same texts with a cold cache, round by round; two batches write the same runs; two
trainings the same run; one process reports on a run that another replaces. (Appends to a journal: scripts/stress
journal.) Ends with 1 when anything fails that should not, or a result is not that of one process alone.
"""

import os
import time
from pathlib import Path

import numpy as np

from ltr.encoders import CachedEncoder, Dense, VectorCache
from ltr.encoders.disk import FILE
from stresses.attacks import Cases, Figure, clean, command, files_without_times, finished, fork, must, scratch
from subcommands import at_least
from tests.made import tool_rows, written

PROCESSES = 16
TEXTS = [f"text {number}" for number in range(200)]
TRAIN = "train s.jsonl --encoder hash -o"


class Slow:
    """A vector of each text that follows from its letters, kept in the cache."""

    name, revision, state = "slow", "1", {}

    def identity(self, role):
        """Return what decides a vector."""
        return ("slow", "1")

    def encode(self, texts, role):
        """Return a row for each text."""
        sums = [float(sum(ord(letter) * (place + 1) for place, letter in enumerate(text))) for text in texts]
        return Dense(np.array([[number, len(text), 1.0] for number, text in zip(sums, texts, strict=True)])).unit()


def options(parser):
    """Options of the command line."""
    parser.add_argument("--rounds", type=at_least(1), default=50, help="on a cold cache (default: %(default)s)")
    parser.add_argument("--pairs", type=at_least(1), default=10, help="of batches, trainings (default: %(default)s)")


def main(*, rounds, pairs):
    """A line a kind."""
    cases = Cases("concurrency")
    some = [(place,) for place in range(pairs)]
    attacks = {
        "Rounds of 16 processes on a cold cache": ([(place,) for place in range(rounds)], on_one_cache),
        "Pairs of batches into one directory": (some, two_batches),
        "Pairs of trainings into one run": (some, two_trainings),
        "Reports while the run is replaced": (some, reports),
    }
    with scratch():
        written("s.jsonl", tool_rows(range(20)))
        Path("c.yaml").write_text(
            "name: one\nencoder: hash\ndata: {train: s.jsonl}\n"
            "train: {epochs: 20}\nsweep: {train.l2: [0.1, 0.2, 0.3]}\n"
        )
        must("run c.yaml -o alone/runs", f"{TRAIN} alone-run/run", f"{TRAIN} replaced")
        _, wrong = cases.all_attacked(attacks)
    counted = ", ".join(f"{name} {len(each)}" for name, (each, _) in attacks.items())
    return Figure(f"{counted}: {wrong} wrong", is_good=not wrong, seconds=cases.seconds)


def on_one_cache(number):
    """Return what goes wrong where 16 processes share a cold cache, which somebody clears in every fifth round."""
    home = Path(f"cold-{number}")
    expected = Slow().encode(TEXTS, "query").numbers

    def encode(place):
        encoder = CachedEncoder(Slow.name, Slow.revision, {}, Slow, VectorCache(home))
        order = np.random.default_rng(place).permutation(len(TEXTS))
        found = encoder.encode([TEXTS[at] for at in order], "query").numbers
        if place == 7 and number % 5 == 0:
            (home / FILE).unlink(missing_ok=True)
        return 0 if np.allclose(found, expected[order], atol=1e-7) else 3

    children = [fork(lambda place=place: encode(place)) for place in range(PROCESSES)]
    ends = list(map(finished, children))
    clean(home)
    return [f"a process ended with {end}" for end in ends if end]


def two_batches(_):
    """Return what goes wrong; the second batch may be refused as long as the first writes."""
    clean(Path("both"))
    ends = sorted(map(finished, [command("run c.yaml -o both/runs --resume") for _ in "ab"]))
    if ends not in ([0, 0], [0, 1]):
        return [f"they ended with {ends}"]
    both, alone = (
        {name: content for name, content in files_without_times(home).items() if not Path(name).name.startswith(".")}
        for home in ("both/runs", "alone/runs")
    )
    return [] if both == alone else ["the runs are not those of one batch"]


def two_trainings(_):
    """Return what goes wrong; the second training is refused by name."""
    clean(Path("both-run"))
    ends = sorted(map(finished, [command(f"{TRAIN} both-run/run") for _ in "ab"]))
    is_same = files_without_times("both-run/run") == files_without_times("alone-run/run")
    problems = [] if ends == [0, 1] else [f"they ended with {ends}"]
    return problems + ([] if is_same else ["the run is not that of one training"])


def reports(number):
    """Return what goes wrong with reports on a run that is being replaced."""
    child = command(f"{TRAIN} replaced --overwrite --epochs 30")
    problems, until = [], time.monotonic() + 20
    while time.monotonic() < until and not os.waitpid(child, os.WNOHANG)[0]:
        if code := finished(command(f"report replaced -o page-{number}.html --overwrite")):
            problems.append(f"a report ended with {code}")
    return problems
