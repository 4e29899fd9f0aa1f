"""Tool by tool: how often each was right, found, mistaken for which other; and whether training knew the right one."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ltr.data.groups import Groups
from ltr.data.text_hashes import are_marked, text_mark
from ltr.evaluation.ranking import order
from ltr.results.breakdown import Breakdown
from ltr.storage.evaluation_records import MistakeRecord, ToolRecord
from ltr.storage.model_file import StoredModel

if TYPE_CHECKING:
    from ltr.results.evaluated import Evaluated

KNOWN, UNSEEN = "known", "unseen"
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

    def add_mistake(self, other: str, number: int, query: str) -> None:
        """Count that the tool was mistaken for the other in so many queries, of whose texts this is the least."""
        before, least = self.mistaken_for.get(other, (0, query))
        self.mistaken_for[other] = before + number, min(least, query)

    def __add__(self, more: "ToolCounts") -> "ToolCounts":
        numbers = (self.right + more.right, self.found + more.found, self.first + more.first)
        total = ToolCounts(*numbers, self.wrongly_first + more.wrongly_first, dict(self.mistaken_for))
        for other, mistakes in more.mistaken_for.items():
            total.add_mistake(other, *mistakes)
        return total


def by_tool(evaluated: "Evaluated") -> list[ToolRecord]:
    """Return a record for each tool that was right or stood first, the most often right first.

    A right tool is found where it stands first, no wrong one level with it; it is mistaken for the tool that stands
    first where that one is wrong, equal scores in the order of their names. Graphs have ids that name nothing: none.
    """
    is_counted = evaluated.ranked is None or evaluated.tools
    return tool_records(evaluated.tools if is_counted else tool_counts(evaluated))


def tool_counts(evaluated: "Evaluated") -> dict[str, ToolCounts]:
    """Count each tool of one shard that was right or stood first."""
    groups, rules = evaluated.groups, evaluated.evaluation.rules
    candidates, counts = groups.candidates, defaultdict[str, ToolCounts](ToolCounts)
    if candidates.kind == "graph":
        return counts
    offsets, texts = groups.offsets.tolist(), candidates.name_texts
    firsts = order(evaluated.ranking, rules.ties)[groups.offsets[:-1]].tolist()
    is_right = (groups.labels >= rules.rel_threshold).tolist()
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
                tool.add_mistake(texts[names[row]], 1, candidates.query_texts[candidates.queries[group]])
    return counts


def tool_records(counts: Mapping[str, ToolCounts]) -> list[ToolRecord]:
    """Return the records of the tools, each with those for which it was mistaken most often."""

    def mistakes(of: ToolCounts) -> list[MistakeRecord]:
        named = [
            MistakeRecord(name, number, query[:LONGEST_QUERY]) for name, (number, query) in of.mistaken_for.items()
        ]
        return sorted(named, key=lambda record: (-record.count, record.tool))[:MOST_MISTAKES]

    records = [
        ToolRecord(name, of.right, of.found, of.first, of.wrongly_first, mistakes(of)) for name, of in counts.items()
    ]
    return sorted(records, key=lambda record: (-record.right, -record.first, record.tool))


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


def answer_marks(groups: Groups) -> list[str]:
    """Return a short hash of each tool that is right in some group, in order; none of graphs: their ids say nothing."""
    candidates = groups.candidates
    if candidates.kind == "graph":
        return []
    right = np.unique(candidates.names[groups.labels > 0]).tolist()
    return sorted(text_mark(candidates.name_texts[code]) for code in right)


def known_answers(model: StoredModel, groups: Groups, rel_threshold: float) -> Breakdown | None:
    """Sort the queries by whether one of their right tools was right in training; None where that is not known."""
    candidates, answers = groups.candidates, model.training.answers
    if candidates.kind == "graph" or not answers:
        return None
    is_known = are_marked(candidates.name_texts, answers)[candidates.names]
    is_right = groups.labels >= rel_threshold
    codes = np.where(np.logical_or.reduceat(is_known & is_right, groups.offsets[:-1]), 0, 1)
    return Breakdown("answer", (KNOWN, UNSEEN), codes.astype(np.int8))
