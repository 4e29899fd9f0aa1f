"""What was done before in a trace: as logged, as the labels say, or as somebody chose."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ltr.errors import SampleError, UsageError
from ltr.samples.candidates import Candidates, Past
from ltr.samples.columns import coded
from ltr.samples.groups import Groups

FROM_LABELS = "from_labels"  # what a config says for labels
LONGEST = 1_000  # names of a past: those that came last
DIGITS = re.compile("[0-9]+")


def past_from_labels(groups: Groups) -> Groups:
    """The groups with the right tools of the earlier ones of their trace as what was done before.

    So a label reaches later groups of its trace, never its own and never an earlier one.
    """
    candidates = groups.candidates
    if candidates.kind != "tool":
        raise UsageError(f"data.previous is {FROM_LABELS}: the names of tools are needed; the candidates are graphs")
    if candidates.features is not None:
        raise UsageError(f"data.previous is {FROM_LABELS}, and the samples bear ready features; read the samples")
    if candidates.previous is not None:
        group = int(np.argmax(np.array([bool(listed) for listed in candidates.previous_lists])[candidates.previous]))
        problem = f"the samples say what was done before; leave data.previous: {FROM_LABELS} out"
        raise SampleError(*candidates.place(int(groups.offsets[group])), "previous", problem)
    if np.isnan(groups.labels).any():
        row = int(np.argmax(np.isnan(groups.labels)))
        raise SampleError(*candidates.place(row), "label", f"missing; data.previous: {FROM_LABELS} needs it")
    return with_past(groups, right_names(groups), "labels")


def right_names(groups: Groups) -> list[tuple[str, ...]]:
    """The right tools of each group, several in the order of their names."""
    candidates, rows = groups.candidates, np.flatnonzero(groups.labels > 0)
    names = [candidates.name_texts[code] for code in candidates.names[rows].tolist()]
    ends = np.searchsorted(rows, groups.offsets)
    return [tuple(sorted(names[first:end])) for first, end in zip(ends[:-1], ends[1:], strict=True)]


def with_past(groups: Groups, done: Sequence[tuple[str, ...]], past: Past) -> Groups:
    """The groups with what was `done` in the earlier ones of their trace; at most LONGEST names, the last ones.

    Those that were left out because none is right have theirs too; in them nothing was done.
    """
    parts = [groups] if groups.none_groups is None else [groups, groups.none_groups]
    places = [
        (trace, place, number, group)
        for number, part in enumerate(parts)
        for group, (trace, place) in enumerate(zip(_traces(part), places_in_traces(part), strict=True))
    ]
    lists: list[list[tuple[str, ...]]] = [[()] * len(_traces(part)) for part in parts]
    earlier: tuple[str, ...] = ()
    before: Any = (None, None)
    for trace, place, number, group in sorted(places):
        earlier = earlier if trace == before[0] else ()
        if before == (trace, place):
            _refuse_same_place(parts[number], group)
        lists[number][group] = earlier
        before, earlier = (trace, place), (*earlier, *(done[group] if number == 0 else ()))[-LONGEST:]
    changed, *none = (_having(part, listed, past) for part, listed in zip(parts, lists, strict=True))
    return replace(changed, none_groups=none[0]) if none else changed


def places_in_traces(groups: Groups) -> list[float] | list[int]:
    """Where each group stands in its trace: its time where every group has one, else the number in its node_id."""
    if groups.times is not None and not np.isnan(groups.times).any():
        times: list[float] = groups.times.tolist()
        return times
    numbers = [DIGITS.findall(node) for node in groups.candidates.node_ids]
    for group, in_id in enumerate(numbers):
        if len(in_id) != 1:
            node = groups.candidates.node_ids[group]
            problem = f"found {node!r}; data.previous: {FROM_LABELS} needs a time in every group, or one number here"
            raise SampleError(*groups.candidates.place(int(groups.offsets[group])), "node_id", problem)
    return [int(in_id[0]) for in_id in numbers]


def _traces(groups: Groups) -> list[str]:
    """The trace of each group."""
    return [groups.candidates.trace_ids[code] for code in groups.candidates.traces.tolist()]


def _having(groups: Groups, lists: list[tuple[str, ...]], past: Past) -> Groups:
    """The groups with these pasts."""
    candidates = replace(groups.candidates, **coded(Candidates, previous=lists), past=past)
    return replace(groups, candidates=candidates)


def _refuse_same_place(groups: Groups, group: int) -> None:
    """Raise for a group whose place in its trace another one has."""
    candidates = groups.candidates
    by_time = groups.times is not None and not np.isnan(groups.times).any()
    field, rest = ("time", "the same time") if by_time else ("node_id", "the same number")
    trace = candidates.trace_ids[candidates.traces[group]]
    problem = f"another query of trace {trace!r} has {rest}; data.previous: {FROM_LABELS} needs an order"
    raise SampleError(*candidates.place(int(groups.offsets[group])), field, problem)
