"""Outcomes of served queries: kept in a journal, learned from without the training data."""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from ltr.arrays import FloatArray
from ltr.data.catalogue_query import tool_candidates
from ltr.data.catalogues.tool_objects import offered_tools
from ltr.data.catalogues.tools import ToolCatalogue, ToolText
from ltr.data.groups import Candidates, Groups
from ltr.data.jsonlines import excerpt, records
from ltr.errors import FileError, OutcomeError, RunError, SampleError, UsageError, suggestion
from ltr.features.crossfit import FittedFeatures, named_parts, state_of
from ltr.features.registry import FEATURES
from ltr.files.journal import append_line, read_journal
from ltr.files.parts import Part, merged
from ltr.files.reading import AnyPath, read_lines, shown
from ltr.storage.model_file import StoredModel, model_digest
from ltr.storage.run_record import refuse_changed
from ltr.storage.update_file import UpdateBase, files_of, read_base, write_base
from ltr.training.curves import Knots
from ltr.training.updating import Quadratic, Solved

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

    @property
    def teaches_weights(self) -> bool:
        """Whether w learns from it."""
        return self.right is not None and len(self.names) > 1


class JournalLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is written at once: all of it counts or nothing."""

    model: str  # its checksum
    outcomes: list[OutcomeRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """What the outcomes of a run came to."""

    outcomes: int  # that were written by this call
    total: int  # in the journal, those that were folded in included
    learned: int  # of those that are not folded in: w learned from them
    wrong_only: int  # nobody knows what was right: offers were counted, w learned nothing
    none: int  # nothing offered was right: neither counted nor learned from
    alone: int  # a single tool was offered: w learned nothing
    folded: int  # outcomes that --compact folded in: w knows them by their curvature alone
    skipped: Mapping[str, int]  # why, and how many: lines that are damaged, or of another model, or could not be used
    distance: float  # a bound on how far w is from the optimum, in standard units of the training
    held: int  # directions of w that the training data did not determine: they stay as they are
    moved_columns: tuple[str, ...]  # whose counts the outcomes were added to
    still_columns: tuple[str, ...]  # that learned from training data and do not learn from outcomes

    def after(self, earlier: "Update") -> "Update":
        """This, with what an earlier call of the same command wrote and left out."""
        return replace(self, outcomes=earlier.outcomes, skipped={**earlier.skipped, **self.skipped})


@dataclass(frozen=True, slots=True)
class Applied:
    """What ranking uses after an update."""

    w: FloatArray
    features: FittedFeatures


class Feedback:
    """The outcomes of a run directory, and what they make of its model. Threads may share it."""

    def __init__(self, home: Path, model: StoredModel) -> None:
        self.home, self.model, self.lock = home, model, threading.Lock()
        self._digest = model_digest(home)
        self._base: UpdateBase | None = None
        self._open()

    def __getstate__(self) -> dict[str, Any]:
        return {"home": self.home, "model": self.model}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["home"], state["model"])  # type: ignore[misc]  # the journal is the state

    @property
    def has_outcomes(self) -> bool:
        """Whether any were written for the run."""
        return bool(self._end)

    def _open(self) -> None:
        """Start anew from what lies in the directory."""
        training, compacted, _ = files_of(self.home)
        self._base = None
        if compacted.exists():
            base = read_base(compacted, len(self.model.w))
            if base.model.decode("ascii", "replace") != self._digest or base.w is None:
                raise FileError(str(compacted), "belongs to another model; remove it and its journal, or restore both")
            self._base = base
        elif training.exists() and files_of(self.home)[2].exists():
            refuse_changed(training)
            self._base = read_base(training, len(self.model.w))
        self._rows = _Stacked(len(self.model.w))
        self._parts: dict[str, Part] = {}
        self._counts = {"learned": 0, "wrong_only": 0, "none": 0, "alone": 0}
        self._skipped: dict[str, int] = {}
        self._end = self._base.folded_bytes if self._base else 0
        self._is_cut = False
        self._w: FloatArray | None = None
        self._solved: Solved | None = None

    def base(self) -> UpdateBase:
        """What stands for the training data; an error where the run does not keep it."""
        if self._base is None:
            training, _, _ = files_of(self.home)
            if not training.exists():
                raise RunError(
                    f"{self.home}: keeps nothing to learn from outcomes with ({training.name}); train it again"
                )
            refuse_changed(training)
            self._base = read_base(training, len(self.model.w))
        return self._base

    def append(self, rows: list[OutcomeRow]) -> None:
        """Write the rows to the journal: all of them, or none."""
        self.base()  # before anything is written
        line = JournalLine(self._digest, rows)
        append_line(files_of(self.home)[2], msgspec.json.encode(line))

    def replayed(self) -> Applied | None:
        """What ranking uses once everything in the journal is learned from; None where it says nothing."""
        journal = files_of(self.home)[2]
        lines = read_journal(journal, self._end)
        if not lines.end:
            return None
        base, rows, last = self.base(), list[OutcomeRow](), self._end
        decode = msgspec.json.Decoder(JournalLine).decode
        for content in lines.contents:
            try:
                line = decode(content)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                self._skip("damaged lines of the journal", 1)
                continue
            if line.model != self._digest:
                self._skip("outcomes of another model", len(line.outcomes))
                continue
            rows += line.outcomes
        self._skip("damaged lines of the journal", lines.damaged)
        self._is_cut, self._end = lines.is_cut, lines.end
        if rows or self._w is None or last != lines.end:
            self._learn(base, rows)
        assert self._w is not None  # _learn has set it
        return Applied(self._w, self._features(base))

    def _skip(self, reason: str, number: int) -> None:
        if number:
            self._skipped[reason] = self._skipped.get(reason, 0) + number

    def _learn(self, base: UpdateBase, rows: list[OutcomeRow]) -> None:
        """Add the rows to what is counted, and solve for w."""
        columns = len(self.model.names)
        usable = [row for row in rows if _is_sound(row, columns)]
        self._skip("outcomes that do not fit the model", len(rows) - len(usable))
        for row in usable:
            kind = "none" if row.is_none else "wrong_only" if row.right is None else "learned"
            self._counts["alone" if kind == "learned" and len(row.names) < 2 else kind] += 1
        self._rows.add([row for row in usable if row.teaches_weights], self.model.knots)
        if self.model.features and (counted := [row for row in usable if not row.is_none]):
            new = named_parts(self.model.features.configs, counted_groups(counted), self.model.features.encoder)
            self._parts = {name: merged(self._parts[name], new[name]) for name in new} if self._parts else new
        quadratic = Quadratic(self.model.w if base.w is None else base.w, base.hessian)
        self._held = quadratic.held
        if len(self._rows):
            self._solved = quadratic.solve(*self._rows.arrays(), start=self._w)
            self._w = self._solved.w
        else:
            self._w = quadratic.w

    def _features(self, base: UpdateBase) -> FittedFeatures:
        """The features with the states that counts of training and outcomes make."""
        features = self.model.features
        assert features is not None  # a model of ready numbers has no journal
        parts = self._all_parts(base)
        states = tuple(
            state_of(config, parts[config.name]) if config.name in parts else state
            for config, state in zip(features.configs, features.states, strict=True)
        )
        return replace(features, states=states)

    def _all_parts(self, base: UpdateBase) -> dict[str, Part]:
        """What was counted in training and in the outcomes."""
        both = {name: [part for part in (base.parts[name], self._parts.get(name)) if part] for name in base.parts}
        return {name: reduce(merged, parts) for name, parts in both.items()}

    def compacted(self) -> UpdateBase:
        """The base after all outcomes: w is where they moved it; their curvature there is added to the Hessian."""
        base = self.base()
        rest = self._solved.hessian if self._solved is not None else np.zeros_like(base.hessian)
        w = self._w if self._w is not None else (self.model.w if base.w is None else base.w)
        hessian = base.hessian + rest
        return UpdateBase(
            (hessian + hessian.T) / 2,
            self._all_parts(base),
            w,
            self._end,
            base.folded + sum(self._counts.values()),
            self._digest.encode(),
        )

    def compact(self) -> None:
        """Fold all outcomes of the journal in, so that they need not be solved again; the journal stays as it is.

        The caller holds the lock of the directory.
        """
        self._open()  # another process may have folded some in
        self.replayed()
        write_base(files_of(self.home)[1], self.compacted())
        self._open()

    @property
    def moved_columns(self) -> tuple[str, ...]:
        """The columns whose counts outcomes are added to."""
        return tuple(name for name in self.model.names if name in self.base().parts)

    def summary(self, outcomes: int, skipped: Mapping[str, int]) -> Update:
        """What all outcomes came to; `outcomes` of them are new, `skipped` could not be written."""
        base, moved = self.base(), self.moved_columns
        learning = [name for name in self.model.names if name in FEATURES and FEATURES[name].learner]
        counted = sum(self._counts.values())
        cut = {"a last line that was cut off": 1} if self._is_cut else {}
        return Update(
            outcomes=outcomes,
            total=base.folded + counted,
            **self._counts,
            folded=base.folded,
            skipped={**skipped, **self._skipped, **cut},
            distance=0.0 if self._solved is None else self._solved.distance,
            held=self._held,
            moved_columns=moved,
            still_columns=tuple(name for name in learning if name not in moved),
        )


class _Stacked:
    """Rows of outcomes, one below the other, in memory that grows by doubling."""

    def __init__(self, columns: int) -> None:
        self._phi, self._labels, self._bounds, self._rows = np.empty((64, columns)), np.zeros(64), [0], 0

    def __len__(self) -> int:
        return len(self._bounds) - 1

    def add(self, rows: Sequence[OutcomeRow], knots: Knots) -> None:
        """Add the outcomes."""
        new = sum(len(row.names) for row in rows)
        if not new:
            return
        if self._rows + new > len(self._phi):
            size = max(2 * len(self._phi), self._rows + new)
            phi, labels = np.empty((size, self._phi.shape[1])), np.zeros(size)
            phi[: self._rows], labels[: self._rows] = self._phi[: self._rows], self._labels[: self._rows]
            self._phi, self._labels = phi, labels
        self._phi[self._rows : self._rows + new] = knots(np.array([line for row in rows for line in row.columns]))
        for row in rows:
            assert row.right is not None  # the caller has looked
            self._labels[self._rows + row.right] = 1.0
            self._rows += len(row.names)
            self._bounds.append(self._rows)

    def arrays(self) -> tuple[FloatArray, FloatArray, Any]:
        """Phi, labels and offsets."""
        return self._phi[: self._rows], self._labels[: self._rows], np.array(self._bounds)


def _is_sound(row: OutcomeRow, columns: int) -> bool:
    """Whether the row fits a model with so many columns; a journal may come from elsewhere."""
    tools = len(row.names)
    places = [place for place in (row.right, row.chosen) if place is not None]
    is_table = len(row.columns) == tools and all(len(line) == columns for line in row.columns)
    return tools > 0 and len(set(row.names)) == tools and is_table and all(0 <= place < tools for place in places)


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


def counted_groups(rows: Sequence[OutcomeRow]) -> Groups:
    """The outcomes as groups to count: names and labels alone; where only a wrong choice is known all labels are 0."""
    nothing = ToolText("")
    offers = [OfferedTo("", tuple(row.names), (nothing,) * len(row.names), tuple(row.previous or ())) for row in rows]
    candidates = candidates_of(offers)
    labels = np.zeros(len(candidates.names))
    starts = candidates.offsets[:-1].tolist()
    labels[[start + row.right for start, row in zip(starts, rows, strict=True) if row.right is not None]] = 1.0
    return Groups(candidates, labels, candidates.offsets)


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
    for field, name in (("right", outcome.right), ("chosen", outcome.chosen)):
        if name is not None and not isinstance(name, str):
            raise UsageError(f"{field} is {excerpt(name)}; the name of a tool is needed, or None")
    if outcome.right is None and outcome.chosen is None:
        raise OutcomeError("nothing is known", "nothing is known: give right=, or chosen= if only that is known wrong")
    is_none = outcome.right == NONE and NONE not in names
    places: dict[str, int | None] = {}
    for field, name in (("right", None if is_none else outcome.right), ("chosen", outcome.chosen)):
        if name is not None and name not in names:
            problem = f"{field} is {excerpt(name)}, which was not offered{suggestion(name, names)}"
            raise OutcomeError(f"{field} was not offered", problem)
        places[field] = None if name is None else names.index(name)
    return Places(places["right"], places["chosen"], is_none)


class OutcomeRecord(msgspec.Struct, forbid_unknown_fields=True):
    """A line of a file of outcomes."""

    query: str
    offered: list[str | dict[str, Any]] | None = None
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
