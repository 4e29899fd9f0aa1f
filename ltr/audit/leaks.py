"""What tells the label without answering the query: a word of the id or type, a place in the group."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from ltr.arrays import IntArray, ragged
from ltr.audit.chance_test import Judged, Tally, beyond_chance, tally
from ltr.audit.findings import Finding, places, share
from ltr.data.columns import Codes
from ltr.data.groups import Groups
from ltr.data.jsonlines import excerpt

WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\dA-Za-z_]+")
PRECISION = 0.95  # of the rows that bear a leaking word are right: popular tools do not reach it
RECALL = 0.2  # of the right rows bear it
FEWEST_TOOLS = 3  # a word of one or two tools is their name: that they are popular is history, not a leak
NEARLY_ALL = 0.9  # unless they are all there is to know
ALIKE = 0.9  # of the hits of the clearest word, from which another is shown beside it
EXCESS = 0.3  # of the way from chance to certainty, for a place
SHOWN = 3


@dataclass(frozen=True, slots=True)
class Words:
    """The words of ids or types, and which row bears which: rows[i] bears the word marks[i]."""

    texts: list[str]
    names: IntArray  # (words,) how many distinct ids have it
    rows: IntArray
    marks: IntArray

    @classmethod
    def of(cls, codes: IntArray, names: Sequence[str]) -> Self:
        """Those of the names, and of the rows that name codes[row]."""
        numbers = Codes()
        of_name = [[numbers[word] for word in words(name)] for name in names]
        lengths = np.array([len(each) for each in of_name], dtype=np.int64)
        flat = np.array([number for each in of_name for number in each], dtype=np.int64)
        rows, step = ragged(lengths[codes])
        marks = flat[(np.cumsum(lengths) - lengths)[codes][rows] + step]
        return cls(list(numbers), np.bincount(flat, minlength=len(numbers)), rows, marks)


def words(text: str) -> list[str]:
    """The parts of an id, split where it is neither letter nor digit and where the case changes; and all of it.

    >>> words("g3_groundTruth")
    ['g', '3', 'ground', 'truth', 'g3_groundtruth']
    """
    return list(dict.fromkeys([*(part.lower() for part in WORD.findall(text)), text.lower()]))


def label_leaks(groups: Groups) -> Iterator[Finding]:
    """Leaks of the label through ids, types and places: cheap, linear in the rows."""
    judged, candidates = Judged.of(groups), groups.candidates
    if not judged.can_tell.any():
        return
    yield from _told_by("id", groups, judged, Words.of(candidates.names, candidates.name_texts))
    if candidates.kind == "graph":
        yield from _told_by("type", groups, judged, Words.of(candidates.types, candidates.type_texts))
    yield from _position(groups, judged)


def _told_by(what: str, groups: Groups, judged: Judged, borne: Words) -> Iterator[Finding]:
    """The words that stand, or do not stand, on nearly all right candidates and nearly no other."""
    counted = tally(judged, borne.rows, borne.marks, len(borne.texts))
    both = {"with": counted, "without": counted.absent()}
    leaks = {how: _leaking(each, judged, borne, groups.candidates.kind) for how, each in both.items()}
    # what stands on every right candidate is missing on every wrong one: the clearer of the two is the leak
    how = max(leaks, key=lambda name: round(float(both[name].surprise[leaks[name]].max(initial=0.0)), 6))
    if not leaks[how].size:
        return
    best = max(leaks[how].tolist(), key=both[how].surprise.__getitem__)
    hits, rows, expected = (float(each[best]) for each in (both[how].hits, both[how].rows, both[how].expected))
    alike = [mark for mark in leaks[how].tolist() if mark != best and both[how].hits[mark] >= ALIKE * hits]
    shown = ", ".join(excerpt(borne.texts[mark]) for mark in [best, *alike][:SHOWN])
    message = (
        f"{what}s {how} the word {shown} are right {hits:,.0f} times of {rows:,.0f}, by chance {expected:,.0f}, "
        f"and are {share(hits, judged.total)} of what is right: the {what} tells the label"
    )
    bears = np.bincount(borne.rows[borne.marks == best], minlength=len(judged.owner)) > 0
    right = np.flatnonzero((bears if how == "with" else ~bears) & (judged.is_right > 0))
    where = places(groups.candidates, right)
    yield Finding(severity="warning", code=f"leak-{what}", message=message, where=where, count=int(hits))


def _leaking(counted: Tally, judged: Judged, borne: Words, kind: str) -> IntArray:
    """The words that tell right from wrong too well to be anything but a mark of the label."""
    precise = counted.hits >= PRECISION * np.maximum(counted.rows, 1)
    frequent = (borne.names >= FEWEST_TOOLS) | (kind == "graph") | (counted.hits >= NEARLY_ALL * judged.total)
    found = precise & frequent & (counted.hits >= RECALL * judged.total) & beyond_chance(counted)
    return np.flatnonzero(found)


def _position(groups: Groups, judged: Judged) -> Iterator[Finding]:
    """The place in the group, from the first or from the last, where the right candidate stands far too often."""
    rows = np.arange(len(judged.owner))
    forward = rows - judged.offsets[judged.owner]
    most = int(judged.sizes.max())
    backward = most + judged.sizes[judged.owner] - 1 - forward
    counted = tally(judged, np.tile(rows, 2), np.concatenate([forward, backward]), 2 * most)
    tells = beyond_chance(counted) & (counted.excess >= EXCESS) & (counted.hits >= RECALL * judged.total)
    found = np.flatnonzero(tells)
    if not found.size:
        return
    best = max(found.tolist(), key=lambda mark: (counted.surprise[mark], -(mark % most)))
    at, ends = best % most, ("last", " from the end") if best >= most else ("first", "")
    place = ends[0] if at == 0 else f"as number {at + 1}{ends[1]}"
    hits, trials, expected = counted.hits[best], counted.trials[best], counted.expected[best]
    right = rows[((forward if best < most else backward) == best) & (judged.is_right > 0)]
    message = (
        f"the right candidate stands {place} in its group {hits:,.0f} times of {trials:,.0f}, by chance "
        f"{expected:,.0f}: the order tells the label wherever ties fall by file"
    )
    where = places(groups.candidates, right)
    yield Finding(severity="warning", code="leak-position", message=message, where=where, count=int(hits))
