"""Cross-validation by trace: everything that learns is fitted again in each fold, and measured on what is left out."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.config.run import RunConfig
from ltr.data.candidates import key_order
from ltr.data.groups import Groups, select
from ltr.data.previous_tools import past_of
from ltr.data.splits import TIME, count_earlier, fold_indices
from ltr.errors import DataError, DivergedError, UsageError
from ltr.evaluation.evaluate import Evaluation, Rules, evaluate_by
from ltr.evaluation.ranking import rank
from ltr.experiments.l2_choice import chosen_l2, path_weights, validation
from ltr.experiments.progress import OnProgress, Step, silent
from ltr.logs import stage
from ltr.results.fold_results import CrossValidation
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


def _measured(groups: Groups, column: FloatArray, rules: Rules) -> Evaluation:
    ranking = rank(column, groups.offsets, keys=key_order(groups.candidates))
    return evaluate_by(ranking, groups.labels, rules)
