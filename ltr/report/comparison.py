"""Several runs: their metrics side by side, tests of the differences, what their configs differ in."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ltr.comparison import ChangedQuery, Comparison, RunComparison, compare
from ltr.errors import DataError, UsageError, count
from ltr.records.training import TrainingRecord
from ltr.report.charts import Estimate, ranges
from ltr.report.metrics import FEWEST, doubt_text, interval_of, lead_sentences, queries_text, shown_baselines, title_of
from ltr.report.page import Block, Blocks, Line, Page, Points, Shown, TerminalBlock
from ltr.report.run import warnings_of
from ltr.report.table import Column, Kind, Medium, Table
from ltr.report.training import weight_or_curve
from ltr.report.words import fixed, p_value, share, signed, span
from ltr.runs import RunContents

LONGEST_VALUE = 200
SIGNIFICANT = 0.05  # two runs are different where Holm's p is smaller


def comparison_page(runs: Sequence[RunContents], seed: int = 0, made: str = "") -> str:
    """Return the page of several runs as HTML; the others are compared with the first."""
    tests: dict[str, Blocks] = {}
    try:
        comparison = _by_name(compare([Path(run.path) for run in runs], seed=seed), runs)
    except (DataError, UsageError) as error:
        conclusions = [f"These runs cannot be compared query by query: {error}"]
        subtitle = "Measured on different data."
    else:
        conclusions = [_conclusion(comparison, run) for run in comparison.runs]
        subtitle = f"Compared with {runs[0].name}."
        tests["Differences and tests"] = list(_tests(comparison))
        tests["Queries that changed most"] = [_changed_table(comparison, run) for run in comparison.runs]
    warnings = tuple(f"{run.name}: {warning}" for run in runs for warning in warnings_of(run))
    sections = {
        "Conclusions": [Points((*conclusions, *_leads(runs)))],
        "Metrics": _metrics(runs),
        **tests,
        "What the configs differ in": _configs(runs),
        "Weights": _weights(runs),
        "What validation found": [Points(warnings) if warnings else "Nothing."],
    }
    return Page(f"{len(runs)} runs compared", subtitle, sections, made).html()


def _by_name(comparison: Comparison, runs: Sequence[RunContents]) -> Comparison:
    """Return the same with names instead of paths, where no two runs share one."""
    names = {run.path: run.name for run in runs}
    if len(set(names.values())) < len(runs):
        return comparison
    others = [replace(other, run=names.get(other.run, other.run)) for other in comparison.runs]
    return replace(comparison, baseline=names.get(comparison.baseline, comparison.baseline), runs=others)


# Tables.


def differences_table(comparison: Comparison, run: RunComparison) -> Table:
    """Return a row for each metric of the run: its difference from the baseline, and the tests of it."""
    score = "{0.wins}/{0.ties}/{0.losses}".format
    columns = (
        Column("run", "run", media=Medium.TSV, value=lambda metric: run.run),
        Column("metric", "metric", media=Medium.TSV),
        Column("title", "metric", media=Medium.SHOWN, value=lambda metric: title_of(metric.metric)),
        Column("value", "run", Kind.SHARE),
        Column("baseline_value", "baseline", Kind.SHARE),
        Column("difference", "difference", Kind.DIFFERENCE),
        Column("", "95 % interval", Kind.INTERVAL),
        Column("permutation_p", "permutation p", Kind.PROBABILITY),
        Column("holm_p", f"Holm p, {comparison.family} tests", Kind.PROBABILITY),
        Column("t_p", "paired t p", Kind.PROBABILITY),
        Column("effect_size", "effect size d", Kind.EFFECT),
        Column("score", "better/same/worse", Kind.WRITTEN, Medium.SHOWN, value=score),
        *(Column(name, name, Kind.COUNT, Medium.TSV) for name in ("wins", "ties", "losses")),
    )
    return Table.of(columns, run.differences, _against(comparison, run), corner="", layout="turned")


def _against(comparison: Comparison, run: RunComparison) -> str:
    return f"{run.run} against {comparison.baseline}"


def _changed_table(comparison: Comparison, run: RunComparison) -> Table:
    """Return the queries whose metric changed most, with what stood first before and after."""

    def change(query: ChangedQuery) -> str:
        return f"{share(query.baseline_value)} → {share(query.value)}"

    columns = (
        Column("query", "query"),
        Column("change", title_of(comparison.changed_by), Kind.WRITTEN, value=change),
        Column("baseline_predicted_candidate", f"first of {comparison.baseline}"),
        Column("predicted_candidate", f"first of {run.run}"),
        Column("true_candidate", "right"),
    )
    return Table.of(columns, run.changed, _against(comparison, run))


# Sections of the page.


def _conclusion(comparison: Comparison, compared: RunComparison) -> str:
    """Say whether the run is better by the metric that its queries are sorted by."""
    decisive = next(paired for paired in compared.differences if paired.metric == comparison.changed_by)
    low, high = decisive.low, decisive.high
    tests = f"p {p_value(decisive.holm_p)} where all {count(comparison.family, 'test')} are counted (Holm)"
    what = f"{signed(decisive.difference)} {title_of(decisive.metric)}, 95 % {span(low, high)}, {tests}"
    if low is None or high is None or low <= 0 <= high or decisive.holm_p >= SIGNIFICANT:
        return f"{compared.run} is not significantly different from {comparison.baseline}: {what}."
    return f"{compared.run} is {'better' if decisive.difference > 0 else 'worse'} than {comparison.baseline}: {what}."


def _leads(runs: Sequence[RunContents]) -> Iterator[str]:
    """Say of each run whether it beats its baselines, or that too little was measured to say so."""
    for run in runs:
        doubt = doubt_text(run.metrics)
        yield from [f"{run.name}: {doubt}."] if doubt else lead_sentences(run.metrics, run.name)


def _metrics(runs: Sequence[RunContents]) -> Iterator[Block | None]:
    """Yield the metrics of each run, and the first of them drawn."""
    names = list(dict.fromkeys(name for run in runs for name in run.metrics.metrics))
    shares = (Column(name, title_of(name), Kind.SHARE) for name in names)
    columns = (Column("run", "run"), Column("num_queries", "queries", Kind.COUNT), *shares)
    beside: dict[str, Mapping[str, float | None]] = {}  # nothing where the runs rank different data
    if len({run.metrics.rules.fingerprint for run in runs}) == 1:
        beside = {title: means for run in runs for title, means in shown_baselines(run.metrics).items()}
    ways = [(title, means, runs[0]) for title, means in beside.items()]
    ways += [(run.name, run.metrics.metrics, run) for run in runs]
    rows = tuple((title, run.metrics.counts.num_queries, *map(means.get, names)) for title, means, run in ways)
    yield Table(columns, rows, "Each run, below what they must beat" if beside else "Each run")
    first, title = names[0], title_of(names[0])
    drawn = [Estimate(run.name, run.metrics.metrics.get(first), *interval_of(run.metrics, first)) for run in runs]
    yield ranges(f"{title} of each run", "With its 95 % interval, a row a run.", drawn, ("run", title))


def _tests(comparison: Comparison) -> Iterator[Block | None]:
    """Yield the differences of each run from the baseline, drawn and tested."""
    description = "Each difference with its 95 % paired bootstrap interval; the line is no difference."
    for run in comparison.runs:
        drawn = [
            Estimate(title_of(of.metric), of.difference, of.low, of.high, tip=signed(of.difference))
            for of in run.differences
        ]
        yield ranges(_against(comparison, run), description, drawn, ("metric", "difference"), zero=True)
        yield differences_table(comparison, run)
    tests = f"Holm's p is over {count(comparison.family, 'test')}; d is Cohen's"
    yield f"{_units(comparison)} resampled {comparison.resamples:,} times; {tests}."


def _units(comparison: Comparison) -> str:
    return count(comparison.num_units, comparison.unit, _plural(comparison))


def _plural(comparison: Comparison) -> str:
    return "queries" if comparison.unit == "query" else "traces"


def _configs(runs: Sequence[RunContents]) -> Iterator[Block]:
    """Yield what the configs differ in, key by key."""
    configs = [dict(config_values(run.record.task.config if run.record.task else {})) for run in runs]
    if not any(configs):
        return
    keys = dict.fromkeys(key for config in configs for key in config if key != "name")
    differing = [key for key in keys if len({repr(config.get(key)) for config in configs}) > 1]
    rows = [(key, *(_as_written(config[key]) if key in config else None for config in configs)) for key in differing]
    columns = (Column("key", "key"), *(Column(run.path, run.name) for run in runs))
    yield Table(columns, tuple(rows), "Keys with different values") if rows else "Nothing but the name."


def _as_written(value: Any) -> str:
    """Return a value as a config may have it; a long one is cut."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text[:LONGEST_VALUE]


def config_values(config: Any, path: str = "") -> list[tuple[str, Any]]:
    """Return each value of nested mappings with the path that leads to it.

    >>> config_values({"train": {"l2": 0.1}, "seed": 0})
    [('train.l2', 0.1), ('seed', 0)]
    """
    if not isinstance(config, Mapping):
        return [(path, config)]
    below = ((f"{path}.{key}" if path else str(key), value) for key, value in config.items())
    return [pair for name, value in below for pair in config_values(value, name)]


def _weights(runs: Sequence[RunContents]) -> Iterator[Block]:
    """Yield the weight of each feature in each run."""
    trainings = [run.model.training if run.model else TrainingRecord() for run in runs]
    names = list(dict.fromkeys(name for training in trainings for name in training.weights))
    if names:
        columns = (Column("feature", "feature"), *(Column(run.path, run.name, Kind.WEIGHT) for run in runs))
        rows = tuple((name, *(weight_or_curve(training, name) for training in trainings)) for name in names)
        yield Table(columns, rows, "Weights as they multiply the features")


# On a terminal.


def shown_comparison(comparison: Comparison) -> Shown:
    """Return the comparison: each run against the baseline."""

    def rows() -> Iterator[Sequence[object]]:
        for place, run in enumerate(comparison.runs):
            heads, *values = differences_table(comparison, run).tsv()
            yield from values if place else (heads, *values)

    return Shown(asdict(comparison), rows(), _blocks(comparison))


def _blocks(comparison: Comparison) -> Iterator[TerminalBlock]:
    metric = title_of(comparison.changed_by)
    for run in comparison.runs:
        yield Line(_against(comparison, run), "cut", is_bold=True)
        yield differences_table(comparison, run)
        if run.changed:
            yield Line(f"queries whose {metric} changed most:", is_bold=True)
            yield from (line for query in run.changed for line in _changed_lines(query))
        else:
            yield Line(f"no query changed its {metric}")
        yield Line()
    yield _rules(comparison)


def _changed_lines(changed: ChangedQuery) -> Iterator[Line]:
    """Yield one query: from what to what, what was first, what is right."""
    names = (changed.baseline_predicted_candidate, changed.predicted_candidate, changed.true_candidate)
    before, now, right = (name or "-" for name in names)
    yield Line(f"  {fixed(changed.baseline_value)} -> {fixed(changed.value)}  {changed.query}", "cut")
    yield Line(f"    first: {f'{before} -> {now}' if before != now else now}; right: {right}", "cut")


def _rules(comparison: Comparison) -> str:
    """Say what the numbers rest on."""
    text = (
        f"{queries_text(comparison.num_queries)}; intervals: {comparison.resamples:,} bootstrap samples of "
        f"{_units(comparison)}; p: {comparison.permutations:,} random sign flips, or every flip where 12 or fewer of "
        "these differ"
    )
    if comparison.num_units < FEWEST:
        text += f"; fewer than {FEWEST} {_plural(comparison)} are too few to be sure"
    return text
