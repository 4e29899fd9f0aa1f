"""Where the labelled candidates of each query stand: all that a measure needs to know of a ranking.

A tie block is the places a + 1 .. a + m of a query that m candidates share, each order of them equally
likely. Under every rule but `expected` m is 1, so that one formula a measure serves all rules.
"""

from dataclasses import dataclass

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray, code_sums, groups_of, ragged
from ltr.ranking import Places, Ranking, Ties, places, rank


@dataclass(frozen=True, slots=True)
class Blocks:
    """The tie blocks that hold a label above 0, by query and place."""

    query: IntArray
    above: IntArray  # a: candidates before the block
    span: IntArray  # m: places in the block
    relevant: IntArray  # r: relevant candidates in the block
    before: IntArray  # relevant candidates of the query before the block
    sharing: IntArray  # candidates with the block's score, under every rule
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


def judge(ranking: Ranking, labels: FloatArray, ties: str, rel_threshold: float) -> Judged:
    """The labelled candidates in their tie blocks. Relevant: label >= rel_threshold, which is above 0."""
    queries = len(ranking.offsets) - 1
    sizes = np.bincount(groups_of(np.flatnonzero(~np.isneginf(ranking.scores)), ranking.offsets), minlength=queries)
    rows = np.flatnonzero(labels > 0)
    query, relevant = groups_of(rows, ranking.offsets), labels[rows] >= rel_threshold
    placed = places(ranking, rows, ties, labels)
    by_label = places(rank(labels, ranking.offsets), rows, Ties.EXPECTED, labels)
    blocks, label_block = _blocks(query, placed, relevant)
    ideal, ideal_block = _blocks(query, by_label, relevant)
    holding = np.flatnonzero(blocks.relevant > 0)
    return Judged(
        sizes=sizes,
        longest=int(np.diff(ranking.offsets).max(initial=0)),
        relevant=np.bincount(query[relevant], minlength=len(sizes)),
        blocks=blocks,
        first=holding[np.unique(blocks.query[holding], return_index=True)[1]],
        ideal=ideal,
        labels=labels[rows],
        label_block=label_block,
        ideal_block=ideal_block,
    )


def _blocks(query: IntArray, placed: Places, relevant: BoolArray) -> tuple[Blocks, IntArray]:
    """The blocks in order of query and place, and the block of each labelled row."""
    codes = query * (int(placed.above.max(initial=0)) + 1) + placed.above
    unique, where, label_block = np.unique(codes, return_index=True, return_inverse=True)
    counts = np.bincount(label_block[relevant], minlength=len(unique))
    block_query, above, span = query[where], placed.above[where], placed.span[where]
    so_far = np.cumsum(counts) - counts
    owner, step = ragged(span)
    blocks = Blocks(
        query=block_query,
        above=above,
        span=span,
        relevant=counts,
        before=so_far - so_far[np.searchsorted(block_query, block_query)],  # less those of earlier queries
        sharing=placed.sharing[where],
        owner=owner,
        step=step,
        place=above[owner] + 1 + step,
    )
    return blocks, label_block
