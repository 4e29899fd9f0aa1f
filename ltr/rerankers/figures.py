"""Measurements become figures: quality with intervals, paired tests, costs, the front, conclusions, warnings."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import msgspec
import numpy as np

from ltr.catalogues import read_tools
from ltr.config import EvaluateConfig, RunConfig
from ltr.doubts import seen_traces, seen_traces_warnings
from ltr.evaluation import Interval, Paired, holm, resampled_units
from ltr.records.bench import (
    BenchConclusions,
    BenchRecord,
    BenchRules,
    Cost,
    EvaluationRules,
    Failed,
    Latency,
    LeftOut,
    PairedTest,
    Quality,
    RerankerResult,
)
from ltr.records.metrics import METRICS_VERSION
from ltr.rerankers.config import DECIDING, BenchConfig, BenchEntry
from ltr.rerankers.measure import Measurement
from ltr.rerankers.protocol import RERANKERS, registered_spelling
from ltr.results import Evaluated, evaluate_groups
from ltr.runs import load_model
from ltr.samples import Candidates, Groups, none_warnings
from ltr.steps.catalogue import is_short

PERCENTILES = (50, 95, 99)
FEWEST_QUERIES = 100
TRAINED = "model:RUN"
Outcome = Measurement | LeftOut | Failed


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bench:
    """The record of a bench, and what it follows from; measurements and rankings in the order of its rerankers."""

    config: BenchConfig
    groups: Groups  # the queries that were drawn
    measurements: list[Measurement]
    rankings: list[Evaluated]
    record: BenchRecord


def judge_outcomes(
    config: BenchConfig, groups: Groups, outcomes: Sequence[tuple[BenchEntry, Outcome]], *, queries_in_data: int
) -> Bench:
    """Return the figures of all rerankers that were measured, and what to choose."""
    measured = [(entry, outcome) for entry, outcome in outcomes if isinstance(outcome, Measurement)]
    rankings = [_ranking_of(groups, measurement, config) for _, measurement in measured]
    results = [result_of(*pair, ranking, config) for pair, ranking in zip(measured, rankings, strict=True)]
    marks = is_on_front([None if result.is_reference else FrontPoint.of(result) for result in results])
    results = [msgspec.structs.replace(result, is_on_front=mark) for result, mark in zip(results, marks, strict=True)]
    queries = len(groups.offsets) - 1
    record = BenchRecord(
        name=config.name,
        seed=config.seed,
        queries=queries,
        documents=int(groups.offsets[-1]),
        catalogue=config.catalogue,
        queries_in_data=queries_in_data,
        sampled=queries < queries_in_data,
        rules=_rules_of(config, rankings, timed=len(measured[0][1].timed) if measured else 0),
        rerankers=results,
        left_out=[outcome for _, outcome in outcomes if isinstance(outcome, LeftOut)],
        failed=[outcome for _, outcome in outcomes if isinstance(outcome, Failed)],
        comparisons=paired_tests(results, rankings, config.seed),
        conclusions=conclude(results),
        warnings=[
            *none_warnings(groups.num_none),
            *_trained_on_queries([entry for entry, _ in measured], groups.candidates),
            *_too_few(config.sample, queries, results),
            *_short_lists(config, groups),
        ],
    )
    measurements = [measurement for _, measurement in measured]
    return Bench(config=config, groups=groups, measurements=measurements, rankings=rankings, record=record)


def _ranking_of(groups: Groups, measurement: Measurement, config: BenchConfig) -> Evaluated:
    """Rank the groups by the scores, and evaluate them by the rules of the bench."""
    scores = np.concatenate([np.array(measurement.scores[query]) for query in range(len(groups.offsets) - 1)])
    rules = EvaluateConfig(
        metrics=config.metrics, ties=config.ties, rel_threshold=config.rel_threshold, baselines=False
    )
    return evaluate_groups(groups, scores[:, np.newaxis], scores, RunConfig(seed=config.seed, evaluate=rules))


def result_of(entry: BenchEntry, measurement: Measurement, ranking: Evaluated, config: BenchConfig) -> RerankerResult:
    """Return the figures of one reranker by itself."""
    sizes = np.diff(ranking.groups.offsets)
    times = latency(measurement.latencies_ms)
    timed_documents = int(sizes[list(measurement.timed)].sum()) * config.repeats
    kind = RERANKERS[registered_spelling(entry.name)]
    intervals = {name: ranking.record.intervals[name] for name in config.metrics}
    quality = {name: Quality(interval.mean or 0.0, interval.low, interval.high) for name, interval in intervals.items()}
    return RerankerResult(
        name=entry.shown_name,
        reranker=kind.spelling,
        what=kind.summary,
        revision=measurement.revision,
        is_reference=kind.is_reference,
        quality=quality,
        latency=times,
        cold_start_ms=measurement.cold_start_ms,
        documents_per_second=throughput(timed_documents, measurement.latencies_ms),
        peak_memory_mb=measurement.peak_memory_mb,
        cost=cost(len(sizes), int(sizes.sum()), entry.price_per_query, entry.price_per_document),
        balance=balanced(quality[DECIDING].mean, times.mean_ms, config.cost_weight),
    )


def latency(times_ms: Sequence[float]) -> Latency:
    """Return mean, population deviation and percentiles (linear between neighbours) of at least one time.

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
    """Return documents per second, one query after the other: documents / sum of times; None where no time passed.

    >>> throughput(4, [12.5, 7.5])
    200.0
    """
    seconds = float(np.sum(times_ms)) / 1000
    return documents / seconds if seconds else None


def cost(queries: int, documents: int, per_query: float | None, per_document: float | None) -> Cost | None:
    """Return total = queries * price per query + documents * price per document, and its shares; None without a price.

    >>> cost(2, 8, None, 0.25)
    Cost(total=2.0, per_query=1.0, per_document=0.25)
    """
    if per_query is None and per_document is None:
        return None
    total = queries * (per_query or 0.0) + documents * (per_document or 0.0)
    return Cost(total, total / queries, total / documents)


def balanced(quality: float, mean_ms: float, cost_weight: float) -> float | None:
    """Return quality / (mean latency in seconds * cost_weight); None where that divides by zero, or nearly so.

    >>> balanced(0.75, 500.0, 3.0), balanced(0.75, 500.0, 0.0)
    (0.5, None)
    """
    weighted = mean_ms / 1000 * cost_weight
    ratio = quality / weighted if weighted else math.inf
    return ratio if math.isfinite(ratio) else None


@dataclass(frozen=True, slots=True)
class FrontPoint:
    """What a reranker is chosen by; without a declared price its cost counts 0."""

    quality: float
    latency_ms: float
    cost_per_query: float = 0.0

    @classmethod
    def of(cls, result: RerankerResult) -> "FrontPoint":
        """Return the point of a reranker."""
        price = result.cost.per_query if result.cost else 0.0
        return cls(result.quality[DECIDING].mean, result.latency.mean_ms, price)

    def beats(self, other: "FrontPoint") -> bool:
        """Return whether it is at least as good in quality, latency and cost, and better in one."""
        ours = (self.quality, -self.latency_ms, -self.cost_per_query)
        theirs = (other.quality, -other.latency_ms, -other.cost_per_query)
        return ours != theirs and all(our >= their for our, their in zip(ours, theirs, strict=True))


def is_on_front(points: Sequence[FrontPoint | None]) -> list[bool]:
    """Return of each point whether no other beats it; None takes no part: it is not on the front and beats no other.

    >>> is_on_front([FrontPoint(0.9, 10.0), FrontPoint(0.8, 20.0), FrontPoint(0.7, 1.0), None])
    [True, False, True, False]
    """
    return [own is not None and not any(other.beats(own) for other in points if other) for own in points]


def _choices_of(results: Sequence[RerankerResult]) -> list[RerankerResult]:
    """Return the results to choose from, best quality first; a reference is no choice."""
    choices = [result for result in results if not result.is_reference]
    return sorted(choices, key=lambda result: -result.quality[DECIDING].mean)


def conclude(results: Sequence[RerankerResult]) -> BenchConclusions:
    """Return the best by quality, by mean latency and by balance, the first of equals; and the front."""
    choices = _choices_of(results)
    balances = [(result.balance, result.name) for result in choices if result.balance is not None]
    return BenchConclusions(
        best_quality=choices[0].name if choices else None,
        lowest_latency=min(choices, key=lambda result: result.latency.mean_ms).name if choices else None,
        best_balance=max(balances, key=lambda pair: pair[0])[1] if balances else None,
        front=[result.name for result in choices if result.is_on_front],
    )


def paired_tests(results: Sequence[RerankerResult], rankings: Sequence[Evaluated], seed: int) -> list[PairedTest]:
    """Compare every two rerankers but the references by the deciding metric, the better one first; Holm over all."""
    by_name = {result.name: ranking for result, ranking in zip(results, rankings, strict=True)}
    tests = []
    for a, b in combinations(_choices_of(results), 2):
        ours, theirs = (by_name[result.name].evaluation.values[DECIDING] for result in (a, b))
        counted = ~np.isnan(ours)
        units = resampled_units(by_name[a.name].groups.candidates.traces)
        clusters = None if units is None else units[counted]
        paired = Paired.of(ours[counted], theirs[counted], clusters, seed=seed)
        tests.append(
            PairedTest(
                metric=DECIDING,
                a=a.name,
                b=b.name,
                difference=paired.interval.mean,
                low=paired.interval.low,
                high=paired.interval.high,
                p=paired.permutation_p,
                p_holm=paired.permutation_p,
            )
        )
    adjusted = holm([test.p for test in tests])
    return [msgspec.structs.replace(test, p_holm=p) for test, p in zip(tests, adjusted, strict=True)]


def _rules_of(config: BenchConfig, rankings: Sequence[Evaluated], *, timed: int) -> BenchRules:
    """Return what the figures rest on; all rankings are evaluated by the same rules."""
    evaluation = None
    for ranking in rankings[:1]:
        result = ranking.evaluation
        evaluation = EvaluationRules(
            ties=result.rules.ties.value,
            gain=result.rules.gain,
            rel_threshold=result.rules.rel_threshold,
            no_relevant=result.rules.no_relevant.value,
            num_queries=result.num_queries,
            num_no_relevant=result.num_no_relevant,
            interval_unit=ranking.record.rules.interval_unit,
        )
    return BenchRules(
        deciding=DECIDING,
        metrics=list(config.metrics),
        metrics_version=METRICS_VERSION,
        evaluation=evaluation,
        interval_level=Interval.LEVEL,
        resamples=Interval.RESAMPLES,
        permutations=Paired.PERMUTATIONS,
        timed=timed,
        repeats=config.repeats,
        warm_up=config.warm_up,
        cost_weight=config.cost_weight,
    )


def _trained_on_queries(entries: Sequence[BenchEntry], candidates: Candidates) -> Iterator[str]:
    """Yield a warning for each trained run that learned from the traces of the bench."""
    for entry in entries:
        if registered_spelling(entry.name) == TRAINED:
            model = load_model(entry.name.partition(":")[2])
            warnings = seen_traces_warnings(*seen_traces(model, candidates))
            yield from (f"{entry.shown_name}: {warning}" for warning in warnings)


def _too_few(sample: int | None, queries: int, results: Sequence[RerankerResult]) -> Iterator[str]:
    """Yield a warning where there are fewer queries, or fewer times, than asked for or than a conclusion needs."""
    if sample is not None and sample > queries:
        yield f"sample asks for {sample:,} queries; all {queries:,} of the data were asked"
    if queries < FEWEST_QUERIES:
        yield f"{queries} queries are few: intervals are wide; {FEWEST_QUERIES} or more tell rerankers apart"
    if results and results[0].latency.too_few:
        percentiles, n = ", ".join(results[0].latency.too_few), results[0].latency.n
        yield f"{percentiles} of {n} times are estimates from the slowest"


def _short_lists(config: BenchConfig, groups: Groups) -> Iterator[str]:
    """Yield a warning where lists are short beside a catalogue that is known, and that is not ranked as a whole."""
    if config.catalogue or not config.data.tools or groups.candidates.kind == "graph":
        return
    tools, median = len(read_tools(config.data.tools)), float(np.median(np.diff(groups.offsets)))
    if is_short(median, tools):
        shown = f"{median:g} documents a query are few beside the {tools:,} tools of the catalogue"
        yield f"{shown}: --catalogue ranks all of them"
