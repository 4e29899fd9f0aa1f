"""The measures of a ranking, each one function from judged queries to one value a query.

Every formula is the exact expectation over the orders of each tie block: a candidates before it, m places,
r relevant candidates, b relevant candidates before it, R relevant candidates of the query in all.
"""

import numpy as np

from ltr.arrays import FloatArray, IntArray, code_sums, distinct, ragged
from ltr.errors import DataError
from ltr.evaluation.metrics.registry import example, measure  # noqa: F401 (the docstrings' examples)
from ltr.evaluation.metrics.tie_blocks import Blocks, Judged, Stretches

UNBOUNDED = "0 upwards"
LARGEST_GRADE = 31  # 2^grade - 1 beyond it drowns every other candidate

TOP1, TOP3, MRR = "top1_accuracy", "top3_accuracy", "mrr"


@measure("hit@k", "share of queries with a relevant candidate among the first k")
def hit(judged: Judged, k: int) -> FloatArray:
    """Chance of a relevant candidate among the first k: 1 - C(m - j, r) / C(m, r), j = k - a places of the block.

    >>> example("hit@2", [3, 2, 2], [0, 1, 0])  # one of two places is among the first 2
    0.5
    """
    first = judged.first
    a, m, r = judged.blocks.above[first], judged.blocks.span[first], judged.blocks.relevant[first]
    return judged.per_query(judged.blocks.query[first], 1 - chance_of_none(m, r, np.clip(k - a, 0, m)))


@measure("mrr", "mean of 1 / rank of the first relevant candidate", k=None)
@measure("mrr@k", "mean of 1 / rank of the first relevant candidate, 0 below rank k")
def reciprocal_rank(judged: Judged, k: int) -> FloatArray:
    """sum_j P(the block's first relevant is its j-th) / (a + j), P = C(m - j, r - 1) / C(m, r), for a + j <= k.

    >>> example("mrr@3", [3, 2, 2], [0, 1, 0])  # (1/2 + 1/3) / 2
    0.4167
    """
    first = judged.first
    query, a = judged.blocks.query[first], judged.blocks.above[first]
    m, r = judged.blocks.span[first], judged.blocks.relevant[first]
    owner, j = ragged(np.clip(k - a, 0, m))
    m, r = m[owner], r[owner]
    chance = chance_of_none(m, r, j) * r / (m - j)
    return judged.per_query(query[owner], chance / (a[owner] + 1 + j))


@measure("precision@k", "relevant candidates among the first k / k, also where the list is shorter")
def precision(judged: Judged, k: int) -> FloatArray:
    """sum over blocks of r * (share of its places within k) / k.

    >>> example("precision@2", [3, 2, 1], [1, 0, 1])  # 1 / 2
    0.5
    """
    return _hits(judged, k) / k


@measure("recall@k", "relevant candidates among the first k / all relevant candidates")
def recall(judged: Judged, k: int) -> FloatArray:
    """sum over blocks of r * (share of its places within k) / R.

    >>> example("recall@2", [3, 2, 1], [1, 0, 1])  # 1 of 2
    0.5
    """
    return _hits(judged, k) / np.maximum(judged.relevant, 1)


@measure("fB@k", "(1 + B^2) * precision * recall / (B^2 * precision + recall), both of the first k")
def f_beta(judged: Judged, k: int, beta: float) -> FloatArray:
    """(1 + B^2) h / (B^2 R + k), h relevant candidates among the first k: linear in h, so exact in its expectation.

    >>> example("f2@2", [3, 2, 1], [1, 0, 1])  # precision 1/2, recall 1/2
    0.5
    """
    return (1 + beta**2) * _hits(judged, k) / (beta**2 * judged.relevant + k)


@measure("map", "mean over queries of sum of precision at each relevant rank / all relevant candidates", k=None)
@measure("map@k", "as map, only ranks up to k; still / all relevant candidates")
def average_precision(judged: Judged, k: int) -> FloatArray:
    """sum over places a + j <= k of r/m * (b + 1 + (j - 1)(r - 1)/(m - 1)) / (a + j), over R; 0/0 in it is 0.

    >>> example("map", [3, 2, 1], [1, 0, 1])  # (1/1 + 2/3) / 2
    0.8333
    """
    blocks = judged.blocks
    if blocks.is_untied:
        found = blocks.relevant * (blocks.before + 1) / blocks.place
        return judged.per_query(blocks.query, np.where(blocks.place <= k, found, 0.0)) / np.maximum(judged.relevant, 1)
    owner, j = ragged(np.clip(k - blocks.above, 0, blocks.span))
    slope = (blocks.relevant - 1) / np.maximum(blocks.span - 1, 1)
    found = (blocks.before + 1)[owner] + j * slope[owner]  # relevant ones up to the place, it among them
    parts = (blocks.relevant / blocks.span)[owner] * found / ((blocks.above + 1)[owner] + j)
    return judged.per_query(blocks.query[owner], parts) / np.maximum(judged.relevant, 1)


@measure("cg@k", "sum of the labels of the first k", range=UNBOUNDED)
def cumulative_gain(judged: Judged, k: int) -> FloatArray:
    """sum over labels of label * share of its block's places within k.

    >>> example("cg@2", [3, 2, 1], [1, 3, 2])
    4.0
    """
    gains = code_sums(judged.label_block, judged.labels, len(judged.blocks.query))
    return judged.per_query(judged.blocks.query, gains * _share_within(judged.blocks, k))


@measure("dcg@k", "sum of label / log2(rank + 1) over the first k", range=UNBOUNDED)
def dcg(judged: Judged, k: int) -> FloatArray:
    """sum over labels of label * mean over its block's places p <= k of 1 / log2(p + 1).

    >>> example("dcg@2", [3, 2, 1], [1, 3, 0])  # 1 / 1 + 3 / log2(3)
    2.8928
    """
    return _dcg(judged, judged.labels, k)


@measure("dcg_exp@k", "sum of (2^label - 1) / log2(rank + 1) over the first k", range=UNBOUNDED)
def dcg_exponential(judged: Judged, k: int) -> FloatArray:
    """As dcg, with the gain 2^label - 1.

    >>> example("dcg_exp@2", [3, 2, 1], [1, 3, 0])  # 1 / 1 + 7 / log2(3)
    5.4165
    """
    return _dcg(judged, exponential_gains(judged.labels), k)


@measure("idcg@k", "dcg@k of the order by label", range=UNBOUNDED)
def ideal_dcg(judged: Judged, k: int) -> FloatArray:
    """DCG when the labels order the query, the greatest there is.

    >>> example("idcg@2", [3, 2, 1], [0, 1, 3])  # 3 / 1 + 1 / log2(3)
    3.6309
    """
    return _ideal(judged, judged.labels, k)


@measure("idcg_exp@k", "dcg_exp@k of the order by label", range=UNBOUNDED)
def ideal_dcg_exponential(judged: Judged, k: int) -> FloatArray:
    """As idcg, with the gain 2^label - 1.

    >>> example("idcg_exp@2", [3, 2, 1], [0, 1, 3])  # 7 / 1 + 1 / log2(3)
    7.6309
    """
    return _ideal(judged, exponential_gains(judged.labels), k)


@measure("ndcg", "ndcg@k over the whole list", k=None)
@measure("ndcg@k", "dcg@k / dcg@k of the order by label; gain = label")
def ndcg(judged: Judged, k: int) -> FloatArray:
    """DCG / ideal DCG, the ideal from all labels of the query.

    >>> example("ndcg@2", [3, 2, 1], [0, 1, 0])  # 1 / log2(3) over 1
    0.6309
    """
    return _ndcg(judged, judged.labels, k)


@measure("ndcg_exp", "ndcg_exp@k over the whole list", k=None)
@measure("ndcg_exp@k", "dcg_exp@k / dcg_exp@k of the order by label; gain = 2^label - 1")
def ndcg_exponential(judged: Judged, k: int) -> FloatArray:
    """As ndcg, with the gain 2^label - 1.

    >>> example("ndcg_exp@2", [3, 2, 1], [0, 2, 0])  # 3 / log2(3) over 3
    0.6309
    """
    return _ndcg(judged, exponential_gains(judged.labels), k)


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
    table = np.concatenate([_chances(m, r) for m, r in pairs])
    chance[several] = table[(np.cumsum(lengths) - lengths)[code] + j[several]]
    return chance


def _chances(m: int, r: int) -> FloatArray:
    """The chance of none for each j from 0 to m."""
    i = np.arange(m)
    return np.cumprod(np.append(1.0, np.maximum(m - r - i, 0) / (m - i)))


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


def _hits(judged: Judged, k: int) -> FloatArray:
    return judged.per_query(judged.blocks.query, judged.blocks.relevant * _share_within(judged.blocks, k))


def _share_within(blocks: Blocks, k: int) -> FloatArray:
    """Of each block the share of its places within the first k."""
    return np.clip(k - blocks.above, 0, blocks.span) / blocks.span


def _dcg(judged: Judged, gains: FloatArray, k: int) -> FloatArray:
    return _discounted(judged, judged.blocks, code_sums(judged.label_block, gains, len(judged.blocks.query)), k)


def _ndcg(judged: Judged, gains: FloatArray, k: int) -> FloatArray:
    ideal = _ideal(judged, gains, k)
    ratio = _dcg(judged, gains, k) / np.where(ideal > 0, ideal, 1.0)
    return np.minimum(ratio, 1.0)  # rounding: the same sum in another order


def _ideal(judged: Judged, gains: FloatArray, k: int) -> FloatArray:
    return _discounted(judged, judged.ideal, code_sums(judged.ideal_block, gains, len(judged.ideal.query)), k)


def _discounted(judged: Judged, blocks: Stretches, gains: FloatArray, k: int) -> FloatArray:
    """sum over blocks of the block's gain * the mean discount of its places; in order of place, whatever the file's."""
    discount = discounts(blocks.place, min(k, judged.longest))  # what is not in the list has a place far behind it
    summed = code_sums(blocks.owner, discount, len(gains))
    return judged.per_query(blocks.query, gains * summed / blocks.span)


measure(TOP1, "share of queries with a relevant candidate at rank 1", k=1)(hit)
measure(TOP3, "share of queries with a relevant candidate among the first 3", k=3)(hit)
