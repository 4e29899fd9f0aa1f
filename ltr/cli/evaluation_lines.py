"""A measured ranking, as lines to read."""

from typing import TYPE_CHECKING

from ltr.cli.output import emphasis, listing, table_lines, wrapped
from ltr.errors import count
from ltr.reporting.abstention_section import NOT_KEPT, measured_texts, rule_texts
from ltr.reporting.conclusions import doubt_text
from ltr.reporting.metric_sentences import counts_text, known_headline, known_texts, lacking_text, past_text
from ltr.reporting.metric_tables import headline_table, metrics_table, parts_table
from ltr.reporting.metric_titles import title_of
from ltr.reporting.number_formats import fixed
from ltr.reporting.table import Medium, Table, written_cells
from ltr.reporting.tool_tables import pairs_table, tools_table

if TYPE_CHECKING:
    from ltr.results.evaluated import Evaluated
    from ltr.storage.abstain_rule import AbstainRule
    from ltr.storage.evaluation_records import MetricsRecord, ToolRecord

MOST_PARTS = MOST_TOOLS = 20


def measured_lines(measured: "Evaluated", trained: str = "trained") -> list[str]:
    """The metrics beside the baselines, and the rules and counts that made them."""
    record = measured.record
    lines = [
        *_counts_lines(record, is_seen=measured.is_seen),
        *table_lines(metrics_table(record, trained), turned=True),
        *(line for text in (past_text(record), *known_texts(record)) if text for line in wrapped(text)),
        *(line for text in evaluation_rules(record) for line in wrapped(text)),
        *reading_lines(measured),
        *wrapped(doubt_text(record)),
        *none_lines(record),
    ]
    return [*lines, *breakdown_lines(record)]


def headline_lines(record: "MetricsRecord") -> list[str]:
    """What was measured, and the metrics beside the baselines, in few lines: the end of a training."""
    texts = (past_text(record), known_headline(record))
    return [
        *_counts_lines(record),
        *table_lines(headline_table(record, "trained"), turned=True),
        *(line for text in texts if text for line in wrapped(text)),
    ]


def _counts_lines(record: "MetricsRecord", *, is_seen: bool = False) -> list[str]:
    """What was measured, and what voids the figures."""
    split = "training" if record.rules.split == "train" else record.rules.split
    seen = ", with queries of the training" if is_seen else ""
    broken = f"; {NOT_KEPT}" if record.abstention is not None and record.abstention.is_broken else ""
    return list(map(emphasis, wrapped(f"{counts_text(record)} ({split} data{seen}){broken}")))


def tool_lines(tools: "list[ToolRecord]") -> list[str]:
    """The tools that are most often right, and the pairs that are most often confused; the last column is folded."""
    more = len(tools) - MOST_TOOLS
    rest = [f"and {more:,} more: --format json shows all"] if more > 0 else []
    pairs = pairs_table(tools)
    confused = ["", *_listed(pairs)] if pairs.rows else []
    return ["", *_listed(tools_table(tools, MOST_TOOLS)), *rest, *confused]


def _listed(table: Table) -> list[str]:
    _, *rows = written_cells(table, Medium.TERMINAL)
    return listing([column.brief or column.title for column in table.columns], rows)


def none_lines(record: "MetricsRecord") -> list[str]:
    """How well none is found, of a model that says it."""
    from ltr.reporting.none_of_these_section import none_measured

    return [] if record.none is None else [line for text in none_measured(record.none) for line in wrapped(text)]


def abstaining_lines(record: "MetricsRecord", rule: "AbstainRule | None") -> list[str]:
    """What abstaining does to the queries, and what is promised of it."""
    texts = [] if rule is None else [*rule_texts(rule, record.abstention)]
    texts += [] if record.abstention is None else [*measured_texts(record.abstention, rule)]
    return [line for text in texts for line in wrapped(text)]


def breakdown_lines(record: "MetricsRecord") -> list[str]:
    """The metrics of each part of a breakdown, where one was asked for."""
    if not record.breakdown:
        return []
    more = len(record.breakdown.parts) - MOST_PARTS
    rest = [f"and {more:,} more: --format json shows all"] if more > 0 else []
    return ["", *table_lines(parts_table(record.breakdown, MOST_PARTS)), *rest]


def evaluation_rules(record: "MetricsRecord") -> list[str]:
    """How ties fell, which queries the numbers leave out, and what the intervals resample."""
    rules, counts = record.rules, record.counts
    lines = [f"ties: {rules.ties}; {count(counts.num_tied, 'query', 'queries')} with a right candidate in a tie"]
    if counts.num_no_relevant:
        what = {"skip": "left out", "zero": "counted 0"}[rules.no_relevant]
        lines.append(f"{count(counts.num_no_relevant, 'query', 'queries')} without a right candidate: {what}")
    if lacking := lacking_text(counts):
        lines.append(lacking)
    if counts.num_one_candidate:
        lines.append(f"{count(counts.num_one_candidate, 'query', 'queries')} with a single candidate: counted")
    if counts.num_missing:
        what = "counted 0" if rules.complete else "left out (--complete counts them 0)"
        lines.append(f"{count(counts.num_missing, 'topic', 'topics')} of the qrels not in the run: {what}")
    if counts.num_ignored:
        lines.append(f"{count(counts.num_ignored, 'topic', 'topics')} of the run without qrels: ignored")
    if rules.interval_unit == "trace":
        lines.append("intervals resample whole traces: the queries of one depend on each other")
    return lines


def reading_lines(measured: "Evaluated") -> list[str]:
    """How far ties could move the metrics, and how to read them."""
    from ltr.evaluation.metrics.classification_counts import FINE_BINS
    from ltr.evaluation.metrics.interpretation import notes

    record = measured.record
    spans = [f"{title_of(name)} {fixed(ends.worst)}-{fixed(ends.best)}" for name, ends in record.ranges.items()]
    texts = [f"ties, worst-best: {', '.join(spans)}"] if spans else []
    bounds = [f"{name} within {bound:.2g}" for name, bound in record.error_bounds.items()]
    texts += (
        [f"counted in {FINE_BINS:,} bins of the log odds: {', '.join(bounds)} of the exact value"] if bounds else []
    )
    texts += notes(measured.evaluation, is_seen=measured.is_seen)
    return [line for text in texts for line in wrapped(text)]
