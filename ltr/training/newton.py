"""Newton's method: the exact optimum of the objective, or the direction along which there is none."""

from dataclasses import dataclass, replace

import numpy as np

from ltr.arrays import FloatArray
from ltr.training.config import TrainConfig
from ltr.training.epochs_and_progress import Epoch, OnEpoch, Progress, ignore
from ltr.training.fit_result import Fitted, Optimum
from ltr.training.group_sample import sampled
from ltr.training.identifiability import Geometry, smallest
from ltr.training.objective import Derivatives, derivatives
from ltr.training.optimality_certificate import escape, gap_bound, reach, reach_bound
from ltr.training.trainable import TrainingGroups

# An optimum counts as found only if all of these hold; the first is for columns of unit deviation.
GRADIENT = 1e-10  # above the norm of the gradient
GAP = 1e-9  # with a penalty, above the bound on objective - optimum, as a share of 1 + |objective|
CURVATURE = 1e-8  # without a penalty, below the least curvature of a direction, as a share of its own at w = 0
REACH = 1e-6  # without a penalty, above the distance of any difference of scores from that at the optimum

STEPS, HALVINGS = 200, 60
EVERY = 32  # of many groups the first steps look at every 32nd,
MANY = 1024  # if that leaves at least so many,
MOST_SAMPLED = 1 << 24  # numbers of phi among them, about
ROUGH = 3  # for so many steps: then the distance left is small beside the error of the sample


@dataclass(frozen=True, slots=True)
class Iterate:
    """The objective at one w, with derivatives in the coordinates w * scale of the objective."""

    w: FloatArray
    objective: float
    gradient: FloatArray
    hessian: FloatArray
    data: Derivatives  # without the penalty


@dataclass(frozen=True, slots=True)
class PenalisedObjective:
    """Loss + l2 |w - centre|^2: the data's derivatives are for columns of unit deviation, steps are in w * scale."""

    groups: TrainingGroups
    geometry: Geometry
    l2: float
    centre: FloatArray  # (features,) that the penalty pulls w towards
    scale: FloatArray  # in coordinates w * scale the curvature of data and penalty is near 1 or below
    basis: FloatArray  # (features, directions) of the steps; without a penalty of unit curvature at w = 0

    @classmethod
    def of(
        cls, groups: TrainingGroups, geometry: Geometry, l2: float, centre: FloatArray | None
    ) -> "PenalisedObjective":
        """Directions that change no probability take no part in the steps unless they are penalised.

        Without a centre the penalty pulls towards 0.
        """
        centre = np.zeros(len(geometry.scale)) if centre is None else centre
        if l2:
            scale = np.maximum(geometry.scale, np.sqrt(2 * l2))
            return cls(groups, geometry, l2, centre, scale, np.eye(len(scale)))
        spectrum = geometry.spectrum
        return cls(groups, geometry, l2, centre, geometry.scale, spectrum.identified / np.sqrt(spectrum.curvature))

    def at(self, w: FloatArray, data: Derivatives | None = None) -> Iterate:
        """Objective and derivatives at w; `data` are those of the data at w, if they are known."""
        data = derivatives(self.groups, w, self.geometry.scale) if data is None else data
        ratio, away = self.geometry.scale / self.scale, w - self.centre
        return Iterate(
            w,
            data.loss + self.l2 * float(away @ away),
            data.gradient * ratio + 2 * self.l2 * away / self.scale,
            data.hessian * np.outer(ratio, ratio) + np.diag((np.sqrt(2 * self.l2) / self.scale) ** 2),
            data,
        )

    def norm(self, point: Iterate) -> float:
        """Norm of the gradient for columns of unit deviation; without a penalty, of its identified part."""
        by_deviation = point.gradient * (self.scale / self.geometry.scale)
        return float(np.linalg.norm(by_deviation if self.l2 else self.geometry.identified_part(by_deviation)))

    def is_optimum(self, point: Iterate) -> bool:
        """Whether the point is proved to be the optimum."""
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
    groups: TrainingGroups,
    geometry: Geometry,
    config: TrainConfig,
    on_epoch: OnEpoch,
    progress: Progress | None = None,
    *,
    centre: FloatArray | None = None,
) -> Fitted:
    """w at the minimum of the objective. It takes a few steps and never resumes: `progress` is ignored."""
    return solve(groups, geometry, config.penalty, centre=centre, on_epoch=on_epoch)


def solve(
    groups: TrainingGroups,
    geometry: Geometry,
    l2: float,
    *,
    centre: FloatArray | None = None,
    start: FloatArray | None = None,
    on_epoch: OnEpoch = ignore,
) -> Fitted:
    """w at the minimum of the objective, by Newton steps with line search from `start`, or w = 0 if that is lower.

    The penalty pulls towards the centre, which is 0 without one.
    Of many groups a sample takes the first steps, and later corrects each step for what it leaves of the gradient.
    The steps end where the optimum is proved, where none is proved to exist, or where rounding lets nothing fall.
    """
    objective, sample = PenalisedObjective.of(groups, geometry, l2, centre), None
    if len(groups) >= MANY * EVERY:  # it only proposes: the proof looks at all groups
        every = max(EVERY, -(-groups.rows * groups.columns // MOST_SAMPLED))
        sample = replace(objective, groups=sampled(groups, every))
    point = _first_point(objective, sample, start)
    history, optimum, away = [point.objective], Optimum.NOT_REACHED, None
    while len(history) <= STEPS:
        if objective.is_optimum(point):
            optimum = Optimum.FOUND
            break
        step = _newton_step(point, objective.basis, point.gradient)
        if not l2 and step.any() and objective.norm(point) < GRADIENT:
            away = escape(groups, objective.scale, step / np.abs(step).max())
        if away is not None:
            optimum, away = Optimum.NONE, away / objective.scale
            away /= np.abs(away).max()
            break
        if sample is not None:
            step = _corrected(step, sample, point)
        moved = _line_search(objective, point, step / objective.scale)
        if moved.objective >= point.objective and objective.norm(moved) >= objective.norm(point):
            break  # rounding: nothing lower is to be had
        point = moved
        history.append(point.objective)
        if on_epoch(Epoch(len(history) - 1, point.objective, point.w.copy())):
            break
    w = point.w
    if not l2 and len(free := geometry.not_identified()):  # the smallest w with these probabilities, if proved as well
        w = smallest(point.w, free)
        w = point.w if objective.is_optimum(point) and not objective.is_optimum(objective.at(w)) else w
    return Fitted(w, np.array(history), len(history) - 1, optimum, away, point.data if w is point.w else None)


def _first_point(objective: PenalisedObjective, sample: PenalisedObjective | None, start: FloatArray | None) -> Iterate:
    """The objective at the start, else near the optimum of the sample; at w = 0 where that is lower, or all there is.

    From far up a cliff steps may get nowhere.
    """
    at_zero = objective.at(np.zeros(len(objective.scale)), objective.geometry.at_zero)
    if start is None and sample is not None:
        rough = sample.at(at_zero.w)
        for _ in range(ROUGH):
            rough = _line_search(sample, rough, _newton_step(rough, objective.basis, rough.gradient) / objective.scale)
        start = rough.w
    if start is None:
        return at_zero
    with np.errstate(over="ignore", invalid="ignore"):
        point = objective.at(start)
    return point if point.objective < at_zero.objective else at_zero


def _whitener(point: Iterate, basis: FloatArray) -> FloatArray:
    """W with W H W' = 1 inside the basis, (directions, features)."""
    hessian = basis.T @ point.hessian @ basis
    eps, diagonal = np.finfo(float).eps, np.diag(hessian)
    least = eps * np.abs(diagonal).sum() + np.finfo(float).tiny  # rounding may leave it at 0 or below
    unit = 1 / np.sqrt(np.maximum(diagonal, least))
    values, vectors = np.linalg.eigh(hessian * np.outer(unit, unit))
    values = np.maximum(values, eps * len(values))
    whitener: FloatArray = (vectors / np.sqrt(values)).T @ (basis * unit).T
    return whitener


def _newton_step(point: Iterate, basis: FloatArray, gradient: FloatArray) -> FloatArray:
    """-H^-1 g inside the basis."""
    whitener = _whitener(point, basis)
    step: FloatArray = -whitener.T @ (whitener @ gradient)
    return step


def _corrected(step: FloatArray, sample: PenalisedObjective, point: Iterate) -> FloatArray:
    """The step plus a second one against the gradient it leaves in the sample; the step itself if that falls less."""
    with np.errstate(over="ignore", invalid="ignore"):
        before, after = sample.at(point.w), sample.at(point.w + step / sample.scale)
        left = after.gradient - before.gradient - before.hessian @ step
    if not np.isfinite(left).all():
        return step
    corrected = step + _newton_step(point, sample.basis, left)
    return corrected if point.gradient @ corrected < 0.5 * (point.gradient @ step) else step


def _line_search(objective: PenalisedObjective, point: Iterate, step: FloatArray) -> Iterate:
    """The point after the first of step, step / 2, step / 4 ... that lowers the objective enough; else the point."""
    slope = float((point.gradient * objective.scale) @ step)
    noise = 1e-14 * (1 + abs(point.objective))  # near the optimum the objective only moves by rounding
    share = 1.0
    for _ in range(HALVINGS):
        with np.errstate(over="ignore", invalid="ignore"):
            moved = objective.at(point.w + share * step)
        if moved.objective <= point.objective + 1e-4 * share * slope + noise:
            return moved
        share /= 2  # convex but not quadratic: a full step can overshoot far from the optimum
    return point


def centre_of(prior: FloatArray | None, columns: int) -> FloatArray:
    """What the penalty pulls the weights of so many columns towards: the prior, and 0 for the terms that follow.

    >>> centre_of(np.array([2.0]), 3)
    array([2., 0., 0.])
    """
    centre = np.zeros(columns)
    if prior is not None:
        centre[: len(prior)] = prior
    return centre
