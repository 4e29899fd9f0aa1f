"""What metrics are of: queries, candidates, tools that training knew, the past."""

from ltr.errors import count
from ltr.evaluation.baselines import BASELINES
from ltr.evaluation.metrics.ranking_measures import TOP1
from ltr.evaluation.metrics.registry import CATALOGUE, is_served, on_catalogue
from ltr.reporting.metric_titles import TITLES, title_of
from ltr.reporting.number_formats import fixed
from ltr.storage.evaluation_records import CountsRecord, MetricsRecord, PartRecord

PASTS = {
    "logged": "as logged (previous)",
    "labels": "right tools (labels), which nobody knows when a query comes: this promises too much",
    "own": "the first choices of the model itself (own)",
}


def span_text(least: int, median: float, most: int) -> str:
    """How many candidates a query has.

    >>> span_text(5, 5.0, 5), span_text(8, 9.5, 12)
    ('5 each', '8 to 12 each, median 9.5')
    """
    return f"{least:,} each" if least == most else f"{least:,} to {most:,} each, median {median:g}"


def counts_text(record: MetricsRecord) -> str:
    """How many queries and candidates the numbers are of; and whether all right tools were right in training."""
    counts, filled = record.counts, _known_parts(record)
    span = span_text(counts.candidates_least, counts.candidates_median, counts.candidates_most)
    drawn = f", {counts.num_drawn:,} of them drawn" if counts.num_drawn else ""
    all_alike = f", right tools all {filled[0].name}" if len(filled) == 1 else ""
    queries = count(counts.num_queries, "query", "queries")
    return f"{queries}, {count(counts.num_candidates, 'candidate')}{drawn}, {span}{all_alike}"


def known_texts(record: MetricsRecord) -> list[str]:
    """How well known and unseen right tools were found; nothing where there are not both."""
    parts = _known_parts(record)
    texts = []
    for part in parts if len(parts) > 1 else ():
        served = [part.metrics[on_catalogue(name)] for name in part.metrics if on_catalogue(name) in part.metrics]
        offered = [f"{title_of(name)} {fixed(mean)}" for name, mean in part.metrics.items() if not is_served(name)]
        of_queries = ", ".join([count(part.num_queries, "query", "queries"), *offered])
        on_all = f"; {CATALOGUE} {', '.join(map(fixed, served))}" if served else ""
        texts.append(f"right tool {part.name}: {of_queries}{on_all}")
    return texts


def known_headline(record: MetricsRecord) -> str:
    """How well known and unseen right tools came first; "" where there are not both."""
    parts = _known_parts(record)
    texts = [
        f"{part.name} {fixed(part.metrics[TOP1])} ({count(part.num_queries, 'query', 'queries')})" for part in parts
    ]
    return f"top-1 by whether training knew the right tool: {', '.join(texts)}" if len(parts) > 1 else ""


def _known_parts(record: MetricsRecord) -> list[PartRecord]:
    """Known and unseen, as far as there are queries."""
    return [part for part in record.answers.parts if part.num_queries] if record.answers else []


def past_text(record: MetricsRecord) -> str:
    """What came before the queries, as the model was told; "" where nothing is known of it."""
    if record.rules.past is None:
        return ""
    beside = record.with_labels
    if beside is None:
        return f"past: {PASTS[record.rules.past]}"
    figures = ", ".join(f"{title} {fixed(beside.get(name))}" for name, title in TITLES.items())
    return f"past: {PASTS[record.rules.past]}; with right tools as the past (labels): {figures}"


def left_out_text(record: MetricsRecord) -> str:
    """Which baselines are not compared with, and why; "" where all are."""
    titles: dict[str, list[str]] = {}
    for name, reason in record.left_out.items():
        titles.setdefault(reason, []).append(BASELINES.get(name, name))
    texts = ", ".join(f"{' and '.join(names)} ({reason})" for reason, names in titles.items())
    return f"not compared with {texts}" if texts else ""


def lacking_text(counts: CountsRecord) -> str:
    """How many queries the whole catalogue has no right tool for; "" without any."""
    lacking = count(counts.catalogue_lacking or 0, "query", "queries")
    return f"{lacking} with no right tool in the catalogue: counted 0 there" if counts.catalogue_lacking else ""
