"""Ranking and eight measures, beside other evaluators.

CPU seconds of one thread; what a package builds for itself counts.
"""

import numpy as np

from ltr import evaluate, rank
from peers import installed, missing
from peers.evaluators import EVALUATORS, MEASURES, ids
from processes import cpu_seconds
from subcommands import at_least

MAX_GRADE = 4


def options(parser):
    """Options of the command line."""
    text = "queries of the largest cell (default: %(default)s)"
    parser.add_argument("--groups", type=at_least(100), default=100_000, help=text)


def main(*, groups):
    """A table for each number of queries and of candidates."""
    evaluators = installed(EVALUATORS)
    for peer in evaluators:
        peer.call(*draws(2, 10)[:2], ids(2, 10))  # imports and compiles
    for queries, size in [(groups // 10, 10), (groups, 10), (groups // 10, 100), (groups, 100)]:
        (scores, labels, offsets), names = draws(queries, size), ids(queries, size)

        def ours(scores=scores, labels=labels, offsets=offsets):
            return evaluate(rank(scores, offsets), labels, MEASURES, max_grade=MAX_GRADE).means

        print(f"evaluation: {queries:,} queries of {size}, eight measures")
        print(f"{'':34}{'measures':>9}{'CPU s':>9}{'this / ltr':>12}{'difference':>12}")
        own_seconds, own = cpu_seconds(ours, repeats=5)
        print(f"{'ltr, ties expected':34}{len(MEASURES):9}{own_seconds:9.4f}{1:12.1f}")
        for peer in evaluators:
            repeats = 2 if queries * size <= 1_000_000 else 1
            seconds, means = cpu_seconds(lambda peer=peer: peer.call(scores, labels, names), repeats)  # noqa: B023
            difference = max(abs(own[measure] - value) for measure, value in means.items())
            ratio = seconds / own_seconds
            print(f"{peer.name:34}{len(means):9}{seconds:9.4f}{ratio:12.1f}{difference:12.1e}", flush=True)
        print()
    if absent := missing(EVALUATORS):
        print(f"not installed: {', '.join(absent)}")


def draws(queries, size):
    """Return scores without ties; one to four labels of 1..4 a query; offsets."""
    rng = np.random.default_rng(0)
    scores = np.argsort(rng.random((queries, size)), axis=1) / size
    order = np.argsort(rng.random((queries, size)), axis=1)
    counts = rng.integers(1, 5, (queries, 1))
    labels = np.where(order < np.minimum(counts, size), rng.integers(1, MAX_GRADE + 1, (queries, size)), 0)
    return scores.ravel(), labels.ravel().astype(float), np.arange(queries + 1) * size
