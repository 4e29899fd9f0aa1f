"""The page of several runs: their metrics side by side, tests of the differences, what their configs differ in."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ltr.errors import DataError, UsageError
from ltr.reporting.blocks import Block, Page, Points, Row, Section, Table, Text
from ltr.reporting.charts import Estimate, Words, drawn_table, estimates
from ltr.reporting.figures import NONE, count, share, short, signed, span
from ltr.reporting.learning import weight_text
from ltr.reporting.reading import RunFiles
from ltr.reporting.runs import HEADLINE
from ltr.results.comparison import Comparison, Difference, RunComparison, compare_runs
from ltr.storage.records import TrainingRecord

LONGEST_VALUE = 200
SURE = 0.05  # a smaller p tells two runs apart


def comparison_view(runs: Sequence[RunFiles], seed: int = 0, made: str = "") -> Page:
    """The page of several runs; the first is what the others are held against."""
    try:
        compared: Comparison | str = by_name(compare_runs([Path(run.path) for run in runs], seed=seed), runs)
    except (DataError, UsageError) as error:
        compared = f"These runs cannot be compared query by query: {error}"
    sections = [
        Section("Conclusions", (Points(tuple(_conclusions(compared))),)),
        _metrics(runs),
        *_tested(compared),
        _configs(runs),
        _weights(runs),
        _findings(runs),
    ]
    title = f"{len(runs)} runs compared"
    subtitle = f"Compared with {runs[0].name}." if isinstance(compared, Comparison) else "Measured on different data."
    return Page(title, subtitle, [section for section in sections if section.blocks], made)


def by_name(comparison: Comparison, runs: Sequence[RunFiles]) -> Comparison:
    """The same with names instead of paths, where no two runs share one."""
    names = {run.path: run.name for run in runs}
    if len(set(names.values())) < len(runs):
        return comparison
    others = [replace(each, run=names.get(each.run, each.run)) for each in comparison.runs]
    return replace(comparison, baseline=names.get(comparison.baseline, comparison.baseline), runs=others)


def _conclusions(compared: Comparison | str) -> list[str]:
    if isinstance(compared, str):
        return [compared]
    return [_conclusion(compared, each) for each in compared.runs]


def _conclusion(comparison: Comparison, compared: RunComparison) -> str:
    """Whether the run is better by the metric that its queries are sorted by."""
    found = next(each for each in compared.differences if each.metric == comparison.changed_by)
    tests = f"p {short(found.holm_p)} where all {count(comparison.family, 'test')} are counted (Holm)"
    what = f"{signed(found.difference)} {_label(found.metric)}, 95 % {span(found.low, found.high)}, {tests}"
    if found.low is None or found.high is None or found.low <= 0 <= found.high or found.holm_p >= SURE:
        return f"{compared.run} cannot be told from {comparison.baseline}: {what}."
    return f"{compared.run} is {'better' if found.difference > 0 else 'worse'} than {comparison.baseline}: {what}."


def _label(metric: str) -> str:
    return HEADLINE.get(metric, metric)


def _metrics(runs: Sequence[RunFiles]) -> Section:
    names = list(dict.fromkeys(name for run in runs for name in run.measured))
    rows = tuple(
        (run.name, f"{run.number('num_queries') or 0:,.0f}", *(share(run.number(name)) for name in names))
        for run in runs
    )
    first = names[0]
    table = Table("Each run", ("run", "queries", *map(_label, names)), rows)
    drawn = [
        Estimate(run.name, run.number(first), run.number(f"{first}.low"), run.number(f"{first}.high")) for run in runs
    ]
    title = f"{_label(first)} of each run"
    numbers = drawn_table(title, ("run", _label(first)), drawn)
    figure = estimates(Words(title, "With its 95 % interval, a row a run.", numbers), drawn)
    return Section("Metrics", (table, *([figure] if figure else [])))


def _tested(compared: Comparison | str) -> list[Section]:
    if isinstance(compared, str):
        return []
    tests = [block for each in compared.runs for block in _differences(compared, each)]
    changes = [_changed(compared, each) for each in compared.runs]
    units = count(compared.num_units, compared.unit, "queries" if compared.unit == "query" else "traces")
    tested = f"Holm's p is over {count(compared.family, 'test')}; d is Cohen's"
    rule = f"{units} resampled {compared.resamples:,} times; {tested}."
    return [Section("Differences and tests", (*tests, Text(rule))), Section("Queries that changed most", changes)]


def _differences(comparison: Comparison, compared: RunComparison) -> list[Block]:
    """The differences of a run from the baseline, drawn, and tested."""
    title = f"{compared.run} against {comparison.baseline}"
    drawn = [
        Estimate(_label(each.metric), each.difference, each.low, each.high, tip=signed(each.difference))
        for each in compared.differences
    ]
    words = Words(
        title,
        "Each difference with its 95 % paired bootstrap interval; the line is no difference.",
        drawn_table(title, ("metric", "difference"), drawn),
    )
    heads = ("metric", "run", "baseline", "difference", "95 %", "p", "Holm p", "d", "better/same/worse")
    table = Table(title, heads, tuple(map(_difference, compared.differences)))
    figure = estimates(words, drawn, zero=True)
    return [figure, table] if figure else [table]


def _difference(found: Difference) -> Row:
    return (
        _label(found.metric),
        share(found.value),
        share(found.baseline_value),
        signed(found.difference),
        span(found.low, found.high),
        short(found.permutation_p),
        short(found.holm_p),
        NONE if found.effect_size is None else signed(found.effect_size),
        f"{found.wins}/{found.ties}/{found.losses}",
    )


def _changed(comparison: Comparison, compared: RunComparison) -> Block:
    rows = tuple(
        (
            each.query,
            f"{share(each.baseline_value)} → {share(each.value)}",
            each.baseline_predicted_candidate or NONE,
            each.predicted_candidate or NONE,
            each.true_candidate or NONE,
        )
        for each in compared.changed
    )
    heads = (
        "query",
        _label(comparison.changed_by),
        f"first of {comparison.baseline}",
        f"first of {compared.run}",
        "right",
    )
    return Table(f"{compared.run} against {comparison.baseline}", heads, rows, words=frozenset({0, 2, 3, 4}))


def _configs(runs: Sequence[RunFiles]) -> Section:
    """What the configs differ in, key by key."""
    configs = [dict(flat(run.record.task.get("config", {}))) for run in runs]
    keys = list(dict.fromkeys(key for config in configs for key in config if key != "name"))
    differing = [key for key in keys if len({repr(config.get(key)) for config in configs}) > 1]
    if not any(configs):
        return Section("What the configs differ in", ())
    rows = tuple((key, *(str(config.get(key, NONE))[:LONGEST_VALUE] for config in configs)) for key in differing)
    heads = ("key", *(run.name for run in runs))
    words = frozenset(range(len(heads)))
    table = Table("Keys with different values", heads, rows, words=words)
    return Section("What the configs differ in", (table,) if rows else (Text("Nothing but the name."),))


def flat(config: Any, path: str = "") -> list[tuple[str, Any]]:
    """Each value of nested mappings with the path that leads to it.

    >>> flat({"train": {"l2": 0.1}, "seed": 0})
    [('train.l2', 0.1), ('seed', 0)]
    """
    if not isinstance(config, Mapping):
        return [(path, config)]
    return [pair for key, value in config.items() for pair in flat(value, f"{path}.{key}" if path else str(key))]


def _weights(runs: Sequence[RunFiles]) -> Section:
    """The weight of each feature in each run."""
    known = [run.model.training if run.model else TrainingRecord() for run in runs]
    names = list(dict.fromkeys(name for each in known for name in each.weights))
    rows = tuple((name, *(weight_text(each, name) for each in known)) for name in names)
    table = Table("Weights as they multiply the features", ("feature", *(run.name for run in runs)), rows)
    return Section("Weights", (table,) if rows else ())


def _findings(runs: Sequence[RunFiles]) -> Section:
    said = tuple(f"{run.name}: {warning}" for run in runs for warning in run.record.warnings)
    return Section("What validation found", (Points(said) if said else Text("Nothing."),))
