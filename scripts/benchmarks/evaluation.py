"""Ranking and eight measures, beside other evaluators.

CPU seconds of one thread; what a package builds for itself counts.
"""

from functools import partial

import numpy as np

from benchmarks.resources import cpu_seconds
from ltr import evaluate, rank
from peers import installed, missing
from peers.evaluators import EVALUATORS, MEASURES, ids
from subcommands import at_least

MAX_GRADE = 4


def options(parser):
    """Options of the command line."""
    parser.add_argument(
        "--groups", type=at_least(100), default=100_000, help="queries of the largest cell (default: %(default)s)"
    )


def main(*, groups):
    """A table for each number of queries and of candidates."""
    evaluators = installed(EVALUATORS)
    for peer in evaluators:
        peer.call(*draws(2, 10)[:2], ids(2, 10))  # imports and compiles
    for queries, size in [(groups // 10, 10), (groups, 10), (groups // 10, 100), (groups, 100)]:
        (scores, labels, offsets), names = draws(queries, size), ids(queries, size)
        print(f"evaluation: {queries:,} queries of {size}, eight measures")
        print(f"{'':34}{'measures':>9}{'CPU s':>9}{'this / ltr':>12}{'difference':>12}")
        own_seconds, own = cpu_seconds(partial(own_means, scores, labels, offsets), repeats=5)
        print(f"{'ltr, ties expected':34}{len(MEASURES):9}{own_seconds:9.4f}{1:12.1f}")
        for peer in evaluators:
            repeats = 2 if queries * size <= 1_000_000 else 1
            seconds, means = cpu_seconds(partial(peer.call, scores, labels, names), repeats=repeats)
            difference = max(abs(own[measure] - value) for measure, value in means.items())
            ratio = seconds / own_seconds
            print(f"{peer.name:34}{len(means):9}{seconds:9.4f}{ratio:12.1f}{difference:12.1e}", flush=True)
        print()
    if missing(EVALUATORS):
        print(f"not installed: {', '.join(missing(EVALUATORS))}")
    return 0


def draws(queries, size, seed=0):
    """Scores without ties; one to four labels of 1..4 a query; offsets."""
    rng = np.random.default_rng(seed)
    scores = np.argsort(rng.random((queries, size)), axis=1) / size
    order = np.argsort(rng.random((queries, size)), axis=1)
    counts = rng.integers(1, 5, (queries, 1))
    labels = np.where(order < np.minimum(counts, size), rng.integers(1, MAX_GRADE + 1, (queries, size)), 0)
    return scores.ravel(), labels.ravel().astype(float), np.arange(queries + 1) * size


def own_means(scores, labels, offsets):
    """The eight means of ltr."""
    return evaluate(rank(scores, offsets), labels, MEASURES, max_grade=MAX_GRADE).means
