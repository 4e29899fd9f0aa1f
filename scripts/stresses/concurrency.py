"""Processes at once: on one cold cache, in one directory of runs, in one run, and reports while a run is replaced.

Sixteen processes encode the same texts with a cold cache, round by round; two batches write the same runs; two
trainings the same run; one process reports on a run that another replaces. (Appends to a journal: scripts/stress
journal.) Ends with 1 when anything fails that should not, or a result is not that of one process alone.
"""

import contextlib
import os
import tempfile
import time
from pathlib import Path

import numpy as np

from ltr.encoders.cached_encoder import CachedEncoder
from ltr.encoders.dense_vectors import Dense
from ltr.encoders.vector_cache import FILE, VectorCache
from stresses.cases import Cases, Figure
from stresses.forked import preload
from stresses.killing import files_without_times
from stresses.kills import clean, finished, fork
from subcommands import at_least
from tests.made import tool_rows, written

PROCESSES = 16
TEXTS = [f"text {number}" for number in range(200)]


class Slow:
    """A vector of each text that follows from its letters, kept in the cache."""

    name, revision, state = "slow", "1", {}

    def identity(self, role):
        """What decides a vector."""
        return ("slow", "1")

    def encode(self, texts, role):
        """A row for each text."""
        return Dense(np.array([[hash_of(text), len(text), 1.0] for text in texts])).unit()


def hash_of(text):
    """A number of the text, the same in each process."""
    return float(sum(ord(letter) * (place + 1) for place, letter in enumerate(text)))


def options(parser):
    """Options of the command line."""
    parser.add_argument("--rounds", type=at_least(1), default=50, help="on a cold cache (default: %(default)s)")
    parser.add_argument("--pairs", type=at_least(1), default=10, help="of batches, trainings (default: %(default)s)")


def main(*, rounds, pairs):
    """A line a kind."""
    preload()
    cases, wrong, texts = Cases("concurrency", ""), 0, []
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        os.environ["LTR_CACHE_DIR"] = str(Path(folder, "cache"))
        written("s.jsonl", tool_rows(range(20)))
        Path("c.yaml").write_text(
            "name: one\nencoder: hash\ndata: {train: s.jsonl}\n"
            "train: {epochs: 20}\nsweep: {train.l2: [0.1, 0.2, 0.3]}\n"
        )
        for check, number in (on_one_cache, rounds), (two_batches, pairs), (two_trainings, pairs), (reports, pairs):
            each = [(check.__name__, place) for place in range(number)]
            problems = [
                problem for _, found in cases.outcomes(each, lambda _, n, check=check: check(n)) for problem in found
            ]
            wrong += len(problems)
            texts.append(f"{check.__doc__.partition(':')[0]} {number}")
            print(f"{texts[-1]}: {len(problems)} wrong", *sorted(set(problems))[:5], sep="\n    ", flush=True)
    return Figure(f"{', '.join(texts)}: {wrong} wrong", is_good=not wrong, seconds=cases.seconds)


def on_one_cache(number):
    """Rounds of 16 processes on a cold cache: what went wrong in one."""
    home = Path(f"cold-{number}")
    expected = Slow().encode(TEXTS, "query").numbers

    def encode(place):
        child = os.fork()
        if child:
            return child
        code = 1
        try:
            encoder = CachedEncoder(Slow.name, Slow.revision, {}, Slow, VectorCache(home))
            order = np.random.default_rng(place).permutation(len(TEXTS))
            found = encoder.encode([TEXTS[at] for at in order], "query").numbers
            code = 0 if np.allclose(found, expected[order], atol=1e-7) else 3
            if place == 7 and number % 5 == 0:
                (home / FILE).unlink(missing_ok=True)  # somebody clears the cache meanwhile
        finally:
            os._exit(code)

    ends = [finished(child) for child in [encode(place) for place in range(PROCESSES)]]
    clean(home)
    return [f"a process ended with {end}" for end in ends if end]


def two_batches(number):
    """Pairs of batches into one directory: what went wrong; the second may be refused as long as the first writes."""
    del number
    if not Path("alone").exists():
        finished(fork(["run", "c.yaml", "-o", "alone/runs"]))
    clean(Path("both"))
    ends = sorted(finished(child) for child in [fork(["run", "c.yaml", "-o", "both/runs", "--resume"]) for _ in "ab"])
    if ends not in ([0, 0], [0, 1]):
        return [f"they ended with {ends}"]
    is_same = leaderless(files_without_times(Path("both/runs"))) == leaderless(files_without_times(Path("alone/runs")))
    return [] if is_same else ["the runs are not those of one batch"]


def leaderless(files):
    """The files, without hidden ones."""
    return {name: content for name, content in files.items() if not Path(name).name.startswith(".")}


def two_trainings(number):
    """Pairs of trainings into one run: what went wrong; the second is refused by name."""
    del number
    words = ["train", "s.jsonl", "-o", "both-run/run", "--encoder", "hash"]
    if not Path("alone-run").exists():
        finished(fork([*words[:3], "alone-run/run", *words[4:]]))
    clean(Path("both-run"))
    ends = sorted(finished(child) for child in [fork(words) for _ in "ab"])
    found, expected = (files_without_times(Path(home)) for home in ("both-run/run", "alone-run/run"))
    problems = [] if ends == [0, 1] else [f"they ended with {ends}"]
    return problems + ([] if found == expected else ["the run is not that of one training"])


def reports(number):
    """Reports while the run is replaced: what went wrong with some."""
    if not Path("replaced").exists():
        finished(fork(["train", "s.jsonl", "-o", "replaced", "--encoder", "hash"]))
    child = fork(["train", "s.jsonl", "-o", "replaced", "--encoder", "hash", "--overwrite", "--epochs", "30"])
    problems, until = [], time.monotonic() + 20
    while time.monotonic() < until and not os.waitpid(child, os.WNOHANG)[0]:
        if code := finished(fork(["report", "replaced", "-o", f"page-{number}.html", "--overwrite"])):
            problems.append(f"a report ended with {code}")
    return problems
