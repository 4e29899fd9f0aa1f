"""Tools in tables: how often each was right and found, and which are taken for each other."""

from collections.abc import Sequence

from ltr.reporting.page import Block, Section, Text
from ltr.reporting.table import Column, Kind, Table, table_of
from ltr.results.tools import confused_pairs
from ltr.storage.evaluation_records import ToolRecord

MOST_TOOLS, MOST_PAIRS = 50, 10


def tools_table(tools: Sequence[ToolRecord], most: int) -> Table:
    """So many tools, those that are most often right."""

    def mistakes(tool: ToolRecord) -> str | None:
        return ", ".join(f"{mistake.tool} {mistake.count:,}" for mistake in tool.mistaken_for) or None

    columns = (
        Column("tool", "tool"),
        Column("right", "right", Kind.COUNT),
        Column("found", "found", Kind.COUNT),
        Column(
            "share",
            "share found",
            Kind.SHARE,
            brief="share",
            value=lambda tool: tool.found / tool.right if tool.right else None,
        ),
        Column("wrongly_first", "wrongly first", Kind.COUNT, brief="wrong"),
        Column("mistaken_for", "mistaken for", value=mistakes),
    )
    return table_of(columns, tools[:most], "Tools by how often they were right")


def pairs_table(tools: Sequence[ToolRecord], most: int = MOST_PAIRS) -> Table:
    """The most confused pairs, each with a query that shows it."""
    columns = (
        Column("right", "right tool", value=lambda pair: pair[0]),
        Column("first", "stood first", value=lambda pair: pair[1].tool),
        Column("count", "queries", Kind.COUNT, value=lambda pair: pair[1].count),
        Column("query", "for example", value=lambda pair: pair[1].query),
    )
    return table_of(columns, confused_pairs(tools, most), "The most confused pairs")


def tools_section(tools: Sequence[ToolRecord]) -> Section:
    """The pairs that are confused, then the tools."""
    blocks: list[Block] = []
    pairs = pairs_table(tools)
    if pairs.rows:
        blocks.append(pairs)
    if tools:
        blocks.append(tools_table(tools, MOST_TOOLS))
    if (more := len(tools) - MOST_TOOLS) > 0:
        blocks.append(Text(f"and {more:,} more in by_tool.jsonl"))
    return Section("Tool by tool", blocks)
