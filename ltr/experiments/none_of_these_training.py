"""None of these, learned: which groups b sees, and its inputs from scores that saw none of their own traces."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ltr.config.none_and_abstain import LOG, NoneConfig
from ltr.config.run import RunConfig
from ltr.data.groups import Groups
from ltr.data.right_candidate_removal import removed
from ltr.experiments.cross_fitted_scores import FoldModels, ScoredGroups
from ltr.steps.none import relevance_column, relevance_of, word_counts
from ltr.training.none_logit import NoneLogit, none_inputs
from ltr.training.none_logit_fit import NoneRows, fit_none


@dataclass(frozen=True, slots=True)
class NoneSource:
    """Groups with a right candidate, and groups for which none is right, beside each other."""

    name: str
    rest: Groups
    none: Groups


def none_source(config: NoneConfig, groups: Groups, seed: int) -> NoneSource | None:
    """What b learns from; None where nothing is asked for and the log knows no none."""
    if config.removed_share is not None:
        rest, copies = removed(groups, config.removed_share, seed=seed)
        return NoneSource(config.source or "", rest, copies)
    if groups.none_groups is not None:
        return NoneSource(LOG, groups, groups.none_groups)
    return None


def learn_none(config: RunConfig, source: NoneSource, models: FoldModels) -> NoneLogit:
    """b, of scores by models that know nothing of the trace."""
    names = models.models[0][0].names
    relevance = relevance_column(names)
    ids = {trace for groups in (source.rest, source.none) for trace in groups.candidates.trace_ids}
    codes = {trace: code for code, trace in enumerate(sorted(ids))}
    rows = [
        none_rows(models.scored(groups), names, relevance, codes, is_none=is_none)
        for groups, is_none in ((source.rest, False), (source.none, True))
    ]
    return fit_none(
        NoneRows.joined(rows), relevance=relevance, source=source.name, share=config.none.share, l2=config.none.l2
    )


def none_rows(
    scored: ScoredGroups, names: Sequence[str], relevance: str, codes: Mapping[str, int], *, is_none: bool
) -> NoneRows:
    """The rows of b that the groups are; a group without a right candidate and without none is not known to be either.

    `codes`: a number for each trace.
    """
    groups, candidates = scored.groups, scored.groups.candidates
    words = word_counts(candidates)
    z, rest = none_inputs(scored.scores, groups.offsets, relevance_of(names, scored.phi, relevance), words)
    is_known = is_none | (np.maximum.reduceat(groups.labels, groups.offsets[:-1]) > 0)
    of_trace = np.array([codes[trace] for trace in candidates.trace_ids], dtype=np.int64)
    weights = groups.group_weights
    labels = np.full(int(is_known.sum()), is_none)
    return NoneRows(z[is_known], rest[is_known], labels, of_trace[candidates.traces][is_known], weights[is_known])
