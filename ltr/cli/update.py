"""ltr update: what became of served queries, learned from."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ltr.cli.options import Code, Graphs, Shown, Tools, Verbose
from ltr.cli.output import Format, chosen_format, show, warn
from ltr.errors import count
from ltr.reporting.number_formats import signed, span

if TYPE_CHECKING:
    from ltr.experiments.refit import Refit


def update_command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory or pack.")],
    outcomes: Annotated[
        str | None,
        typer.Argument(metavar="OUTCOMES", help="JSON lines of query, offered, and right, wrong or none; - is stdin."),
    ] = None,
    forget: Annotated[
        list[str] | None, typer.Option("--forget", help="Take an outcome, or a trace, back by its id; repeatable.")
    ] = None,
    choose: Annotated[
        bool, typer.Option("--choose", help="Let folds choose columns, curves, products and l2 anew, as --recommended.")
    ] = False,
    tools: Tools = None,
    graphs: Graphs = None,
    code: Code = None,
    shown: Shown = None,
    verbose: Verbose = False,
) -> None:
    """Learn from OUTCOMES of served queries: columns, weights, and corrections on top."""
    from ltr.experiments.refit import update
    from ltr.serving.outcomes import read_outcomes

    told = [] if outcomes is None else list(read_outcomes(outcomes))
    refit = update(run, told, forget=forget or (), choose=choose, tools=tools, graphs=graphs)
    numbers, skipped = numbers_of(refit), refit.update.skipped
    if chosen_format(shown) is Format.HUMAN:
        warn(*(f"left out: {reason} ({number:,})" for reason, number in skipped.items()))
    rows = {**numbers, "skipped": sum(skipped.values())}.items()
    show(shown, {**numbers, "skipped": dict(skipped)}, rows, lambda: update_lines(refit))


def update_lines(refit: "Refit") -> Iterator[str]:
    """What was written, what was learned, and how the test queries moved."""
    update = refit.update
    before = f", {update.known:,} known before" if update.known else ""
    yield f"wrote {count(update.outcomes, 'outcome')}{before}; the run has {count(update.total, 'outcome')}"
    kind = "tool" if update.at_once else "graph"
    for number, what in (
        (update.right, f"with the right {kind}"),
        (update.wrong, f"with a wrong {kind} alone: it was offered and not right, the weights learn nothing more"),
        (update.none, "where nothing offered was right: P(none) learns from them"),
    ):
        if number:
            yield f"  {number:,} {what}"
    yield f"  learned anew: {learned_text(refit)}"
    settings = refit.settings
    if settings.look_old:
        chosen = f"settings were chosen on {settings.chosen_on:,} queries, and there are {settings.queries:,}"
        yield f"  {chosen}, a quarter more: --choose chooses anew"
    if update.corrected:
        queries = count(update.corrected, "corrected query", "corrected queries")
        yield f"  the right {kind} is first for {update.first:,} of {queries}"
    if refit.moved is None:
        yield f"  test queries: not measured, {refit.unmeasured}"
        return
    moved, interval = refit.moved, refit.moved.interval
    sure = "" if interval.low is None or interval.high is None else f", 95 % {span(interval.low, interval.high)}"
    top1 = f"top-1 {moved.before:.3f} before, {moved.after:.3f} after ({signed(interval.mean)}{sure})"
    decided = f"; corrections decided {moved.decided:,}" if update.at_once else ""
    yield f"  {count(moved.queries, 'test query', 'test queries')}: {top1}{decided}"


def learned_text(refit: "Refit") -> str:
    """What the update learned."""
    from ltr.experiments.refit import FEWEST

    if not refit.update.at_once:
        return "columns and weights alone: graphs have no layer of corrections on top"
    if not refit.update.is_refit:
        return "corrections alone: no training queries are kept here"
    if refit.stay:
        kept = f"{', '.join(refit.stay)} and the weights stay: no texts of training queries are kept here"
        return f"counts of names, and corrections; {kept}"
    if not refit.settings.queries:
        return f"corrections alone, until {FEWEST} queries or more have a right tool, and training ranks them as well"
    return "columns, weights and corrections"


def numbers_of(refit: "Refit") -> dict[str, Any]:
    """The numbers by name."""
    update, moved = refit.update, refit.moved
    counted = ("outcomes", "known", "total", "right", "wrong", "none", "corrected", "first", "is_refit")
    numbers: dict[str, Any] = {name: getattr(update, name) for name in counted}
    numbers |= {"queries": refit.settings.queries, "chosen_on": refit.settings.chosen_on}
    numbers |= {"settings_look_old": refit.settings.look_old}
    numbers |= {"columns_that_stay": len(refit.stay)}
    test = {} if moved is None else {"queries": moved.queries, "top1_before": moved.before, "top1_after": moved.after}
    test |= {} if moved is None else {"decided": moved.decided}
    interval = {} if moved is None else {"low": moved.interval.low, "high": moved.interval.high}
    return numbers | {f"test_{name}": value for name, value in (test | interval).items()}
