"""Training, derivatives and measures against the plain loops and the brute force of the tests."""

import numpy as np

from benchmarks.draws import draws, loss
from ltr import TrainConfig, evaluate, fit, rank
from ltr.training.objective import slope
from ltr.training.softmax import log_softmax
from ltr.training.trainable import trainable
from subcommands import at_least
from tests import oracles
from tests.test_metrics import CUT, tied_groups


def options(parser):
    """Options of the command line."""
    parser.add_argument(
        "--groups", type=at_least(500), default=100_000, help="scale of the checks (default: %(default)s)"
    )


def main(*, groups):
    """The largest differences of each."""
    trainers(groups // 50)
    derivatives(groups // 10)
    ties(groups // 10)
    return 0


def trainers(groups):
    """Descent against a plain loop, and newton against descent."""
    data = oracles.random_groups(np.random.default_rng(0), groups, features=4, sizes=(1, 12), decimals=1)
    w, history = oracles.naive_descent(*data, learning_rate=0.01, epochs=10, l2=0.001)
    stepped, exact = fit(*data, TrainConfig(epochs=10)), fit(*data, TrainConfig(trainer="newton"))
    print(f"accuracy: {groups:,} random groups of 1-12, ties, up to two positives, 10 epochs")
    print(f"descent: w {np.abs(stepped.w - w).max():.1e}, loss {np.abs(stepped.training.history - history).max():.1e}")
    print(f"newton: objective {exact.training.objective - stepped.training.objective:+.1e} of descent's, ", end="")
    print(f"gradient {exact.training.gradient_norm:.1e}, {exact.training.optimum}")


def derivatives(groups):
    """The gradient against central differences, and what large scores and shifts do to the loss."""
    rng = np.random.default_rng(2)
    phi, labels, offsets = draws(groups, (2, 12), seed=2)
    data, w, largest = trainable(phi, labels, offsets), rng.normal(size=4), 0.0
    gradient = slope(data, w, np.ones(4)).gradient
    for column in range(4):
        step = 1e-5 * np.eye(4)[column]
        central = (slope(data, w + step, np.ones(4)).loss - slope(data, w - step, np.ones(4)).loss) / 2e-5
        largest = max(largest, abs(central - gradient[column]) / abs(gradient[column]))
    print(f"gradient: {groups:,} random groups, largest relative difference to central differences {largest:.1e}")
    sizes, scores = np.diff(offsets), phi @ w
    shifts = np.repeat(rng.uniform(-1e3, 1e3, groups), sizes)
    moved = np.abs(log_softmax(scores + shifts, offsets) - log_softmax(scores, offsets)).max()
    mean = abs(loss(scores + shifts, labels, offsets) - loss(scores, labels, offsets))
    huge = log_softmax(np.sign(scores) * 1e300, offsets)
    is_finite = np.isfinite(slope(trainable(np.sign(phi) * 1e299, labels, offsets), w, np.ones(4)).loss)
    print(f"shifts up to 1e3: mean loss moves by {mean:.1e}, the log probability of a row by {moved:.1e}")
    print(f"scores of 1e300: all log probabilities finite {np.isfinite(huge).all()}, loss finite {is_finite}")


def ties(groups):
    """Every measure under every rule of ties, against brute force."""
    scores, labels, keys, offsets = tied_groups(np.random.default_rng(1), groups)
    for rule in ("expected", "file", "trec", "best", "worst"):
        values, largest = evaluate(rank(scores, offsets, keys=keys), labels, CUT, ties=rule).values, 0.0
        for query, rows in enumerate(oracles.slices(offsets)):
            own = tuple(scores[rows].tolist()), tuple(labels[rows].tolist())
            for name in CUT:
                base, _, k = name.partition("@")
                if rule == "expected":
                    by_hand = oracles.expected_value(base, *own, 1, int(k))
                else:
                    by_hand = oracles.value(base, oracles.ordered_labels(*own, rule, keys[rows]), 1, int(k))
                largest = max(largest, abs(values[name][query] - by_hand))
        print(f"ties {rule}: {groups:,} tied groups, {len(CUT)} measures, largest difference {largest:.1e}")
