"""Queries explained: what each feature added to the first and to the right candidate."""

from typing import TYPE_CHECKING

from ltr.cli.terminal import columns_of_terminal, emphasis, number, shortened, table, visible

if TYPE_CHECKING:
    from ltr.artifacts import Router
    from ltr.measured import Measured
    from ltr.records import Query

SHOWN = 3


def explained_lines(measured: "Measured", router: "Router", most: int = SHOWN) -> list[str]:
    """The queries that went wrong with the least trust in the right candidate, each with the parts of both scores."""
    from ltr.records import queries

    wrong = [each for each in queries(measured, router, explain=True) if each.rank and not each.is_top1_correct]
    wrong = sorted(wrong, key=lambda each: each.probability or 0.0)
    if not wrong:
        return ["", "no query went wrong"]
    lines = ["", emphasis(f"{len(wrong):,} queries went wrong; the ones with the least trust in the right candidate:")]
    for query in wrong[:most]:
        lines += ["", *_query_lines(query)]
    return lines


def _query_lines(query: "Query") -> list[str]:
    from ltr.records import Explained

    parts = query.contributions if isinstance(query, Explained) else {}
    first, right = parts.get("predicted") or {}, parts.get("true") or {}
    rows = [[name, f"{first[name]:+.3f}", f"{right[name]:+.3f}", f"{first[name] - right[name]:+.3f}"] for name in first]
    total = [sum(side.values()) for side in (first, right)]
    rows.append(["score", *(f"{value:+.3f}" for value in total), f"{total[0] - total[1]:+.3f}"])
    stood = f", at rank {query.rank} of {query.num_candidates}, probability {number(query.probability)}"
    edge = columns_of_terminal()
    return [
        shortened(visible(f'"{query.query}"'), edge),
        shortened(f"  first: {visible(query.predicted_candidate or '-')}", edge),
        shortened(f"  right: {visible(query.true_candidate or '-')}", edge - len(stood)) + stood,
        *table(["", "first", "right", "difference"], rows),
    ]
