"""How good each alternative is on traces that it did not learn from."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.config.run import RunConfig
from ltr.data.groups import Groups, select
from ltr.data.past import past_of
from ltr.data.splits import TIME, fold_indices
from ltr.errors import DataError, count
from ltr.evaluation.evaluate import evaluate
from ltr.evaluation.metrics.ranked import MRR, TOP1
from ltr.evaluation.ranking import rank
from ltr.experiments.alternatives import Alternative, paths
from ltr.experiments.cross_validation import path_weights
from ltr.experiments.negatives import DRAWN, MOST_WHOLE, WHOLE, draw_negatives, score_offset
from ltr.experiments.own_past import both_pasts
from ltr.experiments.progress import OnProgress, Step, silent
from ltr.experiments.read_data import tools_to_rank
from ltr.experiments.shared_inputs import SharedInputs, encoder_name, prior_of
from ltr.experiments.whole_catalogue import is_short
from ltr.training.simplest import Judged, Level, group_losses
from ltr.training.terms import Terms

FOLDS = 5
ROWS = 1 << 15  # candidates of a fold's groups on the lists that will be served


@dataclass(frozen=True, slots=True)
class Lists:
    """Left out groups as they are ranked: the candidates of each, with their columns."""

    groups: Groups
    places: IntArray  # of the groups among those that the fold leaves out
    columns: tuple[FloatArray, ...]  # with a past made of labels, and with own choices; else once


@dataclass(frozen=True, slots=True)
class Fold:
    """What a fold learns from, and what it is judged by."""

    phi: FloatArray
    learned: Groups
    traces: int  # that it learns from
    offered: Lists
    served: Lists | None  # None where they are those that were offered, or are not asked


def judged_by_folds(
    config: RunConfig, shared: SharedInputs, listed: Sequence[Alternative], on_progress: OnProgress = silent
) -> tuple[Judged, int]:
    """What each alternative learns without a fold, judged by the fold's groups; and how many folds there are.

    A past made of labels is half of what is learned from, as in a training, and half of what is judged; the other
    halves have own choices before them.
    """
    groups, _ = shared.data().train
    most = len(groups.candidates.trace_ids) - (config.data.split == TIME)
    folds = min(most, FOLDS)
    if folds < 2:
        raise DataError(f"{count(len(groups.candidates.trace_ids), 'training trace')}, too few for folds")
    judged = _unjudged(len(listed), len(groups.offsets) - 1)
    for number, sides in enumerate(fold_indices(groups, folds, seed=config.seed, by=config.data.split)):
        on_progress(Step("folds", number, folds))
        fold = _fold(config, shared, (number, folds), sides, listed)
        of_fold = _judged(fold, config, shared.columns().names, listed)
        for values, of_groups in zip(judged.parts, of_fold.parts, strict=True):
            values[:, sides[1]] = of_groups
    if np.isnan(judged.losses).all(axis=1).any():
        raise DataError("no fold has groups to judge by")
    return judged, folds


def _fold(
    config: RunConfig,
    shared: SharedInputs,
    place: tuple[int, int],
    sides: tuple[IntArray, IntArray],
    listed: Sequence[Alternative],
) -> Fold:
    """A fold with its columns, of nothing but what it learns from."""
    groups, state = shared.data().train
    learned, held = (select(groups, side) for side in sides)
    traces = len(learned.candidates.trace_ids)
    if state is not None:  # given columns that know all traces but a row's own
        phi, of_held = (_rows(shared.columns().phi, groups, side) for side in sides)
        return Fold(phi, learned, traces, _offered(held, of_held), None)
    has_rich = any(alternative.level == Level.RICH for alternative in listed)
    asked, wider = served_lists(config, groups, held) if has_rich else (sides[1], None)
    prepared, *columns = shared.fold_columns_of(place, learned, held.candidates, *([wider.candidates] if wider else []))
    served = Lists(wider, asked, (columns[1],)) if wider else None
    if past_of(held.candidates) != "labels":
        return Fold(prepared.phi, learned, traces, _offered(held, columns[0]), served)
    usual = next(alternative for alternative in listed if alternative.level == Level.SEVERAL)
    phi, learned, walked = both_pasts(config, usual.trained(config.train, traces), prepared, held)
    return Fold(phi, learned, traces, _offered(held, columns[0], walked), served)


def _offered(held: Groups, *columns: FloatArray) -> Lists:
    """All groups that a fold leaves out, with the candidates that they offered."""
    return Lists(held, np.arange(len(held.offsets) - 1), columns)


def _unjudged(alternatives: int, groups: int) -> Judged:
    shape = alternatives, groups
    return Judged(np.full(shape, np.nan), np.zeros(shape), np.zeros(shape), np.full(shape, np.nan))


def _judged(fold: Fold, config: RunConfig, names: Sequence[str], listed: Sequence[Alternative]) -> Judged:
    """What each alternative learns from the fold, judged by the groups that it leaves out."""
    offered, served, threshold = fold.offered, fold.served, config.evaluate.rel_threshold
    judged = _unjudged(len(listed), len(offered.places))
    for (used, _), same in paths(listed).items():
        places = np.array([names.index(name) for name in used])
        settings = [listed[place].trained(config.train, fold.traces) for place in same]
        train = replace(settings[0], l2=tuple(train.penalty for train in settings))
        own = np.ascontiguousarray(fold.phi[:, places])
        ws, terms = path_weights(train, own, fold.learned, prior=prior_of(train, used)), Terms.of(own, train)
        by_past = [[terms.scores(columns[:, places], w) for w in ws] for columns in offered.columns]
        judged.losses[same] = np.mean([_losses(scores, offered.groups, train.targets) for scores in by_past], axis=0)
        ranked = np.mean([_ranked(scores, offered.groups, threshold) for scores in by_past], axis=0)
        judged.hits[same], judged.ranks[same] = ranked
        if served is not None:
            scores = [terms.scores(served.columns[0][:, places], w) for w in ws]
            judged.served[np.ix_(np.array(same), served.places)] = _ranked(scores, served.groups, threshold)[0]
    return judged


def served_lists(config: RunConfig, groups: Groups, held: Groups) -> tuple[IntArray, Groups | None]:
    """Left out groups with tools of the catalogue added, as many as make ROWS, and which they are.

    None where what was offered is what will be served: lists that are not short beside the catalogue, or drawn.
    """
    candidates = groups.candidates
    tools = tools_to_rank(candidates, config.data) if candidates.features is None else None
    median = float(np.median(np.diff(groups.offsets)))
    if not tools or candidates.draws is not None or not is_short(median, len(tools)):
        return np.array([], dtype=np.int64), None
    number = len(held.offsets) - 1
    longest = len(tools) if len(tools) <= MOST_WHOLE else DRAWN + int(np.diff(held.offsets).max())
    asked = np.unique(np.linspace(0, number - 1, min(number, max(ROWS // longest, 1))).astype(np.int64))
    encoder = encoder_name(config)
    return asked, draw_negatives(select(held, asked), tools, WHOLE, encoder=encoder, seed=config.seed)


def _losses(scores: Sequence[FloatArray], groups: Groups, targets: str) -> FloatArray:
    """The loss of each group by each of the scores."""
    try:
        return np.array(
            [group_losses(column, groups.labels, groups.offsets, score_offset(groups), targets) for column in scores]
        )
    except DataError:  # none of them can train
        return np.full((len(scores), len(groups.offsets) - 1), np.nan)


def _ranked(scores: Sequence[FloatArray], groups: Groups, threshold: float) -> FloatArray:
    """Top-1 and reciprocal rank of each group by each of the scores, ties by their expectation; 0 where none is right.

    Shape (2, scores, groups).
    """
    rankings = [rank(column, groups.offsets) for column in scores]
    values = [evaluate(ranking, groups.labels, rel_threshold=threshold).values for ranking in rankings]
    return np.nan_to_num(np.array([[of_queries[name] for of_queries in values] for name in (TOP1, MRR)]))


def _rows(phi: FloatArray, groups: Groups, side: IntArray) -> FloatArray:
    """The rows of some groups."""
    is_inside = np.zeros(len(groups.offsets) - 1, dtype=bool)
    is_inside[side] = True
    return phi[np.repeat(is_inside, np.diff(groups.offsets))]
