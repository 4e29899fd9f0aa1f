"""The certificate of an optimum: proofs from one w that the optimum is near, or that there is none."""

import math
from collections.abc import Callable, Iterator
from functools import partial, reduce
from operator import add

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray
from ltr.training.designs import TrainingGroups
from ltr.training.groups import Trainable, centred_columns, passes

Level = tuple[FloatArray, BoolArray]  # columns of a run, (features, rows), and which rows are level
MARGIN = 1e-6  # a candidate within this share of the largest difference counts as level with the positives
ROUNDING = 64 * np.finfo(float).eps  # what rounding leaves of a difference of 0, as a share of its columns' sum
ROUNDS = 4  # of projection: each leaves a small share of the error


def gap_bound(gradient: FloatArray, l2: float) -> float | None:
    """How far the objective can be above its optimum: |gradient|^2 / (4 l2), as its curvature is at least 2 l2.

    >>> round(gap_bound(np.array([0.0, 0.02]), 0.001), 12)
    0.1
    >>> gap_bound(np.array([0.0, 0.02]), 0.0)
    """
    norm = math.hypot(*gradient)
    bound = norm * norm / (4 * l2) if l2 > 0 else math.inf
    return bound if math.isfinite(bound) else None


def reach(groups: TrainingGroups, scale: FloatArray, whitener: FloatArray, gradient: FloatArray) -> float:
    """How far any difference of scores in a group can be from that at the optimum; below 1 an optimum exists.

    Along u no curvature falls faster than exp(-range u), range u the largest difference of scores it makes. With
    H the Hessian, d = |gradient| and |u| = sqrt(u'Hu) in its terms, the objective at |u| = 3d is above the one
    here while range u <= 1, so that its minimum lies inside: -3d^2 + 9d^2 (e^-1 + 1 - 1) > 0. Range u is at most
    |u| * 2 * max_i |H^-1/2 x_i|, x_i a row less its group's first.

    `whitener` @ H @ `whitener`' = 1 on the directions of the steps; columns are divided by the scale.
    """
    longest = max(groups.map(partial(_longest, scale=scale, whitener=whitener)))
    return 6 * math.sqrt(longest) * math.hypot(*(whitener @ gradient))


def _longest(groups: Trainable, scale: FloatArray, whitener: FloatArray) -> float:
    """The greatest |H^-1/2 x_i|^2 of the shard."""
    longest = 0.0
    for run in passes(groups):
        white = whitener @ centred_columns(groups, run, scale)
        longest = max(longest, float((white * white).sum(axis=0).max()))
    return longest


def reach_bound(steps: FloatArray, whitener: FloatArray, gradient: FloatArray) -> float:
    """A bound on `reach` from the largest steps of the columns inside the groups, without a pass over the rows.

    >>> reach_bound(np.array([1.0, 2.0]), np.eye(2), np.array([0.0, 0.5])) == 6 * math.sqrt(1 + 4) * 0.5
    True
    """
    return 6 * math.hypot(*(np.abs(whitener) @ steps)) * math.hypot(*(whitener @ gradient))


def escape(groups: TrainingGroups, scale: FloatArray, direction: FloatArray) -> FloatArray | None:
    """The direction, made exact, if the loss falls for ever along it; None if that is not certain.

    It is certain if, to rounding, the positives of every group are level along it, no candidate rises above them, and
    at least one falls below. Newton's steps follow such a direction only roughly, so it is projected onto those that
    keep level what should be: d <- d - (X'X)^+ X'(X d), X the level rows.
    """
    extremes = list(groups.map(partial(_extremes, scale=scale, direction=direction)))
    largest, highest = (max(extreme[place] for extreme in extremes) for place in range(2))
    near = MARGIN * largest
    if highest > near or min(lowest for _, _, lowest in extremes) < -near:
        return None
    level = partial(_level_rows, scale=scale, direction=direction, near=near)
    gram = reduce(add, groups.map(partial(_gram, level=level)))
    inverse = np.linalg.pinv(gram, rcond=ROUNDING, hermitian=True)
    for _ in range(ROUNDS):
        error = reduce(add, groups.map(partial(_left, level=level, direction=direction)))
        direction = direction - inverse @ error
    return direction if loss_falls_forever(groups, scale, direction) else None


def _extremes(groups: Trainable, scale: FloatArray, direction: FloatArray) -> tuple[float, float, float]:
    """Along the direction the largest difference to a positive, the highest one, and the lowest of a positive."""
    largest = highest = lowest = 0.0
    for rows, x in _differences(groups, scale):
        along = direction @ x
        largest, highest = max(largest, float(np.abs(along).max())), max(highest, float(along.max()))
        lowest = min(lowest, float(along[groups.shares[rows] > 0].min()))
    return largest, highest, lowest


def _level_rows(groups: Trainable, scale: FloatArray, direction: FloatArray, near: float) -> Iterator[Level]:
    """The columns of each run, and which of its rows do not fall along the direction."""
    for _, x in _differences(groups, scale):
        yield x, direction @ x >= -near


def _gram(groups: Trainable, level: Callable[[Trainable], Iterator[Level]]) -> FloatArray:
    """X'X of the level rows."""
    gram = np.zeros((groups.columns, groups.columns))
    for x, is_level in level(groups):
        gram += x[:, is_level] @ x[:, is_level].T
    return gram


def _left(groups: Trainable, level: Callable[[Trainable], Iterator[Level]], direction: FloatArray) -> FloatArray:
    """X'(X d) of the level rows. From X d: gram @ d would lose what is left."""
    error = np.zeros(groups.columns)
    for x, is_level in level(groups):
        error += x @ ((direction @ x) * is_level)
    return error


def loss_falls_forever(groups: TrainingGroups, scale: FloatArray, direction: FloatArray) -> bool:
    """Whether to rounding the positives are level along the direction, no candidate rises, and at least one falls."""
    falls = False
    for shard_falls in groups.map(partial(_falls, scale=scale, direction=direction)):
        if shard_falls is None:
            return False
        falls = falls or shard_falls
    return falls


def _falls(groups: Trainable, scale: FloatArray, direction: FloatArray) -> bool | None:
    """Whether a candidate falls along the direction; None where one rises, or a positive falls."""
    falls = False
    for rows, x in _differences(groups, scale):
        along, rounding = direction @ x, ROUNDING * np.abs(direction).max() * np.abs(x).sum(axis=0)
        if (along > rounding).any() or (along < -rounding)[groups.shares[rows] > 0].any():
            return None
        falls = falls or bool((along < -rounding).any())
    return falls


def _differences(groups: Trainable, scale: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
    """Rows, and their columns minus those of the first positive of the group, over the scale, (features, rows)."""
    for run in passes(groups):
        positives = np.flatnonzero(groups.shares[run.rows] > 0)
        firsts: IntArray = positives[np.searchsorted(positives, run.starts)]
        yield run.rows, centred_columns(groups, run, scale, origins=firsts)
