"""Where the labelled candidates of each query stand: all that a measure needs to know of a ranking.

A tie block is the places a + 1 .. a + m of a query that m candidates share, each order of them equally
likely. Under every rule but `expected` m is 1, so that one formula a measure serves all rules.
"""

from dataclasses import dataclass

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray, ragged
from ltr.ranking import Places, Ranking, Ties, places, rank


@dataclass(frozen=True, slots=True)
class Blocks:
    """The tie blocks that hold a label above 0, by query and place."""

    query: IntArray
    above: IntArray  # a: candidates before the block
    span: IntArray  # m: places in the block
    relevant: IntArray  # r: relevant candidates in the block
    before: IntArray  # relevant candidates of the query before the block
    owner: IntArray  # of each place of each block: the block
    step: IntArray  # 0 .. m - 1
    place: IntArray  # a + 1 .. a + m


@dataclass(frozen=True, slots=True)
class Judged:
    """A ranking with its truth."""

    sizes: IntArray  # (queries,): candidates in the list
    longest: int  # candidates of the longest query, in the list or not: beyond all places
    relevant: IntArray  # (queries,): relevant candidates, R
    blocks: Blocks
    first: IntArray  # (queries with R > 0,): the first block with a relevant candidate
    ideal: Blocks  # the blocks when labels order the query
    labels: FloatArray  # (labelled,): labels above 0
    label_block: IntArray  # (labelled,): the block of each
    ideal_block: IntArray  # (labelled,): its block in the ideal
    level: IntArray  # (queries,): candidates with the score of the best relevant one, itself included
    tied: BoolArray  # (queries,): whether a relevant candidate shares its score with another candidate

    def per_query(self, query: IntArray, values: FloatArray) -> FloatArray:
        """Sum of the values of each query."""
        summed: FloatArray = np.bincount(query, weights=values, minlength=len(self.sizes)).astype(
            np.float64, copy=False
        )
        return summed


def judge(ranking: Ranking, labels: FloatArray, ties: Ties, rel_threshold: float) -> Judged:
    """The labelled candidates in their tie blocks. Relevant: label >= rel_threshold, which is above 0."""
    sizes = np.add.reduceat(~np.isneginf(ranking.scores), ranking.offsets[:-1], dtype=np.int64)
    rows = np.flatnonzero(labels > 0)
    query = np.searchsorted(ranking.offsets, rows, side="right") - 1
    placed = places(ranking, rows, ties, labels)
    by_label = places(rank(labels, ranking.offsets), rows, Ties.EXPECTED, labels)
    relevant = labels[rows] >= rel_threshold
    blocks, label_block = _blocks(query, placed, relevant)
    ideal, ideal_block = _blocks(query, by_label, relevant)
    holding = np.flatnonzero(blocks.relevant > 0)
    first = holding[np.unique(blocks.query[holding], return_index=True)[1]]
    level = np.zeros(len(sizes), dtype=np.int64)
    block_level = np.zeros(len(blocks.query), dtype=np.int64)
    block_level[label_block] = placed.level
    level[blocks.query[first]] = block_level[first]
    return Judged(
        sizes=sizes,
        longest=int(np.diff(ranking.offsets).max()),
        relevant=np.bincount(query[relevant], minlength=len(sizes)),
        blocks=blocks,
        first=first,
        ideal=ideal,
        labels=labels[rows],
        label_block=label_block,
        ideal_block=ideal_block,
        level=level,
        tied=np.bincount(query[relevant & (placed.level > 1)], minlength=len(sizes)) > 0,
    )


def _blocks(query: IntArray, placed: Places, relevant: BoolArray) -> tuple[Blocks, IntArray]:
    """The blocks in order of query and place, and the block of each labelled row."""
    codes = query * (int(placed.above.max(initial=0)) + 1) + placed.above
    unique, where, label_block = np.unique(codes, return_index=True, return_inverse=True)
    counts = np.bincount(label_block[relevant], minlength=len(unique))
    block_query, above, span = query[where], placed.above[where], placed.span[where]
    so_far = np.cumsum(counts) - counts
    starts = np.searchsorted(block_query, block_query)  # the first block of the same query
    owner, step = ragged(span)
    before = so_far - so_far[starts]
    return Blocks(block_query, above, span, counts, before, owner, step, above[owner] + 1 + step), label_block
