"""Corrections: what is added to the scores of queries like those that were corrected, as the optimum of a convex loss.

    score(q, t) = score of the model + sum over corrections j of k(q, q_j) a_jt

a minimises sum_j (losses of j) + PENALTY / 2 tr(A' K A): kernel logistic regression on top of scores that stand still.
"""

from collections.abc import Callable
from typing import Final

import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.errors import RunError
from ltr.training.temperature import softmax

PENALTY: Final = 0.0005  # chosen on folds, as POWER: docs/notes/serving.md
POWER: Final = 4  # of the likeness of two queries: what is said of one hardly touches a query that is a little like it
LEAST: Final = 1e-9  # a smaller likeness counts as none
NEAR: Final = 1e-10  # largest entry of the gradient at the optimum
STEPS, HALVINGS = 1000, 60


def influence(likeness: FloatArray) -> FloatArray:
    """Return how much a correction of one query counts for another, k = likeness^POWER, of likenesses up to 1.

    >>> influence(np.array([1.0, 0.5, -0.2])).round(4).tolist()
    [1.0, 0.0625, 0.0]
    """
    powers: FloatArray = np.clip(likeness, 0.0, 1.0) ** POWER
    return np.where(powers < LEAST, 0.0, powers)


def solve_corrections(
    influences: FloatArray, scores: FloatArray, offsets: IntArray, tools: IntArray, counts: FloatArray
) -> FloatArray:
    """Return a of each row, a tool that was offered for a corrected query.

    Parameters
    ----------
    influences
        K, (corrections, corrections).
    scores
        Of the model, (rows,).
    offsets
        Where the rows of each correction begin.
    tools
        Code of the tool of each row; two corrections meet in the tools that both were offered.
    counts
        How often each row was said to be right: two answers for one query share by it, and their sum is its weight.

    Notes
    -----
    Newton's method in the form that inverts no K, so that two corrections of one query may stand beside each other.
    With g = weight (softmax - share) and W = S S' its curvature the step goes to

        a = (b - S (PENALTY + S' K S)^-1 S' K b) / PENALTY,  b = W K a - g,

    solved by conjugate gradients, which begin from what is true where no correction is like another, K = 1: the steps
    that they take grow with likeness, and with neither weights nor the penalty. At the optimum PENALTY a = -g.

    Examples
    --------
    One query, two tools, the second is right: a = (-p, p) / PENALTY, where p is the share that the first still has.

    >>> one = np.ones((1, 1)), np.array([1.0, 0.0]), np.array([0, 2]), np.array([0, 1]), np.array([0.0, 1.0])
    >>> a = solve_corrections(*one)
    >>> a.round(6).tolist(), round(float(1 / (1 + np.exp(2 * a[1] - 1))) / PENALTY, 6)
    ([-3.651912, 3.651912], 3.651912)

    """
    problem = _Problem(influences, scores, offsets, tools, counts)
    a = np.zeros(len(scores))
    value, gradient, shares = problem.at(a)
    for _ in range(STEPS):
        if np.abs(gradient).max(initial=0.0) <= NEAR * problem.scale:
            return a
        step, length = problem.newton(a, shares) - a, 1.0
        for _ in range(HALVINGS):
            tried = problem.at(a + length * step)
            largest = np.abs(gradient).max()
            is_near = largest <= 1e-4 * problem.scale  # there the objective only moves by rounding
            if tried[0] < value or (is_near and np.abs(tried[1]).max() < largest):
                break
            length /= 2
        else:
            break
        a = a + length * step
        value, gradient, shares = tried
    if not np.abs(gradient).max(initial=0.0) <= 1e-6 * problem.scale:  # NaN is not
        raise RunError(f"the optimum of the corrections could not be proved: gradient {np.abs(gradient).max():.2g}")
    return a


class _Problem:
    """The objective, its gradient, and its Newton step."""

    def __init__(
        self, influences: FloatArray, scores: FloatArray, offsets: IntArray, tools: IntArray, counts: FloatArray
    ) -> None:
        self.influences, self.scores, self.offsets, self.counts = influences, scores, offsets, counts
        self.owners = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        distinct, codes = np.unique(tools, return_inverse=True)
        self.places = self.owners * len(distinct) + codes
        self.table = np.zeros((len(influences), len(distinct)))
        self.weights = self.sums(counts)
        self.scale = max(1.0, float(self.weights.max(initial=0.0)))

    def sums(self, values: FloatArray) -> FloatArray:
        """Of each correction."""
        return np.add.reduceat(values, self.offsets[:-1])

    def added(self, a: FloatArray) -> FloatArray:
        """K a: what the corrections add to the score of each row."""
        self.table.reshape(-1)[self.places] = a
        return (self.influences @ self.table).reshape(-1)[self.places]

    def at(self, a: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Return the objective, its gradient without the factor K, and the softmax of each row."""
        added = self.added(a)
        scores = self.scores + added
        shares = softmax(scores, self.offsets)
        highest = np.maximum.reduceat(scores, self.offsets[:-1])
        logs = highest + np.log(self.sums(np.exp(scores - highest[self.owners])))
        value = float(self.weights @ logs - self.counts @ scores + PENALTY / 2 * (a @ added))
        return value, self.weights[self.owners] * shares - self.counts + PENALTY * a, shares

    def newton(self, a: FloatArray, shares: FloatArray) -> FloatArray:
        """Return where the step of Newton's method goes."""
        roots = np.sqrt(shares)
        halves = np.sqrt(self.weights)[self.owners] * roots

        def to_curved(values: FloatArray) -> FloatArray:  # S' v, S = weight^1/2 D^1/2 (1 - r r'), r the roots
            scaled = halves * values
            return scaled - roots * self.sums(roots * scaled)[self.owners]

        def from_curved(values: FloatArray) -> FloatArray:  # S v
            return halves * (values - roots * self.sums(roots * values)[self.owners])

        alone = self.inverse_alone(shares, roots)
        gradient = self.weights[self.owners] * shares - self.counts
        b = from_curved(to_curved(self.added(a))) - gradient
        right = to_curved(self.added(b))
        x, rest, direction = np.zeros_like(right), right, alone(right)
        square = float(rest @ direction)
        goal = 1e-24 * square
        for _ in range(4 * len(right)):
            if square <= goal or not square:
                break
            moved = PENALTY * direction + to_curved(self.added(from_curved(direction)))
            curvature = float(direction @ moved)
            if not curvature > 0:  # it underflows where the softmax leaves one tool alone
                break
            length = square / curvature
            x, rest = x + length * direction, rest - length * moved
            nearer = alone(rest)
            square, before = float(rest @ nearer), square
            direction = nearer + square / before * direction
        return (b - from_curved(x)) / PENALTY

    def inverse_alone(self, shares: FloatArray, roots: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """Return what applies (PENALTY + S' S)^-1, the inverse of the equations where no correction is like another.

        With u = shares roots and c = r'u, S' S = weight (D - r u' - u r' + c r r') of each correction: a diagonal and
        two directions, which Woodbury's identity inverts.
        """
        owners, weights, pulls = self.owners, self.weights, shares * roots
        inverse = 1 / (PENALTY + weights[owners] * shares)
        first = self.sums(roots * inverse * roots)
        both = self.sums(roots * inverse * pulls) - 1 / weights
        second = self.sums(pulls * inverse * pulls) - self.sums(pulls * roots) / weights
        determinant = first * second - both * both

        def apply(values: FloatArray) -> FloatArray:
            scaled = inverse * values
            along, across = self.sums(roots * scaled), self.sums(pulls * scaled)
            of_roots, of_pulls = second * along - both * across, first * across - both * along
            return scaled - inverse * (
                roots * (of_roots / determinant)[owners] + pulls * (of_pulls / determinant)[owners]
            )

        return apply
