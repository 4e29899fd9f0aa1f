"""Queries explained: what each feature added to two candidates."""

from typing import TYPE_CHECKING

from ltr.cli.output import columns_of_terminal, emphasis, table_lines
from ltr.errors import count
from ltr.evaluation.baselines import baseline_title
from ltr.reporting.escaping import visible
from ltr.reporting.lines import SHORTEST_CELL, shortened
from ltr.reporting.number_formats import fixed
from ltr.reporting.table import Column, Kind, Table, TableRow

if TYPE_CHECKING:
    from ltr.results.evaluated import Evaluated
    from ltr.results.queries import Explanation
    from ltr.serving.router import Router

SHOWN = 3


def wrong_lines(measured: "Evaluated", router: "Router") -> list[str]:
    """The queries that went wrong with the least trust in the right candidate."""
    from ltr.results.queries import wrong

    explained = wrong(measured, router)
    if not explained.number:
        with_right = " with a right candidate" if measured.evaluation.num_no_relevant else ""
        return ["", f"no query{with_right} went wrong"]
    title = f"{count(explained.number, 'query', 'queries')} went wrong; where the right candidate is least probable:"
    return ["", emphasis(title), *(line for _, explanation in explained.first[:SHOWN] for line in _lines(explanation))]


def rescued_lines(measured: "Evaluated", router: "Router") -> list[str]:
    """The surest queries that are right where the best baseline is wrong."""
    from ltr.results.queries import rescued

    explained = rescued(measured, router)
    if not explained.number:
        return []
    alone = baseline_title(measured.best_baseline or "", measured.best_feature)
    title = f"{count(explained.number, 'query', 'queries')} right where {alone} is wrong, such as:"
    return ["", emphasis(title), *(line for _, explanation in explained.first[:1] for line in _lines(explanation))]


def _lines(explanation: "Explanation") -> list[str]:
    first, right = explanation.sides
    rows: list[TableRow] = [
        (name, part, right.contributions[name], right.contributions[name] - part)
        for name, part in first.contributions.items()
    ]
    ours, theirs = (sum(side.contributions.values()) for side in (first, right))
    rows.append(("score", ours, theirs, theirs - ours))
    titles = (first.role, "right", "difference")
    parts = Table((Column("feature", ""), *(Column(title, title, Kind.DIFFERENCE) for title in titles)), tuple(rows))
    stood = (
        f", at rank {explanation.rank} of {explanation.num_candidates}, probability {fixed(explanation.probability)}"
    )
    edge, width = columns_of_terminal(), max(len(first.role), len("right"))
    named = f"  {'right':>{width}}: {visible(right.candidate)}"
    is_wide = edge - len(stood) >= width + SHORTEST_CELL
    return [
        "",
        shortened(visible(f'"{explanation.query}"'), edge),
        shortened(f"  {first.role:>{width}}: {visible(first.candidate)}", edge),
        *([shortened(named, edge - len(stood)) + stood] if is_wide else [shortened(named, edge), "  " + stood[2:]]),
        *table_lines(parts, indent="  " if is_wide else ""),
    ]
