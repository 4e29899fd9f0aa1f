"""Diagnosis: how far w is from the optimum, how sure each weight is, what each column is worth, and warnings."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np
import numpy.typing as npt

from ltr.arrays import BoolArray, FloatArray, IntArray
from ltr.engine import IN_PROCESS, Engine
from ltr.errors import count
from ltr.training.config import TrainConfig
from ltr.training.designs import Designs, TrainingGroups, training_groups
from ltr.training.geometry import Geometry, in_units
from ltr.training.groups import Trainable
from ltr.training.model import Fitted, Model, Optimum
from ltr.training.newton import centre_of, solve
from ltr.training.objective import slope
from ltr.training.standard_errors import NORMAL_95, StandardErrors, effective_text, standard_errors
from ltr.training.terms import Terms

COLLINEAR = 0.95  # correlation inside the groups from which a pair is named
MOST_LEFT_OUT = 80  # features without terms up to which each is left out in turn; fewer with terms, for the same work
NO_GAIN = 1e-12  # possible gain up to here is rounding
ILL_CONDITIONED = 30.0  # Belsley, Kuh and Welsch: from here on collinearity harms
FEW_CLUSTERS = 40  # sandwich errors of fewer are too small
GROUPS_PER_FEATURE = 10
LARGE_GAP = 0.01  # share of what w = 0 leaves to gain from which a gap is worth a warning
LARGE_LOSS = 0.05  # share of the possible gain from which the loss to the penalty is worth a warning
LARGE_SHRINKAGE = 0.5  # share of a significant weight
FAR_APART = 1e3  # ratio of column scales from which no step size or penalty suits all of them


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What is known of a w beside its training. Objectives are in the scale of the training."""

    gap: float | None  # objective - the exact optimum's; None without an optimum
    at_zero: float  # the objective of w = 0
    possible_gain: float | None  # cross-entropy of w = 0 - that of the unpenalised optimum; None without one
    lost_to_penalty: float | None  # the share of it that the penalty takes
    effective_groups: float  # (sum of weights)^2 / sum of their squares
    groups_all_alike: int  # every candidate has the same target: they pull all weights towards 0
    condition_number: float  # of the columns inside the groups, unit deviation, identified directions
    scale_ratio: float  # the largest deviation of a column inside the groups over the smallest
    collinear: tuple[tuple[int, int, float], ...]  # pairs of columns and their correlation inside the groups
    is_open: BoolArray  # (features,): the weight depends on a direction that changes no probability
    deviation: FloatArray  # (features,): of the columns inside the groups; 1 where there is none
    escape: FloatArray | None  # the direction along which the objective falls for ever, with terms; raw scale
    not_identified: FloatArray  # (directions, features) that change no probability, without terms
    loss_without: FloatArray | None  # (features,): how far the optimum rises without the column; None: not computed
    errors: StandardErrors | None
    no_errors: str  # why there are no standard errors; empty where there are
    product_ranges: FloatArray  # (products,): how much more each adds at most than at least
    curves: tuple[FloatArray, ...] = ()  # of each feature the values and what they add, if there are knots; raw scale

    def warnings(self, model: Model, names: Sequence[str], *, is_l2_chosen: bool = False) -> Iterator[str]:
        """Reasons to trust a weight, or the whole of w, less; `is_l2_chosen`: data left out weighed the penalty."""
        yield from self._warnings_of_distance(model)
        if self.effective_groups < GROUPS_PER_FEATURE * len(model.w):
            weights = count(len(model.w), "feature" if len(model.w) == len(self.is_open) else "weight")
            yield f"{count(round(self.effective_groups), 'group')} for {weights}: another sample gives other weights"
        if self.groups_all_alike:
            share = f"{self.groups_all_alike:,} of {count(model.training.groups, 'group')}"
            yield f"every candidate is equally right in {share}: they teach nothing and pull all weights towards 0"
        for first, second, correlation in self.collinear:
            pair = f"{names[first]} and {names[second]} are nearly the same column"
            yield f"{pair} (correlation {correlation:+.3f}): read their weights together"
        if self.condition_number > ILL_CONDITIONED and not self.collinear:
            yield f"condition number {self.condition_number:.0f}: some weights depend on each other"
        yield from self._warnings_of_penalty(model, names, is_l2_chosen=is_l2_chosen)
        if self.errors is not None:
            yield from self._warnings_of_weights(model, self.errors, names)

    def _warnings_of_distance(self, model: Model) -> Iterator[str]:
        training = model.training
        is_standardised = training.deviations is not None
        if self.gap is None:
            advice = ": set an l2 above 0" if training.gap_bound is None else ""
            if self.scale_ratio >= FAR_APART:
                advice = f", as columns differ in scale by a factor of {self.scale_ratio:.0e}"
                advice += "" if is_standardised else ": set train.standardize"
            if self.escape is None:
                yield f"the optimum could not be proved{advice}"
            return
        possible = self.at_zero - training.objective + self.gap
        if self._is_near(training.objective) or possible <= 0:
            return
        share = self.gap / possible
        size = "worse than w = 0" if share >= 1 else f"{share:.0%} of all there is to gain over w = 0"
        reason = f"trainer newton reaches it, more epochs{'' if is_standardised else ' or standardize'} come nearer"
        if training.watched is not None and training.watched.best_epoch < training.epochs:
            reason = "validation data chose an earlier epoch"
        yield f"{training.trainer} ended {self.gap:.3g} above the optimum, {size}: {reason}"

    def _is_near(self, objective: float) -> bool:
        """Whether the trainer left next to nothing of what there is to gain."""
        return self.gap is not None and self.gap <= LARGE_GAP * max(self.at_zero - objective + self.gap, 0.0)

    def _warnings_of_penalty(self, model: Model, names: Sequence[str], *, is_l2_chosen: bool) -> Iterator[str]:
        """That the penalty takes more than noise: of the possible gain, or of single weights."""
        shrunk = ""
        if self.errors is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                left = model.w / self.errors.w
            is_shrunk = (np.abs(self.errors.z) > NORMAL_95) & (left >= 0) & (left < 1 - LARGE_SHRINKAGE)
            shrunk = _listed(names, is_shrunk)
        if self.lost_to_penalty is not None and self.possible_gain is not None and self.lost_to_penalty >= LARGE_LOSS:
            weights = int(np.count_nonzero(~self.is_open))
            likelihood_ratio = 2 * self.effective_groups * self.lost_to_penalty * self.possible_gain
            if likelihood_ratio > weights + 2 * math.sqrt(2 * weights):  # above its 95 % quantile: more than noise
                more = f", and more than half of the weight of {shrunk}" if shrunk else ""
                scaled = "" if model.training.deviations is not None else ", or set train.standardize"
                advice = "data left out chose its l2" if is_l2_chosen else f"lower l2{scaled}"
                yield f"the penalty takes {self.lost_to_penalty:.0%} of the possible gain{more}: {advice}"
                return
        if shrunk:
            yield f"{self._cause(model)} shrinks {shrunk}: the weight is less than half of the unpenalised one"

    def _warnings_of_weights(self, model: Model, errors: StandardErrors, names: Sequence[str]) -> Iterator[str]:
        if errors.form != "hessian" and errors.effective_clusters < FEW_CLUSTERS:
            clusters = count(errors.clusters, "trace" if errors.form == "by_trace" else "group")
            effective = effective_text(errors.clusters, errors.effective_clusters)
            yield f"{clusters}{f' count as {effective}' if effective else ''}: standard errors of so few are too small"
        is_significant = np.abs(errors.z) >= NORMAL_95
        if unsure := _listed(names, np.abs(errors.z) < NORMAL_95):  # NaN is neither
            yield f"not significantly different from 0: the weight of {unsure}"
        if reversed_names := _listed(names, (model.w * errors.w < 0) & is_significant):
            yield f"{self._cause(model)} reverses the sign of {reversed_names}: do not interpret it"

    def _cause(self, model: Model) -> str:
        """Why a weight differs from the unpenalised one."""
        if model.training.optimum is Optimum.FOUND or self._is_near(model.training.objective):
            return "the penalty"
        return "stopping early" if self.lost_to_penalty == 0 else "stopping early, or the penalty,"


def _listed(names: Sequence[str], is_listed: BoolArray) -> str:
    return ", ".join(name for name, is_named in zip(names, is_listed, strict=True) if is_named)


def diagnose(
    designs: Designs,
    config: TrainConfig,
    model: Model,
    *,
    prior: FloatArray | None = None,
    clusters: npt.ArrayLike | None = None,
    names: Sequence[str] | None = None,
    engine: Engine = IN_PROCESS,
) -> Diagnosis:
    """Diagnose a model that `fit_designs` gave for the same designs; a cluster lies in one of them."""
    raw = training_groups(designs, targets_are=config.targets, engine=engine)
    groups, units = in_units(raw, standardize=config.standardize, terms=model.terms)
    geometry, scale = Geometry.of(groups), np.ones(len(model.w)) if units is None else units
    centre = centre_of(prior, len(scale))
    best, free = _optima(groups, geometry, config, model, (model.w * scale, centre))
    is_found, objective = best.optimum is Optimum.FOUND, model.training.objective
    fitted = (objective, model.w * scale), (float(best.history[-1]), best.w)
    losses = [value - config.penalty * float((w - centre) @ (w - centre)) for value, w in fitted]
    possible_gain, lost_to_penalty = _gains(geometry, best, free, min(losses), is_penalised=config.penalty > 0)
    errors = standard_errors(groups, geometry, free, clusters=clusters, units=scale, names=names)
    lines = Geometry.of(raw) if len(model.terms) else geometry  # the columns of one curve always depend on each other
    curvature, moving = lines.spectrum.curvature, lines.scale[lines.deviation > 0]
    ends = _ends(raw) if len(model.terms.knots) else ()
    masses = np.bincount(groups.origins, weights=groups.weights, minlength=len(groups.trains))[groups.trains]
    return Diagnosis(
        gap=max(objective - float(best.history[-1]), 0.0) if is_found else None,
        at_zero=geometry.at_zero.loss + config.penalty * float(centre @ centre),
        possible_gain=possible_gain,
        lost_to_penalty=lost_to_penalty,
        effective_groups=1.0 / float(masses @ masses),
        groups_all_alike=sum(groups.map(_all_alike)),
        condition_number=math.sqrt(curvature[-1] / curvature[0]) if len(curvature) else 1.0,
        scale_ratio=float(moving.max() / moving.min()) if len(moving) else 1.0,
        collinear=tuple(_collinear_pairs(lines)),
        is_open=lines.is_open,
        deviation=lines.scale,
        escape=model.training.escape if best.escape is None else best.escape / scale,
        not_identified=lines.not_identified() if len(model.terms) else model.training.not_identified,
        loss_without=_loss_without(groups, (config.penalty, centre), best, model.terms) if is_found else None,
        errors=None if isinstance(errors, str) else errors,
        no_errors=errors if isinstance(errors, str) else "",
        curves=tuple(model.terms.knots.curve(feature, pair, model.w) for feature, pair in enumerate(ends)),
        product_ranges=_product_ranges(raw, model),
    )


def _product_ranges(groups: TrainingGroups, model: Model) -> FloatArray:
    """By how much what each product adds differs at most between two rows."""
    products = model.terms.products
    if not len(products):
        return np.empty(0)
    least, greatest = np.array(_ends(groups.with_columns(products, len(products)))).T
    return np.abs(model.w[len(model.w) - len(products) :]) * (greatest - least)


def _ends(groups: TrainingGroups) -> Sequence[tuple[float, float]]:
    """The least and the greatest value of each column."""
    lowest, highest = zip(*groups.map(_lowest_and_highest), strict=True)
    return list(zip(reduce(np.minimum, lowest).tolist(), reduce(np.maximum, highest).tolist(), strict=True))


def _lowest_and_highest(groups: Trainable) -> tuple[FloatArray, FloatArray]:
    return groups.phi.min(axis=0), groups.phi.max(axis=0)


def _all_alike(groups: Trainable) -> int:
    """How many groups share their target among all candidates alike."""
    largest, least = (extreme.reduceat(groups.shares, groups.offsets[:-1]) for extreme in (np.maximum, np.minimum))
    return int((largest == least).sum())


def _optima(
    groups: TrainingGroups,
    geometry: Geometry,
    config: TrainConfig,
    model: Model,
    fitted: tuple[FloatArray, FloatArray],
) -> tuple[Fitted, Fitted | None]:
    """The optimum with the penalty, and without; None for the second with terms, whose weights have no meaning alone.

    The first solve starts from the w of the model, the second from the optimum of the first. `fitted`: w and what the
    penalty pulls it towards.
    """
    (w, centre), is_penalised = fitted, config.penalty > 0
    if model.training.optimum is Optimum.FOUND and config.trainer == "newton":
        best = Fitted(w, np.array([model.training.objective]), 0, Optimum.FOUND)
    else:
        best = solve(groups, geometry, config.penalty, centre=centre, start=w if is_penalised else None)
    if len(model.terms):
        return best, None
    return best, solve(groups, geometry, 0.0, start=best.w if is_penalised else None)


def _gains(
    geometry: Geometry, best: Fitted, free: Fitted | None, loss: float, *, is_penalised: bool
) -> tuple[float | None, float | None]:
    """How far the cross-entropy falls from w = 0 to its optimum, and the share of it that the penalty takes.

    The penalty takes what both the penalised optimum and the w that was fitted leave of it; loss: the lesser of both.
    """
    if free is None or free.optimum is not Optimum.FOUND:
        return None, None
    possible_gain = max(geometry.at_zero.loss - float(free.history[-1]), 0.0)
    if possible_gain <= NO_GAIN or best.optimum is not Optimum.FOUND:
        return possible_gain, None
    left = loss - (geometry.at_zero.loss - possible_gain)
    return possible_gain, max(left / possible_gain, 0.0) if is_penalised else 0.0


def _collinear_pairs(geometry: Geometry) -> Iterator[tuple[int, int, float]]:
    """Pairs of columns that move together inside the groups, by the covariance that the Hessian at w = 0 is."""
    covariance = geometry.at_zero.hessian
    deviation = np.sqrt(np.maximum(np.diag(covariance), np.finfo(float).tiny))
    correlations = covariance / np.outer(deviation, deviation)
    for first, second in zip(*np.nonzero(np.triu(np.abs(correlations) > COLLINEAR, k=1)), strict=True):
        yield int(first), int(second), float(correlations[first, second])


def _loss_without(
    groups: TrainingGroups, penalty: tuple[float, FloatArray], best: Fitted, terms: Terms
) -> FloatArray | None:
    """How far the optimum rises when a feature and its terms are held at weight 0, by an exact fit of the others.

    `penalty`: l2, and what it pulls the weights towards.
    """
    l2, centre = penalty
    columns, lowest = groups.columns, float(best.history[-1])
    features = columns - len(terms)
    if features * columns**2 > MOST_LEFT_OUT**3:
        return None
    if features == 1:  # nothing is left to fit
        at_zero = slope(groups, np.zeros(columns), np.ones(columns)).loss
        return np.array([at_zero + l2 * float(centre @ centre) - lowest])
    rises = np.empty(features)
    for feature in range(features):
        left_out = terms.of_feature(feature, features)
        others = groups.with_columns(partial(_without, left_out=left_out), columns - len(left_out))
        start, pulled_to = np.delete(best.w, left_out), np.delete(centre, left_out)
        refit = solve(others, Geometry.of(others), l2, centre=pulled_to, start=start if l2 else None)
        rise = float(refit.history[-1]) + l2 * float(centre[left_out] @ centre[left_out]) - lowest
        rises[feature] = max(rise, 0.0)
    return rises


def _without(phi: FloatArray, left_out: IntArray) -> FloatArray:
    return np.ascontiguousarray(np.delete(phi, left_out, axis=1))
