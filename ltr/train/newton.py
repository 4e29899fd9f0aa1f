"""The exact optimum of the objective, or the direction along which there is none."""

from dataclasses import dataclass

import numpy as np

from ltr.arrays import FloatArray, blocks
from ltr.listwise import BLOCK_NUMBERS, Derivatives, Trainable, centred_columns, derivatives
from ltr.model import Fitted, Optimum
from ltr.train.config import Epoch, OnEpoch, TrainConfig
from ltr.train.geometry import Geometry, smallest

GRADIENT = 1e-10  # found: the gradient's norm, columns of unit deviation
CURVATURE = 1e-8  # found: the least curvature, as a share of its value at w = 0
MARGIN = 1e-6  # an escape: how far a positive may lie below the best, in deviations
STEPS, HALVINGS = 200, 60


@dataclass(frozen=True, slots=True)
class Point:
    """The objective at one w; derivatives in coordinates where no column is larger than 1."""

    w: FloatArray
    objective: float
    gradient: FloatArray
    hessian: FloatArray


@dataclass(frozen=True, slots=True)
class Problem:
    """The penalised objective: columns are divided by their deviation for the data, by `scale` for the steps."""

    groups: Trainable
    geometry: Geometry
    l2: float

    @property
    def scale(self) -> FloatArray:
        """Coordinates w * scale keep the data's and the penalty's curvature near 1 or below."""
        return np.maximum(self.geometry.scale, np.sqrt(2 * self.l2))

    def point(self, w: FloatArray, data: Derivatives) -> Point:
        """Objective and derivatives from the data's part at w."""
        scale, ratio = self.scale, self.geometry.scale / self.scale
        return Point(
            w,
            data.loss + self.l2 * float(w @ w),
            data.gradient * ratio + 2 * self.l2 * w / scale,
            data.hessian * np.outer(ratio, ratio) + np.diag((np.sqrt(2 * self.l2) / scale) ** 2),
        )

    def at(self, w: FloatArray) -> Point:
        """Objective and derivatives at w."""
        return self.point(w, derivatives(self.groups, w, self.geometry.scale))

    def norm(self, point: Point) -> float:
        """Norm of the gradient by columns of unit deviation."""
        parts = point.gradient * self.scale / self.geometry.scale
        return float(np.linalg.norm(parts[self.geometry.varying]))


def fit_newton(groups: Trainable, geometry: Geometry, config: TrainConfig, on_epoch: OnEpoch) -> Fitted:
    """w at the minimum of the objective: Newton steps with line search from w = 0.

    Directions that change no probability stay out of the steps when nothing penalises them.
    """
    problem = Problem(groups, geometry, config.l2)
    basis = geometry.identified if config.l2 == 0 else np.eye(groups.phi.shape[1])
    start = point = problem.point(np.zeros(groups.phi.shape[1]), geometry.at_zero)
    history, step = [point.objective], np.zeros_like(point.w)
    while problem.norm(point) >= GRADIENT and len(history) <= STEPS:
        step = _newton_step(point, basis) / problem.scale
        before, point = point, _line_search(problem, point, step)
        if point.objective >= before.objective and problem.norm(point) >= problem.norm(before):
            point = before  # rounding: nothing lower is to be had
            break
        history.append(point.objective)
        on_epoch(Epoch(len(history) - 1, point.objective, point.w))
    found = problem.norm(point) < GRADIENT and (config.l2 > 0 or _is_curved(start, point, basis))
    return _fitted(problem, point, np.array(history), None if found else step)


def _newton_step(point: Point, basis: FloatArray) -> FloatArray:
    """-H^-1 g inside the basis, by coordinates of unit curvature."""
    hessian, gradient = basis.T @ point.hessian @ basis, basis.T @ point.gradient
    unit = 1 / np.sqrt(np.maximum(np.diag(hessian), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(hessian * np.outer(unit, unit))
    values = np.maximum(values, np.finfo(float).eps * len(values))
    step: FloatArray = -basis @ (unit * (vectors @ ((vectors.T @ (unit * gradient)) / values)))
    return step


def _line_search(problem: Problem, point: Point, step: FloatArray) -> Point:
    """The first of step, step / 2, step / 4 ... that lowers the objective enough; the point itself if none does."""
    slope = float((point.gradient * problem.scale) @ step)
    noise = 1e-14 * (1 + abs(point.objective))  # near the optimum the objective only moves by rounding
    share = 1.0
    for _ in range(HALVINGS):
        with np.errstate(over="ignore", invalid="ignore"):
            moved = problem.at(point.w + share * step)
        if moved.objective <= point.objective + 1e-4 * share * slope + noise:
            return moved
        share /= 2  # convex but not quadratic: a full step can overshoot far from the optimum
    return point


def _fitted(problem: Problem, end: Point, history: FloatArray, step: FloatArray | None) -> Fitted:
    """The result; `step` is the last one where no optimum was found."""
    w = end.w if problem.l2 else smallest(end.w, problem.geometry.not_identified)
    if step is None:
        return Fitted(w, history, Optimum.FOUND)
    if not problem.l2 and _escapes(problem, step):
        return Fitted(w, history, Optimum.NONE, step / np.abs(step).max())
    return Fitted(w, history)


def _is_curved(start: Point, end: Point, basis: FloatArray) -> bool:
    """Whether the least curvature is above its limit, on the directions that change a probability."""
    if not basis.size:
        return True
    least = [np.linalg.eigvalsh(basis.T @ point.hessian @ basis)[0] for point in (start, end)]
    return bool(least[1] > CURVATURE * least[0])


def _escapes(problem: Problem, direction: FloatArray) -> bool:
    """Whether every group's positives are on top along the direction, and somewhere above the rest.

    Then the loss falls for ever along it: the groups are separable, if only in part.
    """
    groups, gains = problem.groups, False
    tolerance = MARGIN * float(np.abs(direction) @ problem.geometry.scale)
    for first, last in blocks(groups.offsets, BLOCK_NUMBERS):
        offsets = groups.offsets[first : last + 1]
        along = direction @ centred_columns(groups, (first, last), np.ones(len(direction)))
        positive = groups.shares[offsets[0] : offsets[-1]] > 0
        starts = offsets[:-1] - offsets[0]
        top, bottom = np.maximum.reduceat(along, starts), np.minimum.reduceat(along, starts)
        lowest_positive = np.minimum.reduceat(np.where(positive, along, np.inf), starts)
        if (top - lowest_positive > tolerance).any():
            return False
        gains = gains or bool((lowest_positive - bottom > tolerance).any())
    return gains
