"""The page of one run: how good it is, why, how far to trust it, and what it was made of."""

from collections.abc import Iterator

from ltr.errors import count
from ltr.evaluation.baselines import BASELINES, BEST_FEATURE, ORACLE, RANDOM, baseline_title
from ltr.reporting.abstention_section import abstaining_section
from ltr.reporting.charts import Estimate, Words, estimates
from ltr.reporting.conclusions import conclusions, units_text
from ltr.reporting.instructive_queries import instructive_section
from ltr.reporting.metric_sentences import counts_text, known_texts, lacking_text, left_out_text, past_text
from ltr.reporting.metric_tables import interval_of, metrics_table, parts_table
from ltr.reporting.metric_titles import TITLES, lead_title, title_of
from ltr.reporting.none_of_these_section import none_section
from ltr.reporting.number_formats import share, short, signed, span
from ltr.reporting.page import Block, Code, Fact, Page, Points, Section, Text, page_html
from ltr.reporting.prompt_savings_section import prompt_section
from ltr.reporting.ranks_and_calibration_section import calibration_section
from ltr.reporting.table import Bounds, Column, Kind, Table, table_of
from ltr.reporting.tool_tables import tools_section
from ltr.reporting.training_section import learning_section
from ltr.reporting.weights_and_curves import weights_section
from ltr.results.record import leads
from ltr.storage.evaluation_records import MetricsRecord
from ltr.storage.run_contents import RunContents

MOST_PARTS = 30
MOST_CODE = 20_000
CHOSEN = {
    False: "of the rankings that need no training the best on the training groups",
    True: "of all columns that were made the best on the training groups",
}
SPLITS = {"test": "test data", "train": "training data", "given": "samples given"}


def run_page(run: RunContents) -> str:
    """The page of a run as HTML; same input, same bytes."""
    return page_html(run_view(run))


def run_view(run: RunContents, made: str = "") -> Page:
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
        Section("Metrics", tuple(_metrics(run.metrics, "the model" if run.model else "the ranking"))),
        *([learning_section(run.model, run.history), weights_section(run.model.training)] if run.model else []),
        calibration_section(run),
        *none_section(run.model, run.metrics),
        *abstaining_section(run),
        *prompt_section(run),
        tools_section(run.tools),
        instructive_section(run),
        Section("What validation found", findings),
        Section("Config", config if run.config else ()),
        Section("Provenance", tuple(_provenance(run))),
    ]
    return Page(run.name, f"{what}; measured on {measured_on(run.metrics)}.", sections, made, facts(run.metrics))


def measured_on(record: MetricsRecord) -> str:
    """How many queries the numbers are of, and what they are."""
    split = record.rules.split
    return f"{count(record.counts.num_queries, 'query', 'queries')}, {SPLITS.get(split, f'{split} data')}"


def facts(record: MetricsRecord) -> tuple[Fact, ...]:
    """The headline, and the leads over the best baseline and the best single column, each with its interval."""
    shown = [(title, share(record.metrics.get(name)), interval_of(record, name)) for name, title in TITLES.items()]
    shown += [
        (lead_title(name, record), signed(lead.mean), Bounds(lead.low, lead.high))
        for name, lead in leads(record).items()
    ]
    return tuple(Fact(title, value, "" if None in ends else f"95 % {span(*ends)}") for title, value, ends in shown)


def _metrics(record: MetricsRecord, own: str) -> Iterator[Block]:
    """The metrics beside what they must beat, drawn and in a table, and what made the numbers."""
    table = metrics_table(record, own)
    compared = (RANDOM, *leads(record), ORACLE)  # so many as a drawing has looks for
    baselines = [column for column in table.columns if column.key in compared]
    drawn = []
    for name, value in record.metrics.items():
        ends = interval_of(record, name)
        others = tuple((BASELINES[column.key], record.baselines[column.key].get(name)) for column in baselines)
        numbers = [number for number in (value, *ends, *(other for _, other in others)) if number is not None]
        if numbers and all(0 <= number <= 1 for number in numbers):
            tip = f"{title_of(name)} {share(value)} {span(*ends)}"
            drawn.append(Estimate(title_of(name), value, *ends, others=others, tip=tip))
    words = Words(
        "Metrics beside what they must beat" if baselines else "Metrics",
        f"Each metric with its 95 % bootstrap interval{', and the same of the baselines' if baselines else ''}.",
        table,
    )
    figure = estimates(words, drawn, (own, *(column.title for column in baselines)))
    yield from [figure] if figure else []
    yield Points(tuple(_rules(record)))
    yield table
    if record.breakdown:
        yield parts_table(record.breakdown, MOST_PARTS)
        if (more := len(record.breakdown.parts) - MOST_PARTS) > 0:
            yield Text(f"and {more:,} more in metrics.json")


def _rules(record: MetricsRecord) -> Iterator[str]:
    """What made the numbers."""
    counts, rules = record.counts, record.rules
    yield f"{counts_text(record)}."
    for text in (past_text(record), *known_texts(record), lacking_text(counts)):
        if text:
            yield f"{text[0].upper()}{text[1:]}."
    tied = count(counts.num_tied, "query", "queries")
    yield f"Equal scores: rule {rules.ties}; {tied} with a right candidate in a tie."
    if counts.num_no_relevant:
        no_relevant = count(counts.num_no_relevant, "query", "queries")
        yield f"Without a right candidate: {no_relevant}; rule {rules.no_relevant}."
    if counts.num_one_candidate:
        yield f"With a single candidate: {count(counts.num_one_candidate, 'query', 'queries')}; counted."
    if counts.interval_num_units:
        yield f"Intervals resample {units_text(record)}."
    for name in leads(record):
        yield f"Compared with {baseline_title(name, record.best_feature)}: {CHOSEN[name == BEST_FEATURE]}."
    if left_out := left_out_text(record):
        yield f"{left_out[0].upper()}{left_out[1:]}."


def _provenance(run: RunContents) -> Iterator[Block]:
    """What went in, and with what it was computed."""
    if run.record.inputs:
        columns = (Column("path", "file"), Column("bytes", "bytes", Kind.COUNT), Column("sha256", "sha256"))
        yield table_of(columns, run.record.inputs, "Files that were read")
    facts: dict[str, object] = {"seed": run.record.seed if run.is_recorded else None}
    if run.model:
        encoder = run.model.encoder
        facts["encoder"] = f"{encoder.name}, revision {encoder.revision}" if encoder else ""
        facts["model"] = run.model.checksum
    facts |= {
        "fingerprint": run.metrics.rules.fingerprint,
        "version of the metrics": run.metrics.rules.metrics_version,
    }
    versions = run.record.task.versions if run.record.task else {}
    facts |= {f"version of {name}": value for name, value in versions.items()}
    facts |= {f"machine: {name}": value for name, value in run.record.machine.items()}
    facts |= {f"time: {name}": f"{short(value)} s" for name, value in run.record.timings.items()}
    rows = tuple((name, str(value)) for name, value in facts.items() if value not in (None, ""))
    yield Table((Column("what", "what"), Column("value", "value")), rows, "What decided the result")
