"""The exact optimum of the objective, or the direction along which there is none."""

from dataclasses import dataclass, replace

import numpy as np

from ltr.arrays import FloatArray
from ltr.training.certificate import escape, gap_bound, reach, reach_bound
from ltr.training.config import Epoch, OnEpoch, Progress, TrainConfig, ignore
from ltr.training.identifiability import Geometry, smallest
from ltr.training.model import Fitted, Optimum
from ltr.training.objective import Derivatives, Trainable, derivatives, every

GRADIENT = 1e-10  # found: the gradient's norm, columns of unit deviation
CURVATURE = 1e-8  # found without a penalty: the least curvature of a direction, as a share of its own at w = 0
REACH = 1e-6  # found without a penalty: no difference of scores is further from the optimum's
GAP = 1e-9  # found with a penalty: the bound on objective - optimum, as a share of 1 + |objective|
STEPS, HALVINGS = 200, 60
EVERY = 32  # group that the first steps look at where there are many
ROUGH = 3  # steps on them: what is left is small beside the sample's own error
MANY = 1024  # groups that such a sample has at least


@dataclass(frozen=True, slots=True)
class Point:
    """The objective at one w; derivatives in coordinates where no column is larger than 1."""

    w: FloatArray
    objective: float
    gradient: FloatArray
    hessian: FloatArray
    data: Derivatives


@dataclass(frozen=True, slots=True)
class Problem:
    """The penalised objective: columns are divided by their deviation for the data, by `scale` for the steps."""

    groups: Trainable
    geometry: Geometry
    l2: float
    scale: FloatArray  # coordinates w * scale keep the data's and the penalty's curvature near 1 or below
    basis: FloatArray  # (features, directions): the steps stay inside; without a penalty, of unit curvature at w = 0

    @classmethod
    def of(cls, groups: Trainable, geometry: Geometry, l2: float) -> "Problem":
        """Directions that change no probability stay out of the steps when nothing penalises them."""
        if l2:
            return cls(groups, geometry, l2, np.maximum(geometry.scale, np.sqrt(2 * l2)), np.eye(len(geometry.scale)))
        spectrum = geometry.spectrum
        return cls(groups, geometry, l2, geometry.scale, spectrum.identified / np.sqrt(spectrum.curvature))

    def point(self, w: FloatArray, data: Derivatives) -> Point:
        """Objective and derivatives from the data's part at w."""
        ratio = self.geometry.scale / self.scale
        return Point(
            w,
            data.loss + self.l2 * float(w @ w),
            data.gradient * ratio + 2 * self.l2 * w / self.scale,
            data.hessian * np.outer(ratio, ratio) + np.diag((np.sqrt(2 * self.l2) / self.scale) ** 2),
            data,
        )

    def at(self, w: FloatArray) -> Point:
        """Objective and derivatives at w."""
        return self.point(w, derivatives(self.groups, w, self.geometry.scale))

    def norm(self, point: Point) -> float:
        """Norm of the gradient by columns of unit deviation; without a penalty, of its identified part."""
        by_deviation = point.gradient * (self.scale / self.geometry.scale)
        return float(np.linalg.norm(by_deviation if self.l2 else self.geometry.identified_part(by_deviation)))

    def is_found(self, point: Point) -> bool:
        """Whether the optimum is proved to be here."""
        if self.norm(point) >= GRADIENT:
            return False
        if self.l2:
            bound = gap_bound(point.gradient * self.scale, self.l2)
            return bound is not None and bound <= GAP * (1 + abs(point.objective))
        if not self.basis.size:
            return True  # no w changes any probability
        if np.linalg.eigvalsh(self.basis.T @ point.hessian @ self.basis)[0] <= CURVATURE:
            return False
        whitener = _whitener(point, self.basis)
        if reach_bound(self.geometry.units / self.scale, whitener, point.gradient) <= REACH:
            return True
        return reach(self.groups, self.scale, whitener, point.gradient) <= REACH


def fit_newton(
    groups: Trainable, geometry: Geometry, config: TrainConfig, on_epoch: OnEpoch, progress: Progress | None = None
) -> Fitted:
    """w at the minimum of the objective: a few steps, always from the first."""
    return solve(groups, geometry, config.penalty, on_epoch=on_epoch)


def solve(
    groups: Trainable,
    geometry: Geometry,
    l2: float,
    *,
    start: FloatArray | None = None,
    on_epoch: OnEpoch = ignore,
) -> Fitted:
    """w at the minimum of the objective: Newton steps with line search from the start, or w = 0 if that is lower.

    Of many groups a part takes the first steps, and knots the others by what a step leaves of its own gradient.
    They end where the optimum is found, where none is proved to exist, or where rounding lets nothing fall.
    """
    problem = Problem.of(groups, geometry, l2)
    sample = _sample(problem)
    point = _from_zero(problem, sample) if start is None else _lower(problem, start)
    history, optimum, away = [point.objective], Optimum.NOT_REACHED, None
    while len(history) <= STEPS:
        if problem.is_found(point):
            optimum = Optimum.FOUND
            break
        step = _newton_step(point, problem.basis, point.gradient)
        away = _proved_escape(problem, point, step)
        if away is not None:
            optimum = Optimum.NONE
            break
        if sample is not None:
            step = _bent(sample, point, step)
        moved = _line_search(problem, point, step / problem.scale)
        if moved.objective >= point.objective and problem.norm(moved) >= problem.norm(point):
            break  # rounding: nothing lower is to be had
        point = moved
        history.append(point.objective)
        if on_epoch(Epoch(len(history) - 1, point.objective, point.w.copy())):
            break
    w = _smallest(problem, point)
    return Fitted(w, np.array(history), len(history) - 1, optimum, away, point.data if w is point.w else None)


def _sample(problem: Problem) -> Problem | None:
    """The same of a part of the groups; None where they are few.

    Nothing is said of the sample: what is found by its help is proved on all groups.
    """
    many = problem.groups.groups >= MANY * EVERY
    return replace(problem, groups=every(problem.groups, EVERY)) if many else None


def _at_zero(problem: Problem) -> Point:
    return problem.point(np.zeros(problem.groups.phi.shape[1]), problem.geometry.at_zero)


def _lower(problem: Problem, start: FloatArray) -> Point:
    """The objective at the start, or at w = 0 where that is lower: from up a cliff steps may get nowhere."""
    with np.errstate(over="ignore", invalid="ignore"):
        point = problem.at(start)
    at_zero = _at_zero(problem)
    return point if point.objective < at_zero.objective else at_zero


def _from_zero(problem: Problem, sample: Problem | None) -> Point:
    """The objective where the sample nearly has its optimum, from where few steps are left; else at w = 0."""
    at_zero = _at_zero(problem)
    if sample is None:
        return at_zero
    point = sample.at(at_zero.w)
    for _ in range(ROUGH):
        point = _line_search(sample, point, _newton_step(point, problem.basis, point.gradient) / problem.scale)
    near = problem.at(point.w)
    return near if near.objective < at_zero.objective else at_zero


def _smallest(problem: Problem, point: Point) -> FloatArray:
    """The smallest w with the probabilities of the point; its own where that loses what is proved of it."""
    free = problem.geometry.not_identified()
    if problem.l2 or not len(free):
        return point.w
    w = smallest(point.w, free)
    return point.w if problem.is_found(point) and not problem.is_found(problem.at(w)) else w


def _whitener(point: Point, basis: FloatArray) -> FloatArray:
    """Rows that turn the Hessian inside the basis into the unit matrix, (directions, features)."""
    hessian = basis.T @ point.hessian @ basis
    eps, diagonal = np.finfo(float).eps, np.diag(hessian)
    least = eps * np.abs(diagonal).sum() + np.finfo(float).tiny  # rounding may leave it at 0 or below
    unit = 1 / np.sqrt(np.maximum(diagonal, least))
    values, vectors = np.linalg.eigh(hessian * np.outer(unit, unit))
    values = np.maximum(values, eps * len(values))
    whitener: FloatArray = (vectors / np.sqrt(values)).T @ (basis * unit).T
    return whitener


def _newton_step(point: Point, basis: FloatArray, gradient: FloatArray) -> FloatArray:
    """-H^-1 g inside the basis."""
    whitener = _whitener(point, basis)
    step: FloatArray = -whitener.T @ (whitener @ gradient)
    return step


def _bent(sample: Problem, point: Point, step: FloatArray) -> FloatArray:
    """The step less what it leaves of the gradient, by the sample; the step itself where that would fall less."""
    with np.errstate(over="ignore", invalid="ignore"):
        before, after = sample.at(point.w), sample.at(point.w + step / sample.scale)
        left = after.gradient - before.gradient - before.hessian @ step
    if not np.isfinite(left).all():
        return step
    bent = step + _newton_step(point, sample.basis, left)
    return bent if point.gradient @ bent < 0.5 * (point.gradient @ step) else step


def _proved_escape(problem: Problem, point: Point, step: FloatArray) -> FloatArray | None:
    """The direction of w along which no optimum exists, largest part 1; None unless the step follows one."""
    if problem.l2 or not step.any() or problem.norm(point) >= GRADIENT:
        return None
    found = escape(problem.groups, problem.scale, step / np.abs(step).max())
    if found is None:
        return None
    away: FloatArray = found / problem.scale
    return away / np.abs(away).max()


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
