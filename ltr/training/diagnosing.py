"""What can be found out about a w: how far it is from the optimum, how sure, what each column is worth."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ltr.arrays import FloatArray
from ltr.training.config import TrainConfig
from ltr.training.curves import Knots
from ltr.training.diagnosis import Diagnosis
from ltr.training.identifiability import Geometry, in_units
from ltr.training.model import Fitted, Model, Optimum
from ltr.training.newton import solve
from ltr.training.objective import Trainable, trainable
from ltr.training.standard_errors import no_optimum, standard_errors

COLLINEAR = 0.95  # correlation inside the groups from which a pair is named
NARROW = 64  # features without a knot up to which each is left out in turn; fewer with knots, for the same work
NOTHING = 1e-12  # to be learned: what is left of it is rounding


def diagnose(
    phi: npt.ArrayLike,
    labels: npt.ArrayLike,
    offsets: npt.ArrayLike,
    config: TrainConfig,
    model: Model,
    *,
    weights: npt.ArrayLike | None = None,
    clusters: npt.ArrayLike | None = None,
    names: Sequence[str] | None = None,
) -> Diagnosis:
    """What can be said of a model that `fit` gave for the same arrays; clusters: the trace of each group.

    >>> phi = [[1.0], [0.0], [0.0], [1.0], [1.0], [0.0]]
    >>> config = TrainConfig(trainer="newton", l2=0.0)
    >>> from ltr.training.fit import fit
    >>> known = diagnose(phi, [1, 0] * 3, [0, 2, 4, 6], config, fit(phi, [1, 0] * 3, [0, 2, 4, 6], config))
    >>> known.errors.standard.round(6)  # 1 / sqrt(3 p (1 - p)), p = 2/3
    array([1.224745])
    """
    given = trainable(phi, labels, offsets, weights=weights, targets_are=config.targets)
    groups, units = in_units(given, standardize=config.standardize, knots=model.knots)
    geometry, scale = Geometry.of(groups), np.ones(len(model.w)) if units is None else units
    optima = _optima(groups, geometry, config, model, model.w * scale)
    errors, no_errors = None, no_optimum(optima.free, scale, names)
    if optima.free is not None and not no_errors:
        errors, no_errors = standard_errors(groups, geometry, optima.free.w, clusters)
    lines = Geometry.of(given) if len(model.knots) else geometry  # a curve's own columns hang on each other: no news
    curvature = lines.spectrum.curvature
    return Diagnosis(
        gap=max(model.training.objective - optima.lowest, 0.0) if optima.is_found else None,
        at_zero=geometry.at_zero.loss,
        possible_gain=_learnable(geometry, optima.free),
        lost_to_penalty=_kept_away(geometry, config.penalty, optima, model.training.objective, model.w * scale),
        effective_groups=1.0 / float(groups.weights @ groups.weights),
        groups_all_alike=_all_alike(groups),
        condition_number=math.sqrt(curvature[-1] / curvature[0]) if len(curvature) else 1.0,
        scale_ratio=_scale_ratio(lines),
        collinear=tuple(_collinear(lines)),
        is_open=lines.is_open,
        deviation=lines.scale,
        escape=model.training.escape if optima.escape is None else optima.escape / scale,
        not_identified=lines.not_identified() if len(model.knots) else model.training.not_identified,
        loss_without=_loss_without(groups, config.penalty, optima, model.knots) if optima.is_found else None,
        errors=None if errors is None else errors.over(scale),
        no_errors=no_errors,
        curves=tuple(_curves(given.phi, model)),
    )


@dataclass(frozen=True, slots=True)
class _Optima:
    """Of the objective as it was asked for, and without its penalty; in the scale of the training."""

    w: FloatArray
    lowest: float
    is_found: bool
    escape: FloatArray | None  # the direction along which the objective falls for ever, where the model knows of none
    free: Fitted | None  # None of curves: their weights have no meaning one by one


def _optima(groups: Trainable, geometry: Geometry, config: TrainConfig, model: Model, w: FloatArray) -> _Optima:
    """Each starts from what is known: the model's w, and then the optimum with the penalty."""
    lowest, is_found, away = model.training.objective, True, None
    if model.training.optimum is not Optimum.FOUND or config.trainer != "newton":
        best = solve(groups, geometry, config.penalty, start=w if config.penalty else None)
        w, lowest, is_found, away = best.w, float(best.history[-1]), best.optimum is Optimum.FOUND, best.escape
    free = None if len(model.knots) else solve(groups, geometry, 0.0, start=w if config.penalty else None)
    return _Optima(w, lowest, is_found, away, free)


def _learnable(geometry: Geometry, free: Fitted | None) -> float | None:
    """How far the cross-entropy falls from w = 0 to its optimum; None without one."""
    if free is None or free.optimum is not Optimum.FOUND:
        return None
    return max(geometry.at_zero.loss - float(free.history[-1]), 0.0)


def _kept_away(geometry: Geometry, l2: float, optima: _Optima, objective: float, w: FloatArray) -> float | None:
    """The share of it that the optimum with the penalty leaves, and w too: the penalty's part in what w misses."""
    possible_gain = _learnable(geometry, optima.free)
    if possible_gain is None or possible_gain <= NOTHING or not optima.is_found:
        return None
    losses = objective - l2 * float(w @ w), optima.lowest - l2 * float(optima.w @ optima.w)
    left = min(losses) - (geometry.at_zero.loss - possible_gain)
    return max(left / possible_gain, 0.0) if l2 else 0.0


def _all_alike(groups: Trainable) -> int:
    """Groups in which all candidates have the same target: at w = 0 they have their least loss."""
    starts = groups.offsets[:-1]
    spread = np.maximum.reduceat(groups.shares, starts) == np.minimum.reduceat(groups.shares, starts)
    return int(spread.sum())


def _scale_ratio(geometry: Geometry) -> float:
    """The largest deviation of a column inside the groups over the smallest, constant columns aside."""
    moving = geometry.scale[geometry.deviation > 0]
    return float(moving.max() / moving.min()) if len(moving) else 1.0


def _curves(phi: FloatArray, model: Model) -> Iterator[FloatArray]:
    """The curve of each feature, between the ends of its column; none where all are straight."""
    features = phi.shape[1] if len(model.knots) else 0
    for place in range(features):
        ends = float(phi[:, place].min()), float(phi[:, place].max())
        yield model.knots.curve(place, ends, model.w)


def _collinear(geometry: Geometry) -> Iterator[tuple[int, int, float]]:
    """Pairs of columns that move together inside the groups, by the covariance that w = 0 gives."""
    covariance = geometry.at_zero.hessian
    spread = np.sqrt(np.maximum(np.diag(covariance), np.finfo(float).tiny))
    correlations = covariance / np.outer(spread, spread)
    for first, second in zip(*np.nonzero(np.triu(np.abs(correlations) > COLLINEAR, k=1)), strict=True):
        yield int(first), int(second), float(correlations[first, second])


def _loss_without(groups: Trainable, l2: float, optima: _Optima, knots: Knots) -> FloatArray | None:
    """How far the optimum rises when a feature is left out, with its knots, each refitted exactly."""
    columns = groups.phi.shape[1]
    features = columns - len(knots)
    if features * columns**2 > NARROW**3:
        return None
    if features == 1:
        return np.array([_loss_of_nothing(groups) - optima.lowest])
    rises = np.empty(features)
    for place in range(features):
        left_out = knots.of_feature(place)
        others = replace(groups, phi=np.ascontiguousarray(np.delete(groups.phi, left_out, axis=1)))
        refit = solve(others, Geometry.of(others), l2, start=np.delete(optima.w, left_out) if l2 else None)
        rises[place] = max(float(refit.history[-1]) - optima.lowest, 0.0)
    return rises


def _loss_of_nothing(groups: Trainable) -> float:
    """The mean loss of equal probabilities: the mean of ln(candidates)."""
    return float(groups.weights @ np.log(np.diff(groups.offsets)))
