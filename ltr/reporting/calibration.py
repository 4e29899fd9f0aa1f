"""Where right candidates stand, and whether probabilities mean what they say."""

import math
from collections import Counter

from ltr.reporting.blocks import Figure, Section, Table, Text
from ltr.reporting.charts import Words
from ltr.reporting.figures import count, share
from ltr.reporting.planes import Point, columns, diagonal
from ltr.reporting.reading import RunFiles

LAST = 10  # ranks beyond it share a column


def placing_section(run: RunFiles) -> Section:
    """Both drawings."""
    error = calibration_error(run)
    said = (
        [Text(f"Mean distance of the points from the line, by candidates: {share(error)}.")]
        if error is not None
        else []
    )
    drawn = [each for each in (ranks(run), reliability(run)) if each]
    return Section("Ranks and probabilities", (*drawn, *said))


def ranks(run: RunFiles) -> Figure | None:
    """The histogram of the ranks of the best right candidates."""
    counted = Counter(_column(each.rank) for each in run.placed)
    labels = [*map(str, range(1, LAST + 1)), f"{LAST + 1}+", "none"]
    labels = labels[: max((labels.index(label) for label in counted), default=-1) + 1]
    total = sum(counted.values())
    rows = tuple((label, f"{counted[label]:,}", share(counted[label] / total)) for label in labels)
    words = Words(
        "Rank of the right candidate",
        "How many queries have their best right candidate at each rank; none: no candidate is right.",
        Table("Queries by the rank of the best right candidate", ("rank", "queries", "share"), rows),
    )
    drawn = [(label, counted[label], f"rank {label}: {count(counted[label], 'query', 'queries')}") for label in labels]
    return columns(words, drawn, ("rank", "queries"))


def _column(rank: int | None) -> str:
    if not rank:
        return "none"
    return str(rank) if 1 <= rank <= LAST else f"{LAST + 1}+"


def reliability(run: RunFiles) -> Figure | None:
    """Probability beside the share that is right."""
    bins = _bins(run)
    if not bins:
        return None
    rows = tuple((f"{low:g} to {high:g}", share(p), share(right), f"{n:,.0f}") for low, high, p, right, n in bins)
    words = Words(
        "Probability and truth",
        "Candidates in ten bins of probability: the share that is right over the mean probability. "
        "On the broken line probabilities keep their word; below it the model is too sure.",
        Table("Candidates by probability", ("probability", "mean", "share right", "candidates"), rows),
    )
    points = [
        Point(
            "", p, right, is_marked=True, tip=f"mean probability {share(p)}, right {share(right)}, {n:,.0f} candidates"
        )
        for _, _, p, right, n in bins
    ]
    return diagonal(words, points, ("mean probability", "share right"))


def calibration_error(run: RunFiles) -> float | None:
    """sum n |p - share right| / sum n over the bins; None without candidates."""
    bins = _bins(run)
    total = math.fsum(n for *_, n in bins)
    return math.fsum(n * abs(p - right) for _, _, p, right, n in bins) / total if total else None


def _bins(run: RunFiles) -> list[tuple[float, ...]]:
    curve = run.curves.get("reliability", {})
    names = ("from", "to", "probability", "right", "count")
    return list(zip(*(curve.get(name, []) for name in names), strict=False))
