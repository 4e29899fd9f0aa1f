"""None of these: how probable it is that nothing offered is right, and the share of the probability that it takes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray
from ltr.engine import IN_PROCESS, Engine
from ltr.errors import DataError
from ltr.features import FEATURES, TOKEN
from ltr.hashes import Hashes, hashed, mixed
from ltr.runs import StoredModel
from ltr.samples import Candidates, Groups, Shards
from ltr.steps.step import Ranked, Ranks, Step, Told
from ltr.training import NoneLogit, none_inputs, softmax

if TYPE_CHECKING:
    from ltr.columns import Features, Work
    from ltr.config import NoneConfig, RunConfig
    from ltr.engine import Engine
    from ltr.evaluation import NoneQueries
    from ltr.samples import Groups, Shards
    from ltr.steps.heldout import Held, HeldOut
    from ltr.training import NoneRows

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
        from ltr.config import NoneConfig

        share = NoneConfig(source=self.logit.source, share=self.logit.share).removed_share
        known = shards.changed(Groups.to_learn)
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
        return {"none": of.queries.measured(learned_from=self.logit.source, for_share=self.logit.share)}


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
    if config.removed_share is not None:
        removal = removal_of(shards, config.removed_share, seed=seed, engine=work.engine)
        return NoneSource(config.learned_from, *(shards.changed(part) for part in (removal.rest, removal.copies)))
    return NoneSource(config.learned_from, shards, shards.changed(Groups.left_out))


def learn_none(config: "NoneConfig", source: NoneSource, models: "HeldOut", work: "Work") -> NoneLogit:
    """Fit b on scores by models that know nothing of the trace."""
    from ltr.training import NoneRows, fit_none

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
    from ltr.training import NoneRows

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
    from ltr.sums import added

    rest, none = groups, groups.none_groups
    if removal is not None:
        rest, none = removal.rest(groups), removal.copies(groups)
    is_known = np.maximum.reduceat(rest.labels, rest.offsets[:-1]) >= threshold
    asked = [(rest.select(np.flatnonzero(is_known)), False), *([] if none is None else [(none, True)])]
    parts = [_queries(model, some, logit, threshold, is_none=is_none) for some, is_none in asked if len(some.labels)]
    return ToldNone(added(parts)) if parts else None


def _queries(model: Ranks, groups: "Groups", logit: NoneLogit, threshold: float, *, is_none: bool) -> "NoneQueries":
    """Return what the router says of each group."""
    phi = model.phi(groups.candidates)
    scores, starts = model.scores(phi), groups.offsets[:-1]
    is_first = scores == np.repeat(np.maximum.reduceat(scores, starts), np.diff(groups.offsets))
    right = np.add.reduceat((is_first & (groups.labels >= threshold)).astype(float), starts)
    from ltr.evaluation import NoneQueries

    return NoneQueries(
        none_probabilities(logit, model.names, groups.candidates, phi, scores),
        np.maximum.reduceat(softmax(scores, groups.offsets), starts),
        right / np.add.reduceat(is_first.astype(float), starts),
        np.full(len(starts), is_none),
    )


@dataclass(frozen=True, slots=True)
class Removal:
    """Which groups are copied: those whose key is at most this one."""

    seed: int
    last: int

    def rest(self, groups: Groups) -> Groups:
        """Return all groups less one wrong candidate each."""
        right, usable, _ = self._usable(groups)
        sizes, is_right = np.diff(groups.offsets), groups.labels > 0
        names = hashed(groups.candidates.name_texts)[groups.candidates.names]
        rows = mixed(mixed(np.repeat(_keys(groups, self.seed), sizes)) ^ names).astype(np.float64)
        rows[is_right] = np.inf  # the right ones stay
        owner = np.repeat(np.arange(len(sizes)), sizes)
        order = np.lexsort((rows, owner))
        place = np.empty(len(rows), dtype=np.int64)
        place[order] = np.arange(len(rows)) - groups.offsets[owner]
        is_left_out = (place < np.minimum(right, sizes - right)[owner]) & ~is_right
        return of_rows(groups, ~is_left_out, usable)

    def copies(self, groups: Groups) -> Groups:
        """Return copies of some groups less their right candidates."""
        _, usable, keys = self._usable(groups)
        return of_rows(groups, groups.labels <= 0, usable[keys <= np.uint64(self.last)])

    def _usable(self, groups: Groups) -> tuple[IntArray, IntArray, Hashes]:
        right, usable = _usable(groups)
        return right, usable, _keys(groups, self.seed)[usable]


def removal_of(shards: Shards, share: float, *, seed: int, engine: Engine = IN_PROCESS) -> Removal:
    """Return which groups are copied less their right candidates: a share of those with something right and wrong.

    Of several right candidates all go, and as many wrong ones, so that the length of a list tells nothing. Which
    groups are copied, and which candidate goes, follows from a hash of the seed, the group's key and the candidate's
    name: the order of groups moves nothing. Groups with nothing right, or nothing wrong, are in neither.

    >>> from ltr.catalogues import ToolText
    >>> from ltr.samples import Whole
    >>> one = Candidates.of_tools("weather?", {"a": ToolText(), "b": ToolText(), "c": ToolText()})
    >>> groups = Groups(one, np.array([1.0, 0.0, 0.0]), one.offsets)
    >>> removal = removal_of(Whole(groups), 0.5, seed=0)
    >>> removal.rest(groups).labels, removal.copies(groups).labels
    (array([1., 0.]), array([0., 0.]))
    """
    keys = np.concatenate(list(engine.map(partial(_usable_keys, shards, seed), range(len(shards)))))
    if not len(keys):
        raise DataError("none from removed: no query has both a right candidate, which goes, and a wrong one")
    return Removal(seed, int(np.sort(keys)[max(round(share * len(keys)), 1) - 1]))


def _usable_keys(shards: Shards, seed: int, number: int) -> Hashes:
    groups = shards[number]
    return _keys(groups, seed)[_usable(groups)[1]]


def _usable(groups: Groups) -> tuple[IntArray, IntArray]:
    """How many right candidates each group has, and the places of those that have a wrong one, too."""
    right = np.add.reduceat((groups.labels > 0).astype(np.int64), groups.offsets[:-1])
    return right, np.flatnonzero((right > 0) & (right < np.diff(groups.offsets)))


def _keys(groups: Groups, seed: int) -> Hashes:
    """A hash of the seed and the key of each group."""
    candidates = groups.candidates
    pairs = zip(candidates.traces.tolist(), candidates.node_ids, strict=True)
    return mixed(hashed(f"{seed}\0{candidates.trace_ids[trace]}\0{node}" for trace, node in pairs))


def of_rows(groups: Groups, stays: BoolArray, indices: IntArray) -> Groups:
    """Return the groups at the indices with those of their rows that stay, at least one each."""
    chosen = np.zeros(len(groups.offsets) - 1, dtype=bool)
    chosen[indices] = True
    sizes = np.add.reduceat(stays.astype(np.int64), groups.offsets[:-1])
    rows = np.flatnonzero(stays & np.repeat(chosen, np.diff(groups.offsets)))
    return replace(groups.take(indices, rows, sizes[indices]), times=None, none=None, outcomes=None)
