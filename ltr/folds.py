"""What folds and validation data say: cross-validation by trace, the choice of l2, and what may be wrong with both.

In each fold everything that learns is fitted again, and measured on what is left out.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ltr.arrays import FloatArray, offsets_of
from ltr.columns import Features, Work
from ltr.config import RunConfig
from ltr.engine import IN_PROCESS, Engine
from ltr.errors import DataError, DivergedError, FileError, UsageError
from ltr.evaluation import Evaluation, Rules, Ties, evaluate_by, rank
from ltr.logs import stage
from ltr.progress import OnProgress, Step, silent
from ltr.records.training import ChoiceRecord, PenaltyRecord
from ltr.results import CrossValidation, rules_up_to
from ltr.samples import Past
from ltr.splits import TIME, count_earlier, earlier_warnings, fold_sides
from ltr.sums import added
from ltr.training import (
    LOSS,
    Designs,
    Terms,
    TrainConfig,
    Validation,
    Watched,
    extent_of,
    fit_designs,
    optima_along,
    sign,
    terms_of,
)


@dataclass(frozen=True, slots=True)
class Fold:
    """What a fold learned, for each l2, and what it leaves out."""

    held: Designs
    terms: Terms
    ws: list[FloatArray]
    values: list[float]  # the metric, greater is better
    earlier: int  # of the groups left out, by time: no later than the newest that is learned from


@stage("cross-validation")
def cross_validate(
    config: RunConfig,
    features: Features,
    past: Past | None,
    on_progress: OnProgress = silent,
    *,
    prior: FloatArray | None = None,
) -> CrossValidation:
    """Rank each fold's groups by what was learned without them, and measure them by the rules of the config.

    `past`: what that of the training groups is made of.
    """
    folds, work, train = config.train.folds, features.work, config.train
    if folds is None:
        raise UsageError("folds is not set")
    shards = features.foldable()
    sides = fold_sides(shards, folds, seed=config.seed, by=config.data.split, engine=work.engine)
    learned = list[Fold]()
    for number, (inside, outside) in enumerate(sides):
        on_progress(Step("folds", number, folds))
        early = 0
        if config.data.split == TIME:
            early = count_earlier(shards.changed(inside), shards.changed(outside))
        with _named(number + 1):
            prepared, held = features.fold((number, folds), (inside, outside))
            ws, terms = path_weights(train, prepared.designs, prior=prior, engine=work.engine)
        watched = Validation(
            held, judging_rules(config), f"the groups that fold {number + 1} leaves out", engine=work.engine
        ).with_terms(terms)
        learned.append(Fold(held, terms, ws, [watched.value(w, train) for w in ws], early))
    table = np.array([fold.values for fold in learned]).T
    l2 = chosen_l2(train.l2s, table, train.l2_rule)
    rules, place = fold_rules(config, [fold.held for fold in learned], work), train.l2s.index(l2)
    each = [_measured([fold], place, rules, work.engine) for fold in learned]
    pooled = _measured(learned, place, rules, work.engine)  # no score is compared with one of another fold
    return CrossValidation(
        l2s=train.l2s,
        values=table,
        l2=l2,
        each=tuple(evaluation.means for evaluation in each),
        pooled=pooled.means,
        rules=pooled.rules,
        num_groups=sum(map(_count_groups, [fold.held for fold in learned])),
        earlier=sum(fold.earlier for fold in learned),
        past=past,
    )


def fold_rules(config: RunConfig, held: Sequence[Designs], work: Work) -> Rules:
    """Return the rules by which folds measure: those of the longest list and, over shards, of the greatest label."""
    extents = list(work.engine.map(partial(_extent, held), range(len(held))))
    longest, greatest = max(size for size, _ in extents), max(label for _, label in extents)
    rules = rules_up_to(longest, config, also=judged_by(config.train))
    is_one = all(isinstance(designs, tuple) for designs in held)
    return rules if is_one or rules.max_grade is not None else replace(rules, max_grade=max(greatest, 1.0))


def _extent(held: Sequence[Designs], fold: int) -> tuple[int, float]:
    return extent_of(held[fold])


def _count_groups(designs: Designs) -> int:
    return sum(len(np.asarray(designs[number].offsets)) - 1 for number in range(len(designs)))


def _measured(folds: Sequence[Fold], place: int, rules: Rules, engine: Engine) -> Evaluation:
    """The groups that folds leave out, each ranked by what its fold learned with the l2 of that place."""
    if all(isinstance(fold.held, tuple) for fold in folds):
        designs = [fold.held[0] for fold in folds]
        scores = [
            fold.terms.scores(np.asarray(one.phi), fold.ws[place]) for fold, one in zip(folds, designs, strict=True)
        ]
        offsets = offsets_of(np.concatenate([np.diff(np.asarray(one.offsets)) for one in designs]))
        keys = np.concatenate([np.asarray(one.keys) for one in designs])
        labels = np.concatenate([np.asarray(one.labels) for one in designs])
        return evaluate_by(rank(np.concatenate(scores), offsets, keys=keys), labels, rules)
    parts = (
        part
        for fold in folds
        for part in engine.map(partial(_part, fold.held, fold.terms, fold.ws[place], rules), range(len(fold.held)))
    )
    return added(parts)


def _part(designs: Designs, terms: Terms, w: FloatArray, rules: Rules, number: int) -> Evaluation:
    design = designs[number]
    ranking = rank(terms.scores(np.asarray(design.phi), w), design.offsets, keys=design.keys)
    return evaluate_by(ranking, design.labels, rules, is_part=True).light()


@contextmanager
def _named(fold: int) -> Iterator[None]:
    """Say of which groups an error is, unless it is of a file."""
    try:
        yield
    except FileError:
        raise
    except DataError as error:
        raise DataError(f"the groups that fold {fold} learns from: {error}") from error
    except DivergedError as error:
        raise DivergedError(f"fold {fold}: {error}") from error


def path_weights(
    config: TrainConfig,
    designs: Designs,
    *,
    prior: FloatArray | None = None,
    held: Validation | None = None,
    engine: Engine = IN_PROCESS,
) -> tuple[list[FloatArray], Terms]:
    """Return the w of each l2: newton follows the path, any other trainer starts anew, stopped by what is held."""
    if config.trainer == "newton":
        terms = terms_of(designs, config, engine=engine)
        return optima_along(designs, terms, config, prior=prior, engine=engine), terms
    models = []
    for l2 in config.l2s:
        try:
            models.append(fit_designs(designs, replace(config, l2=l2), valid=held, engine=engine))
        except DivergedError as error:
            raise DivergedError(f"l2 {l2:g}: {error}") from error
    return [model.w for model in models], models[0].terms


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
    designs: Designs,
    folds: CrossValidation | None,
    held: Validation | None,
    *,
    prior: FloatArray | None = None,
    engine: Engine = IN_PROCESS,
) -> Settled:
    """Return the settings with the one of several l2 that folds chose, or else validation data."""
    train, l2s = config.train, config.train.l2s
    if folds is not None:
        return Settled(replace(train, l2=folds.l2), by_folds=choice_by_folds(folds, train.metric))
    if len(l2s) == 1:
        return Settled(replace(train, l2=l2s[0]))
    if held is None:
        raise UsageError("train.l2 names several values: set train.folds or data.valid to choose among them")
    if train.l2_rule == "one_se":
        raise UsageError("train.l2_rule one_se needs train.folds: one value of validation data has no standard error")
    ws, terms = path_weights(train, designs, prior=prior, held=held, engine=engine)
    watched = held.with_terms(terms)
    values = np.array([watched.value(w, train) for w in ws])
    l2, path = chosen_l2(l2s, values[:, np.newaxis], "best"), sign(train.metric) * values
    penalties = [PenaltyRecord(l2, value) for l2, value in zip(l2s, path.tolist(), strict=True)]
    return Settled(replace(train, l2=l2), by_validation=ChoiceRecord(train.metric, l2, penalties))


def choice_by_folds(folds: CrossValidation, metric: str) -> ChoiceRecord:
    """What the folds said: of each l2 the mean of the metric over the folds and its standard error."""
    means, errors = folds.values.mean(axis=1), folds.values.std(axis=1, ddof=1) / math.sqrt(len(folds.each))
    path = zip(folds.l2s, (sign(metric) * means).tolist(), errors.tolist(), strict=True)
    return ChoiceRecord(metric, folds.l2, [PenaltyRecord(*penalty) for penalty in path], len(folds.each))


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


def choice_warnings(
    config: RunConfig, settings: Settled, folds: CrossValidation | None, watched: Watched | None
) -> Iterator[str]:
    """Why the choice by validation data or folds may mean less than it seems to."""
    train = config.train
    chooses_l2 = len(train.l2s) > 1 and train.folds is None
    if config.data.valid is not None and train.trainer == "newton" and not chooses_l2:
        instead = "folds choose l2" if train.folds else "l2 has one value"
        yield f"validation data decide nothing: newton goes to the optimum, and {instead}; leave data.valid out"
    choice = settings.by_folds or settings.by_validation
    if choice is not None and train.l2_rule == "best":
        path = {penalty.l2: penalty.value for penalty in choice.path}
        yield from _outermost(path, settings.train.penalty)
    if watched is not None and watched.best_epoch == train.epochs > 1:
        yield f"the best epoch on validation data is the last of {train.epochs:,}: more epochs may do better"
    if folds is not None and watched is not None and watched.best_epoch < train.epochs:
        yield (
            f"cross-validation does not describe the model: its folds ran {train.epochs:,} epochs, early stopping took "
            f"epoch {watched.best_epoch:,}; leave data.valid out, and set train.epochs to {watched.best_epoch:,}"
        )
    if folds is not None:
        yield from earlier_warnings("folds", folds.earlier, folds.num_groups)


def _outermost(path: dict[float, float], chosen: float) -> Iterator[str]:
    """That of three l2 or more one at an end was chosen, and was better than the next; 0 is no end.

    >>> list(_outermost({0.1: 0.9, 1.0: 0.8, 10.0: 0.7}, 0.1))
    ['the l2 that was chosen, 0.1, is the least of 3: a lesser one may do better']
    >>> list(_outermost({0.1: 0.9, 1.0: 0.9, 10.0: 0.9}, 10.0))
    []
    """
    l2s = sorted(path)
    if len(l2s) > 2 and chosen == l2s[-1] and path[l2s[-2]] != path[chosen]:
        yield f"the l2 that was chosen, {chosen:g}, is the largest of {len(l2s)}: a larger one may do better"
    if len(l2s) > 2 and chosen == l2s[0] > 0 and path[l2s[1]] != path[chosen]:
        yield f"the l2 that was chosen, {chosen:g}, is the least of {len(l2s)}: a lesser one may do better"
