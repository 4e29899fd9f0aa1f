"""What can be proved of the optimum from one w: that it is near, or that there is none."""

import math
from collections.abc import Iterator

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray
from ltr.training.objective import Trainable, centred_columns, passes

MARGIN = 1e-6  # a candidate is taken for level with the positives within this share of the largest difference
LEVEL = 64 * np.finfo(float).eps  # level: what rounding leaves of a difference, as a share of its columns' sum
ROUNDS = 4  # of straightening: each leaves a small share of what was crooked


def gap_bound(gradient: FloatArray, l2: float) -> float | None:
    """How far the objective can be above its optimum: |gradient|^2 / (4 l2), as it curves by 2 l2 at least.

    >>> round(gap_bound(np.array([0.0, 0.02]), 0.001), 12)
    0.1
    >>> gap_bound(np.array([0.0, 0.02]), 0.0)
    """
    norm = math.hypot(*gradient)
    bound = norm * norm / (4 * l2) if l2 > 0 else math.inf
    return bound if math.isfinite(bound) else None


def reach(groups: Trainable, scale: FloatArray, whitener: FloatArray, gradient: FloatArray) -> float:
    """How far any difference of scores in a group can be from the optimum's; below 1 there is an optimum.

    Along u no curvature falls faster than exp(-range u), range u the largest difference of scores it makes. With
    H the Hessian, d = |gradient| and |u| = sqrt(u'Hu) in its terms, the objective at |u| = 3d is above the one
    here while range u <= 1, so that its minimum lies inside: -3d^2 + 9d^2 (e^-1 + 1 - 1) > 0. Range u is at most
    |u| * 2 * max_i |H^-1/2 x_i|, x_i a row less its group's first.

    `whitener` @ H @ `whitener`' = 1 on the directions that count; here, columns over the scale.
    """
    longest = 0.0
    for run in passes(groups):
        white = whitener @ centred_columns(groups, run, scale)
        longest = max(longest, float((white * white).sum(axis=0).max()))
    return 6 * math.sqrt(longest) * math.hypot(*(whitener @ gradient))


def reach_bound(steps: FloatArray, whitener: FloatArray, gradient: FloatArray) -> float:
    """A bound on `reach` from the largest steps of the columns inside the groups, without a look at the rows.

    >>> reach_bound(np.array([1.0, 2.0]), np.eye(2), np.array([0.0, 0.5])) == 6 * math.sqrt(1 + 4) * 0.5
    True
    """
    return 6 * math.hypot(*(np.abs(whitener) @ steps)) * math.hypot(*(whitener @ gradient))


def escape(groups: Trainable, scale: FloatArray, direction: FloatArray) -> FloatArray | None:
    """The direction, straightened, if no optimum exists along it; None if that is not certain.

    Certain: to rounding, the positives of every group are level and none stands above them, and somewhere
    one stands below; then the loss falls for ever. A direction found by steps is crooked where candidates
    should be level; it is straightened to the nearest one that keeps them so.
    """
    along, positive = _along(groups, scale, direction), groups.shares > 0
    near = MARGIN * float(np.abs(along).max())
    if (along > near).any() or (along[positive] < -near).any():
        return None
    gram = _level_gram(groups, scale, along >= -near)
    inverse = np.linalg.pinv(gram, rcond=LEVEL, hermitian=True)
    for _ in range(ROUNDS):
        direction = direction - inverse @ _level_pull(groups, scale, along >= -near, direction)
    return direction if _is_certain(groups, scale, direction) else None


def _differences(groups: Trainable, scale: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
    """Rows, and their columns less those of their group's first positive, over the scale, as (features, rows)."""
    for run in passes(groups):
        positives = np.flatnonzero(groups.shares[run.rows] > 0)
        firsts: IntArray = positives[np.searchsorted(positives, run.starts)]
        yield run.rows, centred_columns(groups, run, scale, origins=firsts)


def _along(groups: Trainable, scale: FloatArray, direction: FloatArray) -> FloatArray:
    """How far each row stands above its group's first positive along the direction."""
    return np.concatenate([direction @ x for _, x in _differences(groups, scale)])


def _level_gram(groups: Trainable, scale: FloatArray, level: BoolArray) -> FloatArray:
    """X'X over the level rows."""
    gram = np.zeros((len(scale), len(scale)))
    for rows, x in _differences(groups, scale):
        gram += x[:, level[rows]] @ x[:, level[rows]].T
    return gram


def _level_pull(groups: Trainable, scale: FloatArray, level: BoolArray, direction: FloatArray) -> FloatArray:
    """X'X d over the level rows, from X d: the gram matrix would lose what is left to straighten."""
    pull = np.zeros(len(scale))
    for rows, x in _differences(groups, scale):
        pull += x @ ((direction @ x) * level[rows])
    return pull


def _is_certain(groups: Trainable, scale: FloatArray, direction: FloatArray) -> bool:
    """Whether to rounding the positives are level, none stands above them, and somewhere one stands below."""
    falls = False
    for rows, x in _differences(groups, scale):
        along, rounding = direction @ x, LEVEL * np.abs(direction).max() * np.abs(x).sum(axis=0)
        if (along > rounding).any() or (along < -rounding)[groups.shares[rows] > 0].any():
            return False
        falls = falls or bool((along < -rounding).any())
    return falls
