"""ltr update: what became of served queries, learned from."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ltr.cli.options import Code, Shown, Tools, Verbose
from ltr.cli.output import Format, chosen_format, say, show_json, show_tsv, warn
from ltr.errors import UsageError, count
from ltr.reporting.escaping import visible

if TYPE_CHECKING:
    from ltr.serving.learning_from_outcomes import Update


def update_command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory or pack.")],
    outcomes: Annotated[
        str | None, typer.Argument(metavar="OUTCOMES", help="JSON lines of query, offered, right, chosen; - is stdin.")
    ] = None,
    compact: Annotated[
        bool, typer.Option("--compact", help="Merge all outcomes so far, so that the run loads quickly.")
    ] = False,
    tools: Tools = None,
    code: Code = None,
    shown: Shown = None,
    verbose: Verbose = False,
) -> None:
    """Learn from OUTCOMES of served queries, without the training data."""
    from ltr.serving.outcomes import read_outcomes
    from ltr.serving.router import load

    if outcomes is None and not compact:
        raise UsageError("give OUTCOMES, --compact, or both")
    router = load(run, tools=tools)
    update = router.update_many([] if outcomes is None else list(read_outcomes(outcomes)))
    if compact:
        update = router.compact().after(update)
    SHOW[chosen_format(shown)](update)


def show_update(update: "Update") -> None:
    """What was written, what was learned, and what the result does not know."""
    for reason, number in update.skipped.items():
        warn(f"left out: {reason} ({number:,})")
    wrote = count(update.outcomes, "outcome")
    say(f"wrote {wrote}; the run has {count(update.total, 'outcome')}, {update.folded:,} folded in")
    if update.learned:
        near = f"within {update.distance:.1g} of the optimum"
        say(f"  the weights learned from {count(update.learned, 'outcome')} beside those folded in ({near})")
    for number, what in (
        (update.wrong_only, "only say what was wrong: offers are counted, the weights learn nothing"),
        (update.none, f"say that nothing offered was right: {none_outcomes_text(update)}"),
        (update.alone, "offered a single tool: counted, the weights learn nothing"),
    ):
        if number:
            say(f"  {number:,} {what}")
    if update.held:
        say(f"  {count(update.held, 'direction')} of the weights stay: the training data did not determine them")
    if update.moved_columns:
        say(f"  counts move the columns {visible(', '.join(update.moved_columns))}")
    if update.still_columns:
        say(f"  these stay as training left them: {visible(', '.join(update.still_columns))}")
    say("  approximate: a quadratic stands for the training data; rows keep the columns they had when offered;")
    say("  outcomes that are folded in count by their curvature; only tools that were offered are judged")


def none_outcomes_text(update: "Update") -> str:
    """What outcomes of none come to."""
    if not update.none_learned:
        return "weights and counts stay, and the model has no P(none) that could learn"
    return f"weights and counts stay, P(none) learned from them and {update.none_learned - update.none:,} others"


def numbers_of(update: "Update") -> dict[str, float]:
    """The numbers by name."""
    names = (
        "outcomes",
        "total",
        "learned",
        "wrong_only",
        "none",
        "none_learned",
        "alone",
        "folded",
        "distance",
        "held",
    )
    return {name: getattr(update, name) for name in names}


def show_update_json(update: "Update") -> None:
    """One object."""
    columns = {"moved_columns": list(update.moved_columns), "still_columns": list(update.still_columns)}
    show_json({**numbers_of(update), "skipped": dict(update.skipped), **columns})


def show_update_tsv(update: "Update") -> None:
    """A line a number."""
    columns = {"moved_columns": ",".join(update.moved_columns), "still_columns": ",".join(update.still_columns)}
    show_tsv(({**numbers_of(update), "skipped": sum(update.skipped.values()), **columns}).items())


SHOW = {Format.HUMAN: show_update, Format.JSON: show_update_json, Format.TSV: show_update_tsv}
