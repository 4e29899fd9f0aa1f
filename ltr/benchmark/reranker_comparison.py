"""Measurements become results: quality with intervals, paired tests, costs, the front, conclusions, warnings."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import msgspec
import numpy as np

from ltr.benchmark.config import DECIDING, BenchConfig, BenchEntry
from ltr.benchmark.isolated_measurement import Measurement
from ltr.benchmark.latency_cost_and_front import FrontPoint, balanced, cost, is_on_front, latency, throughput
from ltr.config.run import EvaluateConfig, RunConfig
from ltr.data.candidates import Candidates
from ltr.data.catalogues.tools import read_tools
from ltr.data.groups import Groups
from ltr.data.none_of_these_groups import none_warnings
from ltr.evaluation.bootstrap import LEVEL, RESAMPLES, bootstrap_mean, resampled_units
from ltr.evaluation.significance import PERMUTATIONS, differences, holm, permutation_p, unit_sums
from ltr.rerankers.registry import RERANKERS, registered_spelling
from ltr.results.evaluated import Evaluated
from ltr.results.measuring import evaluate_groups
from ltr.serving.training_trace_marks import training_trace_warnings
from ltr.steps.catalogue import is_short
from ltr.storage.bench_record import (
    BenchConclusions,
    BenchRecord,
    BenchRules,
    EvaluationRules,
    Failed,
    LeftOut,
    PairedTest,
    Quality,
    RerankerResult,
)
from ltr.storage.evaluation_records import METRICS_VERSION
from ltr.storage.model_file import load_model

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
    """The figures of all rerankers that were measured, and what to choose."""
    measured = [(entry, outcome) for entry, outcome in outcomes if isinstance(outcome, Measurement)]
    rankings = [ranking_of(groups, measurement, config) for _, measurement in measured]
    results = with_front([result_of(*pair, ranking, config) for pair, ranking in zip(measured, rankings, strict=True)])
    queries = len(groups.offsets) - 1
    record = BenchRecord(
        name=config.name,
        seed=config.seed,
        queries=queries,
        documents=int(groups.offsets[-1]),
        catalogue=config.catalogue,
        queries_in_data=queries_in_data,
        sampled=queries < queries_in_data,
        rules=rules_of(config, rankings, timed=len(measured[0][1].timed) if measured else 0),
        rerankers=results,
        left_out=[outcome for _, outcome in outcomes if isinstance(outcome, LeftOut)],
        failed=[outcome for _, outcome in outcomes if isinstance(outcome, Failed)],
        comparisons=paired_tests(results, rankings, config.seed),
        conclusions=conclude(results),
        warnings=[
            *none_warnings(groups),
            *trained_on_queries([entry for entry, _ in measured], groups.candidates),
            *too_few(config.sample, queries, results),
            *short_lists(config, groups),
        ],
    )
    measurements = [measurement for _, measurement in measured]
    return Bench(config=config, groups=groups, measurements=measurements, rankings=rankings, record=record)


def ranking_of(groups: Groups, measurement: Measurement, config: BenchConfig) -> Evaluated:
    """The groups ranked by the scores and evaluated by the rules of the bench."""
    scores = np.concatenate([np.array(measurement.scores[query]) for query in range(len(groups.offsets) - 1)])
    rules = EvaluateConfig(
        metrics=config.metrics, ties=config.ties, rel_threshold=config.rel_threshold, baselines=False
    )
    return evaluate_groups(groups, scores[:, np.newaxis], scores, RunConfig(seed=config.seed, evaluate=rules))


def result_of(entry: BenchEntry, measurement: Measurement, ranking: Evaluated, config: BenchConfig) -> RerankerResult:
    """The figures of one reranker by itself."""
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


def with_front(results: Sequence[RerankerResult]) -> list[RerankerResult]:
    """The results, those on the front marked; a reference takes no part."""
    points = [
        None
        if result.is_reference
        else FrontPoint(
            result.quality[DECIDING].mean,
            result.latency.mean_ms,
            result.cost.per_query if result.cost else 0.0,
        )
        for result in results
    ]
    marks = is_on_front(points)
    return [msgspec.structs.replace(result, is_on_front=mark) for result, mark in zip(results, marks, strict=True)]


def choices_of(results: Sequence[RerankerResult]) -> list[RerankerResult]:
    """The results to choose from, best quality first; a reference is no choice."""
    choices = [result for result in results if not result.is_reference]
    return sorted(choices, key=lambda result: -result.quality[DECIDING].mean)


def conclude(results: Sequence[RerankerResult]) -> BenchConclusions:
    """The best by quality, by mean latency and by balance, the first of equals; and the front."""
    choices = choices_of(results)
    balances = [(result.balance, result.name) for result in choices if result.balance is not None]
    return BenchConclusions(
        best_quality=choices[0].name if choices else None,
        lowest_latency=min(choices, key=lambda result: result.latency.mean_ms).name if choices else None,
        best_balance=max(balances, key=lambda pair: pair[0])[1] if balances else None,
        front=[result.name for result in choices if result.is_on_front],
    )


def paired_tests(results: Sequence[RerankerResult], rankings: Sequence[Evaluated], seed: int) -> list[PairedTest]:
    """Every two rerankers but the references by the deciding metric, the better one first; Holm over all pairs."""
    by_name = {result.name: ranking for result, ranking in zip(results, rankings, strict=True)}
    tests = []
    for a, b in combinations(choices_of(results), 2):
        ours, theirs = (by_name[result.name].evaluation.values[DECIDING] for result in (a, b))
        counted = ~np.isnan(ours)
        units = resampled_units(by_name[a.name].groups.candidates.traces)
        clusters = None if units is None else units[counted]
        paired = differences(ours[counted], theirs[counted])
        interval = bootstrap_mean(paired, np.random.default_rng(seed), clusters=clusters)
        p = permutation_p(unit_sums(paired, clusters), np.random.default_rng(seed))
        tests.append(
            PairedTest(
                metric=DECIDING,
                a=a.name,
                b=b.name,
                difference=interval.mean,
                low=interval.low,
                high=interval.high,
                p=p,
                p_holm=p,
            )
        )
    adjusted = holm([test.p for test in tests])
    return [msgspec.structs.replace(test, p_holm=p) for test, p in zip(tests, adjusted, strict=True)]


def rules_of(config: BenchConfig, rankings: Sequence[Evaluated], *, timed: int) -> BenchRules:
    """What the figures rest on; all rankings are evaluated by the same rules."""
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
        interval_level=LEVEL,
        resamples=RESAMPLES,
        permutations=PERMUTATIONS,
        timed=timed,
        repeats=config.repeats,
        warm_up=config.warm_up,
        cost_weight=config.cost_weight,
    )


def trained_on_queries(entries: Sequence[BenchEntry], candidates: Candidates) -> Iterator[str]:
    """A warning for each trained run that learned from the traces of the bench."""
    for entry in entries:
        if registered_spelling(entry.name) == TRAINED:
            model = load_model(entry.name.partition(":")[2])
            yield from (f"{entry.shown_name}: {warning}" for warning in training_trace_warnings(model, candidates))


def short_lists(config: BenchConfig, groups: Groups) -> Iterator[str]:
    """A warning where lists are short beside a catalogue that is known, and that is not ranked as a whole."""
    if config.catalogue or not config.data.tools or groups.candidates.kind == "graph":
        return
    tools, median = len(read_tools(config.data.tools)), float(np.median(np.diff(groups.offsets)))
    if is_short(median, tools):
        shown = f"{median:g} documents a query are few beside the {tools:,} tools of the catalogue"
        yield f"{shown}: --catalogue ranks all of them"


def too_few(sample: int | None, queries: int, results: Sequence[RerankerResult]) -> Iterator[str]:
    """A warning where there are fewer queries, or fewer times, than asked for or than a conclusion needs."""
    if sample is not None and sample > queries:
        yield f"sample asks for {sample:,} queries; all {queries:,} of the data were asked"
    if queries < FEWEST_QUERIES:
        yield f"{queries} queries are few: intervals are wide; {FEWEST_QUERIES} or more tell rerankers apart"
    if results and results[0].latency.too_few:
        percentiles, n = ", ".join(results[0].latency.too_few), results[0].latency.n
        yield f"{percentiles} of {n} times are estimates from the slowest"
