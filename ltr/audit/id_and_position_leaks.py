"""What reveals the label without answering the query: a word of the id or type, a position in the group."""

import re
from collections.abc import Iterator, Sequence

import numpy as np

from ltr.arrays import IntArray, ragged
from ltr.audit.chance_test import ChanceTest
from ltr.audit.findings import Finding, percentage, row_lines
from ltr.data.groups import Groups
from ltr.data.integer_codes import Codes
from ltr.data.value_excerpts import excerpt
from ltr.errors import count

WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\dA-Za-z_]+")
PRECISION = 0.95  # of the rows with a leaking word are right: popular tools do not reach it
RECALL = 0.2  # of the right rows have it
FEWEST_TOOLS = 3  # a word of one or two tools is their name: that they are popular is history, not a leak
NEARLY_ALL = 0.9  # unless they are right nearly always
ALIKE = 0.9  # of the hits of the clearest word, from which another is shown beside it
EXCESS = 0.3  # of the way from chance to certainty, for a position
SHOWN = 3


def label_leaks(groups: Groups) -> Iterator[Finding]:
    """Leaks of the label through ids, types and positions: cheap, linear in the rows."""
    test, candidates = ChanceTest.of(groups), groups.candidates
    if not test.counts.any():
        return
    yield from _word_leak("id", groups, test, candidates.names, candidates.name_texts)
    if candidates.types.size:  # columns of an earlier version do not have them
        yield from _word_leak("type", groups, test, candidates.types, candidates.type_texts)
    yield from _position_leak(groups, test)


def id_words(text: str) -> list[str]:
    """The parts of an id, split where it is neither letter nor digit and where the case changes; and all of it.

    >>> id_words("g3_groundTruth")
    ['g', '3', 'ground', 'truth', 'g3_groundtruth']
    """
    return list(dict.fromkeys([*(part.lower() for part in WORD.findall(text)), text.lower()]))


def _word_leak(what: str, groups: Groups, test: ChanceTest, codes: IntArray, texts: Sequence[str]) -> Iterator[Finding]:
    """The words that stand, or do not stand, on nearly all right candidates and nearly no other.

    texts[codes[row]] is the id, or the type, of a row.
    """
    numbers = Codes()
    words_of_text = [[numbers[word] for word in id_words(text)] for text in texts]
    lengths = np.array([len(words) for words in words_of_text], dtype=np.int64)
    flat = np.array([word for words in words_of_text for word in words], dtype=np.int64)
    rows, step = ragged(lengths[codes])
    marks = flat[(np.cumsum(lengths) - lengths)[codes][rows] + step]  # rows[i] has the word marks[i]
    present = test.tally(rows, marks, len(numbers))
    is_general = np.bincount(flat, minlength=len(numbers)) >= FEWEST_TOOLS
    tallies, leaks = {"with": present, "without": present.absent()}, dict[str, IntArray]()
    for how, tally in tallies.items():
        is_precise = tally.hits >= PRECISION * np.maximum(tally.rows, 1)
        is_no_name = is_general | (groups.candidates.kind == "graph") | (tally.hits >= NEARLY_ALL * test.total)
        is_frequent = tally.hits >= RECALL * test.total
        leaks[how] = np.flatnonzero(is_precise & is_no_name & is_frequent & tally.is_beyond_chance)
    # what stands on every right candidate is missing on every wrong one: the clearer of the two is the leak
    if not any(words.size for words in leaks.values()):
        return
    surprises = {name: tally.surprise for name, tally in tallies.items()}
    how = max(leaks, key=lambda name: round(float(surprises[name][leaks[name]].max(initial=0.0)), 6))
    leaking, tally = leaks[how].tolist(), tallies[how]
    best = max(leaking, key=surprises[how].__getitem__)
    hits, marked, expected = (float(column[best]) for column in (tally.hits, tally.rows, tally.expected))
    alike = [word for word in leaking if word != best and tally.hits[word] >= ALIKE * hits]
    vocabulary = list(numbers)
    shown = ", ".join(excerpt(vocabulary[word]) for word in [best, *alike][:SHOWN])
    message = (
        f"{what}s {how} the word {shown} are right {hits:,.0f} times of {marked:,.0f}, by chance {expected:,.0f}, "
        f"and are {percentage(hits, test.total)} of what is right: the {what} reveals the label"
    )
    has_word = np.bincount(rows[marks == best], minlength=len(test.owner)) > 0
    right = np.flatnonzero((has_word if how == "with" else ~has_word) & (test.is_right > 0))
    where = row_lines(groups.candidates, right)
    yield Finding(severity="warning", code=f"leak-{what}", message=message, where=where, count=int(hits))


def _position_leak(groups: Groups, test: ChanceTest) -> Iterator[Finding]:
    """The position in the group, from the first or from the last, where the right candidate stands far too often."""
    rows = np.arange(len(test.owner))
    forward = rows - test.offsets[test.owner]
    most = int(test.sizes.max())
    backward = most + test.sizes[test.owner] - 1 - forward
    tally = test.tally(np.tile(rows, 2), np.concatenate([forward, backward]), 2 * most)
    is_leak = tally.is_beyond_chance & (tally.excess >= EXCESS) & (tally.hits >= RECALL * test.total)
    leaking = np.flatnonzero(is_leak).tolist()
    if not leaking:
        return
    surprise = tally.surprise
    best = max(leaking, key=lambda mark: (surprise[mark], -(mark % most)))
    at, (end, suffix) = best % most, ("last", " from the end") if best >= most else ("first", "")
    place = end if at == 0 else f"as number {at + 1}{suffix}"
    hits, trials, expected = tally.hits[best], tally.trials[best], tally.expected[best]
    right = rows[((forward if best < most else backward) == best) & (test.is_right > 0)]
    message = (
        f"the right candidate stands {place} in {hits:,.0f} of {count(round(trials), 'group')}, "
        f"by chance in {expected:,.0f}: "
        "a ranking that leaves ties in file order would look right; shuffle the candidates of each group"
    )
    where = row_lines(groups.candidates, right)
    yield Finding(severity="warning", code="leak-position", message=message, where=where, count=int(hits))
