"""Outcomes of served queries: what was offered, what was right, and how a journal writes it."""

import hashlib
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from ltr.arrays import offsets_of
from ltr.catalogues import GraphEntry, ToolText, offered_graphs, offered_tools
from ltr.errors import FieldError, OutcomeError, SampleError, UsageError, suggestion
from ltr.files import read_lines
from ltr.jsonl import excerpt, key_text, records
from ltr.paths import AnyPath, shown
from ltr.samples import ABSENT, LIST, RIGHT, Candidates, Groups, Kind, coded, seconds
from ltr.serving.answers import checked_queries, refuse_unusable_names

Offerable = Mapping[str, ToolText | GraphEntry]  # what a name of a catalogue, or an id, stands for

MOST_OFFERED = 1 << 11  # tools or graphs in an outcome, whose texts the journal holds
MOST_WEIGHT = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a query: the tools or graphs that were offered, and which was right, or which was wrong."""

    query: str
    offered: Iterable[object] | None = None  # names of the catalogue or objects; None: the whole catalogue
    right: str | None = None  # the tool, or the id of the graph, that should have been used
    wrong: str | None = None  # the one that was used, where nobody knows which is right
    none: bool = False  # nothing that was offered is right
    previous: Sequence[str] | None = None  # names used before in the same trace
    time: float | str | None = None  # seconds since 1970, or ISO 8601
    weight: float = 1.0  # as often it counts in the corrections that are learned at once; columns and w count it once
    id: str | int | None = None  # an id counts once; None: a digest of all that is said here


class OutcomeRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An outcome in the journal."""

    id: str
    query: str
    names: list[str]  # of tools, or ids of graphs
    texts: list[ToolText] = []  # of each tool
    right: int | None = None  # its place among the names
    wrong: int | None = None
    none: bool = False
    previous: list[str] = []
    time: float | None = None
    weight: float = 1.0
    graphs: list[GraphEntry] = []  # in the place of texts

    @property
    def kind(self) -> Kind:
        """What was offered."""
        return "graph" if self.graphs else "tool"

    @property
    def is_sound(self) -> bool:
        """Whether it can be used; a journal may come from elsewhere."""
        size = len(self.names)
        places = [place for place in (self.right, self.wrong) if place is not None]
        is_told = self.none or bool(places)
        is_offer = 0 < size == len(set(self.names)) == len(self.graphs or self.texts) <= MOST_OFFERED
        is_offer = is_offer and 0 < self.weight <= MOST_WEIGHT and all(entry.graph.is_sound for entry in self.graphs)
        return is_offer and is_told and bool(self.query.strip()) and all(0 <= place < size for place in places)


def outcome_groups(rows: Sequence[OutcomeRow]) -> Groups:
    """Return the outcomes as groups that are marked, a trace each, whose id is that of the outcome."""
    graphs = [entry for row in rows for entry in row.graphs]
    offsets = offsets_of([len(row.names) for row in rows])
    labels = np.zeros(int(offsets[-1]))
    answered = [(start, row.right) for start, row in zip(offsets.tolist(), rows, strict=False) if row.right is not None]
    labels[[start + right for start, right in answered]] = 1.0
    times = [math.nan if row.time is None else row.time for row in rows]
    columns = coded(
        Candidates,
        queries=(row.query for row in rows),
        names=(name for row in rows for name in row.names),
        texts=(text for row in rows for text in row.texts),
        types=(entry.candidate_type or "" for entry in graphs),
        graphs=(entry.graph for entry in graphs),
        previous=(tuple(row.previous) for row in rows),
    )
    candidates = Candidates(
        kind="graph" if graphs else "tool",
        offsets=offsets,
        traces=np.arange(len(rows)),
        trace_ids=tuple(row.id for row in rows),
        node_ids=("0",) * len(rows),
        lines=np.zeros(len(labels), dtype=np.int64),
        **columns,
    )
    return Groups(
        candidates,
        labels,
        offsets,
        weights=np.array([row.weight for row in rows]),
        times=None if all(map(math.isnan, times)) else np.array(times),
        none=np.array([RIGHT if row.none else ABSENT for row in rows], dtype=np.int64),
        outcomes=tuple(row.id for row in rows),
    )


def _described(outcome: Outcome, catalogue: Offerable | None, kind: Kind) -> Offerable:
    """Return what was offered, by name, with its texts; an error where the outcome says what cannot be."""
    offered = catalogue if outcome.offered is None else outcome.offered
    if offered is None:
        raise UsageError(f"no {kind}s were offered: name them, or load the router with a catalogue")
    if isinstance(offered, str | bytes) or not isinstance(offered, Iterable):
        raise UsageError(f"offered is {excerpt(offered)}; names of {kind}s or {kind} objects are needed")
    listed = list(offered)
    if len(listed) > MOST_OFFERED:
        problem = f"{len(listed):,} {kind}s were offered; at most {MOST_OFFERED:,}: name those that the agent saw"
        raise OutcomeError(f"more {kind}s than an outcome may offer", problem)
    if not listed:
        raise OutcomeError("nothing was offered", f"offered is empty; name the {kind}s that the agent saw")
    if not all(isinstance(one, str) for one in listed):
        if kind == "graph":
            return offered_graphs(listed)
        tools = offered_tools(listed)
        return dict(zip(tools.names, tools.texts, strict=True))
    names, known = tuple(map(str, listed)), catalogue or {}
    if unknown := [name for name in names if name not in known]:
        problem = f"the {kind} {excerpt(unknown[0])} is not in the catalogue{suggestion(unknown[0], known)}"
        raise OutcomeError(f"{kind}s that the catalogue does not have", problem)
    if len(set(names)) < len(names):
        again = next(name for place, name in enumerate(names) if name in names[:place])
        raise OutcomeError(f"a {kind} offered twice", f"the {kind} {excerpt(again)} is offered twice")
    return {name: known[name] for name in names}


def outcome_row(outcome: Outcome, catalogue: Offerable | None, kind: Kind) -> OutcomeRow:
    """Return what the journal says of an outcome; an error where it says what cannot be."""
    described = _described(outcome, catalogue, kind)
    names, previous = list(described), list(outcome.previous or ())
    graphs = [entry for entry in described.values() if isinstance(entry, GraphEntry)]
    # what tells each from others: the name of a tool, what a graph holds
    keys = [entry.graph.digest(entry.candidate_type or "") for entry in graphs] or names
    places = [_place(role, name, names) for role, name in (("right", outcome.right), ("wrong", outcome.wrong))]
    if outcome.none and outcome.right is not None:
        raise OutcomeError("right beside none", f"right is {excerpt(outcome.right)}, and none says that nothing is")
    if outcome.right is not None and outcome.right == outcome.wrong:
        raise OutcomeError("right and wrong are one", f"{excerpt(outcome.right)} is said to be right and to be wrong")
    if not outcome.none and outcome.right is None and outcome.wrong is None:
        raise OutcomeError("nothing is known", "nothing is known: give right, wrong, or none")
    try:
        time = None if outcome.time is None else seconds(outcome.time)
    except FieldError as error:
        raise UsageError(f"{error.args[0]}: {error.args[1]}") from error
    weight = outcome.weight
    if not isinstance(weight, int | float) or isinstance(weight, bool) or not 0 < weight <= MOST_WEIGHT:
        raise UsageError(f"weight is {excerpt(weight)}; a number above 0, at most {MOST_WEIGHT:,}, is needed")
    told = [None if place is None else keys[place] for place in places]
    said = (outcome.query, sorted(keys), *told, outcome.none, previous, time, weight)
    digest = hashlib.blake2b(msgspec.json.encode(said), digest_size=8).hexdigest()
    return OutcomeRow(
        id=digest if outcome.id is None else str(outcome.id),
        query=outcome.query,
        names=names,
        texts=[text for text in described.values() if isinstance(text, ToolText)],
        right=places[0],
        wrong=places[1],
        none=outcome.none,
        previous=previous,
        time=time,
        weight=weight,
        graphs=graphs,
    )


def _place(role: str, name: object, names: Sequence[str]) -> int | None:
    """Return the place of a name among those that were offered."""
    if name is None:
        return None
    if not isinstance(name, str):
        raise UsageError(f"{role} is {excerpt(name)}; the name of a tool or the id of a graph is needed, or None")
    if name not in names:
        problem = f"{role} is {excerpt(name)}, which was not offered{suggestion(name, names)}"
        raise OutcomeError(f"{role} was not offered", problem)
    return names.index(name)


def usable_rows(
    outcomes: Iterable[Outcome | Mapping[str, object]], catalogue: Offerable | None, kind: Kind, *, is_strict: bool
) -> tuple[list[OutcomeRow], dict[str, int]]:
    """Return the outcomes that can be learned from, and why others cannot; strict, the first of these is an error."""
    rows, skipped = list[OutcomeRow](), dict[str, int]()
    for outcome in map(_as_outcome, outcomes, itertools.count(1)):
        checked_queries([outcome.query])
        refuse_unusable_names(outcome.previous)
        try:
            rows.append(outcome_row(outcome, catalogue, kind))
        except OutcomeError as error:
            if is_strict:
                raise
            skipped[error.args[0]] = skipped.get(error.args[0], 0) + 1
    return rows, skipped


class OutcomeRecord(msgspec.Struct, forbid_unknown_fields=True):
    """A line of a file of outcomes, or a dict in Python."""

    query: str
    offered: list[str | dict[str, object]] | None = None
    right: str | None = None
    wrong: str | None = None
    none: bool = False
    previous: list[str] | None = None
    time: float | str | None = None
    weight: float = 1.0
    id: int | str | None = None

    @property
    def outcome(self) -> Outcome:
        """The same as an outcome."""
        return Outcome(**{name: getattr(self, name) for name in self.__struct_fields__})


NEEDED = {
    "": 'an object such as {"query": "...", "offered": ["a", "b"], "right": "a"} is needed',
    "query": "a text is needed",
    "offered": "a list of names, or of tool or graph objects, is needed",
    "right": "the name of a tool or the id of a graph is needed",
    "wrong": "the name of a tool or the id of a graph is needed",
    "none": "true is needed, where nothing that was offered is right",
    "previous": "a list of names is needed",
    "time": "seconds since 1970 or an ISO 8601 text is needed",
    "weight": "a number above 0 is needed",
    "id": "a text or an integer is needed",
}


def read_outcomes(path: AnyPath) -> Iterator[Outcome]:
    """Yield the outcomes of a file of JSON lines; an error names the line and the field."""
    for number, line in records(path, read_lines(path), OutcomeRecord, NEEDED):
        if not line.query.strip():
            raise SampleError(shown(path), number, "query", "found nothing but blanks; a text is needed")
        if isinstance(line.time, str):
            try:
                seconds(line.time)
            except FieldError as error:
                raise SampleError(shown(path), number, *error.args) from error
        yield line.outcome


def _as_outcome(given: object, number: int) -> Outcome:
    """Return the outcome, which may be a dict of its fields: the n-th of a list."""
    if isinstance(given, Outcome):
        return given
    if not isinstance(given, Mapping) or "query" not in given:
        raise SampleError(LIST, number, "", f"found {excerpt(given)}; {NEEDED['']}")
    if unknown := [key for key in given if key not in OutcomeRecord.__struct_fields__]:
        problem = f"unknown key{suggestion(str(unknown[0]), OutcomeRecord.__struct_fields__)}"
        raise SampleError(LIST, number, key_text(str(unknown[0])), problem)
    return Outcome(**given)
