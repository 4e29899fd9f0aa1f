"""How far a trained w can be trusted: its distance to the optimum, standard errors, what each column is worth."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ltr.arrays import FloatArray, IntArray
from ltr.bends import Bends
from ltr.errors import UsageError
from ltr.listwise import Trainable, cluster_slopes, derivatives, trainable
from ltr.model import Fitted, Model, Optimum, direction_text
from ltr.train.config import TrainConfig
from ltr.train.geometry import Geometry, in_units
from ltr.train.newton import solve

NORMAL_95 = 1.959963984540054  # half of the 95 % interval, in standard errors
COLLINEAR = 0.95  # correlation inside the groups from which a pair is named
ILL_CONDITIONED = 30.0  # Belsley, Kuh and Welsch: from here on collinearity harms
FEW_CLUSTERS = 40  # sandwich errors of fewer are too small
GROUPS_PER_FEATURE = 10
SHORT_OF = 0.01  # of what w = 0 leaves to gain: a trainer that leaves more says so
NARROW = 64  # columns up to which each is left out in turn


@dataclass(frozen=True, slots=True)
class Errors:
    """Standard errors at the optimum of the unpenalised likelihood, conditional on phi; raw scale."""

    form: str  # hessian: its inverse; by_trace or by_group: the sandwich, clustered
    clusters: int
    w: FloatArray  # (features,): the unpenalised optimum
    standard: FloatArray  # (features,); NaN where the column's weight is not identified

    @property
    def z(self) -> FloatArray:
        """w over its standard error."""
        return self.w / self.standard

    @property
    def interval(self) -> tuple[FloatArray, FloatArray]:
        """The 95 % interval of each weight."""
        return self.w - NORMAL_95 * self.standard, self.w + NORMAL_95 * self.standard


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What is known of a w beside its training. Objectives are in the scale of the training."""

    gap: float | None  # objective - the exact optimum's; None without an optimum
    at_zero: float  # the objective of w = 0
    effective_groups: float  # (sum of weights)^2 / sum of their squares
    condition_number: float  # of the columns inside the groups, unit deviation, identified directions
    collinear: tuple[tuple[int, int, float], ...]  # pairs of columns and their correlation inside the groups
    worth: FloatArray | None  # (features,): how far the optimum rises without the column, l2 kept; None: not computed
    errors: Errors | None
    no_errors: str  # why there are none; empty where there are
    curves: tuple[FloatArray, ...] = ()  # a feature's values and what they add, where weights change; raw scale

    def warnings(self, model: Model, names: Sequence[str]) -> Iterator[str]:
        """What makes a weight, or the whole of w, less than it seems."""
        possible = self.at_zero - model.training.objective + (self.gap or 0.0)
        if self.gap is not None and self.gap > SHORT_OF * possible > 0:
            yield (
                f"{model.training.trainer} ended {self.gap:.3g} above the optimum, {self.gap / possible:.0%} of all "
                "there is to gain over w = 0: trainer newton reaches it, more epochs or standardize come nearer"
            )
        if self.effective_groups < GROUPS_PER_FEATURE * len(model.w):
            learned = _count(len(model.w), "weight" if self.curves else "feature")
            yield f"{_count(round(self.effective_groups), 'group')} for {learned}: another sample gives other weights"
        for first, second, correlation in self.collinear:
            both = f"{names[first]} and {names[second]} say nearly the same"
            yield f"{both} (correlation {correlation:+.3f}): read their weights together"
        if self.condition_number > ILL_CONDITIONED:
            yield f"condition number {self.condition_number:.0f}: some weights hang on each other"
        if self.errors is not None:
            yield from self._doubts(model, self.errors, names)

    def _doubts(self, model: Model, errors: Errors, names: Sequence[str]) -> Iterator[str]:
        if errors.form == "by_trace" and errors.clusters < FEW_CLUSTERS:
            yield f"{errors.clusters} traces: standard errors of so few are too small"
        unsure = [name for name, z in zip(names, np.abs(errors.z), strict=True) if z < NORMAL_95]
        if unsure:
            yield f"not told from 0 by these data: the weight of {', '.join(unsure)}"
        turned = [name for name, w, free in zip(names, model.w, errors.w, strict=True) if w * free < 0]
        if turned:
            what = (
                "the penalty turns"
                if model.training.optimum is Optimum.FOUND
                else "stopping short, or the penalty, turns"
            )
            yield f"{what} the sign of {', '.join(turned)}: do not read it"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


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
    >>> from ltr.train import fit
    >>> known = diagnose(phi, [1, 0] * 3, [0, 2, 4, 6], config, fit(phi, [1, 0] * 3, [0, 2, 4, 6], config))
    >>> known.errors.standard.round(6)  # 1 / sqrt(3 p (1 - p)), p = 2/3
    array([1.224745])
    """
    given = trainable(phi, labels, offsets, weights=weights, targets_are=config.targets)
    groups, units = in_units(given, standardize=config.standardize, bends=model.bends)
    geometry, scale = Geometry.of(groups), np.ones(len(model.w)) if units is None else units
    optima = _optima(groups, geometry, config, model, model.w * scale)
    no_errors, errors = _no_errors(optima.free, scale, names), None
    if optima.free is not None and not no_errors:
        errors = _errors(groups, geometry, optima.free.w, _clusters(groups, clusters))
        no_errors = "" if errors else "all groups are of one trace"
    if errors is not None:
        errors = replace(errors, w=errors.w / scale, standard=errors.standard / scale)
    lines = Geometry.of(given) if len(model.bends) else geometry  # a curve's own columns hang on each other: no news
    curvature = lines.spectrum.curvature
    return Diagnosis(
        gap=max(model.training.objective - optima.lowest, 0.0) if optima.is_found else None,
        at_zero=geometry.at_zero.loss,
        effective_groups=1.0 / float(groups.weights @ groups.weights),
        condition_number=math.sqrt(curvature[-1] / curvature[0]) if len(curvature) else 1.0,
        collinear=tuple(_collinear(lines)),
        worth=_worth(groups, config.penalty, optima, model.bends) if optima.is_found else None,
        errors=errors,
        no_errors=no_errors,
        curves=tuple(_curves(given.phi, model)),
    )


@dataclass(frozen=True, slots=True)
class _Optima:
    """Of the objective as it was asked for, and without its penalty; in the scale of the training."""

    w: FloatArray
    lowest: float
    is_found: bool
    free: Fitted | None  # None of curves: their weights have no meaning one by one


def _optima(groups: Trainable, geometry: Geometry, config: TrainConfig, model: Model, w: FloatArray) -> _Optima:
    """Each starts from what is known: the model's w, and then the optimum with the penalty."""
    lowest, is_found = model.training.objective, True
    if model.training.optimum is not Optimum.FOUND or config.trainer != "newton":
        best = solve(groups, geometry, config.penalty, start=w if config.penalty else None)
        w, lowest, is_found = best.w, float(best.history[-1]), best.optimum is Optimum.FOUND
    free = None if len(model.bends) else solve(groups, geometry, 0.0, start=w if config.penalty else None)
    return _Optima(w, lowest, is_found, free)


def _clusters(groups: Trainable, clusters: npt.ArrayLike | None) -> IntArray | None:
    """The cluster of each group that trains, counted from 0; None where every group is one by itself."""
    if clusters is None:
        return None
    given = np.asarray(clusters)
    if given.shape != groups.trains.shape:
        raise UsageError(f"clusters: one a group is needed {groups.trains.shape}, found shape {given.shape}")
    codes = np.unique(given[groups.trains], return_inverse=True)[1]
    return codes if codes.max() + 1 < groups.groups else None


def _errors(groups: Trainable, geometry: Geometry, best: FloatArray, clusters: IntArray | None) -> Errors | None:
    """Standard errors at the unpenalised optimum, in the scale of the groups; None for a single cluster.

    With H the Hessian of the mean loss at its own optimum and s_c the part of cluster c in the gradient:
    H^-1 / groups, or H^-1 (sum_c s_c s_c') H^-1 * C / (C - 1) where groups depend on each other, differ in weight, or
    share their target among several positives, which is no draw of one from the softmax.
    """
    at_best = derivatives(groups, best, geometry.scale)
    basis = geometry.spectrum.identified
    inverse = basis @ np.linalg.pinv(basis.T @ at_best.hessian @ basis, hermitian=True) @ basis.T
    form, count, covariance = "hessian", groups.groups, inverse / groups.groups
    is_drawn = np.count_nonzero(groups.shares) == groups.groups
    if clusters is not None or np.ptp(groups.weights) > 0 or not is_drawn:
        form = "by_group" if clusters is None else "by_trace"
        codes = np.arange(groups.groups) if clusters is None else clusters
        slopes = cluster_slopes(groups, best, geometry.scale, codes)
        count = len(slopes)
        if count < 2:
            return None
        covariance = inverse @ (slopes.T @ slopes) @ inverse * (count / (count - 1))
    standard = np.sqrt(np.maximum(np.diag(covariance), 0.0)) / geometry.scale
    hidden = (geometry.not_identified() != 0).any(axis=0)
    return Errors(form, count, best, np.where(hidden | (standard == 0), np.nan, standard))


def _curves(phi: FloatArray, model: Model) -> Iterator[FloatArray]:
    """The curve of each feature, between the ends of its column; none where all are straight."""
    features = phi.shape[1] if len(model.bends) else 0
    for place in range(features):
        ends = float(phi[:, place].min()), float(phi[:, place].max())
        yield model.bends.curve(place, features, ends, model.w)


def _no_errors(free: Fitted | None, units: FloatArray, names: Sequence[str] | None) -> str:
    """Why the unpenalised likelihood gives no standard errors; empty where it does."""
    if free is None:
        return "a weight that changes along its feature has none of its own"
    if free.escape is not None:
        return f"without a penalty the loss falls for ever along {direction_text(free.escape / units, names)}"
    return "" if free.optimum is Optimum.FOUND else "the optimum without a penalty could not be proved"


def _collinear(geometry: Geometry) -> Iterator[tuple[int, int, float]]:
    """Pairs of columns that move together inside the groups, by the covariance that w = 0 gives."""
    covariance = geometry.at_zero.hessian
    spread = np.sqrt(np.maximum(np.diag(covariance), np.finfo(float).tiny))
    correlations = covariance / np.outer(spread, spread)
    for first, second in zip(*np.nonzero(np.triu(np.abs(correlations) > COLLINEAR, k=1)), strict=True):
        yield int(first), int(second), float(correlations[first, second])


def _worth(groups: Trainable, l2: float, optima: _Optima, bends: Bends) -> FloatArray | None:
    """How far the optimum rises when a feature is left out, with its bends, each refitted exactly."""
    columns = groups.phi.shape[1]
    features = columns - len(bends)
    if columns > NARROW:
        return None
    if features == 1:
        return np.array([_loss_of_nothing(groups) - optima.lowest])
    rises = np.empty(features)
    for place in range(features):
        left_out = bends.of_feature(place, features)
        others = replace(groups, phi=np.ascontiguousarray(np.delete(groups.phi, left_out, axis=1)))
        refit = solve(others, Geometry.of(others), l2, start=np.delete(optima.w, left_out) if l2 else None)
        rises[place] = max(float(refit.history[-1]) - optima.lowest, 0.0)
    return rises


def _loss_of_nothing(groups: Trainable) -> float:
    """The mean loss of equal probabilities: the mean of ln(candidates)."""
    return float(groups.weights @ np.log(np.diff(groups.offsets)))
