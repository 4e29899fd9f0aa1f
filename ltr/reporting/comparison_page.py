"""Several runs: their metrics side by side, tests of the differences, what their configs differ in."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ltr.errors import DataError, UsageError, count
from ltr.reporting.charts import Estimate, Words, estimates, estimates_table
from ltr.reporting.conclusions import doubt_text, lead_sentences
from ltr.reporting.metric_tables import differences_table, interval_of
from ltr.reporting.metric_titles import shown_baselines, title_of
from ltr.reporting.number_formats import p_value, share, signed, span
from ltr.reporting.page import Block, Page, Points, Section, Text
from ltr.reporting.table import Column, Kind, Table, table_of
from ltr.reporting.weights_and_curves import weight_or_curve
from ltr.results.comparison import Comparison, RunComparison, compare
from ltr.storage.run_contents import RunContents
from ltr.storage.training_record import TrainingRecord

LONGEST_VALUE = 200
SIGNIFICANT = 0.05  # two runs are different where Holm's p is smaller


def comparison_view(runs: Sequence[RunContents], seed: int = 0, made: str = "") -> Page:
    """The page of several runs; the others are compared with the first."""
    try:
        comparison = by_name(compare([Path(run.path) for run in runs], seed=seed), runs)
    except (DataError, UsageError) as error:
        conclusions = [f"These runs cannot be compared query by query: {error}"]
        tests, subtitle = list[Section](), "Measured on different data."
    else:
        conclusions = [_conclusion(comparison, run) for run in comparison.runs]
        tests, subtitle = _tests(comparison), f"Compared with {runs[0].name}."
    warnings = tuple(
        f"{run.name}: {warning}"
        for run in runs
        for warning in (*run.record.warnings, *(run.model.training.warnings if run.model else ()))
    )
    sections = [
        Section("Conclusions", (Points((*conclusions, *_leads(runs))),)),
        Section("Metrics", tuple(_metrics(runs))),
        *tests,
        Section("What the configs differ in", tuple(_configs(runs))),
        Section("Weights", tuple(_weights(runs))),
        Section("What validation found", (Points(warnings) if warnings else Text("Nothing."),)),
    ]
    return Page(f"{len(runs)} runs compared", subtitle, sections, made)


def by_name(comparison: Comparison, runs: Sequence[RunContents]) -> Comparison:
    """The same with names instead of paths, where no two runs share one."""
    names = {run.path: run.name for run in runs}
    if len(set(names.values())) < len(runs):
        return comparison
    others = [replace(other, run=names.get(other.run, other.run)) for other in comparison.runs]
    return replace(comparison, baseline=names.get(comparison.baseline, comparison.baseline), runs=others)


def _leads(runs: Sequence[RunContents]) -> Iterator[str]:
    """Of each run whether it beats its baselines, or that too little was measured to say so."""
    for run in runs:
        if doubt := doubt_text(run.metrics):
            yield f"{run.name}: {doubt}."
        else:
            yield from lead_sentences(run.metrics, run.name)


def _conclusion(comparison: Comparison, compared: RunComparison) -> str:
    """Whether the run is better by the metric that its queries are sorted by."""
    decisive = next(paired for paired in compared.differences if paired.metric == comparison.changed_by)
    low, high = decisive.low, decisive.high
    tests = f"p {p_value(decisive.holm_p)} where all {count(comparison.family, 'test')} are counted (Holm)"
    what = f"{signed(decisive.difference)} {title_of(decisive.metric)}, 95 % {span(low, high)}, {tests}"
    if low is None or high is None or low <= 0 <= high or decisive.holm_p >= SIGNIFICANT:
        return f"{compared.run} is not significantly different from {comparison.baseline}: {what}."
    return f"{compared.run} is {'better' if decisive.difference > 0 else 'worse'} than {comparison.baseline}: {what}."


def _metrics(runs: Sequence[RunContents]) -> Iterator[Block]:
    """The metrics of each run, and the first of them drawn."""
    names = list(dict.fromkeys(name for run in runs for name in run.metrics.metrics))
    columns = (
        Column("run", "run"),
        Column("num_queries", "queries", Kind.COUNT),
        *(Column(name, title_of(name), Kind.SHARE) for name in names),
    )
    beside = _baselines(runs)
    ways = [*beside.items(), *((run.name, run.metrics.metrics) for run in runs)]
    counts = [runs[0].metrics.counts] * len(beside) + [run.metrics.counts for run in runs]
    rows = tuple((name, of.num_queries, *map(means.get, names)) for (name, means), of in zip(ways, counts, strict=True))
    yield Table(columns, rows, "Each run, below what they must beat" if beside else "Each run")
    first = names[0]
    drawn = [Estimate(run.name, run.metrics.metrics.get(first), *interval_of(run.metrics, first)) for run in runs]
    title = f"{title_of(first)} of each run"
    numbers = estimates_table(title, ("run", title_of(first)), drawn)
    figure = estimates(Words(title, "With its 95 % interval, a row a run.", numbers), drawn)
    yield from [figure] if figure else []


def _baselines(runs: Sequence[RunContents]) -> dict[str, Mapping[str, float | None]]:
    """What needs no training, by title; nothing where the runs rank different data."""
    if len({run.metrics.rules.fingerprint for run in runs}) > 1:
        return {}
    return {title: means for run in runs for title, means in shown_baselines(run.metrics).items()}


def changed_table(comparison: Comparison, run: RunComparison) -> Table:
    """The queries whose metric changed most, with what stood first before and after."""
    columns = (
        Column("query", "query"),
        Column(
            "change",
            title_of(comparison.changed_by),
            Kind.WRITTEN,
            value=lambda query: f"{share(query.baseline_value)} → {share(query.value)}",
        ),
        Column("baseline_predicted_candidate", f"first of {comparison.baseline}"),
        Column("predicted_candidate", f"first of {run.run}"),
        Column("true_candidate", "right"),
    )
    return table_of(columns, run.changed, f"{run.run} against {comparison.baseline}")


def _tests(comparison: Comparison) -> list[Section]:
    """The differences of each run from the baseline, drawn and tested; and the queries that changed most."""
    blocks: list[Block] = []
    changed: list[Block] = []
    for run in comparison.runs:
        title = f"{run.run} against {comparison.baseline}"
        drawn = [
            Estimate(title_of(metric.metric), metric.difference, metric.low, metric.high, tip=signed(metric.difference))
            for metric in run.differences
        ]
        description = "Each difference with its 95 % paired bootstrap interval; the line is no difference."
        words = Words(title, description, estimates_table(title, ("metric", "difference"), drawn))
        figure = estimates(words, drawn, zero=True)
        blocks += [*([figure] if figure else []), differences_table(comparison, [run])]
        changed.append(changed_table(comparison, run))
    units = count(comparison.num_units, comparison.unit, "queries" if comparison.unit == "query" else "traces")
    tests = f"Holm's p is over {count(comparison.family, 'test')}; d is Cohen's"
    blocks.append(Text(f"{units} resampled {comparison.resamples:,} times; {tests}."))
    return [Section("Differences and tests", blocks), Section("Queries that changed most", changed)]


def _configs(runs: Sequence[RunContents]) -> Iterator[Block]:
    """What the configs differ in, key by key."""
    configs = [dict(config_values(run.record.task.config if run.record.task else {})) for run in runs]
    if not any(configs):
        return
    keys = list(dict.fromkeys(key for config in configs for key in config if key != "name"))
    differing = [key for key in keys if len({repr(config.get(key)) for config in configs}) > 1]
    columns = (Column("key", "key"), *(Column(run.path, run.name) for run in runs))
    rows = tuple(
        (key, *(_as_written(config[key]) if key in config else None for config in configs)) for key in differing
    )
    yield Table(columns, rows, "Keys with different values") if rows else Text("Nothing but the name.")


def _as_written(value: Any) -> str:
    """A value as a config may have it; a long one is cut."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text[:LONGEST_VALUE]


def config_values(config: Any, path: str = "") -> list[tuple[str, Any]]:
    """Each value of nested mappings with the path that leads to it.

    >>> config_values({"train": {"l2": 0.1}, "seed": 0})
    [('train.l2', 0.1), ('seed', 0)]
    """
    if not isinstance(config, Mapping):
        return [(path, config)]
    return [
        pair for key, value in config.items() for pair in config_values(value, f"{path}.{key}" if path else str(key))
    ]


def _weights(runs: Sequence[RunContents]) -> Iterator[Block]:
    """The weight of each feature in each run."""
    trainings = [run.model.training if run.model else TrainingRecord() for run in runs]
    names = list(dict.fromkeys(name for training in trainings for name in training.weights))
    if names:
        columns = (Column("feature", "feature"), *(Column(run.path, run.name, Kind.WEIGHT) for run in runs))
        rows = tuple((name, *(weight_or_curve(training, name) for training in trainings)) for name in names)
        yield Table(columns, rows, "Weights as they multiply the features")
