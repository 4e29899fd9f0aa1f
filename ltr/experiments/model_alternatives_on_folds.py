"""How good each alternative is on traces that it did not learn from."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.config.run import RunConfig, encoder_name
from ltr.data.catalogues.tools import ToolCatalogue
from ltr.data.distinct_tools import tools_to_rank
from ltr.data.groups import Groups, select
from ltr.data.previous_tools import past_of
from ltr.data.splits import trace_digests
from ltr.errors import DataError, RunError, UsageError
from ltr.evaluation.evaluate import evaluate
from ltr.evaluation.metrics.ranking_measures import MAP, MRR, TOP1
from ltr.evaluation.ranking import rank
from ltr.experiments.l2_choice import path_weights
from ltr.experiments.model_alternatives import Alternative, Shape, default_of, paths
from ltr.experiments.negative_sampling import DRAWN, MOST_WHOLE, WHOLE, draw_negatives
from ltr.experiments.past_from_own_choices import both_pasts
from ltr.experiments.progress import OnProgress, Step, silent
from ltr.experiments.sampling_correction import score_offset
from ltr.experiments.shared_inputs import SharedInputs, choosing_folds
from ltr.experiments.whole_catalogue_evaluation import is_short, on_all_tools
from ltr.features.prior_weights import prior_of
from ltr.serving.shortlist import MOST_SCORED
from ltr.training.group_losses import group_losses
from ltr.training.nonlinear_terms import Terms
from ltr.training.significant_gain_rule import FoldResults, Level

Optima = dict[tuple[tuple[str, ...], Shape], FloatArray]  # the weights at the largest l2, by columns and shape
ROWS = 1 << 15  # candidates of a fold's groups on the lists that will be served
DRAWN_ROWS = 1 << 19  # of all tools, where candidates were drawn: nothing else judges there


@dataclass(frozen=True, slots=True)
class HeldLists:
    """Groups that a fold leaves out, with the columns of the candidates that judge them."""

    groups: Groups
    places: IntArray  # of the groups among those that the fold leaves out
    columns: tuple[FloatArray, ...]  # where the past is made of labels, a second time after own choices


@dataclass(frozen=True, slots=True)
class Sides:
    """What a fold learns from, and what it leaves out."""

    phi: FloatArray
    learned: Groups
    traces: int  # that it learns from
    offered: HeldLists
    served: HeldLists | None  # with more candidates; None where those that will be served were offered


def on_folds(
    config: RunConfig, shared: SharedInputs, listed: Sequence[Alternative], on_progress: OnProgress = silent
) -> tuple[FoldResults, int]:
    """What each alternative, learned without a fold, does with the fold's groups; and how many folds there are.

    Where the past is made of labels each group counts twice, as in a training: with right tools before it, and with
    own choices. Lists that will be served have right tools before them alone. Where candidates were drawn, a group is
    judged on all tools of the catalogue: what ranks best among a few that were drawn may not among all of them.
    """
    groups, _ = shared.data().train
    folds = choosing_folds(config, groups)
    left_out, optima = FoldResults.empty(len(listed), len(groups.offsets) - 1), Optima()
    for number, (_, held) in enumerate(folds):
        on_progress(Step("folds", number, len(folds)))
        sides = _sides(config, shared, number, folds, listed)
        judged, of_fold = sides.offered.places, _left_out(sides, config, shared.columns().names, listed, optima)
        for values, of_groups in zip(left_out.parts, of_fold.parts, strict=True):
            values[:, held[judged]] = of_groups
    is_plain = np.array([alternative.level < Level.OTHER for alternative in listed])
    if np.isnan(left_out.losses[is_plain]).all(axis=1).any():
        raise DataError("no fold has groups to judge by")
    return left_out, len(folds)


def _sides(
    config: RunConfig,
    shared: SharedInputs,
    number: int,
    folds: Sequence[tuple[IntArray, IntArray]],
    listed: Sequence[Alternative],
) -> Sides:
    """Both sides of a fold with their columns."""
    (groups, state), sides = shared.data().train, folds[number]
    learned, held = (select(groups, side) for side in sides)
    judged = np.arange(len(sides[1]))
    if tools := catalogue_of_drawn(config, groups):
        judged = _first_traces(held, max(DRAWN_ROWS // len(tools), 1), config.seed)
        held = on_all_tools(select(held, judged), tools)
    traces = len(learned.candidates.trace_ids)
    if state is not None:  # given columns that know all traces but a row's own
        phi, of_held = (_rows(shared.columns().phi, groups, side) for side in sides)
        return Sides(phi, learned, traces, HeldLists(held, judged, (of_held,)), None)
    has_others = any(alternative.level == Level.OTHER for alternative in listed)
    asked, wider = served_lists(config, groups, held) if has_others else (sides[1], None)
    others = [held.candidates, *([wider.candidates] if wider else [])]
    prepared, *columns = shared.fold_that_chooses(number, folds, *others)
    served = HeldLists(wider, asked, (columns[1],)) if wider else None
    if past_of(held.candidates) != "labels":
        return Sides(prepared.phi, learned, traces, HeldLists(held, judged, (columns[0],)), served)
    settings = default_of(listed).trained(config.train, traces)
    phi, learned, walked = both_pasts(config, settings, prepared, held)
    return Sides(phi, learned, traces, HeldLists(held, judged, (columns[0], walked)), served)


def _left_out(
    fold: Sides, config: RunConfig, names: Sequence[str], listed: Sequence[Alternative], optima: Optima
) -> FoldResults:
    """What each alternative learns from one side of a fold, and does with the other.

    `optima` has the weights of the fold before, near which those of this one are looked for.
    """
    offered, served, threshold = fold.offered, fold.served, config.evaluate.rel_threshold
    left_out = FoldResults.empty(len(listed), len(offered.places))
    for key, same in paths(listed).items():
        used, _ = key
        places = np.array([names.index(name) for name in used])
        settings = [listed[place].trained(config.train, fold.traces) for place in same]
        train = replace(settings[0], l2=tuple(train.penalty for train in settings))
        own = np.ascontiguousarray(fold.phi[:, places])
        try:
            ws = path_weights(train, own, fold.learned, prior=prior_of(train, used), start=optima.get(key))
            terms = Terms.of(own, train)
        except (DataError, UsageError, RunError):
            if listed[same[0]].level < Level.OTHER:
                raise
            continue  # its products leave the range of numbers: it is no alternative
        optima[key] = ws[int(np.argmax(train.l2s))]
        by_past = [[terms.scores(columns[:, places], w) for w in ws] for columns in offered.columns]
        left_out.losses[same] = np.mean([_losses(scores, offered.groups, train.targets) for scores in by_past], axis=0)
        ranks = np.mean([ranked(scores, offered.groups, threshold) for scores in by_past], axis=0)
        left_out.hits[same], left_out.ranks[same] = ranks
        if served is not None:
            scores = [terms.scores(served.columns[0][:, places], w) for w in ws]
            left_out.served[np.ix_(np.array(same), served.places)] = ranked(scores, served.groups, threshold)[0]
    return left_out


def served_lists(config: RunConfig, groups: Groups, held: Groups) -> tuple[IntArray, Groups | None]:
    """Places of left out groups, as many as make ROWS, and these with tools of the catalogue added.

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


def catalogue_of_drawn(config: RunConfig, groups: Groups) -> ToolCatalogue | None:
    """The tools on all of which groups are judged, where candidates were drawn.

    None where lists hold most of the catalogue; where a router would cut it, as few queries would make DRAWN_ROWS; and
    where columns are given, which know no other tool.
    """
    candidates = groups.candidates
    if candidates.is_logged.all() or candidates.features is not None:
        return None
    tools = tools_to_rank(candidates, config.data) or {}
    is_few = is_short(float(np.median(np.diff(groups.offsets))), len(tools))
    return tools if is_few and len(tools) <= MOST_SCORED else None


def _first_traces(groups: Groups, number: int, seed: int) -> IntArray:
    """The places of so many groups, of whole traces but for the last, by a hash of the traces' ids."""
    digests = trace_digests(groups.candidates.trace_ids, seed)
    return np.sort(np.argsort(digests[groups.candidates.traces], kind="stable")[:number])


def _losses(scores: Sequence[FloatArray], groups: Groups, targets: str) -> FloatArray:
    """The loss of each group by each of the scores."""
    inputs = groups.labels, groups.offsets, score_offset(groups), targets
    return np.array([group_losses(column, *inputs) for column in scores])


def ranked(scores: Sequence[FloatArray], groups: Groups, threshold: float) -> FloatArray:
    """Top-1 and precision of each group by each of the scores, ties by their expectation; 0 where none is right.

    The precision is the mean over right candidates of the share of right ones down to each: of one the reciprocal rank.
    Shape (2, scores, groups).
    """
    found = [
        evaluate(rank(column, groups.offsets), groups.labels, (MAP,), rel_threshold=threshold) for column in scores
    ]
    # the same of one right candidate but for the last digit of ties, which stays as the MRR of a run has it
    precision = [np.where(of.num_positives > 1, of.values[MAP], of.values[MRR]) for of in found]
    return np.nan_to_num(np.array([[of.values[TOP1] for of in found], precision]))


def _rows(phi: FloatArray, groups: Groups, side: IntArray) -> FloatArray:
    """The rows of some groups."""
    is_inside = np.zeros(len(groups.offsets) - 1, dtype=bool)
    is_inside[side] = True
    return phi[np.repeat(is_inside, np.diff(groups.offsets))]
