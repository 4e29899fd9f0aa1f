"""The tie blocks of the labelled candidates: all that a measure needs to know of a ranking.

A tie block is the places a + 1 .. a + m of a query that m candidates share, each order of them equally
likely. Under every rule but `expected` m is 1, so that one formula a measure serves all rules.
"""

from dataclasses import dataclass

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray, distinct, owners, ragged
from ltr.evaluation.ranking import Ranking, Ties
from ltr.evaluation.tied_ranks import TiedRanks, tied_ranks

LARGEST_CODE = 1 << 20  # of a whole label that stands for itself


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
