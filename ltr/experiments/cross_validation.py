"""Cross-validation by trace: everything that learns is fitted again in each fold, and l2 chosen on what is left out."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.config.run import RunConfig
from ltr.data.groups import Groups, key_order, select
from ltr.data.previous_tools import past_of
from ltr.data.splits import TIME, count_earlier, fold_indices
from ltr.errors import DataError, DivergedError, UsageError
from ltr.evaluation.evaluate import Evaluation, Rules, evaluate_by
from ltr.evaluation.ranking import Ties, rank
from ltr.experiments.negative_sampling import score_offset
from ltr.experiments.progress import OnProgress, Step, silent
from ltr.logs import stage
from ltr.results.evaluated_ranking import CrossValidation
from ltr.storage.training_record import ChoiceRecord, PenaltyRecord
from ltr.training.config import LOSS, TrainConfig
from ltr.training.early_stopping import Validation, sign
from ltr.training.fit import fit
from ltr.training.l2_path import chosen_l2, exact_path
from ltr.training.nonlinear_terms import Terms

Featurise = Callable[[tuple[int, int], Groups, Groups], tuple[FloatArray, FloatArray]]


@dataclass(frozen=True, slots=True)
class Fold:
    """The groups left out, and what was learned without them says of them, for each l2."""

    outside: IntArray  # the groups
    earlier: int  # of them, by time: no later than the newest that is learned from
    held: Groups  # they
    values: list[float]  # the metric, greater is better
    scores: list[FloatArray]  # of each row


@stage("cross-validation")
def cross_validate(
    config: RunConfig,
    groups: Groups,
    featurise: Featurise,
    rules: Rules,
    on_progress: OnProgress = silent,
    *,
    prior: FloatArray | None = None,
) -> CrossValidation:
    """Each fold's groups ranked by what was learned without them, and measured by the rules."""
    if config.train.folds is None:
        raise UsageError("folds is not set")
    dealing = fold_indices(groups, config.train.folds, seed=config.seed, by=config.data.split)
    folds = []
    for number, sides in enumerate(dealing, start=1):
        on_progress(Step("folds", number - 1, config.train.folds))
        folds.append(_fold(config, groups, sides, featurise, number, prior))
    l2s, table = config.train.l2s, np.array([fold.values for fold in folds]).T
    l2 = chosen_l2(l2s, table, config.train.l2_rule)
    columns = [fold.scores[l2s.index(l2)] for fold in folds]
    measured = [_measured(fold.held, column, rules) for fold, column in zip(folds, columns, strict=True)]
    held_out = select(groups, np.concatenate([fold.outside for fold in folds]))
    pooled = _measured(held_out, np.concatenate(columns), rules)  # no score is compared with one of another fold
    return CrossValidation(
        l2s=l2s,
        values=table,
        l2=l2,
        each=tuple(evaluation.means for evaluation in measured),
        pooled=pooled.means,
        rules=pooled.rules,
        num_groups=len(pooled.rank),
        earlier=sum(fold.earlier for fold in folds),
        past=past_of(groups.candidates),
    )


def _fold(
    config: RunConfig,
    groups: Groups,
    sides: tuple[IntArray, IntArray],
    featurise: Featurise,
    number: int,
    prior: FloatArray | None,
) -> Fold:
    learned, held = (select(groups, side) for side in sides)
    try:
        phi, phi_held = featurise((number - 1, config.train.folds or 0), learned, held)
        ws, terms = path_weights(config.train, phi, learned, prior=prior), Terms.of(phi, config.train)
    except DataError as error:
        raise DataError(f"the groups that fold {number} learns from: {error}") from error
    except DivergedError as error:
        raise DivergedError(f"fold {number}: {error}") from error
    name = f"the groups that fold {number} leaves out"
    watched = replace(validation(config, held, phi_held), name=name).with_terms(terms)
    values = [watched.value(w, config.train) for w in ws]
    early = count_earlier(learned, held) if config.data.split == TIME else 0
    return Fold(sides[1], early, held, values, [terms.scores(phi_held, w) for w in ws])


def path_weights(
    config: TrainConfig,
    phi: FloatArray,
    groups: Groups,
    *,
    prior: FloatArray | None = None,
    held: Validation | None = None,
) -> list[FloatArray]:
    """The w of each l2: newton follows the path, any other trainer starts anew, and is stopped by what is held."""
    inputs = (phi, groups.labels, groups.offsets)
    weights, offset = groups.weights, score_offset(groups)
    if config.trainer == "newton":
        return exact_path(*inputs, config, weights=weights, score_offset=offset, prior=prior)
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


def _measured(groups: Groups, column: FloatArray, rules: Rules) -> Evaluation:
    ranking = rank(column, groups.offsets, keys=key_order(groups.candidates))
    return evaluate_by(ranking, groups.labels, rules)
