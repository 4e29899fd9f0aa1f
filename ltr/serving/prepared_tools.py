"""The tools to choose from, before a query is known; what features prepare of each is computed once for all threads."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.data.candidates import Candidates, key_order, rows_repeated, tool_candidates
from ltr.data.columns import coded
from ltr.data.distinct_tools import ToolList, tools_of_rows
from ltr.data.tool_texts import ToolText
from ltr.features.feature_context import StateMemo
from ltr.features.fitted_features import FittedFeatures
from ltr.features.precomputed_tables import Tables, all_extended
from ltr.files.freed_memory import return_freed_memory
from ltr.serving.served_encoder import ServedEncoder
from ltr.serving.shortlist import Shortlist
from ltr.serving.threads import SharedByThreads

if TYPE_CHECKING:
    from ltr.data.catalogues.tools import ToolCatalogue

Made = TypeVar("Made")

MOST_TOOLS = 1 << 14  # held; a service that meets more of them starts anew
MOST_OF_A_CUT = 6_000  # held where a large catalogue is cut: its shortlist needs memory as well
AT_ONCE = 1 << 10  # prepared at once: more of them need more memory on the way


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
        count = len(queries)
        return replace(
            self.candidates,
            **rows_repeated(self.candidates, count),
            traces=np.zeros(count, dtype=np.int64),
            node_ids=("",) * count,
            **coded(Candidates, queries=queries),
            previous=None if previous is None else np.zeros(count, dtype=np.int64),
            previous_lists=() if previous is None else (tuple(previous),),
        )


class PreparedTools(SharedByThreads):
    """What fitted features prepared of the tools that they have met. Threads may share it; a copy starts empty."""

    def __init__(self) -> None:
        super().__init__()
        self.start_anew()

    def start_anew(self) -> None:
        """Hold nothing."""
        self._served: FittedFeatures | None = None
        self._rows: dict[tuple[str, ToolText], int] = {}
        self._tables: tuple[Any, ...] | None = None
        self._of_states: StateMemo = {}
        self._shortlist: tuple[ToolList, Shortlist] | None = None
        self._last: tuple[ToolList, Tables] | None = None  # of the own catalogue
        self._own: tuple[ToolCatalogue, Offer] | None = None
        self._made: tuple[ToolCatalogue | None, Any] | None = None

    def __reduce__(self) -> tuple[type["PreparedTools"], tuple[()]]:
        return PreparedTools, ()

    def served(self, features: FittedFeatures) -> FittedFeatures:
        """The features with an encoder that holds nothing of a query."""
        with self.lock:
            if self._served is None:
                self._served = _served(features)
            return self._served

    def renewed(self, features: FittedFeatures, changed: Sequence[str]) -> "PreparedTools":
        """The same for features of which some have another state; a shortlist stays as it was made."""
        new, places = PreparedTools(), [place for place, name in enumerate(features.names) if name in changed]
        with self.lock:
            new._own, new._shortlist, new._rows = self._own, self._shortlist, dict(self._rows)
            if self._tables is not None:
                names, texts = zip(*new._rows, strict=True)
                some = new.served(features).only(*changed)
                tables = dict(zip(places, some.prepared(ToolList(names, texts), {}), strict=True))
                new._tables = tuple(tables.get(place, table) for place, table in enumerate(self._tables))
        return new

    def anew(self, features: FittedFeatures) -> "PreparedTools":
        """The same tools for other features: who asks next does not wait; a shortlist stays as it was made."""
        new = PreparedTools()
        with self.lock:
            new._own, new._shortlist, rows = self._own, self._shortlist, list(self._rows)
        if rows:
            names, texts = zip(*rows, strict=True)
            new.tables(features, ToolList(names, texts))
        return new

    def once(self, catalogue: "ToolCatalogue | None", make: Callable[[], Made]) -> Made:
        """What is made of the router's own catalogue, made once."""
        with self.lock:
            if self._made is None or self._made[0] is not catalogue:
                self._made = catalogue, make()
            value: Made = self._made[1]
            return value

    def own_offer(self, catalogue: "ToolCatalogue", objects: tuple[object, ...]) -> Offer:
        """The offer of the router's own catalogue, made once."""
        own = self._own
        if own is None or own[0] is not catalogue:
            own = self._own = catalogue, Offer.of(tuple(catalogue), tuple(catalogue.values()), objects)
        return own[1]

    def shortlist(self, features: FittedFeatures, tools: ToolList) -> Shortlist:
        """The shortlist of a large catalogue; that of the last one is held."""
        with self.lock:
            if self._shortlist is None or self._shortlist[0] != tools:
                self._shortlist = tools, Shortlist.of(tools, features)
            return self._shortlist[1]

    def phi(
        self, features: FittedFeatures, offer: Offer, queries: Sequence[str], previous: Sequence[str] | None
    ) -> FloatArray:
        """The columns of the queries with all tools of the offer; of too many tools to hold, part by part."""
        names = offer.tools.names
        if len(names) <= MOST_TOOLS:
            served = self.served(features)
            tables = self.tables(features, offer.tools)
            rows = np.tile(tables.rows, len(queries))
            return served(offer.asked(queries, previous), Tables(tables.of_features, rows, self._of_states))
        raw = np.empty((len(queries), len(names), features.width))
        for first in range(0, len(names), AT_ONCE):
            part, served = slice(first, first + AT_ONCE), _served(features)  # its encoder's vectors go with the part
            some = Offer.of(names[part], offer.tools.texts[part])
            rows = np.tile(some.candidates.names, len(queries))
            tables = Tables(served.prepared(some.tools, self._of_states), rows, self._of_states)
            numbers = served(some.asked(queries, previous), tables, are_whole_lists=False)
            raw[:, part] = numbers.reshape(len(queries), -1, features.width)
        return features.whole(raw.reshape(-1, features.width), offer.asked(queries, previous).offsets)

    def columns(self, features: FittedFeatures, candidates: Candidates) -> FloatArray:
        """The columns of queries with tools of their own."""
        tools, tool_of_row = tools_of_rows(candidates)
        tables = self.tables(features, tools)
        return self.served(features)(candidates, Tables(tables.of_features, tables.rows[tool_of_row], self._of_states))

    def tables(self, features: FittedFeatures, tools: ToolList) -> Tables:
        """What the features prepared of the tools; only those that are new to this object are prepared."""
        held = self._last
        if held is not None and held[0] is tools:
            return held[1]
        served, listed = self.served(features), list(zip(tools.names, tools.texts, strict=True))
        with self.lock:
            new = [place for place, tool in enumerate(listed) if tool not in self._rows]
            most = MOST_TOOLS if self._shortlist is None else MOST_OF_A_CUT
            if len(self._rows) + len(new) > most and self._rows:
                self._rows, self._tables, new = {}, None, list(range(len(listed)))
                self._served = served = _served(features)  # its encoder held the vectors of those tools
                return_freed_memory()
            for first in range(0, len(new), AT_ONCE):
                part = [listed[place] for place in new[first : first + AT_ONCE]]
                names, texts = zip(*part, strict=True)
                more = served.prepared(ToolList(names, texts), self._of_states)
                self._tables = more if self._tables is None else all_extended(self._tables, more)
                self._rows |= {tool: len(self._rows) + place for place, tool in enumerate(part)}
            rows = np.array([self._rows[tool] for tool in listed], dtype=np.int64)
            tables = Tables(self._tables or (None,) * len(features.configs), rows, self._of_states)
            if self._own is not None and self._own[1].tools is tools:
                self._last = tools, tables
            return tables


def _served(features: FittedFeatures) -> FittedFeatures:
    """The features with an encoder that holds nothing of a query, and of tools what it is asked for from now on."""
    return replace(features, encoder=ServedEncoder(features.apart().encoder))
