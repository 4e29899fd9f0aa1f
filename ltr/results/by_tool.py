"""Tool by tool: how often each was right, how often it was found, and for which it was mistaken."""

from collections import Counter, defaultdict
from collections.abc import Iterable

from ltr.data.groups import Candidates
from ltr.evaluation.ranking import order
from ltr.results.evaluated_ranking import EvaluatedRanking
from ltr.storage.records import MistakeRecord, ToolRecord

MOST_MISTAKES = 5  # tools for which one is mistaken, that its record names
LONGEST_QUERY = 300


def by_tool(evaluated: EvaluatedRanking) -> list[ToolRecord]:
    """A record for each tool that was right or stood first, the most often right first.

    A right tool is found where it stands first, no wrong one level with it; it is mistaken for the tool that stands
    first where that one is wrong, equal scores in the order of their names. Graphs have ids that name nothing: none.
    """
    candidates = evaluated.groups.candidates
    if candidates.kind == "graph":
        return []
    offsets, labels = evaluated.groups.offsets.tolist(), evaluated.groups.labels
    firsts = order(evaluated.ranking, evaluated.evaluation.rules.ties)[evaluated.groups.offsets[:-1]].tolist()
    is_right = (labels >= evaluated.evaluation.rules.rel_threshold).tolist()
    names, is_first = candidates.names.tolist(), (evaluated.evaluation.rank == 1).tolist()
    right, found_first, first, wrong = (Counter[int]() for _ in range(4))
    mistakes: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))  # the groups of each pair
    for group, row in enumerate(firsts):
        right_rows = [other for other in range(offsets[group], offsets[group + 1]) if is_right[other]]
        if not right_rows:
            continue
        first[names[row]] += 1
        wrong[names[row]] += not is_right[row]
        for other in right_rows:
            right[names[other]] += 1
            found_first[names[other]] += other == row and is_first[group]
            if not is_right[row]:
                mistakes[names[other]][names[row]].append(group)
    texts = candidates.name_texts
    records = [
        ToolRecord(
            tool=texts[code],
            right=right[code],
            found=found_first[code],
            first=first[code],
            wrongly_first=wrong[code],
            mistaken_for=_mistakes(mistakes[code], candidates),
        )
        for code in {*right, *first}
    ]
    return sorted(records, key=lambda record: (-record.right, -record.first, record.tool))


def _mistakes(groups_of: dict[int, list[int]], candidates: Candidates) -> list[MistakeRecord]:
    """The tools that stood first instead, the most frequent ones, each with the first query that shows it."""
    records = []
    for code, groups in groups_of.items():
        example = min(groups, key=lambda group: (candidates.query_texts[candidates.queries[group]], group))
        query = candidates.query_texts[candidates.queries[example]][:LONGEST_QUERY]
        records.append(MistakeRecord(candidates.name_texts[code], len(groups), query))
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
