"""What folds choose for the recommended recipe: columns, lines or knots, and l2, the simplest that is as good."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.config.run import RunConfig
from ltr.data.groups import Groups, select
from ltr.data.schema import Kind
from ltr.data.splits import TIME, fold_indices
from ltr.errors import DataError, UsageError, count
from ltr.evaluation.evaluate import evaluate
from ltr.evaluation.metrics.ranked import TOP1
from ltr.evaluation.ranking import rank
from ltr.experiments.cross_validation import path_weights
from ltr.experiments.negatives import DRAWN, MOST_WHOLE, WHOLE, draw_negatives, score_offset
from ltr.experiments.progress import OnProgress, Step, silent
from ltr.experiments.read_data import tools_to_rank
from ltr.experiments.shared_inputs import SharedInputs, encoder_name, listed_features, prior_of
from ltr.experiments.whole_catalogue import is_short
from ltr.features.presets import ALL, FOUR, MORE, RECOMMENDED, SINGLES
from ltr.logs import stage
from ltr.storage.training_record import AlternativeRecord, RecommendedChoiceRecord
from ltr.training.config import COLUMNS, KNOTS, L2, TrainConfig
from ltr.training.curves import Knots
from ltr.training.simplest import Simplest, group_losses, simplest_proved
from ltr.training.standard_errors import NORMAL_95

FOLDS = 5
CURVES = 7  # knots
STRENGTHS = (10.0, 3.0, 1.0, 0.3)  # l2 times training traces, of lines
STRENGTH_OF_CURVES = (1.0,)
ROWS = 1 << 15  # candidates of a fold's groups on the lists that will be served


@dataclass(frozen=True, slots=True)
class Alternative:
    """One way to train."""

    columns: tuple[str, ...]
    knots: int
    strength: float | None  # l2 times training traces; None: the l2 of the config
    is_rich: bool = False  # it has to rank better too

    def trained(self, config: TrainConfig, traces: int) -> TrainConfig:
        """The settings of its training on so many traces."""
        l2 = config.penalty if self.strength is None else self.strength / max(traces, 1)
        return replace(config, knots=self.knots, l2=l2, choose=())

    @property
    def title(self) -> str:
        """How it is named to people.

        >>> Alternative(("tool.proto",), 0, 1.0).title, Alternative(("a", "b"), 7, 10.0).title
        ('tool.proto alone, l2 1 / traces', '2 columns, 7 knots, l2 10 / traces')
        """
        columns = f"{self.columns[0]} alone" if len(self.columns) == 1 else f"{len(self.columns)} columns"
        shape = f", {count(self.knots, 'knot')}" if self.knots else ", lines" if len(self.columns) > 1 else ""
        return f"{columns}{shape}{'' if self.strength is None else f', l2 {self.strength:g} / traces'}"


def alternatives(config: TrainConfig, kind: Kind, names: Sequence[str]) -> tuple[Alternative, ...]:
    """The alternatives of columns with these names, from simple to rich: at most 12.

    Rich are those with knots or columns beyond the recommended ones, where folds choose them.

    >>> config = TrainConfig(trainer="newton", standardize=True, choose=("columns",))
    >>> [alternative.columns for alternative in alternatives(config, "tool", ["tool.proto", "tool.ridge", "mine"])]
    [('tool.proto',), ('tool.ridge',), ('tool.proto', 'tool.ridge', 'mine')]
    """
    names, is_free = tuple(names), KNOTS in config.choose
    sets = ((*((name,) for name in SINGLES[kind]), FOUR[kind], ALL[kind])) if COLUMNS in config.choose else ()
    usual = tuple(name for name in names if not (sets and name in MORE[kind]))
    weak, lines, curves = ((1.0,), STRENGTHS, STRENGTH_OF_CURVES) if L2 in config.choose else ((None,),) * 3
    shapes = [
        *((columns, 0, weak, False) for columns in sets if set(columns) < set(usual)),
        (usual, 0, lines, False),
        *([(usual, CURVES, curves, True)] if is_free else []),
        *([(names, CURVES, curves, True)] if len(names) > len(usual) else []),
    ]
    return tuple(
        Alternative(columns, knots if is_free else config.knots, strength, is_rich)
        for columns, knots, strengths, is_rich in shapes
        for strength in strengths
    )


@dataclass(frozen=True, slots=True)
class Chosen:
    """What folds chose: the config that names all of it, what was made for such a run, and how it was chosen."""

    config: RunConfig
    shared: SharedInputs
    record: RecommendedChoiceRecord | None = None  # nothing was left to choose


def chosen(config: RunConfig, shared: SharedInputs, on_progress: OnProgress = silent) -> Chosen:
    """What folds choose, where the config leaves them something to choose."""
    if not config.train.choose:
        return Chosen(config, shared)
    config.train.refuse_other_scale("choose")
    if COLUMNS in config.train.choose and config.features != (RECOMMENDED,):
        raise UsageError("train.choose names columns, which needs features: [recommended]")
    return choose(config, shared, on_progress)


@stage("choosing by folds")
def choose(config: RunConfig, shared: SharedInputs, on_progress: OnProgress = silent) -> Chosen:
    """The simplest alternative whose loss on left out traces is within one standard error of the least.

    A rich one has to rank them better too. In each fold everything is fitted again without its traces. Where that is
    impossible the recommended columns are taken, pulled most, and the record says why.
    """
    prepared = shared.columns(on_progress)
    candidates, train = prepared.groups.candidates, config.train
    if candidates.features is not None:  # given numbers stay as they are
        train = replace(train, choose=tuple(key for key in train.choose if key != COLUMNS))
    listed = alternatives(train, candidates.kind, prepared.names)
    try:
        judged = judged_by_folds(config, shared, listed, on_progress)
    except (DataError, UsageError) as error:
        most = max(len(alternative.columns) for alternative in listed if not alternative.is_rich)
        default = next(alternative for alternative in listed if len(alternative.columns) == most)
        return _chosen(config, shared, default, RecommendedChoiceRecord(default.title, f"no folds: {error}"))
    groups = prepared.groups
    counted = np.flatnonzero(~np.isnan(judged.losses).any(axis=0))
    weights = np.ones(len(groups.offsets) - 1) if groups.weights is None else groups.weights
    is_rich = np.array([alternative.is_rich for alternative in listed])
    losses, hits, served = (column[:, counted] for column in (judged.losses, judged.hits, judged.served))
    weights, traces = weights[counted], groups.candidates.traces[counted]
    simplest = simplest_proved(losses, hits, served, is_rich, weights, traces)
    record = _record(listed, simplest, hits @ weights / weights.sum(), judged.folds)
    return _chosen(config, shared, listed[simplest.chosen], record)


@dataclass(frozen=True, slots=True)
class Judged:
    """What each alternative did with groups that it did not learn from, (alternatives, groups) each."""

    losses: FloatArray  # NaN where no fold leaves a group out, or it cannot train
    hits: FloatArray  # Top-1 on the lists that were offered; 0 there
    served: FloatArray  # Top-1 on the lists that will be served; NaN where they are the same, or not asked
    folds: int


def judged_by_folds(
    config: RunConfig, shared: SharedInputs, listed: Sequence[Alternative], on_progress: OnProgress = silent
) -> Judged:
    """What each alternative learns without a fold, judged by the fold's groups."""
    groups, state = shared.data().train
    most = len(groups.candidates.trace_ids) - (config.data.split == TIME)
    folds = min(most, FOLDS)
    if folds < 2:
        raise DataError(f"{count(len(groups.candidates.trace_ids), 'training trace')}, too few for folds")
    names, shape = shared.columns().names, (len(listed), len(groups.offsets) - 1)
    judged = Judged(np.full(shape, np.nan), np.zeros(shape), np.full(shape, np.nan), folds)
    for number, sides in enumerate(fold_indices(groups, folds, seed=config.seed, by=config.data.split)):
        on_progress(Step("folds", number, folds))
        learned, held = (select(groups, side) for side in sides)
        is_asked = state is None and any(alternative.is_rich for alternative in listed)
        asked, wider = served_lists(config, groups, held) if is_asked else (np.array([], dtype=np.int64), None)
        if state is None:
            others = [held.candidates] + ([wider.candidates] if wider else [])
            phi, *columns = shared.fold_columns_of((number, folds), learned, *others)
        else:  # given columns that know all traces but a row's own
            phi, *columns = (_rows(shared.columns().phi, groups, side) for side in sides)
        lists = [(held, sides[1], judged.hits)] + ([(wider, sides[1][asked], judged.served)] if wider else [])
        for (used, _), same in paths(listed).items():
            alike = np.array(same)
            places = np.array([names.index(name) for name in used])
            settings = [listed[place].trained(config.train, len(learned.candidates.trace_ids)) for place in same]
            train = replace(settings[0], l2=tuple(train.penalty for train in settings))
            own = np.ascontiguousarray(phi[:, places])
            ws, knots = path_weights(train, own, learned, prior=prior_of(train, used)), Knots.of(own, train.knots)
            for (of, where, hits), column in zip(lists, columns, strict=True):
                scores = [knots.scores(column[:, places], w) for w in ws]
                hits[np.ix_(alike, where)] = [hits_of(row, of, config.evaluate.rel_threshold) for row in scores]
                if of is held:
                    judged.losses[np.ix_(alike, where)] = _losses(scores, held, train.targets)
    if np.isnan(judged.losses).all(axis=1).any():
        raise DataError("no fold has groups to judge by")
    return judged


def paths(listed: Sequence[Alternative]) -> dict[tuple[tuple[str, ...], int], list[int]]:
    """The places of the alternatives that differ in l2 alone, by their columns and knots.

    >>> paths([Alternative(("a",), 0, 1.0), Alternative(("a", "b"), 0, 10.0), Alternative(("a", "b"), 0, 1.0)])
    {(('a',), 0): [0], (('a', 'b'), 0): [1, 2]}
    """
    places: dict[tuple[tuple[str, ...], int], list[int]] = {}
    for place, alternative in enumerate(listed):
        places.setdefault((alternative.columns, alternative.knots), []).append(place)
    return places


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


def hits_of(scores: FloatArray, groups: Groups, threshold: float) -> FloatArray:
    """Top-1 of each group, ties by their expectation; 0 where nothing is right."""
    return np.nan_to_num(evaluate(rank(scores, groups.offsets), groups.labels, rel_threshold=threshold).values[TOP1])


def _rows(phi: FloatArray, groups: Groups, side: IntArray) -> FloatArray:
    """The rows of some groups."""
    is_inside = np.zeros(len(groups.offsets) - 1, dtype=bool)
    is_inside[side] = True
    return phi[np.repeat(is_inside, np.diff(groups.offsets))]


def _chosen(
    config: RunConfig, shared: SharedInputs, alternative: Alternative, record: RecommendedChoiceRecord
) -> Chosen:
    prepared = shared.columns()
    train = alternative.trained(config.train, len(prepared.groups.candidates.trace_ids))
    places = np.array([prepared.names.index(name) for name in alternative.columns], dtype=np.int64)
    fitted = prepared.only(places).features
    config = replace(config, train=train, features=listed_features(fitted.configs) if fitted else config.features)
    return Chosen(config, shared.narrowed(config, places), record)


def _record(listed: Sequence[Alternative], simplest: Simplest, top1: FloatArray, folds: int) -> RecommendedChoiceRecord:
    """The alternatives with their losses and Top-1, and why that one."""
    chosen, best, least = (listed[place] for place in (simplest.chosen, simplest.best, int(simplest.losses.argmin())))
    reason = "the least loss"
    if chosen != best:
        reason = f"simpler than {best.title}, whose loss is the least, and within one standard error of it"
    if least != best:
        reason += f"; {least.title} loses less, but is not proved to rank better"
    return RecommendedChoiceRecord(chosen.title, reason, folds, list(_alternative_records(listed, simplest, top1)))


def _alternative_records(
    listed: Sequence[Alternative], simplest: Simplest, top1: FloatArray
) -> Iterator[AlternativeRecord]:
    means = zip(simplest.losses.tolist(), top1.tolist(), strict=True)
    for alternative, (loss, hits), gap in zip(listed, means, simplest.differences, strict=True):
        half = NORMAL_95 * gap.standard_error
        ends = (gap.mean - half, gap.mean + half) if math.isfinite(half) else (None, None)
        yield AlternativeRecord(alternative.title, loss, hits, gap.mean, *ends)
