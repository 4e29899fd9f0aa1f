"""Where the labelled candidates of each query stand: all that a measure needs to know of a ranking.

A tie block is the places a + 1 .. a + m of a query that m candidates share, each order of them equally
likely. Under every rule but `expected` m is 1, so that one formula a measure serves all rules.
"""

from dataclasses import dataclass

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray, code_sums, distinct, owners, ragged
from ltr.ranking import Places, Ranking, Ties, places


@dataclass(frozen=True, slots=True)
class Blocks:
    """The tie blocks that hold a label above 0, by query and place."""

    query: IntArray
    number: IntArray  # of the block in its query, from 0
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

    sizes: IntArray  # (queries,): candidates
    relevant: IntArray  # (queries,): relevant candidates, R
    blocks: Blocks
    first: IntArray  # (queries with R > 0,): the first block with a relevant candidate
    ideal: Blocks  # the blocks when labels order the query
    labels: FloatArray  # (labelled,): labels above 0
    label_block: IntArray  # (labelled,): the block of each
    ideal_block: IntArray  # (labelled,): its block in the ideal
    max_grade: float  # the greatest label there can be, of all queries

    @property
    def longest(self) -> int:
        """Candidates of the longest query, 0 without any."""
        return int(self.sizes.max(initial=0))

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


def judge(ranking: Ranking, labels: FloatArray, ties: str, rel_threshold: float, max_grade: float = 1.0) -> Judged:
    """The labelled candidates in their tie blocks. Relevant: label >= rel_threshold, which is above 0."""
    sizes, rows = np.diff(ranking.offsets), np.flatnonzero(labels > 0)
    query, labelled = owners(rows, ranking.offsets), labels[rows]
    relevant = labelled >= rel_threshold
    placed = places(ranking, rows, ties, labels, groups=query)
    blocks, label_block = _blocks(query, placed, relevant, sizes)
    ideal, ideal_block = _blocks(query, _by_label(query, labelled), relevant, sizes)
    return Judged(
        sizes=sizes,
        relevant=np.bincount(query[relevant], minlength=len(sizes)),
        blocks=blocks,
        first=np.flatnonzero((blocks.relevant > 0) & (blocks.before == 0)),
        ideal=ideal,
        labels=labelled,
        label_block=label_block,
        ideal_block=ideal_block,
        max_grade=max_grade,
    )


def _by_label(query: IntArray, labels: FloatArray) -> Places:
    """Where the labelled rows stand when labels order their query: before all others, so only they are looked at."""
    counts = np.bincount(query)
    counts = counts[counts > 0]
    offsets, groups = np.append(0, np.cumsum(counts)), np.repeat(np.arange(len(counts)), counts)
    return places(Ranking(labels, offsets), np.arange(len(labels)), Ties.EXPECTED, labels, groups=groups)


def _blocks(query: IntArray, placed: Places, relevant: BoolArray, sizes: IntArray) -> tuple[Blocks, IntArray]:
    """The blocks in order of query and place, and the block of each labelled row."""
    codes = query * (sizes.max(initial=0) + 1) + placed.above
    where, label_block = distinct(codes)
    counts = np.bincount(label_block[relevant], minlength=len(where))
    block_query, above, span = query[where], placed.above[where], placed.span[where]
    so_far = np.cumsum(counts) - counts
    lengths = np.bincount(block_query, minlength=len(sizes))
    starts = np.cumsum(lengths) - lengths
    owner, step = ragged(span)
    blocks = Blocks(
        query=block_query,
        above=above,
        span=span,
        relevant=counts,
        number=np.arange(len(where)) - np.repeat(starts, lengths),
        before=so_far - np.repeat(np.append(so_far, 0)[starts], lengths),  # less those of earlier queries
        sharing=placed.sharing[where],
        owner=owner,
        step=step,
        place=np.repeat(above, span) + 1 + step,
    )
    return blocks, label_block
