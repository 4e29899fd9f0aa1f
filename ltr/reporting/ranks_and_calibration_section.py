"""The ranks of right candidates, and whether the first choice is as often right as its probability says."""

from collections import Counter
from typing import NamedTuple

import numpy as np

from ltr.errors import count
from ltr.evaluation.metrics.classification_counts import calibration_error_of_bins
from ltr.reporting.charts import PlotPoint, Words, columns, diagonal
from ltr.reporting.number_formats import share
from ltr.reporting.page import Figure, Section, Text
from ltr.reporting.table import Column, Kind, Table
from ltr.storage.run_contents import RunContents

LAST = 10  # ranks beyond it share a column


class Bin(NamedTuple):
    """Queries whose first choice has a probability between two numbers."""

    low: float
    high: float
    probability: float  # their mean
    right: float  # the share of them where it is right
    queries: float


def bins(run: RunContents) -> list[Bin]:
    """The bins of the reliability curve of the first choice."""
    curve = run.curves.get("reliability_first", {})
    names = ("from", "to", "probability", "right", "count")
    return [Bin(*values) for values in zip(*(curve.get(name, []) for name in names), strict=False)]


def reliability_error(run: RunContents) -> float | None:
    """ece_first: sum n |p - share right| / sum n over the bins; None without queries."""
    columns = ([part.queries, part.probability, part.right] for part in bins(run))
    return calibration_error_of_bins(*np.array(list(columns), dtype=np.float64).reshape(-1, 3).T)


def calibration_section(run: RunContents) -> Section:
    """The histogram of ranks, the reliability curve, and its mean error."""
    error = reliability_error(run)
    texts = (
        []
        if error is None
        else [Text(f"Calibration error of the first choice (mean distance from the line, by queries): {share(error)}.")]
    )
    figures = [figure for figure in (ranks(run), reliability(run)) if figure]
    return Section("Ranks and probabilities", (*figures, *texts))


def ranks(run: RunContents) -> Figure | None:
    """The histogram of the ranks of the best right candidates."""
    counted = Counter(
        "none" if not query.rank else str(query.rank) if 1 <= query.rank <= LAST else f"{LAST + 1}+"
        for query in run.queries
    )
    labels = [*map(str, range(1, LAST + 1)), f"{LAST + 1}+", "none"]
    labels = labels[: max((labels.index(label) for label in counted), default=-1) + 1]
    total = sum(counted.values())
    words = Words(
        "Rank of the right candidate",
        "How many queries have their best right candidate at each rank; none: no candidate is right.",
        Table(
            (Column("rank", "rank"), Column("queries", "queries", Kind.COUNT), Column("share", "share", Kind.SHARE)),
            tuple((label, counted[label], counted[label] / total) for label in labels),
            "Queries by the rank of the best right candidate",
        ),
    )
    drawn = [(label, counted[label], f"rank {label}: {count(counted[label], 'query', 'queries')}") for label in labels]
    return columns(words, drawn, ("rank", "queries"))


def reliability(run: RunContents) -> Figure | None:
    """How often the first choice is right over its mean probability."""
    curve = bins(run)
    if not curve:
        return None
    heads = (
        Column("bin", "probability"),
        Column("probability", "mean", Kind.SHARE),
        Column("right", "share right", Kind.SHARE),
        Column("count", "queries", Kind.ROUNDED),
    )
    words = Words(
        "Probability and truth of the first choice",
        "Queries in ten bins of their first choice's probability: how often it is right over its mean probability. "
        "On the broken line it is right as often as it says; below it the model is too sure.",
        Table(
            heads,
            tuple((f"{part.low:g} to {part.high:g}", part.probability, part.right, part.queries) for part in curve),
            "Queries by the probability of their first choice",
        ),
    )
    points = []
    for part in curve:
        mean, right = share(part.probability), share(part.right)
        tip = f"mean probability {mean}, right {right}, {count(round(part.queries), 'query', 'queries')}"
        points.append(PlotPoint("", part.probability, part.right, is_marked=True, tip=tip))
    return diagonal(words, points, ("mean probability", "share right"))
