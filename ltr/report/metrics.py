"""The metrics of an evaluation: what they are called and of, their tables, their section and their lines."""

from collections.abc import Iterator, Set
from functools import partial
from typing import TYPE_CHECKING

from ltr.errors import count
from ltr.evaluation import CATALOGUE, MRR, TOP1, TOP3, Baseline
from ltr.records.abstain import NOT_KEPT
from ltr.records.metrics import BreakdownRecord, CountsRecord, MetricsRecord, PartRecord
from ltr.report.charts import Estimate, estimates
from ltr.report.page import Block, Figure, Line, Points, TerminalBlock
from ltr.report.table import Bounds, Column, Kind, Table
from ltr.report.words import between, fixed, percent, sentence, share, signed, span

if TYPE_CHECKING:
    from ltr.results import Evaluated

TITLES = {TOP1: "top-1", TOP3: "top-3", MRR: "MRR"}
WITHOUT_TRAINING = (
    Baseline.RANDOM,
    *Baseline.NEED_NO_TRAINING,
)  # what stands beside a result wherever there is little room
FEWEST = 20  # traces or queries, fewer of which make an interval that promises too much
MOST_PARTS, MOST_PARTS_OF_TERMINAL = 30, 20
PASTS = {
    "logged": "as logged (previous)",
    "labels": "right tools (labels), which nobody knows when a query comes: this promises too much",
    "own": "the first choices of the model itself (own)",
}
CHOSEN = {
    False: "of the rankings that need no training the best on the training groups",
    True: "of all columns that were made the best on the training groups",
}
NO_RELEVANT = {"skip": "left out", "zero": "counted 0"}


def title_of(metric: str) -> str:
    """Return the short name of a metric, where it has one.

    >>> title_of("top1_accuracy"), title_of("ndcg@5"), title_of("mrr@catalogue")
    ('top-1', 'ndcg@5', 'MRR@catalogue')
    """
    plain = metric.removesuffix(CATALOGUE)
    return TITLES.get(plain, plain) + metric[len(plain) :]


def shown_baselines(record: MetricsRecord) -> dict[str, dict[str, float | None]]:
    """Return by title what needs no training, and whatever else the result is compared with."""
    shown = dict.fromkeys((*WITHOUT_TRAINING, *([record.best_baseline] if record.best_baseline else [])))
    return {
        Baseline.title(name, record.best_feature): record.baselines[name] for name in shown if name in record.baselines
    }


def lead_title(name: str, record: MetricsRecord) -> str:
    """Return what a difference in Top-1 to a baseline is called."""
    return f"{TITLES[TOP1]} over {Baseline.title(name, record.best_feature)}"


def interval_of(record: MetricsRecord, metric: str) -> Bounds:
    """Return the 95 % interval of a metric."""
    interval = record.intervals.get(metric)
    return Bounds(interval.low, interval.high) if interval else Bounds(None, None)


# What the metrics are of, in words; "" where there is nothing to say.


def queries_text(number: int) -> str:
    """Return a number of queries in words."""
    return count(number, "query", "queries")


def rest(number: int, most: int, where: str) -> str:
    """Say how many of so many rows a table leaves out, and where they are."""
    return f"and {number - most:,} more{where}" if number > most else ""


def span_text(least: int, median: float, most: int) -> str:
    """Return how many candidates a query has.

    >>> span_text(5, 5.0, 5), span_text(8, 9.5, 12)
    ('5 each', '8 to 12 each, median 9.5')
    """
    return f"{least:,} each" if least == most else f"{least:,} to {most:,} each, median {median:g}"


def units_text(record: MetricsRecord) -> str:
    """Return what the intervals resample, and how many of them."""
    number = record.counts.interval_num_units
    return count(number, "trace") if record.rules.interval_unit == "trace" else queries_text(number)


def doubt_text(record: MetricsRecord) -> str:
    """Say that too little was measured for an interval, where anything was."""
    if record.counts.interval_num_units >= FEWEST or not record.counts.num_queries:
        return ""
    promise = "; the intervals promise too much" if record.counts.interval_num_units > 1 else ""
    return f"too little was measured to be sure: {units_text(record)}{promise}"


def counts_text(record: MetricsRecord) -> str:
    """Return how many queries and candidates the numbers are of; and whether training knew all right tools."""
    counts, filled = record.counts, _known_parts(record)
    each = span_text(counts.candidates_least, counts.candidates_median, counts.candidates_most)
    drawn = f", {counts.num_drawn:,} of them drawn" if counts.num_drawn else ""
    all_alike = f", right tools all {filled[0].name}" if len(filled) == 1 else ""
    return f"{queries_text(counts.num_queries)}, {count(counts.num_candidates, 'candidate')}{drawn}, {each}{all_alike}"


def _known_parts(record: MetricsRecord) -> list[PartRecord]:
    """Return known and unseen right tools, as far as there are queries."""
    return [part for part in record.answers.parts if part.num_queries] if record.answers else []


def known_texts(record: MetricsRecord) -> list[str]:
    """Say how well known and unseen right tools were found; nothing where there are not both."""
    parts, texts = _known_parts(record), []
    for part in parts if len(parts) > 1 else ():
        served = [part.metrics[name + CATALOGUE] for name in part.metrics if name + CATALOGUE in part.metrics]
        own = {name: mean for name, mean in part.metrics.items() if not name.endswith(CATALOGUE)}
        offered = [f"{title_of(name)} {fixed(mean)}" for name, mean in own.items()]
        on_all = f"; {CATALOGUE} {', '.join(map(fixed, served))}" if served else ""
        texts.append(f"right tool {part.name}: {', '.join([queries_text(part.num_queries), *offered])}{on_all}")
    return texts


def known_headline(record: MetricsRecord) -> str:
    """Say how well known and unseen right tools came first, where there are both."""
    parts = _known_parts(record)
    texts = [f"{part.name} {fixed(part.metrics[TOP1])} ({queries_text(part.num_queries)})" for part in parts]
    return f"top-1 by whether training knew the right tool: {', '.join(texts)}" if len(parts) > 1 else ""


def past_text(record: MetricsRecord) -> str:
    """Say what came before the queries, as the model was told."""
    if record.rules.past is None:
        return ""
    figures = [f"{title} {fixed(record.with_labels.get(name))}" for name, title in TITLES.items() if record.with_labels]
    beside = f"; with right tools as the past (labels): {', '.join(figures)}" if figures else ""
    return f"past: {PASTS[record.rules.past]}{beside}"


def left_out_text(record: MetricsRecord) -> str:
    """Say which baselines are not compared with, and why."""
    titles: dict[str, list[str]] = {}
    for name, reason in record.left_out.items():
        titles.setdefault(reason, []).append(Baseline.TITLES.get(name, name))
    texts = ", ".join(f"{' and '.join(names)} ({reason})" for reason, names in titles.items())
    return f"not compared with {texts}" if texts else ""


def lacking_text(counts: CountsRecord) -> str:
    """Say how many queries the whole catalogue has no right tool for."""
    lacking = queries_text(counts.catalogue_lacking or 0)
    return f"{lacking} with no right tool in the catalogue: counted 0 there" if counts.catalogue_lacking else ""


def quality_text(record: MetricsRecord) -> str:
    """Say how often the first candidate is right."""
    on, (low, high) = queries_text(record.counts.num_queries), interval_of(record, TOP1)
    if not record.counts.num_queries:
        return "No query has a right candidate: there is nothing to measure."
    interval = f" (95 % interval: {percent(low)} to {percent(high)})" if low is not None else ""
    seen = " These are the training queries: new ones may fare worse." if record.rules.split == "train" else ""
    return f"The first candidate is right for {percent(record.metrics.get(TOP1))} of {on}{interval}.{seen}"


def lead_sentences(record: MetricsRecord, name: str = "It") -> Iterator[str]:
    """Say whether the model beats the best baseline and the best single column; nothing without an interval."""
    for baseline, lead in record.leads.items():
        if lead.low is not None and lead.high is not None:
            is_it = "better" if lead.low > 0 else "worse" if lead.high < 0 else "not shown to be better"
            than = Baseline.title(baseline, record.best_feature)
            yield f"{name} is {is_it} than {than}: {signed(lead.mean)} top-1, 95 % {span(lead.low, lead.high)}."


# Metrics in tables.


def metrics_table(record: MetricsRecord, own: str, left_out: Set[str] = frozenset()) -> Table:
    """Return a row for each metric of a ranking beside its baselines; own: what was ranked by.

    Columns whose keys are left out do not stand in it.
    """

    def served(metric: str) -> float | None:
        return record.metrics.get(metric + CATALOGUE)

    def served_interval(metric: str) -> Bounds:
        return interval_of(record, metric + CATALOGUE)

    columns = [
        Column("metric", "metric", value=title_of),
        Column("value", own, Kind.SHARE, value=record.metrics.get),
        Column("interval", "95 % interval", Kind.INTERVAL, value=partial(interval_of, record)),
    ]
    if (tools := record.counts.catalogue_tools) is not None:
        columns.append(Column("catalogue", f"all {tools:,} tools", Kind.SHARE, value=served))
        columns.append(Column("catalogue_interval", "95 % interval", Kind.INTERVAL, value=served_interval))
    for name in (name for name in Baseline.TITLES if name in record.baselines):
        title, brief = Baseline.title(name, record.best_feature), Baseline.TITLES[name].partition(",")[0]
        columns.append(Column(name, title, Kind.SHARE, brief=brief, value=record.baselines[name].get))
    shown = [column for column in columns if column.key not in left_out]
    metrics = [name for name in record.metrics if not name.endswith(CATALOGUE)]
    return Table.of(shown, metrics, "Each metric with its 95 % interval", corner="", layout="turned")


def parts_table(breakdown: BreakdownRecord, most: int) -> Table:
    """Return the headline of each value of the field, those with the most queries first, so many of them."""

    def mean(metric: str, part: PartRecord) -> float | None:
        return part.metrics.get(metric)

    columns = (
        Column(breakdown.field, breakdown.field, value=lambda part: part.name or None),
        Column("num_queries", "queries", Kind.COUNT),
        *(Column(name, title, Kind.SHARE, value=partial(mean, name)) for name, title in TITLES.items()),
    )
    largest = sorted(breakdown.parts, key=lambda part: -part.num_queries)[:most]
    return Table.of(columns, largest, f"For each {breakdown.field}")


# On a page.


def metrics_section(record: MetricsRecord, own: str) -> Iterator[Block | None]:
    """Yield the metrics beside what they must beat, drawn and in a table, and what made the numbers."""
    table = metrics_table(record, own)
    compared = (Baseline.RANDOM, *record.leads, Baseline.ORACLE)  # so many as a drawing has looks for
    baselines = [column for column in table.columns if column.key in compared]
    drawn = []
    for name, value in record.metrics.items():
        ends = interval_of(record, name)
        others = tuple((Baseline.TITLES[column.key], record.baselines[column.key].get(name)) for column in baselines)
        numbers = [number for number in (value, *ends, *(other for _, other in others)) if number is not None]
        if numbers and all(0 <= number <= 1 for number in numbers):
            tip = f"{title_of(name)} {share(value)} {span(*ends)}"
            drawn.append(Estimate(title_of(name), value, *ends, others=others, tip=tip))
    title = "Metrics beside what they must beat" if baselines else "Metrics"
    of_both = ", and the same of the baselines" if baselines else ""
    blank = Figure(title, f"Each metric with its 95 % bootstrap interval{of_both}.", table)
    yield estimates(blank, drawn, (own, *(column.title for column in baselines)))
    yield Points(tuple(map(sentence, filter(None, _rules(record)))))
    yield table
    if record.breakdown:
        yield parts_table(record.breakdown, MOST_PARTS)
        yield rest(len(record.breakdown.parts), MOST_PARTS, " in metrics.json")


def _rules(record: MetricsRecord) -> Iterator[str]:
    """Say what made the numbers."""
    counts, rules = record.counts, record.rules
    yield from (counts_text(record), past_text(record), *known_texts(record), lacking_text(counts))
    yield f"equal scores: rule {rules.ties}; {queries_text(counts.num_tied)} with a right candidate in a tie"
    if counts.num_no_relevant:
        yield f"without a right candidate: {queries_text(counts.num_no_relevant)}; rule {rules.no_relevant}"
    if counts.num_one_candidate:
        yield f"with a single candidate: {queries_text(counts.num_one_candidate)}; counted"
    yield f"intervals resample {units_text(record)}" if counts.interval_num_units else ""
    for name in record.leads:
        yield f"compared with {Baseline.title(name, record.best_feature)}: {CHOSEN[name == Baseline.BEST_FEATURE]}"
    yield left_out_text(record)


# On a terminal.


def measured_blocks(measured: "Evaluated", own: str = "trained") -> Iterator[TerminalBlock]:
    """Yield the metrics beside the baselines, the rules and counts that made them, and how to read them."""
    from ltr.evaluation import FINE_BINS, notes

    record, counts, rules = measured.record, measured.record.counts, measured.record.rules
    yield _counts_line(record, is_seen=measured.is_seen)
    yield metrics_table(record, own)
    yield from (past_text(record), *known_texts(record))
    yield f"ties: {rules.ties}; {queries_text(counts.num_tied)} with a right candidate in a tie"
    if counts.num_no_relevant:
        yield f"{queries_text(counts.num_no_relevant)} without a right candidate: {NO_RELEVANT[rules.no_relevant]}"
    yield lacking_text(counts)
    if counts.num_one_candidate:
        yield f"{queries_text(counts.num_one_candidate)} with a single candidate: counted"
    if counts.num_missing:
        what = "counted 0" if rules.complete else "left out (--complete counts them 0)"
        yield f"{count(counts.num_missing, 'topic')} of the qrels not in the run: {what}"
    yield f"{count(counts.num_ignored, 'topic')} of the run without qrels: ignored" if counts.num_ignored else ""
    if rules.interval_unit == "trace":
        yield "intervals resample whole traces: the queries of one depend on each other"
    ends = (f"{title_of(name)} {fixed(of.worst)}-{fixed(of.best)}" for name, of in record.ranges.items())
    yield f"ties, worst-best: {', '.join(ends)}" if record.ranges else ""
    if record.error_bounds:
        bounds = ", ".join(f"{name} within {bound:.2g}" for name, bound in record.error_bounds.items())
        yield f"counted in {FINE_BINS:,} bins of the log odds: {bounds} of the exact value"
    yield from notes(measured.evaluation, is_seen=measured.is_seen)
    yield doubt_text(record)


def headline_blocks(record: MetricsRecord) -> Iterator[TerminalBlock]:
    """Yield what was measured and the metrics in few lines: the end of a training.

    The interval on the catalogue and baselines that need training are left out; an oracle that is not right in every
    list stays.
    """
    oracle = record.baselines.get(Baseline.ORACLE, {})
    more = {Baseline.ORACLE} if any(mean != 1 for mean in oracle.values()) else set[str]()
    yield _counts_line(record)
    left_out = {"catalogue_interval", *Baseline.TITLES} - {*WITHOUT_TRAINING, record.best_baseline, *more}
    yield metrics_table(record, "trained", left_out)
    yield from (past_text(record), known_headline(record))


def _counts_line(record: MetricsRecord, *, is_seen: bool = False) -> Line:
    """Return what was measured, and what voids the figures."""
    split = "training" if record.rules.split == "train" else record.rules.split
    seen = ", with queries of the training" if is_seen else ""
    broken = f"; {NOT_KEPT}" if record.abstention is not None and record.abstention.is_broken else ""
    return Line(f"{counts_text(record)} ({split} data{seen}){broken}", "wrapped", is_bold=True)


def breakdown_blocks(record: MetricsRecord) -> Iterator[TerminalBlock]:
    """Yield the metrics of each part of a breakdown, where one was asked for."""
    if record.breakdown:
        yield from (Line(), parts_table(record.breakdown, MOST_PARTS_OF_TERMINAL))
        yield rest(len(record.breakdown.parts), MOST_PARTS_OF_TERMINAL, ": --format json shows all")


def gain_blocks(record: MetricsRecord, *, is_long: bool = False) -> Iterator[str]:
    """Yield by how much the model beats the best baseline, and how sure that is; a long form has the best column."""
    unit = f"by {units_text(record)}: too few" if doubt_text(record) else "by trace"
    for name, lead in record.leads.items():
        if is_long or name == record.best_baseline:
            ends = between(lead.low, lead.high, Kind.DIFFERENCE.on_terminal)
            yield f"{lead_title(name, record)}: {lead.mean:+.3f} {ends} (95 %, {unit})"
    yield left_out_text(record)


def ways(specification: MetricsRecord, recommended: MetricsRecord) -> list[Table | str]:
    """Return what needs no training and two recipes beside each other on the same queries, and the lead of the last."""
    means = shown_baselines(recommended)
    means |= {"specification": specification.metrics, "recommended": recommended.metrics}
    shown = [name for name in recommended.metrics if not name.endswith(CATALOGUE) or name == TOP1 + CATALOGUE]
    columns = (Column("way", "way"), *(Column(name, title_of(name), Kind.SHARE) for name in shown))
    rows = tuple((way, *map(of.get, shown)) for way, of in means.items())
    corner = count(recommended.counts.num_queries, "test query", "test queries")
    return [Table(columns, rows, corner=corner), *gain_blocks(recommended)]
