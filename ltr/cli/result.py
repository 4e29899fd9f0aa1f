"""A measured ranking, as lines to read."""

from typing import TYPE_CHECKING

from ltr.cli.terminal import emphasis, table_lines, wrapped
from ltr.reporting.metric_tables import MetricRow, metrics_table, parts_table, title_of
from ltr.reporting.numbers import Bounds, count, fixed

if TYPE_CHECKING:
    from ltr.evaluation.ranking import BestFeature
    from ltr.results.evaluated_ranking import EvaluatedRanking

MOST_PARTS = 20


def measured_lines(measured: "EvaluatedRanking", best: "BestFeature", trained: str = "trained") -> list[str]:
    """The metrics beside the baselines, and the rules and counts that made them."""
    rows = []
    for name, value in measured.evaluation.means.items():
        interval = measured.intervals.get(name)
        bounds = Bounds(None, None) if interval is None else Bounds(interval.low, interval.high)
        beside = {baseline: result.means.get(name) for baseline, result in measured.baselines.items()}
        rows.append(MetricRow(name, value, bounds, beside))
    sign = "-" if best.sign == -1 else ""
    queries = count(measured.evaluation.num_queries, "query", "queries")
    candidates = count(int(measured.evaluation.num_candidates.sum()), "candidate")
    split = "training" if measured.split == "train" else measured.split
    return [
        emphasis(f"{queries}, {candidates} ({split} data)"),
        *table_lines(metrics_table(rows, trained, f"{sign}{best.name}"), turned=True),
        *(line for text in rule_lines(measured) for line in wrapped(text)),
        *reading_lines(measured),
        *part_lines(measured),
    ]


def part_lines(measured: "EvaluatedRanking") -> list[str]:
    """The metrics of each value of the field that was asked for, those with the most queries first."""
    from ltr.results.breakdown import part_means

    if not measured.breakdown:
        return []
    all_parts = part_means(measured.evaluation, measured.breakdown)
    more = len(all_parts) - MOST_PARTS
    hidden = [f"and {more:,} more: --format json shows all"] if more > 0 else []
    return ["", *table_lines(parts_table(measured.breakdown.field, all_parts, MOST_PARTS)), *hidden]


def rule_lines(measured: "EvaluatedRanking") -> list[str]:
    """How ties fell, which queries the numbers leave out, and what the intervals resample."""
    result, counts = measured.evaluation, measured.counts
    lines = [f"ties: {result.rules.ties}; {count(result.num_tied, 'query', 'queries')} with a right candidate in a tie"]
    if result.num_no_relevant:
        what = {"skip": "left out", "zero": "counted 0"}[result.rules.no_relevant]
        lines.append(f"{count(result.num_no_relevant, 'query', 'queries')} without a right candidate: {what}")
    if result.num_one_candidate:
        lines.append(f"{count(result.num_one_candidate, 'query', 'queries')} with a single candidate: counted")
    if counts.get("num_missing"):
        lines.append(f"{count(counts['num_missing'], 'topic', 'topics')} of the qrels not in the run: counted 0")
    if counts.get("num_ignored"):
        lines.append(f"{count(counts['num_ignored'], 'topic', 'topics')} of the run without qrels: ignored")
    if measured.unit == "trace":
        lines.append("intervals resample whole traces: the queries of one depend on each other")
    return lines


def reading_lines(measured: "EvaluatedRanking") -> list[str]:
    """How far ties could move the metrics, and how to read them."""
    from ltr.evaluation.metrics.interpretation import notes
    from ltr.results.metrics_record import ranges

    spans = [f"{title_of(name)} {fixed(both.worst)}-{fixed(both.best)}" for name, both in ranges(measured).items()]
    texts = [f"ties, worst-best: {', '.join(spans)}"] if spans else []
    return [line for text in (*texts, *notes(measured.evaluation, measured.preset)) for line in wrapped(text)]
