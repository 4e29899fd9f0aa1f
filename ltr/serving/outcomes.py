"""Outcomes of served queries: what was offered, what was right, and how a journal writes it."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import msgspec
import numpy as np

from ltr.arrays import FloatArray
from ltr.data.candidates import Candidates
from ltr.data.catalogue_as_candidates import tool_candidates
from ltr.data.catalogues.tools import ToolCatalogue
from ltr.data.catalogues.tools_in_memory import offered_tools
from ltr.data.jsonlines import records
from ltr.data.source_files import LIST
from ltr.data.tool_texts import ToolText
from ltr.data.value_excerpts import excerpt, key_text
from ltr.errors import OutcomeError, SampleError, UsageError, suggestion
from ltr.files.path_arguments import AnyPath, shown
from ltr.files.reading import read_lines
from ltr.serving.query_checks import checked_queries, refuse_unusable_names

NONE: Final = "none"  # the right answer of a query for which nothing that was offered is right
MOST_OFFERED = 1 << 11  # tools in an outcome, whose columns the journal holds


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a query: the tools that were offered, and which was right."""

    query: str
    offered: Iterable[object] | None = None  # names of the catalogue or tool objects; None: the whole catalogue
    right: str | None = None  # a name, "none" where nothing offered is right, or None where nobody knows
    chosen: str | None = None  # the tool that was used: without a right one, it is known to be wrong
    previous: Sequence[str] | None = None  # names used before in the same trace


class OutcomeRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An outcome in the journal, with the columns of its tools as they were when it was written."""

    query: str
    names: list[str]
    columns: list[list[float]]  # of each tool
    right: int | None = None  # its place among the names
    chosen: int | None = None
    is_none: bool = False
    previous: list[str] | None = None


@dataclass(frozen=True, slots=True)
class OfferedTo:
    """The tools that a query was offered."""

    query: str
    names: tuple[str, ...]
    texts: tuple[ToolText, ...]
    previous: tuple[str, ...]


def candidates_of(offers: Sequence[OfferedTo]) -> Candidates:
    """The offers as groups, a trace each."""
    names = dict.fromkeys(name for offer in offers for name in offer.names)
    texts = dict.fromkeys(text for offer in offers for text in offer.texts)
    queries = dict.fromkeys(offer.query for offer in offers)
    places = [{value: place for place, value in enumerate(table)} for table in (names, texts, queries)]
    rows = sum(len(offer.names) for offer in offers)
    return replace(
        tool_candidates("", {}),
        offsets=np.cumsum([0, *(len(offer.names) for offer in offers)]),
        traces=np.arange(len(offers)),
        trace_ids=tuple(map(str, range(len(offers)))),
        node_ids=("",) * len(offers),
        queries=np.array([places[2][offer.query] for offer in offers], dtype=np.int64),
        query_texts=tuple(queries),
        names=np.array([places[0][name] for offer in offers for name in offer.names], dtype=np.int64),
        name_texts=tuple(names),
        texts=np.array([places[1][text] for offer in offers for text in offer.texts], dtype=np.int64),
        tool_texts=tuple(texts),
        lines=np.arange(rows),
        previous=np.arange(len(offers)),
        previous_lists=tuple(offer.previous for offer in offers),
    )


def offered_to(outcome: Outcome, catalogue: ToolCatalogue | None) -> OfferedTo:
    """The tools that were offered, with their texts; an error where the outcome says what cannot be."""
    offered = catalogue if outcome.offered is None else outcome.offered
    if offered is None:
        raise UsageError("no tools were offered: name them, or load the router with a catalogue")
    if isinstance(offered, str | bytes) or not isinstance(offered, Iterable):
        raise UsageError(f"offered is {excerpt(offered)}; names of tools or tool objects are needed")
    listed = list(offered)
    if len(listed) > MOST_OFFERED:
        problem = f"{len(listed):,} tools were offered; at most {MOST_OFFERED:,}: name those that the agent saw"
        raise OutcomeError("more tools than an outcome may offer", problem)
    if not listed:
        raise OutcomeError("nothing was offered", "offered is empty; name the tools that the agent saw")
    if all(isinstance(tool, str) for tool in listed):
        names, known = tuple(map(str, listed)), catalogue or {}
        if unknown := [name for name in names if name not in known]:
            problem = f"the tool {excerpt(unknown[0])} is not in the catalogue{suggestion(unknown[0], known)}"
            raise OutcomeError("tools that the catalogue does not have", problem)
        if len(set(names)) < len(names):
            again = next(name for place, name in enumerate(names) if name in names[:place])
            raise OutcomeError("a tool offered twice", f"the tool {excerpt(again)} is offered twice")
        texts = tuple(known[name] for name in names)
    else:
        tools = offered_tools(listed)
        names, texts = tools.names, tools.texts
    return OfferedTo(outcome.query, names, texts, tuple(outcome.previous or ()))


class Places(NamedTuple):
    """Where the right and the chosen tool stand among those offered, and whether nothing that was offered is right."""

    right: int | None
    chosen: int | None
    is_none: bool


def checked_places(outcome: Outcome, names: Sequence[str]) -> Places:
    """The places of an outcome; an error where it says what cannot be."""
    for role, name in (("right", outcome.right), ("chosen", outcome.chosen)):
        if name is not None and not isinstance(name, str):
            raise UsageError(f"{role} is {excerpt(name)}; the name of a tool is needed, or None")
    if outcome.right is None and outcome.chosen is None:
        raise OutcomeError("nothing is known", "nothing is known: give right=, or chosen= if only that is known wrong")
    is_none = outcome.right == NONE and NONE not in names
    places: dict[str, int | None] = {}
    for role, name in (("right", None if is_none else outcome.right), ("chosen", outcome.chosen)):
        if name is not None and name not in names:
            problem = f"{role} is {excerpt(name)}, which was not offered{suggestion(name, names)}"
            raise OutcomeError(f"{role} was not offered", problem)
        places[role] = None if name is None else names.index(name)
    return Places(places["right"], places["chosen"], is_none)


@dataclass(frozen=True, slots=True)
class UsableOutcomes:
    """Outcomes that can be written, and why others were left out."""

    offers: list[OfferedTo] = field(default_factory=list)
    places: list[Places] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)

    def rows(self, phi: FloatArray) -> list[OutcomeRow]:
        """What the journal says of them, with the columns of all their tools, one below the other."""
        ends = np.cumsum([len(offer.names) for offer in self.offers])
        columns = np.split(phi, ends[:-1])
        return [
            OutcomeRow(offer.query, list(offer.names), own.tolist(), *at, previous=list(offer.previous) or None)
            for offer, own, at in zip(self.offers, columns, self.places, strict=True)
        ]


def usable_outcomes(
    outcomes: Iterable[Outcome | Mapping[str, object]], catalogue: ToolCatalogue | None, *, is_strict: bool
) -> UsableOutcomes:
    """Those of the outcomes that can be learned from; strict, the first that cannot is an error."""
    usable = UsableOutcomes()
    for outcome in map(as_outcome, outcomes, itertools.count(1)):
        checked_queries([outcome.query])
        refuse_unusable_names(outcome.previous)
        try:
            offer = offered_to(outcome, catalogue)
            usable.places.append(checked_places(outcome, offer.names))
        except OutcomeError as error:
            if is_strict:
                raise
            usable.skipped[error.args[0]] = usable.skipped.get(error.args[0], 0) + 1
            continue
        usable.offers.append(offer)
    return usable


def as_outcome(given: object, number: int) -> Outcome:
    """The outcome, which may be a dict of its fields: the n-th of a list."""
    if isinstance(given, Outcome):
        return given
    if not isinstance(given, Mapping) or "query" not in given:
        raise SampleError(LIST, number, "", f"found {excerpt(given)}; {NEEDED['']}")
    if unknown := [key for key in given if key not in OutcomeRecord.__struct_fields__]:
        problem = f"unknown key{suggestion(str(unknown[0]), OutcomeRecord.__struct_fields__)}"
        raise SampleError(LIST, number, key_text(str(unknown[0])), problem)
    return Outcome(**given)


class OutcomeRecord(msgspec.Struct, forbid_unknown_fields=True):
    """A line of a file of outcomes."""

    query: str
    offered: list[str | dict[str, object]] | None = None
    right: str | None = None
    chosen: str | None = None
    previous: list[str] | None = None


NEEDED = {
    "": 'an object such as {"query": "...", "offered": ["a", "b"], "right": "a"} is needed',
    "query": "a text is needed",
    "offered": "a list of names or of tool objects is needed",
    "right": 'the name of a tool, "none" or null is needed',
    "chosen": "the name of a tool or null is needed",
    "previous": "a list of names is needed",
}


def read_outcomes(path: AnyPath) -> Iterator[Outcome]:
    """The outcomes of a file of JSON lines; an error names the line and the field."""
    for number, line in records(path, read_lines(path), OutcomeRecord, NEEDED):
        if not line.query.strip():
            raise SampleError(shown(path), number, "query", "found nothing but blanks; a text is needed")
        yield Outcome(line.query, line.offered, line.right, line.chosen, line.previous)
