"""Every metric beside plain loops and other people's evaluators, ties beside every order, gradients beside differences.

50,000 groups without ties by loops, by pytrec_eval and by ir_measures, where they are installed; 10,000 groups with
ties as the mean over all orders; 10,000 gradients by central differences. Ends with 1 when metrics lie more than 1e-12
apart, or gradients more than 1e-6 of their length.
"""

from importlib.util import find_spec

import numpy as np

from ltr import evaluate, rank
from ltr.training.objective import derivatives
from ltr.training.trainable import trainable
from stresses.cases import Figure
from subcommands import at_least
from tests.oracles import expected_value, naive_objective, ordered_labels, random_groups, slices, value
from tests.test_metrics import CUT, WHOLE, tied_groups
from tests.test_oracles import as_dicts, beside_ir_measures, beside_pytrec_eval, untied_groups

METRIC, GRADIENT, STEP = 1e-12, 1e-6, 1e-5
OTHERS = {"pytrec_eval": beside_pytrec_eval, "ir_measures": beside_ir_measures}


def options(parser):
    """Options of the command line."""
    parser.add_argument("number", nargs="?", type=at_least(1), default=10_000, help="of cases (default: %(default)s)")


def main(*, number):
    """A line a comparison."""
    untied = untied_groups()
    found = {
        f"{len(untied[2]) - 1:,} groups beside loops": beside_loops(*untied),
        f"{number:,} with ties beside every order": beside_every_order(number),
    }
    nested = as_dicts(untied)
    found |= {f"beside {name}": max(OTHERS[name](untied, nested).values()) for name in OTHERS if find_spec(name)}
    gradients = {f"{number:,} gradients beside differences": beside_differences(number)}
    parts = [f"{what} {worst:.0e}" for what, worst in (found | gradients).items()]
    print(*parts, sep="\n")
    is_good = max(found.values()) <= METRIC and max(gradients.values()) <= GRADIENT
    missing = "".join(f"; without {name}" for name in OTHERS if not find_spec(name))
    return Figure(", ".join(parts) + missing, is_good=is_good)


def beside_loops(scores, labels, offsets):
    """The largest difference of any metric from a loop over the sorted list."""
    labels = np.minimum(labels, 3)  # the greatest grade that the loop of err knows
    ours = evaluate(rank(scores, offsets), labels, CUT + WHOLE).values
    lists = [ordered_labels(scores[rows], labels[rows].tolist(), "file", None) for rows in slices(offsets)]
    return worst(ours, lambda name, k: [value(name, each, 1, int(k or len(each))) for each in lists])


def beside_every_order(number):
    """The largest difference of any metric from its mean over every order of the ties."""
    scores, labels, _, offsets = tied_groups(np.random.default_rng(11), number)
    ours = evaluate(rank(scores, offsets), labels, CUT + WHOLE).values
    queries = [(tuple(scores[rows].tolist()), tuple(labels[rows].tolist())) for rows in slices(offsets)]
    return worst(ours, lambda name, k: [expected_value(name, *each, 1, int(k or len(each[0]))) for each in queries])


def worst(ours, by_hand):
    """The largest difference of all metrics."""
    names = {name: name.partition("@") for name in CUT + WHOLE}
    return max(float(np.abs(ours[name] - by_hand(base, k)).max()) for name, (base, _, k) in names.items())


def beside_differences(number):
    """The largest relative difference of a gradient from central differences of the loops."""
    farthest = 0.0
    for seed in range(number):
        rng = np.random.default_rng(seed)
        phi, labels, offsets = random_groups(rng, 2, sizes=(2, 12), positives=3, grades=2)
        labels[offsets[0]] = 1
        w, weights = rng.normal(size=3), rng.uniform(0.5, 2, 2)
        ours = derivatives(trainable(phi, labels, offsets, weights=weights), w, np.ones(3)).gradient
        ends = [
            [naive_objective(w + sign * STEP * column, phi, labels, offsets, 0.0, weights) for sign in (1, -1)]
            for column in np.eye(3)
        ]
        theirs = np.array([(above - below) / (2 * STEP) for above, below in ends])
        farthest = max(farthest, float(np.abs(ours - theirs).max() / max(1.0, np.abs(theirs).max())))
    return farthest
