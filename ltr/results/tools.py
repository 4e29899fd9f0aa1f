"""Tool by tool: how often right, found, mistaken for which other; whether training knew it; its tokens in a prompt."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, ClassVar, Self

import msgspec
import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray
from ltr.catalogues import ToolText
from ltr.evaluation import Curve, Ranking, Ties, order
from ltr.hashes import are_marked, text_mark
from ltr.records.metrics import KNOWN, UNSEEN, MistakeRecord, ToolRecord
from ltr.results.breakdown import Breakdown
from ltr.runs import StoredModel
from ltr.samples import Candidates, Groups, tools_of_rows

if TYPE_CHECKING:
    from ltr.results.evaluated import Evaluated

MOST_MISTAKES = 5  # tools for which one is mistaken, that its record names
LONGEST_QUERY = 300
FIRST = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
BYTES_OF_TOKEN = 4


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


# What the first k tools leave of a prompt: tokens, and queries whose right tool is still there.


def tool_tokens(name: str, text: ToolText) -> int:
    """About how many tokens a tool takes in a prompt: bytes of its JSON in UTF-8 / 4, rounded up.

    Schemas with types and descriptions of parameters take more; tokenizers differ.

    >>> tool_tokens("add", ToolText("Adds.", "a, b"))  # {"name":"add","description":"Adds.","inputs":"a, b"}
    13
    """
    document = {"name": name} | {key: value for key, value in text._asdict().items() if value}
    return -(-len(msgspec.json.encode(document)) // BYTES_OF_TOKEN)


def tokens_of_rows(candidates: Candidates) -> IntArray:
    """The tokens of the tool of each row."""
    tools, codes = tools_of_rows(candidates)
    return np.array(list(map(tool_tokens, tools.names, tools.texts)), dtype=np.int64)[codes]


@dataclass(frozen=True, slots=True)
class PromptSums:
    """Over queries, for each k of FIRST and all: those with a right tool among the first k, and tokens of these k."""

    CURVE: ClassVar[str] = "prompt_tokens"  # in curves.json
    RULE: ClassVar[str] = f"A token is taken as {BYTES_OF_TOKEN} bytes of a tool's name, description and inputs as JSON"
    right: FloatArray
    tokens: FloatArray
    queries: int
    longest: int  # the most tools that a query has

    @classmethod
    def of(cls, ranking: Ranking, is_right: BoolArray, tokens: IntArray, is_counted: BoolArray) -> Self:
        """The sums of a ranking over the queries that count; equal scores stand by name."""
        rows, starts, sizes = order(ranking, Ties.EXPECTED), ranking.offsets[:-1], np.diff(ranking.offsets)
        if not len(sizes):
            return cls(np.zeros(len(FIRST) + 1), np.zeros(len(FIRST) + 1), 0, 0)
        place = np.arange(len(rows)) - np.repeat(starts, sizes)
        best = np.minimum.reduceat(np.where(is_right[rows], place, len(rows)), starts)
        running = np.concatenate(([0], np.cumsum(tokens[rows])))
        right, spent = [], []
        for k in (*FIRST, int(sizes.max())):
            right.append(float((best < k)[is_counted].sum()))
            spent.append(float((running[starts + np.minimum(k, sizes)] - running[starts])[is_counted].sum()))
        return cls(np.array(right), np.array(spent), int(is_counted.sum()), int(sizes.max()))

    def __add__(self, other: "PromptSums") -> "PromptSums":
        return PromptSums(
            self.right + other.right,
            self.tokens + other.tokens,
            self.queries + other.queries,
            max(self.longest, other.longest),
        )

    def curve(self) -> Curve:
        """Of each k: the share of queries with a right tool among the first k, and the mean tokens of a prompt."""
        places = [*range(sum(1 for _ in takewhile(lambda k: k < self.longest, FIRST))), len(FIRST)]
        return {
            "k": [float((*FIRST, self.longest)[place]) for place in places],
            "right_there": (self.right[places] / self.queries).tolist(),
            "tokens": (self.tokens[places] / self.queries).tolist(),
        }
