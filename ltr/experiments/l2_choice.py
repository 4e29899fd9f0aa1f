"""The choice of l2, by folds or by validation data."""

import math
from dataclasses import dataclass, replace

import numpy as np

from ltr.arrays import FloatArray
from ltr.config.run import RunConfig
from ltr.data.candidates import key_order
from ltr.data.groups import Groups
from ltr.errors import DivergedError, UsageError
from ltr.evaluation.evaluate import Rules
from ltr.evaluation.ranking import Ties
from ltr.experiments.sampling_correction import score_offset
from ltr.results.fold_results import CrossValidation
from ltr.storage.training_record import ChoiceRecord, PenaltyRecord
from ltr.training.config import LOSS, TrainConfig
from ltr.training.fit import fit
from ltr.training.l2_path import exact_path
from ltr.training.nonlinear_terms import Terms
from ltr.training.validation_metric import Validation, sign


def path_weights(
    config: TrainConfig,
    phi: FloatArray,
    groups: Groups,
    *,
    prior: FloatArray | None = None,
    held: Validation | None = None,
    start: FloatArray | None = None,
) -> list[FloatArray]:
    """The w of each l2: newton follows the path, any other trainer starts anew, and is stopped by what is held.

    `start`: see `exact_path`.
    """
    inputs = (phi, groups.labels, groups.offsets)
    weights, offset = groups.weights, score_offset(groups)
    if config.trainer == "newton":
        return exact_path(*inputs, config, weights=weights, score_offset=offset, prior=prior, start=start)
    ws = []
    for l2 in config.l2s:
        try:
            at_l2 = replace(config, l2=l2)
            ws.append(fit(*inputs, at_l2, weights=weights, score_offset=offset, valid=held).w)
        except DivergedError as error:
            raise DivergedError(f"l2 {l2:g}: {error}") from error
    return ws


@dataclass(frozen=True, slots=True)
class Settled:
    """The settings of the one fit whose weights are the result, and how they were chosen."""

    train: TrainConfig
    by_folds: ChoiceRecord | None = None
    by_validation: ChoiceRecord | None = None

    @property
    def is_l2_chosen(self) -> bool:
        """Whether data left out chose the l2."""
        return self.by_folds is not None or self.by_validation is not None


def settled(
    config: RunConfig,
    phi: FloatArray,
    groups: Groups,
    folds: CrossValidation | None,
    held: Validation | None,
    *,
    prior: FloatArray | None = None,
) -> Settled:
    """Of several l2 the one that folds chose, or else validation data."""
    train, l2s = config.train, config.train.l2s
    if folds is not None:
        return Settled(replace(train, l2=folds.l2), by_folds=choice_by_folds(folds, train.metric))
    if len(l2s) == 1:
        return Settled(replace(train, l2=l2s[0]))
    if held is None:
        raise UsageError("train.l2 names several values: set train.folds or data.valid to choose among them")
    if train.l2_rule == "one_se":
        raise UsageError("train.l2_rule one_se needs train.folds: one value of validation data has no standard error")
    watched = held.with_terms(Terms.of(phi, train))
    values = np.array([watched.value(w, train) for w in path_weights(train, phi, groups, prior=prior, held=held)])
    l2, path = chosen_l2(l2s, values[:, np.newaxis], "best"), sign(train.metric) * values
    penalties = [PenaltyRecord(l2, value) for l2, value in zip(l2s, path.tolist(), strict=True)]
    return Settled(replace(train, l2=l2), by_validation=ChoiceRecord(train.metric, l2, penalties))


def choice_by_folds(folds: CrossValidation, metric: str) -> ChoiceRecord:
    """What the folds said: of each l2 the mean of the metric over the folds and its standard error."""
    means, errors = folds.values.mean(axis=1), folds.values.std(axis=1, ddof=1) / math.sqrt(len(folds.each))
    path = zip(folds.l2s, (sign(metric) * means).tolist(), errors.tolist(), strict=True)
    return ChoiceRecord(metric, folds.l2, [PenaltyRecord(*penalty) for penalty in path], len(folds.each))


def validation(config: RunConfig, groups: Groups, phi: FloatArray) -> Validation:
    """The groups as a training watches them, by the rules of the config."""
    rules, keys = judging_rules(config), key_order(groups.candidates)
    return Validation(phi, groups.labels, groups.offsets, keys, groups.weights, score_offset(groups), rules=rules)


def judging_rules(config: RunConfig) -> Rules:
    """By which rules held-out groups choose, but for the metric."""
    settings = config.evaluate
    return Rules(
        ties=Ties(settings.ties),
        rel_threshold=settings.rel_threshold,
        threshold=settings.threshold,
        max_grade=settings.max_grade,
    )


def judged_by(config: TrainConfig) -> tuple[str, ...]:
    """The metric that folds choose by, to be told beside the others; none of the loss."""
    return () if config.metric == LOSS else (config.metric,)


def chosen_l2(l2s: tuple[float, ...], values: FloatArray, rule: str) -> float:
    """The l2 with the greatest mean of its values (l2s, folds), the larger of equals.

    The rule `one_se` takes the largest l2 whose mean is within one standard error of the best; it is that of the best.

    >>> values = np.array([[0.7, 0.9], [0.75, 0.83], [0.2, 0.2]])
    >>> chosen_l2((0.01, 0.1, 1.0), values, "best"), chosen_l2((0.01, 0.1, 1.0), values, "one_se")
    (0.01, 0.1)
    """
    means = values.mean(axis=1)
    best = max(range(len(l2s)), key=lambda index: (means[index], l2s[index]))
    lowest, folds = means[best], values.shape[1]
    if rule == "one_se" and folds > 1:
        lowest -= float(values[best].std(ddof=1)) / math.sqrt(folds)
    return max(l2 for l2, mean in zip(l2s, means, strict=True) if mean >= lowest)
