"""Measurements become a verdict: quality with intervals, paired tests, costs, front, conclusions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from ltr.benchmark.config import DECIDING, BenchConfig, Entry
from ltr.benchmark.latency_and_cost import Cost, Latency, Point, balance, cost, is_on_front, latency, throughput
from ltr.benchmark.measuring import Measurement
from ltr.config.run import EvaluateConfig, RunConfig
from ltr.data.groups import Groups
from ltr.evaluation.bootstrap import bootstrap_mean
from ltr.evaluation.intervals import resampled_units
from ltr.evaluation.significance import differences, holm, permutation_p, unit_sums
from ltr.rerankers.registry import RERANKERS, spelled
from ltr.results.evaluated_ranking import EvaluatedRanking, evaluate_groups


@dataclass(frozen=True, slots=True)
class Quality:
    """A mean over the queries and its 95 % bootstrap interval, which a single unit has not."""

    mean: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One reranker."""

    name: str
    reranker: str
    what: str
    revision: str
    is_reference: bool  # random, oracle: no choice, so never best and never on the front
    quality: dict[str, Quality]
    latency: Latency
    cold_start_ms: float
    documents_per_second: float | None
    peak_memory_mb: float | None
    cost: Cost | None
    balance: float | None
    is_on_front: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """a against b, paired query by query."""

    metric: str
    a: str
    b: str
    difference: float  # a - b
    low: float | None
    high: float | None
    p: float  # permutation test
    p_holm: float  # adjusted for all comparisons


@dataclass(frozen=True, slots=True)
class Conclusions:
    """What to choose, by what matters most."""

    best_quality: str | None
    lowest_latency: str | None
    best_balance: str | None
    front: list[str]  # best quality first


def judged(groups: Groups, measurement: Measurement, config: BenchConfig) -> EvaluatedRanking:
    """The groups ranked by the scores and measured by the rules of the bench."""
    found = np.concatenate([np.array(measurement.scores[place]) for place in range(len(groups.offsets) - 1)])
    rules = EvaluateConfig(
        metrics=config.metrics, ties=config.ties, rel_threshold=config.rel_threshold, baselines=False
    )
    return evaluate_groups(groups, found[:, np.newaxis], found, RunConfig(seed=config.seed, evaluate=rules))


def row(entry: Entry, measurement: Measurement, measured: EvaluatedRanking, config: BenchConfig) -> Row:
    """All that is said of one reranker by itself."""
    sizes = np.diff(measured.groups.offsets)
    times = latency(measurement.latencies_ms)
    timed = int(sizes[list(measurement.timed)].sum()) * config.repeats
    recipe = RERANKERS[spelled(entry.name)]
    quality = {name: measured.intervals[name] for name in config.metrics}
    return Row(
        name=entry.called,
        reranker=recipe.spelling,
        what=recipe.summary,
        revision=measurement.revision,
        is_reference=recipe.is_reference,
        quality={name: Quality(each.mean, each.low, each.high) for name, each in quality.items()},
        latency=times,
        cold_start_ms=measurement.cold_start_ms,
        documents_per_second=throughput(timed, measurement.latencies_ms),
        peak_memory_mb=measurement.peak_memory_mb,
        cost=cost(len(sizes), int(sizes.sum()), entry.price_per_query, entry.price_per_document),
        balance=balance(quality[DECIDING].mean, times.mean_ms, config.cost_weight),
    )


def with_front(rows: Sequence[Row]) -> list[Row]:
    """The rows, those on the front marked."""
    points = [
        None
        if each.is_reference
        else Point(each.quality[DECIDING].mean, each.latency.mean_ms, each.cost.per_query if each.cost else 0.0)
        for each in rows
    ]
    return [replace(each, is_on_front=mark) for each, mark in zip(rows, is_on_front(points), strict=True)]


def conclusions(rows: Sequence[Row]) -> Conclusions:
    """The best by quality, by mean latency and by balance, the first of equals; and the front."""
    choices = by_quality([each for each in rows if not each.is_reference])
    balanced = [(each.balance, each.name) for each in choices if each.balance is not None]
    return Conclusions(
        best_quality=choices[0].name if choices else None,
        lowest_latency=min(choices, key=lambda each: each.latency.mean_ms).name if choices else None,
        best_balance=max(balanced, key=lambda each: each[0])[1] if balanced else None,
        front=[each.name for each in choices if each.is_on_front],
    )


def by_quality(rows: Sequence[Row]) -> list[Row]:
    """The rows, best quality first."""
    return sorted(rows, key=lambda each: -each.quality[DECIDING].mean)


def comparisons(rows: Sequence[Row], measured: Sequence[EvaluatedRanking], seed: int) -> list[Comparison]:
    """Every two rerankers but the references, by the deciding metric, the better one first; Holm over all pairs."""
    known = {each.name: found for each, found in zip(rows, measured, strict=True)}
    choices = by_quality([each for each in rows if not each.is_reference])
    found = [_compared(a.name, b.name, known, seed) for a, b in combinations(choices, 2)]
    adjusted = holm([each.p for each in found])
    return [replace(each, p_holm=p) for each, p in zip(found, adjusted, strict=True)]


def _compared(a: str, b: str, known: dict[str, Any], seed: int) -> Comparison:
    ours, theirs = (known[name].evaluation.values[DECIDING] for name in (a, b))
    counted = ~np.isnan(ours)
    clusters = resampled_units(known[a].groups.candidates.traces)
    drawn = None if clusters is None else clusters[counted]
    paired = differences(ours[counted], theirs[counted])
    interval = bootstrap_mean(paired, np.random.default_rng(seed), clusters=drawn)
    p = permutation_p(unit_sums(paired, drawn), np.random.default_rng(seed))
    return Comparison(
        metric=DECIDING, a=a, b=b, difference=interval.mean, low=interval.low, high=interval.high, p=p, p_holm=p
    )
