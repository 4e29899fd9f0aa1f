"""Groups that are outcomes of served queries: told apart from training samples, counted, and put beside them."""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Hashable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from ltr.errors import DataError
from ltr.samples.groups import ABSENT, Groups

Value = TypeVar("Value", bound=Hashable)
Offer = tuple[str, tuple[str, ...]]  # a query, and the keys of what it was offered
Answer = tuple[tuple[str, ...], int]  # the keys of those that are right, and what is said of none
Said = tuple[Offer, Answer]


def outcomes_apart(groups: Groups) -> tuple[Groups, Groups | None]:
    """Return the groups that are no outcomes, and those that are; None without any."""
    if groups.outcomes is None:
        return groups, None
    is_outcome = np.array([bool(name) for name in groups.outcomes])
    if is_outcome.all():
        raise DataError(f"{groups.shown_files}: every query is an outcome; training samples are needed beside them")
    rest = replace(groups.select(np.flatnonzero(~is_outcome)), outcomes=None)
    return (rest, groups.select(np.flatnonzero(is_outcome))) if is_outcome.any() else (rest, None)


def outcomes_once(groups: Groups) -> Groups:
    """Return the outcomes, those of one query, offer and answer once, in the order of what they say.

    Each is a trace of its own, named by a digest of that: neither ids nor repetitions decide its fold.
    """
    first: dict[Said, int] = {}
    for group in _by_id(groups):
        first.setdefault((_offer(groups, group), _answer(groups, group)), group)
    said = sorted(first)
    chosen = groups.select(np.array([first[told] for told in said], dtype=np.int64))
    traces = tuple(hashlib.blake2b(repr(told).encode(), digest_size=8).hexdigest() for told in said)
    candidates = replace(chosen.candidates, traces=np.arange(len(said)), trace_ids=traces)
    return replace(chosen, candidates=candidates, weights=None).to_learn()  # a weight is of the corrections


def all_told(first: Groups | None, later: Groups | None, forgotten: Collection[str] = ()) -> Groups | None:
    """Return the outcomes of both whose ids and traces are not forgotten; an id that both have counts as the first."""
    known = set(() if first is None else first.outcomes or ())
    left, right = _without(first, set(forgotten)), _without(later, known.union(forgotten))
    return Groups.stack([left, right]) if left and right else left or right


def _without(groups: Groups | None, names: set[str]) -> Groups | None:
    if groups is None:
        return None
    ids, traces = groups.outcomes or (), groups.candidates
    stays = [
        group
        for group, (name, trace) in enumerate(zip(ids, traces.traces.tolist(), strict=True))
        if names.isdisjoint((name, traces.trace_ids[trace]))
    ]
    return groups.select(np.array(stays, dtype=np.int64)) if stays else None


def beside(groups: Groups, outcomes: Groups | None) -> Groups:
    """Return training groups, then the outcomes to learn from beside them: what was said often is no more frequent."""
    return groups if outcomes is None else Groups.stack([groups, outcomes_once(outcomes)])


def corrections_of(groups: Groups) -> Groups | None:
    """Return a group for each query and offer of which a right candidate is known; None where there is none.

    The label of a candidate is how often it was said to be right, by weight; the order is that of queries and keys.
    """
    first: dict[Offer, int] = {}
    said: dict[Offer, defaultdict[str, float]] = {}
    for group in _by_id(groups):
        right, offer = _answer(groups, group)[0], _offer(groups, group)
        if right and len(offer[1]) > 1:
            first.setdefault(offer, group)
            answers = said.setdefault(offer, defaultdict(float))
            for key in right:
                answers[key] += 1.0 if groups.weights is None else float(groups.weights[group])
    if not first:
        return None
    offers = sorted(first)
    chosen = groups.select(np.array([first[offer] for offer in offers], dtype=np.int64))
    labels: list[float] = []
    for place, offer in enumerate(offers):
        labels += [said[offer][key] for key in _keys(chosen, place)]
    return replace(chosen, labels=np.array(labels), weights=None, none=None)


def _by_id(groups: Groups) -> list[int]:
    ids = groups.outcomes or ()
    return sorted(range(len(ids)), key=ids.__getitem__)


def _keys(groups: Groups, group: int) -> list[str]:
    """What tells each candidate of the group from others: the name of a tool, what a graph holds."""
    candidates = groups.candidates
    rows = slice(groups.offsets[group], groups.offsets[group + 1])
    if candidates.kind == "tool":
        return [candidates.name_texts[code] for code in candidates.names[rows].tolist()]
    codes = zip(candidates.graphs[rows].tolist(), candidates.types[rows].tolist(), strict=True)
    return [candidates.distinct_graphs[graph].digest(candidates.type_texts[kind]) for graph, kind in codes]


def _offer(groups: Groups, group: int) -> Offer:
    candidates = groups.candidates
    return candidates.query_texts[candidates.queries[group]], tuple(sorted(_keys(groups, group)))


def _answer(groups: Groups, group: int) -> Answer:
    labels = groups.labels[groups.offsets[group] : groups.offsets[group + 1]].tolist()
    right = tuple(sorted(key for key, label in zip(_keys(groups, group), labels, strict=True) if label > 0))
    return right, ABSENT if groups.none is None else int(groups.none[group])
