"""Tools in tables: how often each was right and found, and which are taken for each other."""

from collections.abc import Sequence

from ltr.reporting.cell_formats import COUNT, SHARE
from ltr.reporting.page import Block, Section, Text
from ltr.reporting.table import Column, Table
from ltr.results.hits_and_mistakes_by_tool import confused_pairs
from ltr.storage.evaluation_records import ToolRecord

MOST_TOOLS, MOST_PAIRS = 50, 10


def tools_table(tools: Sequence[ToolRecord], most: int) -> Table:
    """So many tools, those that are most often right."""
    columns = (
        Column("tool", "tool"),
        Column("right", "right", COUNT),
        Column("found", "found", COUNT),
        Column("share", "share found", SHARE, brief="share"),
        Column("wrongly_first", "wrongly first", COUNT, brief="wrong"),
        Column("mistaken_for", "mistaken for"),
    )
    rows = tuple(
        (
            tool.tool,
            tool.right,
            tool.found,
            tool.found / tool.right if tool.right else None,
            tool.wrongly_first,
            ", ".join(f"{mistake.tool} {mistake.count:,}" for mistake in tool.mistaken_for) or None,
        )
        for tool in tools[:most]
    )
    return Table(columns, rows, "Tools by how often they were right")


def pairs_table(tools: Sequence[ToolRecord], most: int = MOST_PAIRS) -> Table:
    """The most confused pairs, each with a query that shows it."""
    columns = (
        Column("right", "right tool"),
        Column("first", "stood first"),
        Column("count", "queries", COUNT),
        Column("query", "for example"),
    )
    pairs = confused_pairs(tools, most)
    rows = tuple((right, mistake.tool, mistake.count, mistake.query) for right, mistake in pairs)
    return Table(columns, rows, "The most confused pairs")


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
