"""CPU of reading a TREC run, beside the parser of pytrec_eval and pandas.

Each reader runs in a process of its own, on runs sorted by topic and shuffled, with ids as in news collections. Ours
also counts lines, hashes the file and refuses documents that stand twice.
"""

import argparse
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.resources import cpu_seconds, in_own_process
from ltr.data.importers.trec_files import read_trec_run
from peers import Peer, missing
from subcommands import at_least

DEPTH = 1000
REPEATS = 5


def options(parser):
    """Options of the command line."""
    parser.add_argument("--lines", type=at_least(1), default=1_000_000, help="of the run (default: %(default)s)")
    parser.add_argument("--measure", nargs=2, metavar=("READER", "FILE"), help=argparse.SUPPRESS)


def main(*, lines, measure):
    """Seconds, and ratios to ours."""
    if measure:
        name, path = measure
        reader = next(peer for peer in READERS if peer.name == name)
        print(cpu_seconds(partial(reader.call, path), REPEATS)[0])
        return 0
    print(f"{lines:,} lines; least CPU seconds of {REPEATS} readings, and times ours")
    with tempfile.TemporaryDirectory() as folder:
        for shuffled in (False, True):
            path = Path(folder, "run")
            write_run(path, lines, shuffled=shuffled)
            seconds = {peer.name: seconds_of(peer, path) for peer in READERS}
            cells = [
                f"{name} not installed" if taken is None else f"{name} {taken:.3f} ({taken / seconds['ltr']:.1f})"
                for name, taken in seconds.items()
            ]
            print(f"{'shuffled' if shuffled else 'by topic':10}{'   '.join(cells)}")
    return 0


def seconds_of(peer, path):
    """CPU seconds in a fresh process, or None where the reader is not installed."""
    if missing([peer]):
        return None
    process = in_own_process("trec", "--measure", peer.name, path)
    if process.returncode:
        sys.exit(process.stderr)
    return float(process.stdout)


def ours(path):
    """ltr."""
    return len(read_trec_run(path).values)


def pytrec_eval(path):
    """The parser of pytrec_eval-terrier."""
    import pytrec_eval

    with open(path) as file:  # noqa: PTH123  # as its own examples do
        return sum(map(len, pytrec_eval.parse_run(file).values()))


def pandas(path):
    """read_csv at any white space."""
    import pandas

    names = ["topic", "q0", "doc", "rank", "score", "tag"]
    return len(pandas.read_csv(path, sep=r"\s+", names=names, dtype={"topic": str, "doc": str}))


READERS = (Peer("ltr", "ltr", ours), Peer("pytrec_eval", "pytrec_eval", pytrec_eval), Peer("pandas", "pandas", pandas))


def write_run(path, lines, *, shuffled):
    """A run of 1,000 documents a topic."""
    rng = np.random.default_rng(0)
    topics = range(301, 301 + max(lines // DEPTH, 1))
    written = [
        f"{topic} Q0 FBIS{doc % 9}-{doc} {rank} {score:.6f} run\n"
        for topic in topics
        for rank, (doc, score) in enumerate(
            zip(rng.choice(10**7, DEPTH, replace=False), np.sort(rng.normal(10, 3, DEPTH))[::-1], strict=True), start=1
        )
    ]
    if shuffled:
        rng.shuffle(written)
    path.write_text("".join(written))
