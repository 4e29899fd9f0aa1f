"""How often intervals hold the true value, and how often a test is wrong, by simulation.

Weights: data are drawn from known weights, in independent groups, and in groups that share a disturbance inside their
trace (plain and clustered form); and what an interval around penalised weights would claim. MRR: sets of 200 queries
with reciprocal ranks of a known distribution, by query and by trace. Permutation test: four times as many pairs of runs
of equal quality on 50 queries, and the same by traces of unequal size.
"""

import numpy as np

from ltr import TrainConfig, fit
from ltr.evaluation import Interval
from ltr.evaluation.bootstrap import bootstrap_mean
from ltr.evaluation.significance import permutation_p, unit_sums
from ltr.training import Design, diagnose
from subcommands import at_least

SEED = 20_260_101
TRUE_W = np.array([1.0, -0.5, 0.25])
TRACES, GROUPS_OF_A_TRACE, SIZE = 200, 4, 6
RANKS = np.arange(1, 11)
CHANCES = 0.5 ** np.minimum(RANKS, 9)  # of the right candidate at each rank; they add up to 1 but for the last
CHANCES = CHANCES / CHANCES.sum()
TRUE_MRR = float((CHANCES / RANKS).sum())


def options(parser):
    """Options of the command line."""
    parser.add_argument("--simulations", type=at_least(1), default=1000, help="(default: %(default)s)")
    parser.add_argument("--seed", type=int, default=SEED, help="fixed beforehand (default: %(default)s)")


def main(*, simulations, seed):
    """Print all shares."""
    print(f"seed {seed}, {simulations} simulations; in each {TRACES} traces of {GROUPS_OF_A_TRACE} groups of {SIZE}")
    print(f"95 % intervals of weights: hold w = {TRUE_W.tolist()}")
    for name, shares in weights(np.random.default_rng(seed), simulations).items():
        print(f"  {name:22}" + "  ".join(f"{share:.1%}" for share in shares))
    for by, of_mrr, by_trace in (("query", mrr, False), ("trace", mrr_by_trace, True)):
        held = of_mrr(np.random.default_rng(seed), simulations)
        print(f"{held:7.2%}  95 % interval of MRR, by {by}: holds the true MRR (93-97 %)", flush=True)
        wrong = false_positives(np.random.default_rng(seed), 4 * simulations, by_trace=by_trace)
        print(f"{wrong:7.2%}  permutation test at 5 %, by {by}: false positives (3.5-6.5 %)", flush=True)


def weights(rng, simulations):
    """Return by form of the interval the share that holds each weight."""
    holds = {name: [] for name in ("independent", "penalised", "shared, plain", "shared, clustered")}

    def note(name, low, high):
        holds[name].append((low <= TRUE_W) & (high >= TRUE_W))

    for _ in range(simulations):
        for shared in (False, True):
            *data, traces = draw(rng, shared)
            config = TrainConfig(trainer="newton", l2=0.0)
            model = fit(*data, config)
            plain = diagnose((Design(*data),), config, model).errors
            note("shared, plain" if shared else "independent", *plain.interval)
            if shared:
                note("shared, clustered", *diagnose((Design(*data),), config, model, clusters=traces).errors.interval)
            else:
                penalised, half = fit(*data, TrainConfig(trainer="newton", l2=0.001)).w, 1.96 * plain.standard
                note("penalised", penalised - half, penalised + half)
    return {name: np.mean(inside, axis=0) for name, inside in holds.items()}


def draw(rng, shared):
    """Return phi, labels, offsets, traces; `shared`: utilities lean one way for all the groups of a trace.

    A trace offers the same candidates' features, slightly changed, in each of its groups, and its disturbances are
    shared: the groups' scores correlate, while each group by itself follows the model exactly.
    """
    base = rng.normal(size=(TRACES, 1, SIZE, 3))
    own = rng.normal(size=(TRACES, GROUPS_OF_A_TRACE, SIZE, 3))
    phi = np.where(shared, 0.9 * base + np.sqrt(1 - 0.81) * own, own)
    noise = rng.gumbel(size=(TRACES, GROUPS_OF_A_TRACE, SIZE))
    again = rng.random((TRACES, GROUPS_OF_A_TRACE, 1)) < (0.6 if shared else 0.0)  # has the disturbances of its trace
    utility = phi @ TRUE_W + np.where(again, noise[:, :1], noise)
    labels = utility == utility.max(axis=2, keepdims=True)
    offsets = np.arange(0, TRACES * GROUPS_OF_A_TRACE * SIZE + 1, SIZE)
    traces = np.repeat(np.arange(TRACES), GROUPS_OF_A_TRACE)
    return phi.reshape(-1, 3), labels.reshape(-1).astype(float), offsets, traces


def drawn_ranks(rng, size):
    """Return ranks of right candidates."""
    return rng.choice(RANKS, size=size, p=CHANCES)


def mrr(rng, simulations, queries=200, resamples=Interval.RESAMPLES):
    """Return the share of the intervals that hold the true MRR."""
    found = [bootstrap_mean(1 / drawn_ranks(rng, queries), rng, resamples=resamples) for _ in range(simulations)]
    return np.mean([interval.low <= TRUE_MRR <= interval.high for interval in found])


def mrr_by_trace(rng, simulations, traces=200, resamples=Interval.RESAMPLES):
    """Return the same by trace: its queries share a difficulty, and traces have one to five queries."""
    inside = 0
    for _ in range(simulations):
        clusters = np.repeat(np.arange(traces), rng.integers(1, 6, size=traces))
        ranks = drawn_ranks(rng, traces)[clusters]
        ranks = np.where(rng.random(len(clusters)) < 0.3, drawn_ranks(rng, len(clusters)), ranks)
        interval = bootstrap_mean(1 / ranks, rng, clusters=clusters, resamples=resamples)
        inside += interval.low <= TRUE_MRR <= interval.high
    return inside / simulations


def false_positives(rng, simulations, queries=50, by_trace=False):
    """Return the share of the pairs of equal runs that the permutation test calls different at 5 %."""
    significant = 0
    for _ in range(simulations):
        sizes = rng.integers(1, 6, size=queries) if by_trace else np.ones(queries, dtype=int)
        clusters = np.repeat(np.arange(queries), sizes)
        shared = drawn_ranks(rng, queries)[clusters]
        runs = []
        for _ in range(2):
            is_shared = rng.random(queries)[clusters] < 0.5
            runs.append(1 / np.where(is_shared, drawn_ranks(rng, queries)[clusters], shared))
        significant += permutation_p(unit_sums(runs[0] - runs[1], clusters), rng, permutations=999) <= 0.05
    return significant / simulations
