"""How far a trained w can be trusted, and what makes it less than it seems."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ltr.arrays import BoolArray, FloatArray
from ltr.training.model import Model, Optimum
from ltr.training.standard_errors import NORMAL_95, Errors, effective_text

ILL_CONDITIONED = 30.0  # Belsley, Kuh and Welsch: from here on collinearity harms
FEW_CLUSTERS = 40  # sandwich errors of fewer are too small
GROUPS_PER_FEATURE = 10
SHORT_OF = 0.01  # of what w = 0 leaves to gain: a trainer that leaves more says so
KEPT_AWAY = 0.05  # of what there is to learn: a penalty that takes more is named
HELD_BACK = 0.5  # of a weight that the data are sure of
FAR_APART = 1e3  # scales of columns from which steps and penalties suit only some


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
    is_open: BoolArray  # (features,): the weight hangs on a direction that changes no probability
    deviation: FloatArray  # (features,): of the columns inside the groups; 1 where there is none
    escape: FloatArray | None  # the direction along which the objective falls for ever, knots included; raw scale
    not_identified: FloatArray  # (directions, features): those directions of the lines, knots left out
    loss_without: (
        FloatArray | None
    )  # (features,): how far the optimum rises without the column, l2 kept; None: not computed
    errors: Errors | None
    no_errors: str  # why there are none; empty where there are
    curves: tuple[FloatArray, ...] = ()  # a feature's values and what they add, where weights change; raw scale

    def warnings(self, model: Model, names: Sequence[str]) -> Iterator[str]:
        """What makes a weight, or the whole of w, less than it seems."""
        yield from self._distance(model)
        yield from self._groups(model)
        for first, second, correlation in self.collinear:
            both = f"{names[first]} and {names[second]} say nearly the same"
            yield f"{both} (correlation {correlation:+.3f}): read them together"
        if self.condition_number > ILL_CONDITIONED and not self.collinear:
            yield f"condition number {self.condition_number:.0f}: some weights hang on each other"
        yield from self._penalty(model, names)
        if self.errors is not None:
            yield from self._doubts(model, self.errors, names)

    def _distance(self, model: Model) -> Iterator[str]:
        """How much the trainer left, or that nobody knows."""
        known = model.training
        if self.gap is None and self.escape is None:
            advice = ": set an l2 above 0" if known.gap_bound is None else ""
            yield f"where the optimum lies could not be proved{self._far_apart(model) or advice}"
        if self.gap is None or self._is_near(known.objective):
            return
        possible = self.at_zero - known.objective + self.gap
        if possible <= 0:
            return
        share = self.gap / possible
        place = "worse than w = 0" if share >= 1 else f"{share:.0%} of all there is to gain over w = 0"
        yield f"{known.trainer} ended {self.gap:.3g} above the optimum, {place}: {_way_on(model)}"

    def _is_near(self, objective: float) -> bool:
        """Whether the trainer left next to nothing of what there is to gain."""
        return self.gap is not None and self.gap <= SHORT_OF * max(self.at_zero - objective + self.gap, 0.0)

    def _far_apart(self, model: Model) -> str:
        if self.scale_ratio < FAR_APART:
            return ""
        advice = "" if _is_standardised(model) else ": set train.standardize"
        return f", as columns differ in scale by a factor of {self.scale_ratio:.0e}{advice}"

    def _groups(self, model: Model) -> Iterator[str]:
        if self.effective_groups < GROUPS_PER_FEATURE * len(model.w):
            learned = _count(len(model.w), "weight" if self.curves else "feature")
            yield f"{_count(round(self.effective_groups), 'group')} for {learned}: another sample gives other weights"
        if self.groups_all_alike:
            part = f"{self.groups_all_alike:,} of {_count(model.training.groups, 'group')}"
            yield f"every candidate is equally right in {part}: they teach nothing and pull all weights towards 0"

    def _penalty(self, model: Model, names: Sequence[str]) -> Iterator[str]:
        """That the penalty takes more than noise: of all there is to learn, or of single weights."""
        held = ", ".join(self._held_back(model, names))
        if self.lost_to_penalty is not None and self.lost_to_penalty >= KEPT_AWAY and self._is_learnable(model):
            most = f", and more than half of the weight of {held}" if held else ""
            advice = "lower l2" if _is_standardised(model) else "lower l2, or set train.standardize"
            yield f"the penalty keeps away {self.lost_to_penalty:.0%} of what there is to learn{most}: {advice}"
        elif held:
            yield f"{self._cause(model)} holds back {held}: the weight is less than half of what the data say"

    def _is_learnable(self, model: Model) -> bool:
        """Whether the data are sure of what the penalty takes: the likelihood ratio is above its 95 % quantile."""
        free = int(np.count_nonzero(~self.is_open))
        taken = (self.lost_to_penalty or 0.0) * (self.possible_gain or 0.0)
        return 2 * self.effective_groups * taken > free + 2 * math.sqrt(2 * free)

    def _held_back(self, model: Model, names: Sequence[str]) -> list[str]:
        if self.errors is None:
            return []
        with np.errstate(divide="ignore", invalid="ignore"):
            kept = model.w / self.errors.w
        is_held = (np.abs(self.errors.z) > NORMAL_95) & (kept >= 0) & (kept < 1 - HELD_BACK)
        return [name for name, is_one in zip(names, is_held, strict=True) if is_one]

    def _doubts(self, model: Model, errors: Errors, names: Sequence[str]) -> Iterator[str]:
        if errors.form != "hessian" and errors.effective_clusters < FEW_CLUSTERS:
            yield f"{_clusters(errors)}: standard errors of so few are too small"
        unsure = [name for name, z in zip(names, np.abs(errors.z), strict=True) if z < NORMAL_95]
        if unsure:
            yield f"not told from 0 by these data: the weight of {', '.join(unsure)}"
        is_turned = (model.w * errors.w < 0) & (np.abs(errors.z) >= NORMAL_95)  # of the others no sign is known
        turned = [name for name, is_one in zip(names, is_turned, strict=True) if is_one]
        if turned:
            yield f"{self._cause(model)} turns the sign of {', '.join(turned)}: do not read it"

    def _cause(self, model: Model) -> str:
        """Why a weight is not the one that the data ask for."""
        if model.training.optimum is Optimum.FOUND or self._is_near(model.training.objective):
            return "the penalty"
        return "stopping short" if self.lost_to_penalty == 0 else "stopping short, or the penalty,"


def _is_standardised(model: Model) -> bool:
    return model.training.deviations is not None


def _way_on(model: Model) -> str:
    """How to come nearer to the optimum, unless validation data ended the training where they are best."""
    known = model.training
    if known.watched is not None and known.watched.best_epoch < known.epochs:
        return "validation data kept an earlier epoch"
    steps = "more epochs come" if _is_standardised(model) else "more epochs or standardize come"
    return f"trainer newton reaches it, {steps} nearer"


def _clusters(errors: Errors) -> str:
    count = effective_text(errors.clusters, errors.effective_clusters)
    what = "trace" if errors.form == "by_trace" else "group"
    return _count(errors.clusters, what) + (f" count as {count}" if count else "")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
