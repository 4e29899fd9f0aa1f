"""The tools of candidates: each name with each of its texts once, and each name with its first text."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ltr.arrays import IntArray, distinct
from ltr.data.candidates import Candidates
from ltr.data.catalogues.tools import ToolCatalogue
from ltr.data.tool_texts import ToolText


@dataclass(frozen=True, slots=True)
class ToolList:
    """Distinct pairs of a name and a text, in no order that means anything."""

    names: tuple[str, ...]
    texts: tuple[ToolText, ...]

    def part(self, first: int, last: int) -> "ToolList":
        """Return those of the places first:last."""
        return ToolList(self.names[first:last], self.texts[first:last])


def tools_of_rows(candidates: Candidates, _: object = None) -> tuple[ToolList, IntArray]:
    """Return the distinct tools of the rows, and which of them each row has; features share it by their context."""
    pairs = candidates.names * len(candidates.tool_texts) + candidates.texts
    first, codes = distinct(pairs)
    names, texts = (column[first].tolist() for column in (candidates.names, candidates.texts))
    of_pairs = (
        tuple(candidates.name_texts[name] for name in names),
        tuple(candidates.tool_texts[text] for text in texts),
    )
    return ToolList(*of_pairs), codes


def first_texts(candidates: Candidates, rows: IntArray | None = None) -> dict[str, ToolText]:
    """Return each tool with the text of its first row, in order of these rows; of all of them, or as they are given."""
    names, texts = candidates.names, candidates.texts
    if rows is not None:
        names, texts = names[rows], texts[rows]
    first = np.unique(distinct(names)[0])
    pairs = zip(names[first].tolist(), texts[first].tolist(), strict=True)
    return {candidates.name_texts[name]: candidates.tool_texts[text] for name, text in pairs}


def united(catalogues: Sequence[ToolCatalogue]) -> dict[str, ToolText]:
    """Return the tools of all catalogues, such as those of shards, each as the first of them has it.

    >>> united([{"a": ToolText("first")}, {"b": ToolText(), "a": ToolText("second")}])
    {'a': ToolText(description='first', inputs=''), 'b': ToolText(description='', inputs='')}
    """
    first, *others = catalogues or ({},)
    tools = dict(first)
    for catalogue in others:
        for name, text in catalogue.items():
            tools.setdefault(name, text)
    return tools
