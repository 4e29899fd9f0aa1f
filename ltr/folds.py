"""Cross-validation by trace: everything that learns is fitted again in each fold, and l2 chosen on what is left out."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.baselines import Rules, Truth, measure
from ltr.config import RunConfig
from ltr.errors import UsageError
from ltr.groups import Groups, key_order, select
from ltr.listwise import scores
from ltr.metrics import Evaluation
from ltr.splits import dealt
from ltr.train import LOSS, TrainConfig, Validation, fit
from ltr.train.path import chosen_l2, exact_path, penalties, with_l2

Featurise = Callable[[tuple[int, int], Groups, Groups], tuple[FloatArray, FloatArray]]


@dataclass(frozen=True, slots=True)
class CrossValidation:
    """What folds say of a config."""

    l2s: tuple[float, ...]
    values: FloatArray  # (l2s, folds): the metric, greater is better
    l2: float  # the chosen one: all else is of it
    folds: tuple[Evaluation, ...]
    pooled: Evaluation  # of every group that was left out once


def cross_validate(config: RunConfig, groups: Groups, featurise: Featurise) -> CrossValidation:
    """Each fold's groups ranked by what was learned without them."""
    if config.train.folds is None:
        raise UsageError("folds is not set")
    l2s, rules = penalties(config.train), rules_of(config)
    parts, columns, values = [], [], []
    count = config.train.folds
    for place, (inside, outside) in enumerate(dealt(groups, count, seed=config.seed, by=config.data.split)):
        learned, held = select(groups, inside), select(groups, outside)
        phi, phi_held = featurise((place, count), learned, held)
        ws = path_weights(config.train, phi, learned)
        watched = validation(config, held, phi_held)
        values.append([watched.value(w, config.train) for w in ws])
        columns.append([scores(phi_held, w) for w in ws])
        parts.append((held, outside))
    table = np.array(values).T
    l2 = chosen_l2(l2s, table, config.train.l2_rule)
    chosen = [column[l2s.index(l2)] for column in columns]
    measured = [_measured(held, column, rules) for (held, _), column in zip(parts, chosen, strict=True)]
    return CrossValidation(l2s, table, l2, tuple(measured), _pooled(groups, parts, chosen, rules))


def path_weights(config: TrainConfig, phi: FloatArray, groups: Groups) -> list[FloatArray]:
    """The w of each l2: newton follows the path, any other trainer starts anew."""
    given = (phi, groups.labels, groups.offsets)
    if config.trainer == "newton":
        return exact_path(*given, config, weights=groups.weights)
    return [fit(*given, with_l2(config, l2), weights=groups.weights).w for l2 in penalties(config)]


def settled(
    config: RunConfig, phi: FloatArray, groups: Groups, folds: CrossValidation | None, held: Validation | None
) -> TrainConfig:
    """The settings of the one fit that is kept: of several l2 the one that folds chose, or else validation data."""
    l2s = penalties(config.train)
    if len(l2s) == 1:
        return with_l2(config.train, l2s[0])
    if folds is not None:
        return with_l2(config.train, folds.l2)
    if held is None:
        raise UsageError("train.l2 names several values: set train.folds or data.valid to choose among them")
    values = np.array([[held.value(w, config.train)] for w in path_weights(config.train, phi, groups)])
    return with_l2(config.train, chosen_l2(l2s, values, "best"))


def folds_document(folds: CrossValidation, metric: str) -> dict[str, Any]:
    """What the folds said, in plain JSON: of each l2 the mean of the metric over the folds and its standard error."""
    sign = -1 if metric == LOSS else 1
    means, errors = folds.values.mean(axis=1), folds.values.std(axis=1, ddof=1) / math.sqrt(len(folds.folds))
    path = zip(folds.l2s, (sign * means).tolist(), errors.tolist(), strict=True)
    said = [{"l2": l2, "mean": mean, "standard_error": error} for l2, mean, error in path]
    return {"folds": len(folds.folds), "metric": metric, "l2": folds.l2, "path": said}


def validation(config: RunConfig, groups: Groups, phi: FloatArray) -> Validation:
    """The groups as a training watches them, by the rules of the config."""
    rules = config.evaluate
    return Validation(phi, groups.labels, groups.offsets, key_order(groups.candidates), rules.rel_threshold, rules.ties)


def rules_of(config: RunConfig) -> Rules:
    """What is measured, by which rules."""
    asked = config.evaluate
    watched = () if config.train.metric == LOSS else (config.train.metric,)
    metrics = tuple(dict.fromkeys((*asked.metrics, *watched)))
    return Rules(metrics, asked.ties, asked.rel_threshold, asked.no_relevant)


def _measured(groups: Groups, column: FloatArray, rules: Rules) -> Evaluation:
    return measure(column, Truth(groups.labels, groups.offsets, key_order(groups.candidates)), rules)[1]


def _pooled(
    groups: Groups, parts: list[tuple[Groups, IntArray]], columns: list[FloatArray], rules: Rules
) -> Evaluation:
    """The metrics over the groups of all folds together; no score is compared with one of another fold."""
    every = select(groups, np.concatenate([indices for _, indices in parts]))
    return _measured(every, np.concatenate(columns), rules)
