"""Groups that are outcomes of served queries: told apart from training samples, counted, and put beside them."""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Hashable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from ltr.arrays import FloatArray, IntArray, offsets_of
from ltr.data.draw_rules_and_probabilities import LOGGED, Draws
from ltr.data.graphs import graph_digest
from ltr.data.groups import Groups, select
from ltr.data.none_candidates import ABSENT
from ltr.data.none_of_these_groups import groups_to_learn
from ltr.errors import DataError

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
        files = ", ".join(file.path for file in groups.candidates.files)
        raise DataError(f"{files}: every query is an outcome; training samples are needed beside them")
    rest = replace(select(groups, np.flatnonzero(~is_outcome)), outcomes=None)
    return (rest, select(groups, np.flatnonzero(is_outcome))) if is_outcome.any() else (rest, None)


def outcomes_once(groups: Groups) -> Groups:
    """Return the outcomes, those of one query, offer and answer once, in the order of what they say.

    Each is a trace of its own, named by a digest of that: neither ids nor repetitions decide its fold.
    """
    first: dict[Said, int] = {}
    for group in _by_id(groups):
        first.setdefault((_offer(groups, group), _answer(groups, group)), group)
    said = sorted(first)
    chosen = select(groups, np.array([first[told] for told in said], dtype=np.int64))
    traces = tuple(hashlib.blake2b(repr(told).encode(), digest_size=8).hexdigest() for told in said)
    candidates = replace(chosen.candidates, traces=np.arange(len(said)), trace_ids=traces)
    return groups_to_learn(replace(chosen, candidates=candidates, weights=None))  # a weight is of the corrections


def all_told(first: Groups | None, later: Groups | None, forgotten: Collection[str] = ()) -> Groups | None:
    """Return the outcomes of both whose ids and traces are not forgotten; an id that both have counts as the first."""
    known = set(() if first is None else first.outcomes or ())
    left, right = _without(first, set(forgotten)), _without(later, known.union(forgotten))
    return joined(left, right) if left and right else left or right


def _without(groups: Groups | None, names: set[str]) -> Groups | None:
    if groups is None:
        return None
    ids, traces = groups.outcomes or (), groups.candidates
    stays = [
        group
        for group, (name, trace) in enumerate(zip(ids, traces.traces.tolist(), strict=True))
        if names.isdisjoint((name, traces.trace_ids[trace]))
    ]
    return select(groups, np.array(stays, dtype=np.int64)) if stays else None


def beside(groups: Groups, outcomes: Groups | None) -> Groups:
    """Return training groups, then the outcomes to learn from beside them: what was said often is no more frequent."""
    return groups if outcomes is None else joined(groups, outcomes_once(outcomes))


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
    chosen = select(groups, np.array([first[offer] for offer in offers], dtype=np.int64))
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
    return [graph_digest(candidates.distinct_graphs[graph], candidates.type_texts[kind]) for graph, kind in codes]


def _offer(groups: Groups, group: int) -> Offer:
    candidates = groups.candidates
    return candidates.query_texts[candidates.queries[group]], tuple(sorted(_keys(groups, group)))


def _answer(groups: Groups, group: int) -> Answer:
    labels = groups.labels[groups.offsets[group] : groups.offsets[group + 1]].tolist()
    right = tuple(sorted(key for key, label in zip(_keys(groups, group), labels, strict=True) if label > 0))
    return right, ABSENT if groups.none is None else int(groups.none[group])


def joined(first: Groups, second: Groups) -> Groups:
    """Return the groups of both, one after the other; lines of the second have no place in the files of the first."""
    left, right = first.candidates, second.candidates
    columns = [
        *(("traces", "trace_ids"), ("queries", "query_texts"), ("names", "name_texts")),
        *(("texts", "tool_texts"), ("types", "type_texts"), ("graphs", "distinct_graphs")),
    ]
    tables: dict[str, Any] = {}
    for codes, table in columns:
        sides = (getattr(left, codes), getattr(left, table)), (getattr(right, codes), getattr(right, table))
        tables[codes], tables[table] = _merged(*sides)
    groups = len(first.offsets) - 1, len(second.offsets) - 1
    absents: dict[tuple[str, str], str | tuple[str, ...]] = {
        ("contexts", "context_texts"): "",
        ("previous", "previous_lists"): (),
    }
    for (codes, table), absent in absents.items():
        some = [
            (np.zeros(size, dtype=np.int64), (absent,))
            if getattr(side, codes) is None
            else (getattr(side, codes), getattr(side, table))
            for side, size in zip((left, right), groups, strict=True)
        ]
        if getattr(left, codes) is not None or any(some[1][1]):
            tables[codes], tables[table] = _merged(*some)
    rows = len(first.labels), len(second.labels)
    draws = None
    if left.draws is not None or right.draws is not None:
        logged = [Draws(np.full(size, LOGGED), np.ones(size)) for size in rows]
        pair = [side.draws or none for side, none in zip((left, right), logged, strict=True)]
        draws = Draws(*(np.concatenate([getattr(side, name) for side in pair]) for name in ("rules", "probabilities")))
    offsets = offsets_of(np.concatenate([np.diff(first.offsets), np.diff(second.offsets)]))
    candidates = replace(
        left,
        offsets=offsets,
        node_ids=(*left.node_ids, *right.node_ids),
        lines=np.concatenate([left.lines, np.full(rows[1], left.lines[0])]),
        draws=draws,
        **tables,
    )
    none_groups = [part for part in (first.none_groups, second.none_groups) if part is not None and len(part.labels)]
    ids = [side.outcomes or ("",) * size for side, size in zip((first, second), groups, strict=True)]
    return Groups(
        candidates,
        np.concatenate([first.labels, second.labels]),
        offsets,
        _optional((first.weights, second.weights), groups, 1.0),
        _optional((first.times, second.times), groups, np.nan),
        _marks((first.none, second.none), groups),
        joined(*none_groups) if len(none_groups) > 1 else none_groups[0] if none_groups else None,
        (*ids[0], *ids[1]) if any(ids[0]) or any(ids[1]) else None,
    )


def _merged(
    left: tuple[IntArray, Sequence[Value]], right: tuple[IntArray, Sequence[Value]]
) -> tuple[IntArray, tuple[Value, ...]]:
    """The codes of both in one table.

    >>> _merged((np.array([0, 1]), ("a", "b")), (np.array([1, 0]), ("b", "c")))
    (array([0, 1, 2, 1]), ('a', 'b', 'c'))
    """
    places = {value: place for place, value in enumerate(left[1])}
    codes = np.array([places.setdefault(value, len(places)) for value in right[1]], dtype=np.int64)
    return np.concatenate([left[0], codes[right[0]] if len(codes) else right[0]]), tuple(places)


def _optional(
    sides: tuple[FloatArray | None, FloatArray | None], sizes: tuple[int, int], absent: float
) -> FloatArray | None:
    """A column that either may lack."""
    if sides[0] is None and sides[1] is None:
        return None
    return np.concatenate(
        [np.full(size, absent) if side is None else side for side, size in zip(sides, sizes, strict=True)]
    )


def _marks(sides: tuple[IntArray | None, IntArray | None], sizes: tuple[int, int]) -> IntArray | None:
    if sides[0] is None and sides[1] is None:
        return None
    return np.concatenate(
        [np.full(size, ABSENT) if side is None else side for side, size in zip(sides, sizes, strict=True)]
    )
