"""None of these: how probable it is that nothing offered is right, and the share of the probability that it takes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np

from ltr.arrays import FloatArray
from ltr.data.candidates import Candidates
from ltr.features.registry import FEATURES
from ltr.features.tokenization import TOKEN
from ltr.steps.step import Ranked, Ranks, Step, Told
from ltr.storage.model_file import StoredModel
from ltr.training.none_logit import NoneLogit, none_inputs
from ltr.training.softmax import softmax

if TYPE_CHECKING:
    from ltr.columns import Features, Work
    from ltr.config.none_and_abstain import NoneConfig
    from ltr.config.run import RunConfig
    from ltr.data.groups import Groups
    from ltr.data.right_candidate_removal import Removal
    from ltr.data.shards import Shards
    from ltr.engines.engine import Engine
    from ltr.evaluation.none_of_these_measures import NoneQueries
    from ltr.steps.heldout import Held, HeldOut
    from ltr.training.none_logit_fit import NoneRows

Model = TypeVar("Model", bound=StoredModel)


@dataclass(frozen=True, slots=True)
class NoneOfThese(Step):
    """P(none) of each query; its candidates share the rest."""

    title: ClassVar[str] = "none"
    logit: NoneLogit

    @classmethod
    def of(cls, model: StoredModel) -> Self | None:
        """Return the step of a model that learned P(none)."""
        return None if model.none is None else cls(model.none)

    def apply(self, ranked: Ranked) -> Ranked:
        """Return the ranking with P(none), and its candidates with what that leaves."""
        p = none_probabilities(self.logit, ranked.names, ranked.candidates, ranked.phi, ranked.scores)
        return replace(ranked, left=1 - p, said={**ranked.said, "none": p.tolist()})

    def of_nothing(self) -> Mapping[str, Any]:
        """Return that none is right, for sure."""
        return {"none": 1.0}

    def before(self, shards: "Shards", seed: int, engine: "Engine") -> "Removal | None":
        """Return which queries are copied without their right candidates; None: P(none) is not measured on copies.

        It is by a model that learned from copies, where the samples do not say of any query that none is right.
        """
        from ltr.config.none_and_abstain import NoneConfig
        from ltr.data.none_of_these_groups import groups_to_learn
        from ltr.data.right_candidate_removal import removal_of
        from ltr.data.shards import changed

        share = NoneConfig(source=self.logit.source, share=self.logit.share).removed_share
        known = changed(shards, groups_to_learn)
        if share is None or any(known[number].none_groups is not None for number in range(len(known))):
            return None
        return removal_of(known, share, seed=seed, engine=engine)

    def told(
        self, model: Ranks, groups: "Groups", ranked: tuple[FloatArray, FloatArray], rel_threshold: float, before: Any
    ) -> tuple["ToldNone | None", Mapping[str, Any]]:
        """Return P(none) of each query, and what is said where it is known whether none is right."""
        p = none_probabilities(self.logit, model.names, groups.candidates, *ranked)
        return told_of(model, self.logit, groups, before, rel_threshold), {"none_probability": p}

    def measured(self, of: "ToldNone", queries: tuple[int, int], *, is_moved: bool, seed: int) -> Mapping[str, Any]:
        """Return how well P(none) tells queries for which none is right from others."""
        from ltr.evaluation.none_of_these_measures import measure_none

        return {"none": measure_none(of.queries, learned_from=self.logit.source, for_share=self.logit.share)}


@dataclass(frozen=True, slots=True)
class ToldNone(Told):
    """What is said of queries for which it is known whether none is right."""

    queries: "NoneQueries"


def none_probabilities(
    logit: NoneLogit, names: Sequence[str], candidates: Candidates, phi: FloatArray, scores: FloatArray
) -> FloatArray:
    """Return P(none) of each query."""
    relevance = relevance_of(names, phi, logit.relevance)
    return logit.probabilities(scores, candidates.offsets, relevance, word_counts(candidates))


def relevance_column(names: Sequence[str]) -> str:
    """Return the first of the columns whose family is relevance; "" without one.

    >>> relevance_column(("tool.lift", "tool.proto", "tool.rel"))
    'tool.proto'
    """
    return next((name for name in names if name in FEATURES and FEATURES[name].family == "rel"), "")


def relevance_of(names: Sequence[str], phi: FloatArray, column: str) -> FloatArray:
    """Return the column of that name; 0 without one."""
    return phi[:, list(names).index(column)] if column else np.zeros(len(phi))


def word_counts(candidates: Candidates) -> FloatArray:
    """Count the words of the query of each group."""
    counts = np.array([word_count(text) for text in candidates.query_texts], dtype=np.float64)
    return counts[candidates.queries]


def word_count(query: str) -> int:
    """Count the words of a query.

    >>> word_count("rain, in Paris?")
    3
    """
    return len(TOKEN.findall(query))


@dataclass(frozen=True, slots=True)
class NoneSource:
    """Groups with a right candidate, and groups for which none is right, beside each other."""

    name: str
    rest: "Shards"
    none: "Shards"


def learn(router: Model, config: "RunConfig", features: "Features", held: "Held", *, has_none: bool) -> Model:
    """Return the router with P(none), where it is asked for or the log knows it (`has_none`); its weights are held."""
    if not has_none and config.none.removed_share is None:
        return router
    source = none_source(config.none, features.samples, config.seed, features.work)
    logit = learn_none(config.none, source, held.models(source.none), features.work)
    return replace(router, none=logit)


def none_source(config: "NoneConfig", shards: "Shards", seed: int, work: "Work") -> NoneSource:
    """Return what P(none) is learned from: copies without their right candidates, or what the log says."""
    from ltr.config.none_and_abstain import LOG  # an answer needs none of them
    from ltr.data.none_of_these_groups import none_groups
    from ltr.data.right_candidate_removal import removal_of
    from ltr.data.shards import changed

    if config.removed_share is not None:
        removal = removal_of(shards, config.removed_share, seed=seed, engine=work.engine)
        return NoneSource(config.source or "", *(changed(shards, part) for part in (removal.rest, removal.copies)))
    return NoneSource(LOG, shards, changed(shards, none_groups))


def learn_none(config: "NoneConfig", source: NoneSource, models: "HeldOut", work: "Work") -> NoneLogit:
    """Fit b on scores by models that know nothing of the trace."""
    from ltr.training.none_logit_fit import NoneRows, fit_none

    relevance, sides = relevance_column(models.names), ((source.rest, False), (source.none, True))
    ids = {trace for shards, _ in sides for of_shard in work.map_shards(_traces, shards) for trace in of_shard}
    codes = {trace: code for code, trace in enumerate(sorted(ids))}
    rows = [
        part
        for shards, is_none in sides
        for part in work.map_shards(partial(none_rows, models, relevance, codes, is_none=is_none), shards)
    ]
    joined = NoneRows.joined(rows)
    return fit_none(joined, relevance=relevance, source=source.name, share=config.share, l2=config.l2)


def _traces(groups: "Groups") -> tuple[str, ...]:
    return groups.candidates.trace_ids


def none_rows(
    models: "HeldOut", relevance: str, codes: Mapping[str, int], groups: "Groups", *, is_none: bool
) -> "NoneRows":
    """Return the rows of b that groups are; `codes`: a number for each trace.

    A group without a right candidate and without none is not known to be either.
    """
    from ltr.training.none_logit_fit import NoneRows

    scored, candidates = models.scored(groups), groups.candidates
    read = relevance_of(models.names, scored.phi, relevance), word_counts(candidates)
    z, rest = none_inputs(scored.scores, groups.offsets, *read)
    is_known = is_none | (np.maximum.reduceat(groups.labels, groups.offsets[:-1]) > 0)
    of_trace = np.array([codes[trace] for trace in candidates.trace_ids], dtype=np.int64)
    labels = np.full(int(is_known.sum()), is_none)
    weights = groups.group_weights
    return NoneRows(z[is_known], rest[is_known], labels, of_trace[candidates.traces][is_known], weights[is_known])


def told_of(
    model: Ranks, logit: NoneLogit, groups: "Groups", removal: "Removal | None", threshold: float
) -> ToldNone | None:
    """Return what is said of the queries of a shard of which it is known whether none is right.

    A query with nothing right, and without none, is not known to be either.
    """
    from ltr.data.groups import select
    from ltr.evaluation.sums import added

    rest, none = groups, groups.none_groups
    if removal is not None:
        rest, none = removal.rest(groups), removal.copies(groups)
    is_known = np.maximum.reduceat(rest.labels, rest.offsets[:-1]) >= threshold
    asked = [(select(rest, np.flatnonzero(is_known)), False), *([] if none is None else [(none, True)])]
    parts = [_queries(model, some, logit, threshold, is_none=is_none) for some, is_none in asked if len(some.labels)]
    return ToldNone(added(parts)) if parts else None


def _queries(model: Ranks, groups: "Groups", logit: NoneLogit, threshold: float, *, is_none: bool) -> "NoneQueries":
    """Return what the router says of each group."""
    phi = model.phi(groups.candidates)
    scores, starts = model.scores(phi), groups.offsets[:-1]
    is_first = scores == np.repeat(np.maximum.reduceat(scores, starts), np.diff(groups.offsets))
    right = np.add.reduceat((is_first & (groups.labels >= threshold)).astype(float), starts)
    from ltr.evaluation.none_of_these_measures import NoneQueries

    return NoneQueries(
        none_probabilities(logit, model.names, groups.candidates, phi, scores),
        np.maximum.reduceat(softmax(scores, groups.offsets), starts),
        right / np.add.reduceat(is_first.astype(float), starts),
        np.full(len(starts), is_none),
    )
