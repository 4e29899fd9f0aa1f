"""What a router saves of a prompt, on a page: a curve over k."""

from ltr.reporting.charts import Words, curve
from ltr.reporting.page import Section, Text
from ltr.reporting.table import Column, Kind, Table
from ltr.results.prompt import PROMPT, RULE
from ltr.storage.run_contents import RunContents


def prompt_section(run: RunContents) -> list[Section]:
    """Tokens saved beside the share of queries whose right tool is still there, where tools were ranked."""
    columns = run.curves.get(PROMPT, {})
    rows = list(zip(*(columns.get(name, []) for name in ("k", "right_there", "tokens")), strict=False))
    if not rows or not rows[-1][2]:
        return []
    whole = rows[-1][2]
    catalogue = run.metrics.counts.catalogue_tools
    of = "of the list of each query" if catalogue is None else f"of all {catalogue:,} tools of the catalogue"
    table = Table(
        (
            Column("k", "first k", Kind.COUNT),
            Column("right", "right tool there", Kind.SHARE),
            Column("tokens", "tokens", Kind.ROUNDED),
            Column("saved", "tokens saved", Kind.SHARE),
        ),
        tuple((int(k), right, tokens, 1 - tokens / whole) for k, right, tokens in rows),
        "The first k tools in the prompt",
    )
    words = Words("The right tool is still there", "Share of queries over the share of tokens that is saved.", table)
    points = [(1 - tokens / whole, right) for _, right, tokens in rows]
    figure = curve(words, points, ("tokens saved (share)", "queries (share)"))
    said = f"A prompt with the first k tools {of}, best first. {RULE}; the schema of a tool takes more."
    return [Section("Tokens saved", (Text(said), *([figure] if figure else [table])))]
