"""What tells the label without answering the query: a word of the id or type, a place in the group."""

import re
from collections.abc import Iterator, Sequence

import numpy as np

from ltr.arrays import BoolArray, IntArray, ragged
from ltr.columns import Codes
from ltr.groups import Groups
from ltr.jsonlines import excerpt
from ltr.validate.findings import Finding, places, share
from ltr.validate.judged import Judged, Tally, beyond_chance, tally

WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\dA-Za-z_]+")
PRECISION = 0.95  # of the rows that bear a leaking word are right: popular tools do not reach it
RECALL = 0.2  # of the right rows bear it
FEWEST_TOOLS = 3  # a word of one or two tools is their name: that they are popular is history, not a leak
EXCESS = 0.3  # of the way from chance to certainty, for a place
SHOWN = 3


def label_leaks(groups: Groups) -> Iterator[Finding]:
    """Leaks of the label through ids, types and places: cheap, linear in the rows."""
    judged, candidates = Judged.of(groups), groups.candidates
    yield from _words("leak-id", "id", groups, judged, candidates.names, candidates.name_texts)
    if candidates.kind == "graph":
        yield from _words("leak-type", "type", groups, judged, candidates.types, candidates.type_texts)
    yield from _position(groups, judged)


def words(text: str) -> list[str]:
    """The parts of an id, split where it is neither letter nor digit and where the case changes; and all of it.

    >>> words("g3_groundTruth")
    ['g', '3', 'ground', 'truth', 'g3_groundtruth']
    """
    return list(dict.fromkeys([*(part.lower() for part in WORD.findall(text)), text.lower()]))


def _words(
    code: str, what: str, groups: Groups, judged: Judged, codes: IntArray, texts: Sequence[str]
) -> Iterator[Finding]:
    """The words that stand, or do not stand, on nearly all right candidates and nearly no other."""
    numbers = Codes()
    of_text = [[numbers[word] for word in words(text)] for text in texts]
    lengths = np.array([len(each) for each in of_text], dtype=np.int64)
    flat = np.array([number for each in of_text for number in each], dtype=np.int64)
    starts = np.cumsum(lengths) - lengths
    bearer, step = ragged(lengths[codes])
    marks = flat[starts[codes][bearer] + step]
    counted = tally(judged, bearer, marks, len(numbers))
    enough = np.bincount(flat, minlength=len(numbers)) >= (FEWEST_TOOLS if groups.candidates.kind == "tool" else 1)
    both = {"with": counted, "without": counted.absent()}
    leaks = {how: np.flatnonzero(_tells(each, judged) & enough) for how, each in both.items()}
    # what stands on every right candidate is missing on every wrong one: the clearer of the two is the leak
    how = max(leaks, key=lambda name: round(float(both[name].surprise[leaks[name]].max(initial=0.0)), 6))
    if leaks[how].size:
        which = f"{what}s {how}"
        yield _word_finding(code, which, groups, judged, both[how], leaks[how], list(numbers), (bearer, marks))


def _tells(counted: Tally, judged: Judged) -> BoolArray:
    precise = counted.hits >= PRECISION * np.maximum(counted.rows, 1)
    return precise & (counted.hits >= RECALL * judged.total) & beyond_chance(counted)


def _word_finding(
    code: str,
    which: str,
    groups: Groups,
    judged: Judged,
    counted: Tally,
    found: IntArray,
    names: list[str],
    borne: tuple[IntArray, IntArray],
) -> Finding:
    best = int(found[np.argmax(counted.surprise[found])])
    alike = [mark for mark in found.tolist() if mark == best or counted.hits[mark] >= 0.9 * counted.hits[best]]
    shown = ", ".join(excerpt(names[mark]) for mark in [best, *(mark for mark in alike if mark != best)][:SHOWN])
    bears = np.zeros(len(judged.owner), dtype=bool)
    bears[borne[0][borne[1] == best]] = True
    if which.endswith("without"):
        bears = ~bears
    right = np.flatnonzero(bears & (judged.is_right > 0) & judged.can_tell[judged.owner])
    hits, rows, expected = counted.hits[best], counted.rows[best], counted.expected[best]
    message = (
        f"{which} the word {shown} are right {hits:,.0f} times of {rows:,.0f}, by chance {expected:,.0f}, "
        f"and are {share(hits, judged.total)} of what is right: the {which.split()[0][:-1]} tells the label"
    )
    return Finding(
        severity="warning", code=code, message=message, where=places(groups.candidates, right), count=int(hits)
    )


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
    yield Finding(
        severity="warning",
        code="leak-position",
        message=message,
        where=places(groups.candidates, right),
        count=int(hits),
    )
