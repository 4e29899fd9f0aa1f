"""A measured ranking, as lines to read."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from ltr.cli.terminal import columns_of_terminal, count, emphasis, number, table, width_of, wrapped

if TYPE_CHECKING:
    from ltr.evaluation.baselines import BestFeature
    from ltr.evaluation.bootstrap import Interval
    from ltr.evaluation.evaluate import Evaluation
    from ltr.results.evaluated_ranking import EvaluatedRanking

MOST_PARTS = 20
BASELINES = {
    "random": "random order",
    "best_feature": "best feature",
    "untrained": "untrained, w = 1",
    "oracle": "oracle",
}
SHORT = {"top1_accuracy": "top-1", "top3_accuracy": "top-3", "mrr": "MRR"}


def measured_lines(measured: "EvaluatedRanking", best: "BestFeature", trained: str = "trained") -> list[str]:
    """The metrics beside the baselines, and the rules and counts that made them."""
    means = measured.evaluation.means
    rows = [
        ["", *(SHORT.get(name, name) for name in means)],
        [trained, *map(number, means.values())],
        ["95 % interval", *(interval_text(measured.intervals.get(name)) for name in means)],
        *([label, *map(number, each.means.values())] for label, each in _named_baselines(measured, best).items()),
    ]
    if sum(max(map(width_of, column)) + 2 for column in zip(*rows, strict=True)) - 2 > columns_of_terminal():
        rows = [list(row) for row in zip(*rows, strict=True)]  # too many metrics to stand beside each other
        rows[0] = [label.partition(":")[0].partition(",")[0] for label in rows[0]]
    lines = table(rows[0], rows[1:], flexible=0, indent="")
    rules = [line for text in rule_lines(measured) for line in wrapped(text)]
    return [emphasis(_title(measured)), *lines, *rules, *reading_lines(measured), *part_lines(measured)]


def interval_text(interval: "Interval | None") -> str:
    """An interval to read: the digits of what lies between 0 and 1."""
    return "-" if interval is None else between(interval.low, interval.high)


def short(value: float) -> str:
    """A share to read, without its 0.

    >>> short(0.6904), short(1.0), short(-0.25)
    ('.690', '1.000', '-.250')
    """
    return f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 1 and abs(round(value, 3)) < 1 else f"{value:.3f}"


def signed(difference: float) -> str:
    """A difference to read.

    >>> signed(0.067), signed(-0.25)
    ('+0.067', '-0.250')
    """
    return f"{difference:+.3f}"


def between(low: float | None, high: float | None, shown: Callable[[float], str] = short) -> str:
    """The two ends of an interval to read; - of a single unit, which tells nothing of others.

    >>> between(0.682, 1.0), between(-0.25, 1.0, signed), between(None, None)
    ('[.682, 1.000]', '[-0.250, +1.000]', '-')
    """
    return "-" if low is None or high is None else f"[{shown(low)}, {shown(high)}]"


def part_lines(measured: "EvaluatedRanking") -> list[str]:
    """The metrics of each value of the field that was asked for, those with the most queries first."""
    from ltr.results.breakdown import part_means

    if not measured.breakdown:
        return []
    parts = sorted(part_means(measured.evaluation, measured.breakdown), key=lambda part: -part.num_queries)
    names = list(SHORT)
    rows = [
        [part.name or "-", f"{part.num_queries:,}", *(number(part.means[name]) for name in names)] for part in parts
    ]
    lines = table([measured.breakdown.field, "queries", *SHORT.values()], rows[:MOST_PARTS], flexible=0, indent="")
    more = [f"and {len(rows) - MOST_PARTS:,} more: --format json shows all"] if len(rows) > MOST_PARTS else []
    return ["", *lines, *more]


def _title(measured: "EvaluatedRanking") -> str:
    queries = count(measured.evaluation.num_queries, "query", "queries")
    where = "training" if measured.split == "train" else measured.split
    return f"{queries}, {count(int(measured.evaluation.num_candidates.sum()), 'candidate')} ({where} data)"


def _named_baselines(measured: "EvaluatedRanking", best: "BestFeature") -> dict[str, "Evaluation"]:
    if not measured.baselines:
        return {}
    sign = "" if best.sign > 0 else "-"
    labels = BASELINES | {"best_feature": f"{BASELINES['best_feature']}: {sign}{best.name}"}
    return {labels[name]: each for name, each in measured.baselines.items()}


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

    spans = [
        f"{SHORT.get(name, name)} {number(both.worst)}-{number(both.best)}" for name, both in ranges(measured).items()
    ]
    texts = [f"ties, worst-best: {', '.join(spans)}"] if spans else []
    return [line for text in (*texts, *notes(measured.evaluation, measured.preset)) for line in wrapped(text)]
