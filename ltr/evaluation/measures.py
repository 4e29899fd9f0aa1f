"""The measures of a ranking, each one function from tie blocks to one value a query.

Every formula is the exact expectation over the orders of each tie block: a candidates before it, m places,
r relevant candidates, b relevant candidates before it, R relevant candidates of the query in all.
"""

import numpy as np

from ltr.arrays import FloatArray, IntArray, code_sums, distinct, ragged
from ltr.errors import DataError
from ltr.evaluation.metrics import TOP1, TOP3, example, measure  # noqa: F401 (the docstrings' examples)
from ltr.evaluation.ties import Blocks, RankedBlocks, TieBlocks

UNBOUNDED = "0 upwards"
LARGEST_GRADE = 31  # 2^grade - 1 beyond it drowns every other candidate


@measure("hit@k", "share of queries with a relevant candidate among the first k")
def hit(blocks: TieBlocks, k: int) -> FloatArray:
    """Chance of a relevant candidate among the first k: 1 - C(m - j, r) / C(m, r), j = k - a places of the block.

    >>> example("hit@2", [3, 2, 2], [0, 1, 0])  # one of two places is among the first 2
    0.5
    """
    first = blocks.first
    a, m, r = blocks.ranked.above[first], blocks.ranked.span[first], blocks.ranked.relevant[first]
    return blocks.per_query(blocks.ranked.query[first], 1 - chance_of_none(m, r, np.clip(k - a, 0, m)))


@measure("mrr", "mean of 1 / rank of the first relevant candidate", k=None)
@measure("mrr@k", "mean of 1 / rank of the first relevant candidate, 0 below rank k")
def reciprocal_rank(blocks: TieBlocks, k: int) -> FloatArray:
    """sum_j P(the block's first relevant is its j-th) / (a + j), P = C(m - j, r - 1) / C(m, r), for a + j <= k.

    >>> example("mrr@3", [3, 2, 2], [0, 1, 0])  # (1/2 + 1/3) / 2
    0.4167
    """
    first = blocks.first
    query, a = blocks.ranked.query[first], blocks.ranked.above[first]
    m, r = blocks.ranked.span[first], blocks.ranked.relevant[first]
    owner, j = ragged(np.clip(k - a, 0, m))
    m, r = m[owner], r[owner]
    chance = chance_of_none(m, r, j) * r / (m - j)
    return blocks.per_query(query[owner], chance / (a[owner] + 1 + j))


@measure("precision@k", "relevant candidates among the first k / k, also where the list is shorter")
def precision_at(blocks: TieBlocks, k: int) -> FloatArray:
    """sum over blocks of r * (share of its places within k) / k.

    >>> example("precision@2", [3, 2, 1], [1, 0, 1])  # 1 / 2
    0.5
    """
    return _hits(blocks, k) / k


@measure("recall@k", "relevant candidates among the first k / all relevant candidates")
def recall_at(blocks: TieBlocks, k: int) -> FloatArray:
    """sum over blocks of r * (share of its places within k) / R.

    >>> example("recall@2", [3, 2, 1], [1, 0, 1])  # 1 of 2
    0.5
    """
    return _hits(blocks, k) / np.maximum(blocks.relevant, 1)


@measure("complete@k", "share of queries with all relevant candidates among the first k")
def complete_at(blocks: TieBlocks, k: int) -> FloatArray:
    """Chance that the last block with a relevant candidate has all its r within k: C(j, r) / C(m, r), j = k - a places.

    >>> example("complete@2", [3, 2, 2], [1, 1, 0])  # the first is there; the second is in one order of two
    0.5
    """
    ranked = blocks.ranked
    last = np.flatnonzero((ranked.relevant > 0) & (ranked.before + ranked.relevant == blocks.relevant[ranked.query]))
    m = ranked.span[last]
    beyond = m - np.clip(k - ranked.above[last], 0, m)
    return blocks.per_query(ranked.query[last], chance_of_none(m, ranked.relevant[last], beyond))


@measure("fB@k", "(1 + B^2) * precision * recall / (B^2 * precision + recall), both of the first k")
def f_beta_at(blocks: TieBlocks, k: int, beta: float) -> FloatArray:
    """(1 + B^2) h / (B^2 R + k), h relevant candidates among the first k: linear in h, so exact in its expectation.

    >>> example("f2@2", [3, 2, 1], [1, 0, 1])  # precision 1/2, recall 1/2
    0.5
    """
    return (1 + beta**2) * _hits(blocks, k) / (beta**2 * blocks.relevant + k)


@measure("map", "mean over queries of sum of precision at each relevant rank / all relevant candidates", k=None)
@measure("map@k", "as map, only ranks up to k; still / all relevant candidates")
def average_precision(blocks: TieBlocks, k: int) -> FloatArray:
    """sum over places a + j <= k of r/m * (b + 1 + (j - 1)(r - 1)/(m - 1)) / (a + j), over R; 0/0 in it is 0.

    >>> example("map", [3, 2, 1], [1, 0, 1])  # (1/1 + 2/3) / 2
    0.8333
    """
    ranked = blocks.ranked
    if ranked.is_untied:
        terms = np.where(ranked.place <= k, ranked.relevant * (ranked.before + 1) / ranked.place, 0.0)
        return blocks.per_query(ranked.query, terms) / np.maximum(blocks.relevant, 1)
    owner, j = ragged(np.clip(k - ranked.above, 0, ranked.span))
    slope = (ranked.relevant - 1) / np.maximum(ranked.span - 1, 1)
    hits = (ranked.before + 1)[owner] + j * slope[owner]  # relevant ones up to the place, it among them
    terms = (ranked.relevant / ranked.span)[owner] * hits / ((ranked.above + 1)[owner] + j)
    return blocks.per_query(ranked.query[owner], terms) / np.maximum(blocks.relevant, 1)


@measure("cg@k", "sum of the labels of the first k", range=UNBOUNDED)
def cumulative_gain(blocks: TieBlocks, k: int) -> FloatArray:
    """sum over labels of label * share of its block's places within k.

    >>> example("cg@2", [3, 2, 1], [1, 3, 2])
    4.0
    """
    gains = code_sums(blocks.ranked.of_label, blocks.labels, len(blocks.ranked.query))
    return blocks.per_query(blocks.ranked.query, gains * _share_within(blocks.ranked, k))


@measure("dcg@k", "sum of label / log2(rank + 1) over the first k", range=UNBOUNDED)
def dcg(blocks: TieBlocks, k: int) -> FloatArray:
    """sum over labels of label * mean over its block's places p <= k of 1 / log2(p + 1).

    >>> example("dcg@2", [3, 2, 1], [1, 3, 0])  # 1 / 1 + 3 / log2(3)
    2.8928
    """
    return _dcg(blocks, blocks.ranked, blocks.labels, k)


@measure("dcg_exp@k", "sum of (2^label - 1) / log2(rank + 1) over the first k", range=UNBOUNDED)
def dcg_exponential(blocks: TieBlocks, k: int) -> FloatArray:
    """As dcg, with the gain 2^label - 1.

    >>> example("dcg_exp@2", [3, 2, 1], [1, 3, 0])  # 1 / 1 + 7 / log2(3)
    5.4165
    """
    return _dcg(blocks, blocks.ranked, exponential_gains(blocks.labels), k)


@measure("idcg@k", "dcg@k of the order by label", range=UNBOUNDED)
def ideal_dcg(blocks: TieBlocks, k: int) -> FloatArray:
    """DCG when the labels order the query, the greatest there is.

    >>> example("idcg@2", [3, 2, 1], [0, 1, 3])  # 3 / 1 + 1 / log2(3)
    3.6309
    """
    return _dcg(blocks, blocks.ideal, blocks.labels, k)


@measure("idcg_exp@k", "dcg_exp@k of the order by label", range=UNBOUNDED)
def ideal_dcg_exponential(blocks: TieBlocks, k: int) -> FloatArray:
    """As idcg, with the gain 2^label - 1.

    >>> example("idcg_exp@2", [3, 2, 1], [0, 1, 3])  # 7 / 1 + 1 / log2(3)
    7.6309
    """
    return _dcg(blocks, blocks.ideal, exponential_gains(blocks.labels), k)


@measure("ndcg", "ndcg@k over the whole list", k=None)
@measure("ndcg@k", "dcg@k / dcg@k of the order by label; gain = label")
def ndcg(blocks: TieBlocks, k: int) -> FloatArray:
    """DCG / ideal DCG, the ideal from all labels of the query.

    >>> example("ndcg@2", [3, 2, 1], [0, 1, 0])  # 1 / log2(3) over 1
    0.6309
    """
    return _ndcg(blocks, blocks.labels, k)


@measure("ndcg_exp", "ndcg_exp@k over the whole list", k=None)
@measure("ndcg_exp@k", "dcg_exp@k / dcg_exp@k of the order by label; gain = 2^label - 1")
def ndcg_exponential(blocks: TieBlocks, k: int) -> FloatArray:
    """As ndcg, with the gain 2^label - 1.

    >>> example("ndcg_exp@2", [3, 2, 1], [0, 2, 0])  # 3 / log2(3) over 3
    0.6309
    """
    return _ndcg(blocks, exponential_gains(blocks.labels), k)


def chance_of_none(m: IntArray, r: IntArray, j: IntArray) -> FloatArray:
    """Chance that j of m places hold none of r relevant: C(m - j, r) / C(m, r) = prod_{i < j} (m - r - i) / (m - i).

    >>> chance_of_none(np.array([4, 4]), np.array([1, 2]), np.array([1, 2])).round(12)
    array([0.75      , 0.16666667])
    """
    chance = (m - j) / m  # all there is to it for r = 1
    if r.max(initial=0) <= 1:
        return chance
    several = np.flatnonzero(r > 1)
    places, hits = m[several], r[several]
    first, code = distinct(places * (hits.max() + 1) + hits)
    lengths = places[first] + 1
    pairs = zip(places[first].tolist(), hits[first].tolist(), strict=True)
    tables = []  # the chance for each j from 0 to m
    for count, relevant in pairs:
        left = count - np.arange(count)
        tables.append(np.cumprod(np.append(1.0, np.maximum(left - relevant, 0) / left)))
    chance[several] = np.concatenate(tables)[(np.cumsum(lengths) - lengths)[code] + j[several]]
    return chance


def exponential_gains(labels: FloatArray) -> FloatArray:
    """2^label - 1; labels above 31 are refused.

    >>> exponential_gains(np.array([1.0, 3.0]))
    array([1., 7.])
    """
    if labels.max(initial=0) > LARGEST_GRADE:
        raise DataError(
            f"label {labels.max():g} is above {LARGEST_GRADE}, too large for the gain 2^label - 1; "
            "use ndcg@k, whose gain is the label"
        )
    return np.where(labels < 1, np.expm1(labels * np.log(2)), np.exp2(labels) - 1)  # the first keeps tiny labels


def discounts(places: IntArray, k: int) -> FloatArray:
    """1 / log2(place + 1), place from 1; 0 beyond k.

    >>> discounts(np.array([1, 3, 4]), k=3)
    array([1. , 0.5, 0. ])
    """
    longest = min(int(places.max(initial=1)), k)
    table = np.append(1 / np.log2(np.arange(longest) + 2.0), 0.0)
    return table.take(np.minimum(places, longest + 1) - 1)


def _hits(blocks: TieBlocks, k: int) -> FloatArray:
    """Of each query how many relevant candidates stand among the first k."""
    return blocks.per_query(blocks.ranked.query, blocks.ranked.relevant * _share_within(blocks.ranked, k))


def _share_within(ranked: RankedBlocks, k: int) -> FloatArray:
    """Of each block the share of its places within the first k."""
    return np.clip(k - ranked.above, 0, ranked.span) / ranked.span


def _ndcg(blocks: TieBlocks, gains: FloatArray, k: int) -> FloatArray:
    """DCG / ideal DCG, 0 where nothing has a gain."""
    ideal = _dcg(blocks, blocks.ideal, gains, k)
    ratio = _dcg(blocks, blocks.ranked, gains, k) / np.where(ideal > 0, ideal, 1.0)
    return np.minimum(ratio, 1.0)  # rounding: the same sum in another order


def _dcg(blocks: TieBlocks, order: Blocks, gains: FloatArray, k: int) -> FloatArray:
    """sum over blocks of the block's gain * the mean discount of its places, added in order of place."""
    gain = code_sums(order.of_label, gains, len(order.query))
    discount = discounts(order.place, min(k, blocks.longest))  # what is not in the list has a place far behind it
    return blocks.per_query(order.query, gain * code_sums(order.owner, discount, len(gain)) / order.span)


measure(TOP1, "share of queries with a relevant candidate at rank 1", k=1)(hit)
measure(TOP3, "share of queries with a relevant candidate among the first 3", k=3)(hit)
