"""Where the labelled candidates of each query stand: all that a measure needs to know of a ranking.

A tie block is the places a + 1 .. a + m of a query that m candidates share, each order of them equally
likely. Under every rule but `expected` m is 1, so that one formula a measure serves all rules.
"""

from dataclasses import dataclass

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray, code_sums, distinct, owners, ragged
from ltr.evaluation.ranking import Ranking
from ltr.evaluation.ties import NOWHERE, Places, places

LARGEST_CODE = 1 << 20  # of a whole label that stands for itself


@dataclass(frozen=True, slots=True)
class Stretches:
    """Places of queries that labelled candidates share, by query and place."""

    query: IntArray
    span: IntArray  # m: places in the block
    owner: IntArray  # of each place of each block: the block
    place: IntArray  # a + 1 .. a + m


@dataclass(frozen=True, slots=True)
class Blocks(Stretches):
    """The tie blocks that hold a label above 0."""

    number: IntArray  # of the block in its query, from 0
    above: IntArray  # a: candidates before the block
    relevant: IntArray  # r: relevant candidates in the block
    before: IntArray  # relevant candidates of the query before the block
    sharing: IntArray  # candidates with the block's score, under every rule
    step: IntArray  # of each place of each block: 0 .. m - 1

    @property
    def is_untied(self) -> bool:
        """Whether each block is a single place."""
        return len(self.owner) == len(self.query)


@dataclass(frozen=True, slots=True)
class Judged:
    """A ranking with its truth."""

    sizes: IntArray  # (queries,): candidates in the list
    longest: int  # candidates of the longest query, in the list or not: beyond all places
    relevant: IntArray  # (queries,): relevant candidates, R
    blocks: Blocks
    first: IntArray  # (queries with R > 0,): the first block with a relevant candidate
    ideal: Stretches  # the blocks when labels order the query
    labels: FloatArray  # (labelled,): labels above 0
    label_block: IntArray  # (labelled,): the block of each
    ideal_block: IntArray  # (labelled,): its block in the ideal
    max_grade: float  # the greatest label there can be, of all queries

    @property
    def found(self) -> IntArray:
        """Of each query the relevant candidates that are in its list."""
        blocks = self.blocks
        return self.per_query(blocks.query, np.where(blocks.above < NOWHERE, blocks.relevant, 0)).astype(np.int64)

    @property
    def sharing(self) -> IntArray:
        """Of each query the candidates with the score of the best relevant one, itself included; 0 without one."""
        sharing = np.zeros(len(self.sizes), dtype=np.int64)
        sharing[self.blocks.query[self.first]] = self.blocks.sharing[self.first]
        return sharing

    @property
    def tied(self) -> BoolArray:
        """Whether any relevant candidate of a query shares its score with another candidate."""
        shares = (self.blocks.relevant > 0) & (self.blocks.sharing > 1)
        return np.bincount(self.blocks.query[shares], minlength=len(self.sizes)) > 0

    def per_query(self, query: IntArray, values: FloatArray) -> FloatArray:
        """Sum of the values of each query."""
        return code_sums(query, values, len(self.sizes))


def judge(ranking: Ranking, labels: FloatArray, ties: str, rel_threshold: float, *, max_grade: float = 1.0) -> Judged:
    """The labelled candidates in their tie blocks. Relevant: label >= rel_threshold, which is above 0."""
    rows = np.flatnonzero(labels > 0)
    sizes = ranking.num_listed
    query, labelled = owners(rows, ranking.offsets), labels.take(rows)
    relevant = labelled >= rel_threshold
    placed = places(ranking, rows, ties, labels, groups=query)
    blocks, label_block = _blocks(query, placed, relevant, len(sizes))
    ideal, ideal_block = _by_label(query, labelled, len(sizes))
    return Judged(
        sizes=sizes,
        longest=int(np.diff(ranking.offsets).max(initial=0)),
        relevant=np.bincount(query[relevant], minlength=len(sizes)),
        blocks=blocks,
        first=np.flatnonzero((blocks.relevant > 0) & (blocks.before == 0)),
        ideal=ideal,
        labels=labelled,
        label_block=label_block,
        ideal_block=ideal_block,
        max_grade=max_grade,
    )


def _by_label(query: IntArray, labels: FloatArray, queries: int) -> tuple[Stretches, IntArray]:
    """The blocks when labels order the query, and the block of each labelled row; all others stand behind these."""
    grade = labels.astype(np.int64) if labels.max(initial=0) < LARGEST_CODE else np.zeros(len(labels), dtype=np.int64)
    if (grade != labels).any():
        grade = np.unique(labels, return_inverse=True)[1]
    grades = int(grade.max(initial=0)) + 1
    where, label_block = distinct(query * grades + (grades - 1 - grade))
    block_query, span = query[where], np.bincount(label_block, minlength=len(where))
    owner, step = ragged(span)
    above = before_in_query(span, block_query, queries)
    return Stretches(block_query, span, owner, np.repeat(above, span) + 1 + step), label_block


def before_in_query(counts: IntArray, query: IntArray, queries: int) -> IntArray:
    """Of each block what the earlier blocks of its query count; queries rise.

    >>> before_in_query(np.array([1, 2, 3, 4]), np.array([0, 0, 2, 2]), 3)
    array([0, 1, 0, 3])
    """
    so_far, lengths = np.cumsum(counts) - counts, np.bincount(query, minlength=queries)
    starts = np.cumsum(lengths) - lengths
    return so_far - np.repeat(np.append(so_far, 0)[starts], lengths)


def _blocks(query: IntArray, placed: Places, relevant: BoolArray, queries: int) -> tuple[Blocks, IntArray]:
    """The blocks in order of query and place, and the block of each labelled row."""
    codes = query * (int(placed.above.max(initial=0)) + 1) + placed.above
    where, label_block = distinct(codes)
    counts = np.bincount(label_block[relevant], minlength=len(where))
    block_query, above, span = query[where], placed.above[where], placed.span[where]
    owner, step = ragged(span)
    blocks = Blocks(
        query=block_query,
        number=before_in_query(np.ones_like(where), block_query, queries),
        above=above,
        span=span,
        relevant=counts,
        before=before_in_query(counts, block_query, queries),
        sharing=placed.sharing[where],
        owner=owner,
        step=step,
        place=np.repeat(above, span) + 1 + step,
    )
    return blocks, label_block
