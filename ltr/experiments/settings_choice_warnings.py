"""Warnings of how l2, the epoch and the folds of a run were chosen."""

from collections.abc import Iterator

from ltr.config.run import RunConfig
from ltr.data.splits import earlier_warnings
from ltr.experiments.l2_choice import Settled
from ltr.results.fold_results import CrossValidation
from ltr.training.fit_result import Watched


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
