"""What folds choose for the recommended recipe: columns, lines or more, and l2."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np

from ltr.config.run import RunConfig, listed_features
from ltr.data.groups import Groups
from ltr.errors import DataError, UsageError, count
from ltr.experiments.model_alternatives import Alternative, alternatives, default_of
from ltr.experiments.model_alternatives_on_folds import catalogue_of_drawn, on_folds
from ltr.experiments.progress import OnProgress, silent
from ltr.experiments.shared_inputs import SharedInputs
from ltr.features.presets import RECOMMENDED
from ltr.logs import stage
from ltr.storage.training_record import AlternativeRecord, RecommendedChoiceRecord
from ltr.training.config import COLUMNS
from ltr.training.one_standard_error import MeanDifference
from ltr.training.significant_gain_rule import Level, climbed
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
    """The alternative to which left out traces climb (`climbed`).

    In each fold everything is fitted again without its traces. Where that is impossible the recommended columns are
    taken, pulled most, and the record says why.
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
    is_plain = np.array([alternative.level < Level.OTHER for alternative in listed])
    is_judged = ~np.isnan(left_out.losses[is_plain]).any(axis=0)
    is_trained = np.array([not np.isnan(losses[is_judged]).any() for losses in left_out.losses])  # in every fold
    listed, left_out = tuple(compress(listed, is_trained)), left_out.of(is_trained)
    groups = prepared.groups
    counted = np.flatnonzero(~np.isnan(left_out.losses).any(axis=0))
    weights = groups.group_weights
    levels = np.array([alternative.level for alternative in listed])
    left_out, weights, traces = left_out.only(counted), weights[counted], groups.candidates.traces[counted]
    stood = climbed(left_out, levels, weights, traces)
    chosen = left_out.ranks[stood[-1]]
    leads = [MeanDifference.of(row, chosen, weights, traces) for row in left_out.ranks]
    loss, top1, mrr = (part @ weights / weights.sum() for part in (left_out.losses, left_out.hits, left_out.ranks))
    records = [
        AlternativeRecord(
            way.title, float(loss[place]), float(top1[place]), float(mrr[place]), *_interval(leads[place])
        )
        for place, way in enumerate(listed)
    ]
    reason = _reason(listed, stood, leads) + _judged_on(config, groups, len(counted))
    record = RecommendedChoiceRecord(listed[stood[-1]].title, reason, folds, records)
    return _chosen(config, shared, listed[stood[-1]], record)


def _chosen(
    config: RunConfig, shared: SharedInputs, alternative: Alternative, record: RecommendedChoiceRecord
) -> Chosen:
    prepared = shared.columns()
    train = alternative.trained(config.train, len(prepared.groups.candidates.trace_ids))
    places = np.array([prepared.names.index(name) for name in alternative.columns], dtype=np.int64)
    fitted = prepared.only(places).features
    config = replace(config, train=train, features=listed_features(fitted.configs) if fitted else config.features)
    return Chosen(config, shared.narrowed(config, places), record)


def _interval(lead: MeanDifference) -> tuple[float, float | None, float | None]:
    """The mean and the ends of its 95 % interval; no ends with one trace."""
    half = NORMAL_95 * lead.standard_error
    return (lead.mean, lead.mean - half, lead.mean + half) if math.isfinite(half) else (lead.mean, None, None)


def _reason(listed: Sequence[Alternative], stood: Sequence[int], leads: Sequence[MeanDifference]) -> str:
    """Why the last one that stood was taken; `leads`: of each alternative over it, in the mean reciprocal rank."""
    chosen, outranking = listed[stood[-1]], [place for place, lead in enumerate(leads) if lead.exceeds(NORMAL_95)]
    if len(stood) == 1:
        reason = "the least loss of its kind, and nothing richer ranks better beyond noise"
    else:
        noise = "one standard error" if chosen.level == Level.SEVERAL else "the 95 % interval"
        before = listed[stood[-2]].title
        reason = f"its MRR is {-leads[stood[-2]].mean:.3f} above that of {before}, more than {noise}"
    if outranking:
        best = listed[max(outranking, key=lambda place: leads[place].mean)].title
        reason += f"; {best} ranks better on the lists of the samples, and worse on the lists that will be served"
    return reason


def _judged_on(config: RunConfig, groups: Groups, judged: int) -> str:
    """Where candidates were drawn, the lists on which so many of the groups judged; else nothing."""
    if groups.candidates.is_logged.all():
        return ""
    if tools := catalogue_of_drawn(config, groups):
        of = count(len(groups.offsets) - 1, "query", "queries")
        return f"; judged on all {len(tools):,} tools, as candidates were drawn, by {judged:,} of {of}"
    return "; judged on the lists with drawn candidates"
