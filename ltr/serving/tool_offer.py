"""The tools to choose from, before a query is known."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ltr.arrays import IntArray
from ltr.data.candidates import Candidates, key_order
from ltr.data.catalogue_as_candidates import tool_candidates
from ltr.data.distinct_tools import ToolList
from ltr.data.tool_texts import ToolText


@dataclass(frozen=True, slots=True)
class Offer:
    """The tools to choose from, without a query."""

    tools: ToolList
    candidates: Candidates  # of a query that says nothing
    keys: IntArray  # the order of their names
    objects: tuple[object, ...]  # what the caller gave; empty for a catalogue from a file

    @classmethod
    def of(cls, names: tuple[str, ...], texts: "tuple[ToolText, ...]", objects: tuple[object, ...] = ()) -> "Offer":
        """The offer of tools with different names."""
        candidates = tool_candidates("", dict(zip(names, texts, strict=True)))
        return cls(ToolList(names, texts), candidates, key_order(candidates), objects)

    def of_tools(self, places: IntArray) -> "Offer":
        """The offer of some of the tools, by their places."""
        chosen = places.tolist()
        names, texts = ([column[place] for place in chosen] for column in (self.tools.names, self.tools.texts))
        objects = tuple(self.objects[place] for place in chosen) if self.objects else ()
        return Offer.of(tuple(names), tuple(texts), objects)

    def asked(self, queries: Sequence[str], previous: Sequence[str] | None) -> Candidates:
        """The candidates of the queries, a group each, after the names that were used before."""
        count, tools = len(queries), len(self.tools.names)
        texts = list(dict.fromkeys(queries))
        places = {text: place for place, text in enumerate(texts)}
        return replace(
            self.candidates,
            offsets=np.arange(count + 1) * tools,
            traces=np.zeros(count, dtype=np.int64),
            node_ids=("",) * count,
            queries=np.array([places[query] for query in queries], dtype=np.int64),
            query_texts=tuple(texts),
            names=np.tile(self.candidates.names, count),
            texts=np.tile(self.candidates.texts, count),
            lines=np.tile(self.candidates.lines, count),
            previous=None if previous is None else np.zeros(count, dtype=np.int64),
            previous_lists=() if previous is None else (tuple(previous),),
        )
