"""Tool by tool: how often each was right, how often it was found, and for which it was mistaken."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ltr.evaluation.ranking import order
from ltr.results.evaluated_ranking import EvaluatedRanking
from ltr.storage.evaluation_records import MistakeRecord, ToolRecord

MOST_MISTAKES = 5  # tools for which one is mistaken, that its record names
LONGEST_QUERY = 300


@dataclass(slots=True)
class ToolCounts:
    """Of a tool: how often it was right, found, first, and wrongly first, and for which others it was mistaken."""

    right: int = 0
    found: int = 0
    first: int = 0
    wrongly_first: int = 0
    mistaken_for: dict[str, tuple[int, str]] = field(default_factory=dict)  # how often, and the least query text


def by_tool(evaluated: EvaluatedRanking) -> list[ToolRecord]:
    """A record for each tool that was right or stood first, the most often right first.

    A right tool is found where it stands first, no wrong one level with it; it is mistaken for the tool that stands
    first where that one is wrong, equal scores in the order of their names. Graphs have ids that name nothing: none.
    """
    return tool_records(tool_counts(evaluated))


def tool_counts(evaluated: EvaluatedRanking) -> dict[str, ToolCounts]:
    """The counts of each tool that was right or stood first; those of shards add up."""
    candidates = evaluated.groups.candidates
    counts: dict[str, ToolCounts] = defaultdict(ToolCounts)
    if candidates.kind == "graph":
        return counts
    offsets, labels, texts = evaluated.groups.offsets.tolist(), evaluated.groups.labels, candidates.name_texts
    firsts = order(evaluated.ranking, evaluated.evaluation.rules.ties)[evaluated.groups.offsets[:-1]].tolist()
    is_right = (labels >= evaluated.evaluation.rules.rel_threshold).tolist()
    names, is_first = candidates.names.tolist(), (evaluated.evaluation.rank == 1).tolist()
    for group, row in enumerate(firsts):
        right_rows = [other for other in range(offsets[group], offsets[group + 1]) if is_right[other]]
        if not right_rows:
            continue
        first = counts[texts[names[row]]]
        first.first += 1
        first.wrongly_first += not is_right[row]
        for other in right_rows:
            tool = counts[texts[names[other]]]
            tool.right += 1
            tool.found += other == row and is_first[group]
            if not is_right[row]:
                query = candidates.query_texts[candidates.queries[group]]
                _add_mistake(tool, texts[names[row]], 1, query)
    return counts


def _add_mistake(tool: ToolCounts, other: str, number: int, query: str) -> None:
    """Count that the tool was mistaken for the other in so many queries, of whose texts this is the least."""
    before, least = tool.mistaken_for.get(other, (0, query))
    tool.mistaken_for[other] = before + number, min(least, query)


def add_tools(total: dict[str, ToolCounts], more: Mapping[str, ToolCounts]) -> None:
    """Add the counts of a shard to those of the shards before it."""
    for name, counts in more.items():
        tool = total.setdefault(name, ToolCounts())
        tool.right += counts.right
        tool.found += counts.found
        tool.first += counts.first
        tool.wrongly_first += counts.wrongly_first
        for other, (number, query) in counts.mistaken_for.items():
            _add_mistake(tool, other, number, query)


def tool_records(counts: Mapping[str, ToolCounts]) -> list[ToolRecord]:
    """The records of the tools, the most often right first, each with those for which it was mistaken most often."""
    records = [
        ToolRecord(
            tool=name,
            right=tool.right,
            found=tool.found,
            first=tool.first,
            wrongly_first=tool.wrongly_first,
            mistaken_for=_mistakes(tool),
        )
        for name, tool in counts.items()
    ]
    return sorted(records, key=lambda record: (-record.right, -record.first, record.tool))


def _mistakes(tool: ToolCounts) -> list[MistakeRecord]:
    """The tools that stood first instead, the most frequent ones, each with the first query that shows it."""
    records = [
        MistakeRecord(name, number, query[:LONGEST_QUERY]) for name, (number, query) in tool.mistaken_for.items()
    ]
    return sorted(records, key=lambda record: (-record.count, record.tool))[:MOST_MISTAKES]


def confused_pairs(tools: Iterable[ToolRecord], most: int) -> list[tuple[str, MistakeRecord]]:
    """The right tool and what it was mistaken for, the most frequent pairs.

    >>> often = ToolRecord("a", 3, 1, 1, 0, [MistakeRecord("b", 2, "q")])
    >>> [(tool, mistake.tool, mistake.count) for tool, mistake in confused_pairs([often], 10)]
    [('a', 'b', 2)]
    """
    pairs = [(record.tool, mistake) for record in tools for mistake in record.mistaken_for]
    return sorted(pairs, key=lambda pair: (-pair[1].count, pair[0], pair[1].tool))[:most]


def flat_tools(tools: Iterable[ToolRecord]) -> dict[str, int]:
    """The records as fields of the flat view: by_tool=NAME.right, and by_tool=NAME.mistaken_for=OTHER.

    >>> flat_tools([ToolRecord("a", 3, 1, 1, 0, [MistakeRecord("b", 2, "q")])])["by_tool=a.mistaken_for=b"]
    2
    """
    fields: dict[str, int] = {}
    for tool in tools:
        name = f"by_tool={tool.tool}"
        fields |= {f"{name}.{key}": getattr(tool, key) for key in ("right", "found", "first", "wrongly_first")}
        fields |= {f"{name}.mistaken_for={mistake.tool}": mistake.count for mistake in tool.mistaken_for}
    return fields
