"""The arithmetic of a bench: latency, throughput, cost, balance, front."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ltr.storage.bench_record import Cost, Latency

PERCENTILES = (50, 95, 99)


@dataclass(frozen=True, slots=True)
class FrontPoint:
    """What a reranker is chosen by; without a declared price its cost counts 0."""

    quality: float
    latency_ms: float
    cost_per_query: float = 0.0


def latency(times_ms: Sequence[float]) -> Latency:
    """Mean, population deviation and percentiles (linear between neighbours) of at least one time.

    The p-th percentile of fewer than 1 / (1 - p) times is an estimate from the greatest one: too_few names it.

    >>> times = latency([1.0, 2.0, 3.0, 4.0])
    >>> times.mean_ms, times.p50_ms, times.too_few
    (2.5, 2.5, ['p95_ms', 'p99_ms'])
    """
    times = np.asarray(times_ms, dtype=np.float64)
    percentiles = {f"p{percent}_ms": float(np.percentile(times, percent)) for percent in PERCENTILES}
    too_few = [f"p{percent}_ms" for percent in PERCENTILES if len(times) * (100 - percent) < 100]
    spread = {"mean_ms": float(times.mean()), "std_ms": float(times.std())}
    return Latency(**spread, **percentiles, n=len(times), too_few=too_few)


def throughput(documents: int, times_ms: Sequence[float]) -> float | None:
    """Documents per second, one query after the other: documents / sum of times; None where no time passed.

    >>> throughput(4, [12.5, 7.5])
    200.0
    """
    seconds = float(np.sum(times_ms)) / 1000
    return documents / seconds if seconds else None


def cost(queries: int, documents: int, per_query: float | None, per_document: float | None) -> Cost | None:
    """total = queries * price per query + documents * price per document, and its shares; None without a price.

    >>> cost(2, 8, None, 0.25)
    Cost(total=2.0, per_query=1.0, per_document=0.25)
    """
    if per_query is None and per_document is None:
        return None
    total = queries * (per_query or 0.0) + documents * (per_document or 0.0)
    return Cost(total, total / queries, total / documents)


def balanced(quality: float, mean_ms: float, cost_weight: float) -> float | None:
    """quality / (mean latency in seconds * cost_weight); None where that divides by zero, or nearly so.

    >>> balanced(0.75, 500.0, 3.0), balanced(0.75, 500.0, 0.0)
    (0.5, None)
    """
    weighted = mean_ms / 1000 * cost_weight
    ratio = quality / weighted if weighted else math.inf
    return ratio if math.isfinite(ratio) else None


def is_on_front(points: Sequence[FrontPoint | None]) -> list[bool]:
    """Whether no other point is at least as good in quality, latency and cost, and better in one.

    None takes no part: it is not on the front, and beats no other point.

    >>> is_on_front([FrontPoint(0.9, 10.0), FrontPoint(0.8, 20.0), FrontPoint(0.7, 1.0), None])
    [True, False, True, False]
    """

    def beats(other: FrontPoint, own: FrontPoint) -> bool:
        theirs = (other.quality, -other.latency_ms, -other.cost_per_query)
        ours = (own.quality, -own.latency_ms, -own.cost_per_query)
        return theirs != ours and all(their >= our for their, our in zip(theirs, ours, strict=True))

    return [own is not None and not any(beats(other, own) for other in points if other) for own in points]
