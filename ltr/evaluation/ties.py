"""Ties: the ranks that rows may take under each tie rule, and the tie blocks that measures are computed from.

A tie block is the places a + 1 .. a + m of a query that m candidates share, each order of them equally
likely. Under every rule but `expected` m is 1, so that one formula a measure serves all rules.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray, distinct, groups_of, owners, ragged
from ltr.evaluation.ranking import Ranking, Ties, rows_in_order

COMPARISONS = 1 << 18  # compared at once: they stay in the cache
AT_ONCE = 1500  # rows compared at once: short columns are reused while they are at hand
BYTE = 255
COUNTED = 32  # labelled rows of a group from which sorting it once costs less than counting for each
NOWHERE = 1 << 31  # candidates before one that is not in the list: more than any cutoff
LARGEST_CODE = 1 << 20  # of a whole label that stands for itself


@dataclass(frozen=True, slots=True)
class TiedRanks:
    """The ranks that rows may take: each row stands equally likely on any of above + 1 .. above + span of its group."""

    above: IntArray
    span: IntArray  # candidates that share the score under `expected`, 1 under every other rule
    sharing: IntArray  # candidates that share the score, itself included, under every rule


@dataclass(frozen=True, slots=True)
class TieOrder:
    """How the candidates of one tie stand."""

    is_random: bool  # each order equally likely
    second: FloatArray | IntArray | None  # else what orders them, the least first; where it is equal, or None, the file


def tied_ranks(
    ranking: Ranking, rows: IntArray, ties: Ties, labels: FloatArray, *, groups: IntArray | None = None
) -> TiedRanks:
    """The ranks of the rows in their groups: under a rule that orders ties by label, by these labels.

    Few rows of a group are placed by counting greater and equal scores, many by sorting the group once.

    >>> from ltr.evaluation.ranking import rank
    >>> tied_ranks(rank([0.7, 0.9, 0.7], [0, 3]), np.array([0, 1]), Ties.EXPECTED, np.zeros(3))
    TiedRanks(above=array([1, 0]), span=array([2, 1]), sharing=array([2, 1]))
    """
    groups = groups_of(rows, ranking.offsets) if groups is None else groups
    second: FloatArray | IntArray | None = None
    if ties is Ties.TREC:
        second = ranking.last_id_first
    elif ties in (Ties.BEST, Ties.WORST):
        second = -labels if ties is Ties.BEST else labels
    tie_order, counts = TieOrder(ties is Ties.EXPECTED, second), np.bincount(groups)
    if counts.max(initial=0) < COUNTED:
        above, sharing = _by_counting(ranking, rows, groups, tie_order)
    else:
        above, sharing = np.empty((2, len(rows)), dtype=np.int64)
        many = (counts >= COUNTED)[groups]
        for chosen, placed in ((np.flatnonzero(~many), _by_counting), (np.flatnonzero(many), _by_sorting)):
            above[chosen], sharing[chosen] = placed(ranking, rows[chosen], groups[chosen], tie_order)
    unlisted = np.flatnonzero(np.isneginf(ranking.scores[rows]))
    above[unlisted], sharing[unlisted] = NOWHERE + np.arange(len(unlisted)), 1  # no two have the same place
    return TiedRanks(above, sharing if ties is Ties.EXPECTED else np.ones_like(sharing), sharing)


def _by_counting(ranking: Ranking, rows: IntArray, groups: IntArray, tie_order: TieOrder) -> tuple[IntArray, IntArray]:
    """Of each row the candidates above it and those that share its score, as if all were in the list."""
    above, sharing = np.empty((2, len(rows)), dtype=np.int64)
    for chosen, others in _opponents(ranking.offsets, groups):
        own = rows[chosen]
        theirs, mine = ranking.scores.take(others), ranking.scores.take(own)
        ahead, equal = theirs > mine, theirs == mine
        sharing[chosen] = alike = _column_counts(equal)
        if not tie_order.is_random and alike.max() > 1:
            ahead |= equal & _goes_before(others, own, tie_order.second)
        above[chosen] = _column_counts(ahead)
    return above, sharing


def _column_counts(flags: BoolArray) -> IntArray:
    """How many of each column are set; in bytes, as long as they hold the count.

    >>> _column_counts(np.array([[True, False], [True, True]]))
    array([2, 1])
    """
    counts = np.add.reduce(flags[:BYTE].view(np.uint8), axis=0, dtype=np.uint8).astype(np.int64)
    for first in range(BYTE, len(flags), BYTE):
        counts += np.add.reduce(flags[first : first + BYTE].view(np.uint8), axis=0, dtype=np.uint8)
    return counts


def _goes_before(others: IntArray, own: IntArray, second: FloatArray | IntArray | None) -> BoolArray:
    """Whether each of the others would stand before the own row if their scores were equal."""
    earlier: BoolArray = others < own
    if second is None:
        return earlier
    theirs, mine = second[others], second[own]
    return (theirs < mine) | ((theirs == mine) & earlier)


def _by_sorting(ranking: Ranking, rows: IntArray, groups: IntArray, tie_order: TieOrder) -> tuple[IntArray, IntArray]:
    """What `_by_counting` gives, from the groups of the rows in order."""
    wanted = np.unique(groups)
    owner, step = ragged(np.diff(ranking.offsets)[wanted])
    members = ranking.offsets[wanted][owner] + step
    second = None if tie_order.second is None else tie_order.second[members]
    listed = members[rows_in_order(ranking.scores[members], owner, second)]
    scores = ranking.scores[listed]
    starts_tie = (step == 0) | np.append(True, scores[1:] != scores[:-1])[: len(scores)]
    tie = np.cumsum(starts_tie) - 1
    firsts, lengths = step[starts_tie], np.bincount(tie)
    position = np.empty(len(ranking.scores), dtype=np.int64)
    position[listed] = np.arange(len(listed))
    positions = position[rows]
    return (firsts[tie] if tie_order.is_random else step)[positions], lengths[tie[positions]]


def _opponents(offsets: IntArray, groups: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Rows of these groups in batches of one group size: their positions, and (size, batch) rows they stand against."""
    starts, sizes = offsets[groups], np.diff(offsets)[groups]
    occurring = np.flatnonzero(np.bincount(sizes)).tolist()
    for size in occurring:
        of_size = np.flatnonzero(sizes == size) if len(occurring) > 1 else np.arange(len(sizes))
        members = np.arange(size)[:, np.newaxis]
        at_once = min(max(COMPARISONS // size, 1), AT_ONCE)
        for first in range(0, len(of_size), at_once):
            chosen = of_size[first : first + at_once]
            yield chosen, starts[chosen] + members


@dataclass(frozen=True, slots=True)
class Blocks:
    """The tie blocks that hold a label above 0, by query and place."""

    query: IntArray
    span: IntArray  # m: places in the block
    owner: IntArray  # of each place of each block: the block
    place: IntArray  # a + 1 .. a + m
    of_label: IntArray  # (labelled,): the block of each label above 0


@dataclass(frozen=True, slots=True)
class RankedBlocks(Blocks):
    """The tie blocks of a ranking."""

    number: IntArray  # of the block in its query, from 0
    above: IntArray  # a: candidates before the block
    relevant: IntArray  # r: relevant candidates in the block
    before: IntArray  # relevant candidates of the query before the block
    sharing: IntArray  # candidates with the block's score, under every rule

    @property
    def is_untied(self) -> bool:
        """Whether each block is a single place."""
        return len(self.owner) == len(self.query)


@dataclass(frozen=True, slots=True)
class TieBlocks:
    """The labelled candidates of each query, where the ranking puts them and where their labels would."""

    sizes: IntArray  # (queries,): candidates in the list
    longest: int  # candidates of the longest query, in the list or not: beyond all places
    relevant: IntArray  # (queries,): relevant candidates, R
    labels: FloatArray  # (labelled,): labels above 0
    max_grade: float  # the greatest label there can be, of all queries
    ranked: RankedBlocks
    first: IntArray  # (queries with R > 0,): the first ranked block with a relevant candidate
    ideal: Blocks  # when labels order the query

    def per_query(self, query: IntArray, values: FloatArray) -> FloatArray:
        """Sum of the values of each query."""
        return np.bincount(query, weights=values, minlength=len(self.sizes)).astype(np.float64, copy=False)


def tie_blocks(
    ranking: Ranking, labels: FloatArray, ties: Ties, rel_threshold: float, *, max_grade: float = 1.0
) -> TieBlocks:
    """The labelled candidates in their tie blocks. Relevant: label >= rel_threshold, which is above 0."""
    rows = np.flatnonzero(labels > 0)
    sizes = ranking.num_listed
    query, labelled = owners(rows, ranking.offsets), labels.take(rows)
    relevant = labelled >= rel_threshold
    ranked = _ranked(query, tied_ranks(ranking, rows, ties, labels, groups=query), relevant, len(sizes))
    return TieBlocks(
        sizes=sizes,
        longest=int(np.diff(ranking.offsets).max(initial=0)),
        relevant=np.bincount(query[relevant], minlength=len(sizes)),
        labels=labelled,
        max_grade=max_grade,
        ranked=ranked,
        first=np.flatnonzero((ranked.relevant > 0) & (ranked.before == 0)),
        ideal=_ideal(query, labelled, len(sizes)),
    )


def _ranked(query: IntArray, ranks: TiedRanks, relevant: BoolArray, queries: int) -> RankedBlocks:
    """The blocks of labelled rows with these ranks."""
    where, of_label = distinct(query * (int(ranks.above.max(initial=0)) + 1) + ranks.above)
    counts = np.bincount(of_label[relevant], minlength=len(where))
    block_query, above, span = query[where], ranks.above[where], ranks.span[where]
    owner, step = ragged(span)
    return RankedBlocks(
        query=block_query,
        span=span,
        owner=owner,
        place=np.repeat(above, span) + 1 + step,
        of_label=of_label,
        number=before_in_query(np.ones_like(where), block_query, queries),
        above=above,
        relevant=counts,
        before=before_in_query(counts, block_query, queries),
        sharing=ranks.sharing[where],
    )


def _ideal(query: IntArray, labels: FloatArray, queries: int) -> Blocks:
    """The blocks when labels order the query: rows without a label stand behind these."""
    grade = labels.astype(np.int64) if labels.max(initial=0) < LARGEST_CODE else np.zeros(len(labels), dtype=np.int64)
    if (grade != labels).any():
        grade = np.unique(labels, return_inverse=True)[1]
    grades = int(grade.max(initial=0)) + 1
    where, of_label = distinct(query * grades + (grades - 1 - grade))
    block_query, span = query[where], np.bincount(of_label, minlength=len(where))
    owner, step = ragged(span)
    above = before_in_query(span, block_query, queries)
    return Blocks(block_query, span, owner, np.repeat(above, span) + 1 + step, of_label)


def before_in_query(counts: IntArray, query: IntArray, queries: int) -> IntArray:
    """Of each block what the earlier blocks of its query count; queries rise.

    >>> before_in_query(np.array([1, 2, 3, 4]), np.array([0, 0, 2, 2]), 3)
    array([0, 1, 0, 3])
    """
    so_far, lengths = np.cumsum(counts) - counts, np.bincount(query, minlength=queries)
    starts = np.cumsum(lengths) - lengths
    return so_far - np.repeat(np.append(so_far, 0)[starts], lengths)
