"""The page of one run: how good it is, why, how far to trust it, and what it was made of."""

from collections.abc import Iterator

from ltr.files.reading import AnyPath
from ltr.reporting.calibration import calibration_section
from ltr.reporting.charts import Estimate, Words, estimates
from ltr.reporting.conclusions import conclusions, units_text
from ltr.reporting.instructive_queries import instructive_section
from ltr.reporting.learning import learning_section
from ltr.reporting.metric_tables import BASELINES, TITLES, MetricRow, metrics_table, parts_table, title_of
from ltr.reporting.numbers import COUNT, Bounds, count, share, short, signed, span
from ltr.reporting.page import Block, Code, Fact, Page, Points, Section, Text, page_html
from ltr.reporting.reading import RunFiles, read_run
from ltr.reporting.table import Column, Table, Value
from ltr.reporting.weights import weights_section
from ltr.storage.records import RunRecord

MOST_PARTS = 30
MOST_CODE = 20_000
SPLITS = {"test": "test data", "train": "training data", "given": "samples given"}


def run_page(directory: AnyPath, record: RunRecord) -> str:
    """The page of a run that lies there all but its record, which will say this; same input, same bytes."""
    return page_html(run_view(read_run(directory, record)))


def run_view(run: RunFiles, made: str = "") -> Page:
    """The page of a run, or of an evaluation."""
    what = f"Ranks {run.model.kind}s" if run.model else "Ranked queries"
    warnings = (*run.record.warnings, *(run.model.training.warnings if run.model else ()))
    findings: list[Block] = [Points(warnings)] if warnings else []
    if run.is_recorded and not warnings:
        findings = [Text("Nothing: no leak, no overlap, no weight that cannot be read was found.")]
    config: list[Block] = [Code("config.yaml: everything that was decided", run.config[:MOST_CODE])]
    if len(run.config) > MOST_CODE:
        config.append(Text("The rest is in config.yaml."))
    sections = [
        Section("Conclusions", (Points(conclusions(run)),)),
        Section("Metrics", tuple(_metrics(run))),
        *([learning_section(run.model, run.history), weights_section(run.model.training)] if run.model else []),
        calibration_section(run),
        instructive_section(run),
        Section("What validation found", findings),
        Section("Config", config if run.config else ()),
        Section("Provenance", tuple(_provenance(run))),
    ]
    return Page(run.name, f"{what}; measured on {measured_on(run)}.", sections, made, facts(run))


def measured_on(run: RunFiles) -> str:
    """How many queries the numbers are of, and what they are."""
    split = run.metrics.rules.split
    return f"{count(run.metrics.counts.num_queries, 'query', 'queries')}, {SPLITS.get(split, f'{split} data')}"


def facts(run: RunFiles) -> tuple[Fact, ...]:
    """The headline, and the lead over the best feature, each with its interval."""
    metrics, lead = run.metrics.metrics, run.metrics.over_best_feature
    shown = [(title, share(metrics.get(name)), metric_interval(run, name)) for name, title in TITLES.items()]
    if lead is not None and lead.mean is not None:
        shown.append(("top-1 over best feature", signed(lead.mean), Bounds(lead.low, lead.high)))
    return tuple(Fact(title, value, "" if None in ends else f"95 % {span(*ends)}") for title, value, ends in shown)


def metric_interval(run: RunFiles, name: str) -> Bounds:
    """The 95 % interval of a metric."""
    interval = run.metrics.intervals.get(name)
    return Bounds(None, None) if interval is None else Bounds(interval.low, interval.high)


def metric_rows(run: RunFiles) -> list[MetricRow]:
    """Each metric of the run beside the baselines that have it."""
    rows = []
    for name in run.metric_names:
        baselines = {baseline: means.get(name) for baseline, means in run.metrics.baselines.items()}
        values = {baseline: value for baseline, value in baselines.items() if value is not None}
        rows.append(MetricRow(name, run.metrics.metrics[name], metric_interval(run, name), values))
    return rows


def _metrics(run: RunFiles) -> Iterator[Block]:
    """The metrics beside what they must beat, drawn and in a table, and what made the numbers."""
    rows = metric_rows(run)
    best = run.metrics.best_feature
    best_title = "" if best is None else f"{'-' if best.sign == -1 else ''}{best.name}"
    table = metrics_table(rows, "the model" if run.model else "the ranking", best_title)
    names = (table.columns[1].title, *(column.title for column in table.columns[3:]))
    drawn = []
    for row in rows:
        others = [(BASELINES[column.key], row.baselines.get(column.key)) for column in table.columns[3:]]
        values = [value for value in (row.value, *row.interval, *(value for _, value in others)) if value is not None]
        if values and all(0 <= value <= 1 for value in values):
            tip = f"{title_of(row.name)} {share(row.value)} {span(*row.interval)}"
            drawn.append(Estimate(title_of(row.name), row.value, *row.interval, others=tuple(others), tip=tip))
    has_baselines = len(names) > 1
    words = Words(
        "Metrics beside what they must beat" if has_baselines else "Metrics",
        f"Each metric with its 95 % bootstrap interval{', and the same of the baselines' if has_baselines else ''}.",
        table,
    )
    figure = estimates(words, drawn, names)
    yield from [figure] if figure else []
    yield Points(tuple(_rules(run)))
    yield table
    if breakdown := run.metrics.breakdown:
        yield parts_table(breakdown.field, breakdown.parts, MOST_PARTS)
        if len(breakdown.parts) > MOST_PARTS:
            yield Text(f"and {len(breakdown.parts) - MOST_PARTS:,} more in metrics.json")


def _rules(run: RunFiles) -> Iterator[str]:
    """What made the numbers."""
    rules, counts = run.metrics.rules, run.metrics.counts
    tied = count(counts.num_tied, "query", "queries")
    yield f"Equal scores: rule {rules.ties}; {tied} with a right candidate in a tie."
    if counts.num_no_relevant:
        no_relevant = count(counts.num_no_relevant, "query", "queries")
        yield f"Without a right candidate: {no_relevant}; rule {rules.no_relevant}."
    if counts.num_one_candidate:
        yield f"With a single candidate: {count(counts.num_one_candidate, 'query', 'queries')}; counted."
    if counts.interval_num_units:
        yield f"Intervals resample {units_text(run)}."
    if best := run.metrics.best_feature:
        yield f"Best single feature: {best.name}, chosen on the training groups."


def _provenance(run: RunFiles) -> Iterator[Block]:
    """What went in, and with what it was computed."""
    if run.record.inputs:
        columns = (Column("file", "file"), Column("bytes", "bytes", COUNT), Column("sha256", "sha256"))
        files: tuple[tuple[Value, ...], ...] = tuple((each.path, each.bytes, each.sha256) for each in run.record.inputs)
        yield Table(columns, files, "Files that were read")
    facts: dict[str, object] = {"seed": run.record.seed if run.is_recorded else None}
    if run.model:
        encoder = run.model.encoder
        facts["encoder"] = f"{encoder.get('name')}, revision {encoder.get('revision')}" if encoder else ""
        facts["model"] = run.model.checksum
    facts |= {
        "fingerprint": run.metrics.rules.fingerprint,
        "version of the metrics": run.metrics.rules.metrics_version,
    }
    versions = run.record.task.get("versions")
    facts |= {f"version of {name}": value for name, value in versions.items()} if isinstance(versions, dict) else {}
    facts |= {f"machine: {name}": value for name, value in run.record.machine.items()}
    facts |= {f"time: {name}": f"{short(value)} s" for name, value in run.record.timings.items()}
    rows = tuple((name, str(value)) for name, value in facts.items() if value not in (None, ""))
    yield Table((Column("what", "what"), Column("value", "value")), rows, "What decided the result")
