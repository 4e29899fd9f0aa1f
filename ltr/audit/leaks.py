"""What reveals the label without answering the query: a word of an id, a position, likeness, a column of numbers."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from ltr.arrays import BoolArray, Codes, FloatArray, IntArray, code_sums, ragged
from ltr.audit.findings import Finding, first_lines, percentage, row_lines
from ltr.errors import count
from ltr.evaluation import TOP1, evaluate, rank
from ltr.jsonl import excerpt
from ltr.samples import Candidates, Groups

ALPHA = 1e-3  # of a false alarm, all marks of a kind together
ID_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\dA-Za-z_]+")
PRECISION = 0.95  # of the rows with a leaking word are right: popular tools do not reach it
RECALL = 0.2  # of the right rows have it
FEWEST_TOOLS = 3  # a word of one or two tools is their name: that they are popular is history, not a leak
NEARLY_ALL = 0.9  # unless they are right nearly always
ALIKE = 0.9  # of the hits of the clearest word, from which another is shown beside it
SHOWN = 3
# Shares of the way from chance to certainty: of a position, and of likeness. Tools that are often right may resemble
# each other, so that words alone reach .36 on real logs; edges of graphs that nobody perturbed stay at 0.
POSITION_EXCESS = 0.3
LIKENESS_EXCESS = {"tool": 0.5, "graph": 0.2}
MOST_COMPARED = 2000  # groups whose candidates are compared with each other
TEXT_WORD = re.compile(r"[^\W_]+")
CERTAIN = 0.99  # of the groups, from which a column by itself predicts the label


@dataclass(frozen=True, slots=True)
class MarkCounts:
    """Counts of each mark, over the groups in which some rows have it and some do not."""

    hits: FloatArray  # right rows with the mark
    rows: FloatArray  # rows with the mark
    expected: FloatArray  # hits by chance: right rows of the group * rows with the mark / rows of the group
    trials: FloatArray  # right rows, with or without the mark
    all_rows: FloatArray  # rows, with or without the mark

    def absent(self) -> "MarkCounts":
        """Return the counts of the rows without the mark."""
        misses, unmarked = self.trials - self.hits, self.all_rows - self.rows
        return MarkCounts(misses, unmarked, self.trials - self.expected, self.trials, self.all_rows)

    @property
    def surprise(self) -> FloatArray:
        """A lower bound of -ln P(as many hits or more by chance): trials * KL(hits / trials || expected / trials).

        It is 0 where there are no more hits than by chance. This is Chernoff's bound; by Hoeffding it holds for
        the mean of groups whose chances differ.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            rate, chance = self.hits / self.trials, self.expected / self.trials
            inside = np.where(rate > 0, rate * np.log(rate / chance), 0)
            outside = np.where(rate < 1, (1 - rate) * np.log((1 - rate) / (1 - chance)), 0)
        return np.where(rate > chance, self.trials * (inside + outside), 0.0)

    @property
    def is_beyond_chance(self) -> BoolArray:
        """Whether a mark has more hits than chance gives, at ALPHA over all marks and their absence (Bonferroni)."""
        return self.surprise > np.log(2 * max(len(self.hits), 1) / ALPHA)

    @property
    def excess(self) -> FloatArray:
        """The share of the way from chance to certainty: (hits - expected) / (trials - expected)."""
        return (self.hits - self.expected) / np.maximum(self.trials - self.expected, 1e-12)


@dataclass(frozen=True, slots=True)
class ChanceTest:
    """How often rows with a mark are right, against chance.

    Groups count that have a label on every row, some right, some wrong.
    """

    owner: IntArray  # (rows,) the group of each row
    offsets: IntArray
    is_right: FloatArray  # (rows,) 1 or 0
    right: FloatArray  # (groups,) number of right rows
    sizes: IntArray  # (groups,)
    counts: BoolArray  # (groups,) whether the group is part of the test
    total: float  # right rows of the groups that count

    @classmethod
    def of(cls, groups: Groups) -> Self:
        """Return the test that the labels of the groups allow."""
        sizes = np.diff(groups.offsets)
        owner = np.repeat(np.arange(len(sizes)), sizes)
        is_right = (groups.labels > 0).astype(np.float64)
        right = code_sums(owner, is_right, len(sizes))
        unlabelled = code_sums(owner, np.isnan(groups.labels).astype(np.float64), len(sizes))
        counts = (unlabelled == 0) & (right > 0) & (right < sizes)
        return cls(owner, groups.offsets, is_right, right, sizes, counts, float(right[counts].sum()))

    def tally(self, rows: IntArray, marks: IntArray, count: int) -> MarkCounts:
        """Count `count` marks, where rows[i] has the mark marks[i]; a row has a mark once."""
        is_counted = self.counts[self.owner[rows]]
        rows, marks = rows[is_counted], marks[is_counted]
        pairs, inverse = np.unique(marks * len(self.sizes) + self.owner[rows], return_inverse=True)
        mark, group = np.divmod(pairs, len(self.sizes))
        marked = np.bincount(inverse, minlength=len(pairs)).astype(np.float64)
        hits = code_sums(inverse, self.is_right[rows], len(pairs))
        sizes, right = self.sizes[group].astype(np.float64), self.right[group]
        mixed = np.flatnonzero(marked < sizes)
        columns = (hits, marked, right * marked / sizes, right, sizes)
        return MarkCounts(*(code_sums(mark[mixed], column[mixed], count) for column in columns))

    def ranked_first(self, scores: FloatArray) -> MarkCounts:
        """Count one mark: the row that the scores rank first, ties in expectation. All groups must count."""
        queries = float(len(self.sizes))
        hits = (evaluate(rank(scores, self.offsets), self.is_right).means[TOP1] or 0.0) * queries
        expected = float((self.right / self.sizes).sum())
        return MarkCounts(*(np.array([number]) for number in (hits, queries, expected, queries, queries)))


def label_leaks(groups: Groups) -> Iterator[Finding]:
    """Yield leaks of the label through ids, types and positions: cheap, linear in the rows."""
    test, candidates = ChanceTest.of(groups), groups.candidates
    if not test.counts.any():
        return
    yield from _word_leak("id", groups, test, candidates.names, candidates.name_texts)
    if candidates.types.size:  # columns of an earlier version do not have them
        yield from _word_leak("type", groups, test, candidates.types, candidates.type_texts)
    yield from _position_leak(groups, test)


def id_words(text: str) -> list[str]:
    """Split an id where it is neither letter nor digit and where the case changes; all of it comes last.

    >>> id_words("g3_groundTruth")
    ['g', '3', 'ground', 'truth', 'g3_groundtruth']
    """
    return list(dict.fromkeys([*(part.lower() for part in ID_WORD.findall(text)), text.lower()]))


def _word_leak(what: str, groups: Groups, test: ChanceTest, codes: IntArray, texts: Sequence[str]) -> Iterator[Finding]:
    """Yield the words that stand, or do not stand, on nearly all right candidates and nearly no other.

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
    leaks: list[tuple[float, str, MarkCounts, FloatArray, IntArray]] = []
    # what stands on every right candidate is missing on every wrong one: the clearer of the two is the leak
    for how, tally in (("with", present), ("without", present.absent())):
        is_precise = tally.hits >= PRECISION * np.maximum(tally.rows, 1)
        is_no_name = is_general | (groups.candidates.kind == "graph") | (tally.hits >= NEARLY_ALL * test.total)
        is_frequent = tally.hits >= RECALL * test.total
        words, surprise = np.flatnonzero(is_precise & is_no_name & is_frequent & tally.is_beyond_chance), tally.surprise
        if words.size:
            leaks.append((round(float(surprise[words].max()), 6), how, tally, surprise, words))
    if not leaks:
        return
    _, how, tally, surprise, words = max(leaks, key=lambda leak: leak[0])
    best = max(words.tolist(), key=surprise.__getitem__)
    hits, marked, expected = (float(column[best]) for column in (tally.hits, tally.rows, tally.expected))
    alike = [word for word in words.tolist() if word != best and tally.hits[word] >= ALIKE * hits]
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
    """Yield the position in the group, from either end, where the right candidate stands far too often."""
    rows = np.arange(len(test.owner))
    forward = rows - test.offsets[test.owner]
    most = int(test.sizes.max())
    backward = most + test.sizes[test.owner] - 1 - forward
    tally = test.tally(np.tile(rows, 2), np.concatenate([forward, backward]), 2 * most)
    is_leak = tally.is_beyond_chance & (tally.excess >= POSITION_EXCESS) & (tally.hits >= RECALL * test.total)
    if not is_leak.any():
        return
    surprise = tally.surprise
    best = max(np.flatnonzero(is_leak).tolist(), key=lambda mark: (surprise[mark], -(mark % most)))
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


def likeness_leak(groups: Groups) -> Iterator[Finding]:
    """Yield a warning where mean likeness to the others, without the query, ranks the right one first far above chance.

    So it does where the wrong candidates were made by changing the right one.
    """
    counted = np.flatnonzero(ChanceTest.of(groups).counts)
    has_texts = groups.candidates.graphs.size or groups.candidates.texts.size  # columns of an earlier version may not
    if not counted.size or not has_texts:
        return
    sample = groups.select(counted[:: -(-len(counted) // MOST_COMPARED)])
    tally = ChanceTest.of(sample).ranked_first(likeness(sample.candidates))
    if tally.is_beyond_chance[0] and tally.excess[0] >= LIKENESS_EXCESS[sample.candidates.kind]:
        what = "edges" if sample.candidates.kind == "graph" else "words"
        hits, queries, expected = (float(column[0]) for column in (tally.hits, tally.trials, tally.expected))
        message = (
            f"the {what} a candidate shares with the others of its group rank the right one first in "
            f"{hits / queries:.3f} of the groups, by chance {expected / queries:.3f}, without the query: "
            "the wrong ones look made from the right one"
        )
        where = first_lines(sample.candidates, np.arange(len(sample.offsets) - 1))
        yield Finding(severity="warning", code="leak-likeness", message=message, where=where, count=round(hits))


def likeness(candidates: Candidates) -> FloatArray:
    """Return the mean Jaccard index of the edges of each row, or of its words, with the others of its group."""
    sets, codes = _edge_sets(candidates) if candidates.kind == "graph" else _word_sets(candidates)
    values, bounds = np.zeros(len(codes)), candidates.offsets.tolist()
    for start, stop in zip(bounds[:-1], bounds[1:], strict=True):
        in_group = [sets[code] for code in codes[start:stop]]
        for place, own in enumerate(in_group):
            values[start + place] = sum(jaccard(own, other) for other in in_group) - 1.0
        values[start:stop] /= max(stop - start - 1, 1)
    return values


def jaccard(left: frozenset[object], right: frozenset[object]) -> float:
    """Return size of the intersection / size of the union; two empty sets are alike.

    >>> jaccard(frozenset("abc"), frozenset("bcd"))
    0.5
    """
    common = len(left & right)
    union = len(left) + len(right) - common
    return common / union if union else 1.0


def _edge_sets(candidates: Candidates) -> tuple[list[frozenset[object]], list[int]]:
    """Return the edges of each distinct graph, as pairs of texts; and the graph of each row."""
    edges = ([(graph.texts[a], graph.texts[b]) for a, b in graph.edges] for graph in candidates.distinct_graphs)
    return [frozenset(pairs) for pairs in edges], candidates.graphs.tolist()


def _word_sets(candidates: Candidates) -> tuple[list[frozenset[object]], list[int]]:
    """Return the words of each distinct name with its description; and which of them each row has."""
    texts = max(len(candidates.tool_texts), 1)
    distinct, codes = np.unique(
        candidates.names * texts + (candidates.texts if candidates.texts.size else 0), return_inverse=True
    )
    sets = []
    for code in distinct.tolist():
        name, text = divmod(code, texts)
        description = candidates.tool_texts[text].description if candidates.tool_texts else ""
        sets.append(frozenset[object](TEXT_WORD.findall(f"{candidates.name_texts[name]} {description}".lower())))
    return sets, codes.tolist()


def feature_leaks(groups: Groups, phi: FloatArray) -> Iterator[Finding]:
    """Yield the columns that by themselves put the right candidate first nearly always."""
    counts = ChanceTest.of(groups).counts
    if not counts.any():
        return
    chosen = groups.select(np.flatnonzero(counts))
    test, numbers = ChanceTest.of(chosen), phi[np.repeat(counts, np.diff(groups.offsets))]
    for column, name in enumerate(groups.candidates.feature_names):
        for sign, which in ((1, "largest"), (-1, "smallest")):
            tally = test.ranked_first(sign * numbers[:, column])
            hits, queries = float(tally.hits[0]), len(test.sizes)
            if hits >= CERTAIN * queries and tally.is_beyond_chance[0]:
                message = (
                    f"{name} alone knows the answer: its {which} value is right in {percentage(hits, queries)} of the "
                    "groups; was it made from the label?"
                )
                where = first_lines(chosen.candidates, np.arange(queries))
                yield Finding(severity="warning", code="leak-feature", message=message, where=where, count=round(hits))
