"""Newton's method: the exact optimum of the objective, for one penalty or many, or the direction without one."""

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ltr.arrays import FloatArray, offsets_of
from ltr.engine import IN_PROCESS, Engine
from ltr.training.certificate import escape, gap_bound, reach, reach_bound
from ltr.training.config import TrainConfig
from ltr.training.designs import Designs, TrainingGroups, training_groups
from ltr.training.epochs import Epoch, OnEpoch, Progress, ignore
from ltr.training.geometry import Geometry, in_units, smallest
from ltr.training.groups import Trainable
from ltr.training.model import Fitted, Optimum
from ltr.training.objective import Derivatives, derivatives
from ltr.training.terms import Terms

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


def sampled(groups: TrainingGroups, step: int) -> Trainable:
    """Every step-th group, with weights that sum to 1.

    >>> from ltr.training.designs import trainable
    >>> pairs = trainable(np.arange(6.0)[:, np.newaxis], np.array([0, 1] * 3), np.array([0, 2, 4, 6]))
    >>> sampled(pairs, 2).phi.ravel(), sampled(pairs, 2).weights
    (array([0., 1., 4., 5.]), array([0.5, 0.5]))
    """
    drawn = joined(list(groups.map(partial(_every, step=step))))
    total = drawn.weights.sum()
    return replace(drawn, weights=drawn.weights / total, shares=drawn.shares / total)


def _every(groups: Trainable, step: int) -> Trainable:
    sizes, is_drawn = np.diff(groups.offsets), np.arange(groups.first, groups.first + len(groups)) % step == 0
    rows = np.repeat(is_drawn, sizes)
    offsets = np.concatenate(([0], np.cumsum(sizes[is_drawn])))
    added = groups.score_offset[rows[: len(groups.score_offset)]]
    columns = (groups.phi[rows], offsets, groups.weights[is_drawn], groups.shares[rows], added)
    return Trainable(*columns, groups.skipped, is_drawn, np.flatnonzero(is_drawn))


def joined(parts: list[Trainable]) -> Trainable:
    """The groups of all parts as one."""
    if len(parts) == 1:
        return parts[0]
    added = [part.score_offset if len(part.score_offset) else np.zeros(part.rows) for part in parts]
    has_offset = any(len(part.score_offset) for part in parts)
    trains = np.concatenate([part.trains for part in parts])
    return Trainable(
        np.concatenate([part.phi for part in parts]),
        offsets_of(np.concatenate([np.diff(part.offsets) for part in parts])),
        np.concatenate([part.weights for part in parts]),
        np.concatenate([part.shares for part in parts]),
        np.concatenate(added) if has_offset else np.empty(0),
        parts[0].skipped,
        trains,
        np.flatnonzero(trains),
    )


def optima_along(
    designs: Designs,
    terms: Terms,
    config: TrainConfig,
    *,
    prior: FloatArray | None = None,
    start: FloatArray | None = None,
    engine: Engine = IN_PROCESS,
) -> list[FloatArray]:
    """Return the same for one design or many, with these terms."""
    all_groups = training_groups(designs, targets_are=config.targets, engine=engine)
    groups, units = in_units(all_groups, standardize=config.standardize, terms=terms)
    geometry, optima, centre = Geometry.of(groups), dict[float, FloatArray](), centre_of(prior, groups.columns)
    if start is not None:
        start = start * (1 if units is None else units) if len(start) == groups.columns else None  # other terms
    for l2 in sorted(config.l2s, reverse=True):
        first = _start(optima, l2) if optima else start
        optima[l2] = solve(groups, geometry, l2, centre=centre, start=first).w
    return [optima[l2] if units is None else optima[l2] / units for l2 in config.l2s]


def _start(optima: dict[float, FloatArray], l2: float) -> FloatArray:
    """Where the next optimum should be: on the line through the last two along log l2, or at the last one."""
    last_two = list(optima)[-2:]
    last = optima[last_two[-1]]
    logs = [math.log(value) for value in (*last_two, l2) if value > 0]  # a quotient of two l2 may overflow
    if len(logs) < 3 or logs[0] == logs[1]:
        return last
    ahead = (logs[1] - logs[2]) / (logs[0] - logs[1])
    start = last + ahead * (last - optima[last_two[0]])
    return start if np.isfinite(start).all() else last
