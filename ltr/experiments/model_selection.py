"""What folds choose for the recommended recipe: columns, lines or more, and l2, the simplest that is as good."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np

from ltr.arrays import FloatArray
from ltr.config.run import RunConfig, listed_features
from ltr.errors import DataError, UsageError
from ltr.experiments.model_alternatives import Alternative, alternatives, default_of
from ltr.experiments.model_alternatives_on_folds import on_folds
from ltr.experiments.progress import OnProgress, silent
from ltr.experiments.shared_inputs import SharedInputs
from ltr.features.presets import RECOMMENDED
from ltr.logs import stage
from ltr.storage.training_record import AlternativeRecord, RecommendedChoiceRecord
from ltr.training.config import COLUMNS
from ltr.training.one_standard_error import Simplest
from ltr.training.significant_gain_rule import Level, simplest_proved
from ltr.training.standard_errors import NORMAL_95


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

    Several columns have to rank them better too, rich alternatives beyond noise. In each fold everything is fitted
    again without its traces. Where that is impossible the recommended columns are taken, pulled most, and the record
    says why.
    """
    prepared = shared.columns(on_progress)
    candidates, train = prepared.groups.candidates, config.train
    if candidates.features is not None:  # given numbers stay as they are
        train = replace(train, choose=tuple(key for key in train.choose if key != COLUMNS))
    listed = alternatives(train, candidates.kind, prepared.names)
    try:
        left_out, folds = on_folds(config, shared, listed, on_progress)
    except (DataError, UsageError) as error:
        default = default_of(listed)
        return _chosen(config, shared, default, RecommendedChoiceRecord(default.title, f"no folds: {error}"))
    is_plain = np.array([alternative.level < Level.RICH for alternative in listed])
    is_judged = ~np.isnan(left_out.losses[is_plain]).any(axis=0)
    is_trained = np.array([not np.isnan(losses[is_judged]).any() for losses in left_out.losses])  # in every fold
    listed, left_out = tuple(compress(listed, is_trained)), left_out.of(is_trained)
    groups = prepared.groups
    counted = np.flatnonzero(~np.isnan(left_out.losses).any(axis=0))
    weights = np.ones(len(groups.offsets) - 1) if groups.weights is None else groups.weights
    levels = np.array([alternative.level for alternative in listed])
    left_out, weights = left_out.only(counted), weights[counted]
    simplest = simplest_proved(left_out, levels, weights, groups.candidates.traces[counted])
    record = _record(
        listed, simplest, [part @ weights / weights.sum() for part in (left_out.hits, left_out.ranks)], folds
    )
    return _chosen(config, shared, listed[simplest.chosen], record)


def _chosen(
    config: RunConfig, shared: SharedInputs, alternative: Alternative, record: RecommendedChoiceRecord
) -> Chosen:
    prepared = shared.columns()
    train = alternative.trained(config.train, len(prepared.groups.candidates.trace_ids))
    places = np.array([prepared.names.index(name) for name in alternative.columns], dtype=np.int64)
    fitted = prepared.only(places).features
    config = replace(config, train=train, features=listed_features(fitted.configs) if fitted else config.features)
    return Chosen(config, shared.narrowed(config, places), record)


def _record(
    listed: Sequence[Alternative], simplest: Simplest, metrics: Sequence[FloatArray], folds: int
) -> RecommendedChoiceRecord:
    """The alternatives with their losses and metrics, Top-1 and MRR, and why that one."""
    chosen, best, least = (listed[place] for place in (simplest.chosen, simplest.best, int(simplest.losses.argmin())))
    reason = "the least loss" if least == best else "the least loss of those that are proved to rank better"
    if chosen != best:
        reason = f"simpler than {best.title}, whose loss is the least, and within one standard error of it"
    if least != best:
        reason += f"; {least.title} loses less, but is not proved to rank better wherever it will be used"
    return RecommendedChoiceRecord(chosen.title, reason, folds, list(_alternative_records(listed, simplest, metrics)))


def _alternative_records(
    listed: Sequence[Alternative], simplest: Simplest, metrics: Sequence[FloatArray]
) -> Iterator[AlternativeRecord]:
    means = zip(simplest.losses.tolist(), *(metric.tolist() for metric in metrics), strict=True)
    for alternative, (loss, top1, mrr), gap in zip(listed, means, simplest.differences, strict=True):
        half = NORMAL_95 * gap.standard_error
        ends = (gap.mean - half, gap.mean + half) if math.isfinite(half) else (None, None)
        yield AlternativeRecord(alternative.title, loss, top1, mrr, gap.mean, *ends)
