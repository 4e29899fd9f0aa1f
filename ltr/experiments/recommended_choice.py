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
from ltr.experiments.cross_validation import path_weights
from ltr.experiments.negatives import score_offset
from ltr.experiments.progress import OnProgress, Step, silent
from ltr.experiments.shared_inputs import SharedInputs, listed_features, prior_of
from ltr.features.presets import ALL, FOUR, RECOMMENDED, SINGLES
from ltr.logs import stage
from ltr.storage.training_record import AlternativeRecord, RecommendedChoiceRecord
from ltr.training.config import COLUMNS, KNOTS, L2, TrainConfig
from ltr.training.curves import Knots
from ltr.training.simplest import Simplest, group_losses, simplest_as_good
from ltr.training.standard_errors import NORMAL_95

FOLDS = 5
CURVES = 7  # knots
STRENGTHS = (10.0, 3.0, 1.0, 0.3)  # l2 times training traces, of lines
STRENGTHS_OF_CURVES = (10.0, 1.0, 0.3)


@dataclass(frozen=True, slots=True)
class Alternative:
    """One way to train."""

    columns: tuple[str, ...]
    knots: int
    strength: float | None  # l2 times training traces; None: the l2 of the config

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

    >>> config = TrainConfig(trainer="newton", standardize=True, choose=("columns",))
    >>> [alternative.columns for alternative in alternatives(config, "tool", ["tool.proto", "tool.ridge", "mine"])]
    [('tool.proto',), ('tool.ridge',), ('tool.proto', 'tool.ridge', 'mine')]
    """
    names, is_free = tuple(names), KNOTS in config.choose
    sets = ((*((name,) for name in SINGLES[kind]), FOUR[kind], ALL[kind])) if COLUMNS in config.choose else ()
    weak, lines, curves = ((1.0,), STRENGTHS, STRENGTHS_OF_CURVES) if L2 in config.choose else ((None,),) * 3
    shapes = [
        *((columns, 0, weak) for columns in sets if set(columns) < set(names)),
        (names, 0, lines),
        *([(names, CURVES, curves)] if is_free else []),
    ]
    return tuple(
        Alternative(columns, knots if is_free else config.knots, strength)
        for columns, knots, strengths in shapes
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

    In each fold everything is fitted again without its traces. Where that is impossible all columns are taken, pulled
    most, and the record says why.
    """
    prepared = shared.columns(on_progress)
    candidates, train = prepared.groups.candidates, config.train
    if candidates.features is not None:  # given numbers stay as they are
        train = replace(train, choose=tuple(key for key in train.choose if key != COLUMNS))
    listed = alternatives(train, candidates.kind, prepared.names)
    try:
        losses, folds = fold_losses(config, shared, listed, on_progress)
    except (DataError, UsageError) as error:
        default = next(alternative for alternative in listed if len(alternative.columns) == len(prepared.names))
        return _chosen(config, shared, default, RecommendedChoiceRecord(default.title, f"no folds: {error}"))
    groups = prepared.groups
    judged = np.flatnonzero(~np.isnan(losses).any(axis=0))
    weights = np.ones(losses.shape[1]) if groups.weights is None else groups.weights
    simplest = simplest_as_good(losses[:, judged], weights[judged], groups.candidates.traces[judged])
    return _chosen(config, shared, listed[simplest.chosen], _record(listed, simplest, folds))


def fold_losses(
    config: RunConfig, shared: SharedInputs, listed: Sequence[Alternative], on_progress: OnProgress = silent
) -> tuple[FloatArray, int]:
    """The loss of each alternative in each group, (alternatives, groups), learned without its fold; how many folds.

    NaN where no fold leaves a group out, or it cannot train.
    """
    groups, state = shared.data().train
    traces = len(groups.candidates.trace_ids)
    most = traces - (config.data.split == TIME)
    folds = min(most, FOLDS)
    if folds < 2:
        raise DataError(f"{count(traces, 'training trace')}, too few for folds")
    names, losses = shared.columns().names, np.full((len(listed), len(groups.offsets) - 1), np.nan)
    for number, sides in enumerate(fold_indices(groups, folds, seed=config.seed, by=config.data.split)):
        on_progress(Step("folds", number, folds))
        learned, held = (select(groups, side) for side in sides)
        if state is None:
            phi, phi_held = shared.fold_columns((number, folds), learned, held)
        else:  # given columns that know all traces but a row's own
            phi, phi_held = (_rows(shared.columns().phi, groups, side) for side in sides)
        for (columns, _), alike in paths(listed).items():
            used = [names.index(name) for name in columns]
            settings = [listed[place].trained(config.train, len(learned.candidates.trace_ids)) for place in alike]
            train = replace(settings[0], l2=tuple(train.penalty for train in settings))
            inside, outside = (phi[:, used], learned), (phi_held[:, used], held)
            losses[np.ix_(np.array(alike), sides[1])] = _held_losses(train, inside, outside, prior_of(train, columns))
    if np.isnan(losses).all(axis=1).any():
        raise DataError("no fold has groups to judge by")
    return losses, folds


def paths(listed: Sequence[Alternative]) -> dict[tuple[tuple[str, ...], int], list[int]]:
    """The places of the alternatives that differ in l2 alone, by their columns and knots.

    >>> paths([Alternative(("a",), 0, 1.0), Alternative(("a", "b"), 0, 10.0), Alternative(("a", "b"), 0, 1.0)])
    {(('a',), 0): [0], (('a', 'b'), 0): [1, 2]}
    """
    places: dict[tuple[tuple[str, ...], int], list[int]] = {}
    for place, alternative in enumerate(listed):
        places.setdefault((alternative.columns, alternative.knots), []).append(place)
    return places


def _held_losses(
    train: TrainConfig, learned: tuple[FloatArray, Groups], held: tuple[FloatArray, Groups], prior: FloatArray | None
) -> FloatArray:
    """The loss of each group that was left out, by what each l2 learned from the others, (l2s, groups)."""
    phi, groups = np.ascontiguousarray(learned[0]), learned[1]
    ws, knots = path_weights(train, phi, groups, prior=prior), Knots.of(phi, train.knots)
    held_phi, others = held
    offset = score_offset(others)
    try:
        fixed = (others.labels, others.offsets, offset, train.targets)
        return np.array([group_losses(knots.scores(held_phi, w), *fixed) for w in ws])
    except DataError:  # none of them can train
        return np.full((len(ws), len(others.offsets) - 1), np.nan)


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


def _record(listed: Sequence[Alternative], simplest: Simplest, folds: int) -> RecommendedChoiceRecord:
    """The alternatives with their losses, and why that one."""
    chosen, best = listed[simplest.chosen], listed[simplest.best]
    reason = "the least loss"
    if chosen != best:
        reason = f"simpler than {best.title}, whose loss is the least, and within one standard error of it"
    return RecommendedChoiceRecord(chosen.title, reason, folds, list(_alternative_records(listed, simplest)))


def _alternative_records(listed: Sequence[Alternative], simplest: Simplest) -> Iterator[AlternativeRecord]:
    for alternative, loss, gap in zip(listed, simplest.losses.tolist(), simplest.differences, strict=True):
        half = NORMAL_95 * gap.standard_error
        ends = (gap.mean - half, gap.mean + half) if math.isfinite(half) else (None, None)
        yield AlternativeRecord(alternative.title, loss, gap.mean, *ends)
