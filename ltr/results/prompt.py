"""What the first k tools leave of a prompt: tokens, and queries whose right tool is still there."""

from dataclasses import dataclass
from itertools import takewhile
from typing import Self

import msgspec
import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray
from ltr.data.candidates import Candidates
from ltr.data.distinct_tools import tools_of_rows
from ltr.data.tool_texts import ToolText
from ltr.evaluation.metrics.registry import Curve
from ltr.evaluation.ranking import Ranking, Ties, order

PROMPT = "prompt_tokens"  # the curve in curves.json
FIRST = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
BYTES_OF_TOKEN = 4
RULE = f"A token is taken as {BYTES_OF_TOKEN} bytes of a tool's name, description and inputs as JSON"


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
