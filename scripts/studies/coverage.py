"""How often intervals hold the true value, and how often a test is wrong, by simulation.

Weights: data are drawn from known weights, in independent groups, and in groups that share a disturbance inside their
trace (plain and clustered form); and what an interval around penalised weights would claim. MRR: sets of 200 queries
with reciprocal ranks of a known distribution, by query and by trace. Permutation test: four times as many pairs of runs
of equal quality on 50 queries, and the same by traces of unequal size.
"""

from functools import partial

import numpy as np

from ltr import TrainConfig, fit
from ltr.evaluation.bootstrap import RESAMPLES, bootstrap_mean
from ltr.evaluation.significance import permutation_p, unit_sums
from ltr.training.diagnosis import diagnose
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
    pairs = partial(false_positives, simulations=4 * simulations)
    for name, share in {
        "95 % interval of MRR, by query: holds the true MRR (93-97 %)": partial(mrr, simulations=simulations),
        "95 % interval of MRR, by trace: holds the true MRR (93-97 %)": partial(mrr_by_trace, simulations=simulations),
        "permutation test at 5 %, by query: false positives (3.5-6.5 %)": pairs,
        "permutation test at 5 %, by trace: false positives (3.5-6.5 %)": partial(pairs, by_trace=True),
    }.items():
        print(f"{100 * share(np.random.default_rng(seed)):6.2f} %  {name}", flush=True)
    return 0


def weights(rng, simulations=1000):
    """By form of the interval, the share that holds each weight."""
    holds = {name: [] for name in ("independent", "penalised", "shared, plain", "shared, clustered")}
    for _ in range(simulations):
        for shared in (False, True):
            *data, traces = draw(rng, shared)
            config = TrainConfig(trainer="newton", l2=0.0)
            model = fit(*data, config)
            plain = diagnose(*data, config, model).errors
            if shared:
                clustered = diagnose(*data, config, model, clusters=traces).errors
                holds["shared, plain"].append(is_inside(*plain.interval))
                holds["shared, clustered"].append(is_inside(*clustered.interval))
                continue
            penalised, half = fit(*data, TrainConfig(trainer="newton", l2=0.001)).w, 1.96 * plain.standard
            holds["independent"].append(is_inside(*plain.interval))
            holds["penalised"].append(is_inside(penalised - half, penalised + half))
    return {name: np.mean(inside, axis=0) for name, inside in holds.items()}


def is_inside(low, high):
    """Whether each interval holds the weight that drew the data."""
    return (low <= TRUE_W) & (high >= TRUE_W)


def draw(rng, shared):
    """phi, labels, offsets, traces; `shared`: candidates' utilities lean one way for all the groups of a trace.

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


def mrr(rng, simulations=1000, queries=200, resamples=RESAMPLES):
    """Share of the intervals that hold the true MRR."""
    inside = 0
    for _ in range(simulations):
        interval = bootstrap_mean(1 / rng.choice(RANKS, size=queries, p=CHANCES), rng, resamples=resamples)
        inside += interval.low <= TRUE_MRR <= interval.high
    return inside / simulations


def mrr_by_trace(rng, simulations=1000, traces=200, resamples=RESAMPLES):
    """The same by trace: the queries of a trace share a difficulty, and traces have one to five queries."""
    inside = 0
    for _ in range(simulations):
        sizes = rng.integers(1, 6, size=traces)
        clusters = np.repeat(np.arange(traces), sizes)
        ranks = rng.choice(RANKS, size=traces, p=CHANCES)[clusters]
        ranks = np.where(rng.random(len(clusters)) < 0.3, rng.choice(RANKS, size=len(clusters), p=CHANCES), ranks)
        interval = bootstrap_mean(1 / ranks, rng, clusters=clusters, resamples=resamples)
        inside += interval.low <= TRUE_MRR <= interval.high
    return inside / simulations


def false_positives(rng, simulations=4000, queries=50, by_trace=False):
    """Share of the pairs of equal runs that the permutation test calls different at 5 %."""
    significant = 0
    for _ in range(simulations):
        clusters = np.repeat(np.arange(queries), rng.integers(1, 6, size=queries)) if by_trace else np.arange(queries)
        shared = rng.choice(RANKS, size=queries, p=CHANCES)[clusters]
        runs = [
            1
            / np.where(
                rng.random(queries)[clusters] < 0.5, rng.choice(RANKS, size=queries, p=CHANCES)[clusters], shared
            )
            for _ in range(2)
        ]
        significant += permutation_p(unit_sums(runs[0] - runs[1], clusters), rng, permutations=999) <= 0.05
    return significant / simulations
