"""The bench's own arithmetic: latency, throughput, cost, balance, front."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

PERCENTILES = (50, 95, 99)


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """How long queries took, in milliseconds."""

    mean_ms: float
    std_ms: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    n: int
    too_few: list[str]  # percentiles that so few queries cannot tell


@dataclass(frozen=True, slots=True)
class Cost:
    """What the queries cost by the declared prices."""

    total: float
    per_query: float
    per_document: float


@dataclass(frozen=True, slots=True)
class Point:
    """What a reranker is chosen by; a price nobody declared counts 0."""

    quality: float
    latency_ms: float
    cost_per_query: float = 0.0


def latency(times_ms: Sequence[float]) -> Latency:
    """Mean, population deviation and percentiles (linear between neighbours) of at least one time.

    The p-th percentile of fewer than 1 / (1 - p) times is a guess from the greatest one, and named in too_few.

    >>> found = latency([1.0, 2.0, 3.0, 4.0])
    >>> found.mean_ms, found.p50_ms, found.too_few
    (2.5, 2.5, ['p95_ms', 'p99_ms'])
    """
    times = np.asarray(times_ms, dtype=np.float64)
    at = {f"p{percent}_ms": float(np.percentile(times, percent)) for percent in PERCENTILES}
    too_few = [f"p{percent}_ms" for percent in PERCENTILES if len(times) * (100 - percent) < 100]
    return Latency(mean_ms=float(times.mean()), std_ms=float(times.std()), **at, n=len(times), too_few=too_few)


def throughput(documents: int, times_ms: Sequence[float]) -> float | None:
    """Documents scored a second, one query after the other: documents / sum of times; None where no time passed.

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


def balance(quality: float, mean_ms: float, cost_weight: float) -> float | None:
    """quality / (mean latency in seconds * cost_weight); None where that divides by zero, or by next to it.

    >>> balance(0.75, 500.0, 3.0), balance(0.75, 500.0, 0.0)
    (0.5, None)
    """
    weighted = mean_ms / 1000 * cost_weight
    found = quality / weighted if weighted else math.inf
    return found if math.isfinite(found) else None


def is_on_front(points: Sequence[Point | None]) -> list[bool]:
    """Whether no other point is at least as good in quality, latency and cost, and better in one; None: takes no part.

    >>> is_on_front([Point(0.9, 10.0), Point(0.8, 20.0), Point(0.7, 1.0), None])
    [True, False, True, False]
    """
    return [point is not None and not any(_beats(other, point) for other in points if other) for point in points]


def _beats(other: Point, point: Point) -> bool:
    theirs = (other.quality, -other.latency_ms, -other.cost_per_query)
    ours = (point.quality, -point.latency_ms, -point.cost_per_query)
    return theirs != ours and all(their >= our for their, our in zip(theirs, ours, strict=True))
