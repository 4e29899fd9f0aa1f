"""Outcomes of served queries: kept in a journal, learned from without the training data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path

import msgspec
import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.data.groups import Groups
from ltr.data.tool_texts import ToolText
from ltr.errors import DataError, FileError, RunError, UsageError
from ltr.features.fitted_features import FittedFeatures
from ltr.features.learned_states import named_parts, state_of
from ltr.features.registry import FEATURES
from ltr.files.atomic_write import remove_leftovers
from ltr.files.journal import append_line, read_journal
from ltr.files.mergeable_tables import Part, merged
from ltr.serving.none_logit_inputs import relevance_of, word_count
from ltr.serving.outcomes import OfferedTo, OutcomeRow, candidates_of
from ltr.serving.shared_by_threads import SharedByThreads
from ltr.storage.model_file import StoredModel, model_digest
from ltr.storage.run_record import refuse_changed
from ltr.storage.update_state import NoneLearned, UpdateBase, files_of, read_base, write_base
from ltr.training.none_logit import NoneLogit, none_inputs
from ltr.training.none_logit_fit import relearned
from ltr.training.quadratic_approximation import Quadratic, Solved

READY_NUMBERS = "the model was trained on ready numbers; outcomes of tools with texts can be learned from"


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
    none: int  # nothing offered was right: P(none) learns from them alone
    none_learned: int  # that P(none) learned from: of those above, and where one was right; 0: it stays as it was
    alone: int  # a single tool was offered: w learned nothing
    folded: int  # outcomes that --compact folded in: w knows them by their curvature alone
    skipped: Mapping[str, int]  # why, and how many: lines that are damaged, or of another model, or could not be used
    distance: float  # a bound on how far w, and b of P(none), are from their optimum, in standard units of the training
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
    none: NoneLogit | None


class Feedback(SharedByThreads):
    """The outcomes of a run directory, and what they make of its model. Threads may share it."""

    def __init__(self, home: Path, model: StoredModel) -> None:
        if model.kind != "tool":
            raise UsageError(f"the model ranks {model.kind}s; outcomes of tools can be learned from")
        if model.features is None:
            raise DataError(READY_NUMBERS)
        super().__init__()
        self.home, self.model = home, model
        self._trained: FittedFeatures = model.features
        self._digest = model_digest(home)
        self._base: UpdateBase | None = None
        self._quadratic: Quadratic | None = None
        self._open()

    def __reduce__(self) -> tuple[type["Feedback"], tuple[Path, StoredModel]]:
        return Feedback, (self.home, self.model)  # the journal is the state

    @property
    def has_outcomes(self) -> bool:
        """Whether any were written for the run."""
        return bool(self._end)

    def start_anew(self) -> None:
        """Read all of it again when it is next needed: here an error would be lost."""
        self._is_open = False

    def _open(self) -> None:
        """Start anew from what lies in the directory."""
        training, compacted, _ = files_of(self.home)
        self._base = self._quadratic = None
        if compacted.exists():
            base = read_base(compacted, len(self.model.w))
            if base.model.decode("ascii", "replace") != self._digest or base.w is None:
                raise FileError(str(compacted), "belongs to another model; remove it and its journal, or restore both")
            self._base = base
        elif training.exists() and files_of(self.home)[2].exists():
            refuse_changed(training)
            self._base = read_base(training, len(self.model.w))
        self._rows, self._judged = _Stacked(len(self.model.w)), _Stacked(len(self.model.names))
        self._words: list[int] = []  # of the query of each that is judged
        self._none: NoneLogit | None = None
        self._distance_of_none = 0.0
        self._parts: dict[str, Part] = {}
        self._counts = {"learned": 0, "wrong_only": 0, "none": 0, "alone": 0}
        self._skipped: dict[str, int] = {}
        self._end = self._base.folded_bytes if self._base else 0
        self._is_cut = False
        self._w: FloatArray | None = None
        self._solved: Solved | None = None
        self._is_open = True

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

    def quadratic(self) -> Quadratic:
        """The objective of the training, as outcomes know it."""
        if self._quadratic is None:
            base = self.base()
            self._quadratic = Quadratic(self.model.w if base.w is None else base.w, base.hessian)
        return self._quadratic

    def append(self, rows: list[OutcomeRow]) -> None:
        """Write the rows to the journal: all of them, or none."""
        self.base()  # before anything is written
        line = JournalLine(self._digest, rows)
        append_line(files_of(self.home)[2], msgspec.json.encode(line))

    def replayed(self) -> Applied | None:
        """What ranking uses once everything in the journal is learned from; None where it says nothing."""
        if not self._is_open:
            self._open()
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
            self._learn(rows)
        return Applied(self._weights(), self._features(base), self._none or self.none())

    def _skip(self, reason: str, number: int) -> None:
        if number:
            self._skipped[reason] = self._skipped.get(reason, 0) + number

    def _learn(self, rows: list[OutcomeRow]) -> None:
        """Add the rows to what is counted, and solve for w."""
        columns = len(self.model.names)
        usable = [row for row in rows if _is_sound(row, columns)]
        self._skip("outcomes that do not fit the model", len(rows) - len(usable))
        for row in usable:
            kind = "none" if row.is_none else "wrong_only" if row.right is None else "learned"
            self._counts["alone" if kind == "learned" and len(row.names) < 2 else kind] += 1
        teaching = [row for row in usable if row.right is not None and len(row.names) > 1]
        self._rows.add(self.model.terms(phi_of(teaching, columns)), teaching)
        if counted := [row for row in usable if not row.is_none]:
            new = named_parts(self._trained.configs, counted_groups(counted), self._trained.encoder)
            self._parts = {name: merged(self._parts[name], new[name]) for name in new} if self._parts else new
        if len(self._rows):
            self._solved = self.quadratic().solve(*self._rows.arrays(), start=self._w)
            self._w = self._solved.w
        else:
            self._w = self.quadratic().w
        if (none := self.none()) is not None and none.hessian:
            self._learn_none(none, [row for row in usable if row.is_none or row.right is not None])

    def none(self) -> NoneLogit | None:
        """P(none) before the outcomes that are not folded in; None of a model that did not learn it."""
        none, base = self.model.none, self.base()
        if none is None or base.none is None:
            return none
        return replace(none, b=tuple(base.none.b.tolist()), hessian=tuple(map(tuple, base.none.hessian.tolist())))

    def _learn_none(self, before: NoneLogit, rows: Sequence[OutcomeRow]) -> None:
        """Solve for b with w held. It waits for the first outcome of none: without any they may not be reported."""
        self._judged.add(phi_of(rows, len(self.model.names)), rows)
        self._words += [word_count(row.query) for row in rows]
        has_none = self._counts["none"] or self.base().none is not None
        if not has_none or not len(self._judged):
            return
        phi, labels, offsets = self._judged.arrays()
        scores = self.model.terms.scores(phi, self._weights())
        relevance = relevance_of(self.model.names, phi, before.relevance)
        z, rest = none_inputs(scores, offsets, relevance, np.array(self._words, dtype=np.float64))
        is_none = np.maximum.reduceat(labels, offsets[:-1]) == 0
        self._none, self._distance_of_none = relearned(before, z, rest, is_none)

    def _weights(self) -> FloatArray:
        """w after what was learned."""
        return self.quadratic().w if self._w is None else self._w

    def _features(self, base: UpdateBase) -> FittedFeatures:
        """The features with the states that counts of training and outcomes make."""
        parts = self._all_parts(base)
        states = tuple(
            state_of(config, parts[config.name]) if config.name in parts else state
            for config, state in zip(self._trained.configs, self._trained.states, strict=True)
        )
        return replace(self._trained, states=states)

    def _all_parts(self, base: UpdateBase) -> dict[str, Part]:
        """What was counted in training and in the outcomes."""
        both = {name: [part for part in (base.parts[name], self._parts.get(name)) if part] for name in base.parts}
        return {name: reduce(merged, parts) for name, parts in both.items()}

    def compacted(self) -> UpdateBase:
        """The base after all outcomes: w is where they moved it; their curvature there is added to the Hessian."""
        base = self.base()
        rest = self._solved.hessian if self._solved is not None else np.zeros_like(base.hessian)
        hessian = base.hessian + rest
        return UpdateBase(
            (hessian + hessian.T) / 2,
            self._all_parts(base),
            self._weights(),
            self._end,
            base.folded + sum(self._counts.values()),
            self._digest.encode(),
            base.none if self._none is None else NoneLearned(np.array(self._none.b), np.array(self._none.hessian)),
        )

    def compact(self) -> None:
        """Fold all outcomes of the journal in, so that they need not be solved again; the journal stays as it is.

        The caller holds the lock of the directory.
        """
        remove_leftovers(self.home)  # of one that was killed while it folded
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
            none_learned=0 if self._none is None else len(self._judged),
            distance=max(0.0 if self._solved is None else self._solved.distance, self._distance_of_none),
            held=self.quadratic().held,
            moved_columns=moved,
            still_columns=tuple(name for name in learning if name not in moved),
        )


class _Stacked:
    """Rows of outcomes, one below the other, in memory that grows by doubling."""

    def __init__(self, columns: int) -> None:
        self._phi, self._labels, self._bounds, self._rows = np.empty((64, columns)), np.zeros(64), [0], 0

    def __len__(self) -> int:
        return len(self._bounds) - 1

    def add(self, table: FloatArray, rows: Sequence[OutcomeRow]) -> None:
        """Add outcomes, whose columns the table has one below the other."""
        new = len(table)
        if self._rows + new > len(self._phi):
            size = max(2 * len(self._phi), self._rows + new)
            phi, labels = np.empty((size, self._phi.shape[1])), np.zeros(size)
            phi[: self._rows], labels[: self._rows] = self._phi[: self._rows], self._labels[: self._rows]
            self._phi, self._labels = phi, labels
        self._phi[self._rows : self._rows + new] = table
        for row in rows:
            if row.right is not None:
                self._labels[self._rows + row.right] = 1.0
            self._rows += len(row.names)
            self._bounds.append(self._rows)

    def arrays(self) -> tuple[FloatArray, FloatArray, IntArray]:
        """Phi, labels and offsets."""
        return self._phi[: self._rows], self._labels[: self._rows], np.array(self._bounds)


def phi_of(rows: Sequence[OutcomeRow], columns: int) -> FloatArray:
    """The columns of the tools of all outcomes, one below the other."""
    return np.array([line for row in rows for line in row.columns], dtype=np.float64).reshape(-1, columns)


def _is_sound(row: OutcomeRow, columns: int) -> bool:
    """Whether the row fits a model with so many columns; a journal may come from elsewhere."""
    tools = len(row.names)
    places = [place for place in (row.right, row.chosen) if place is not None]
    is_table = len(row.columns) == tools and all(len(line) == columns for line in row.columns)
    return tools > 0 and len(set(row.names)) == tools and is_table and all(0 <= place < tools for place in places)


def counted_groups(rows: Sequence[OutcomeRow]) -> Groups:
    """The outcomes as groups to count: names and labels alone; where only a wrong choice is known all labels are 0."""
    nothing = ToolText("")
    offers = [OfferedTo("", tuple(row.names), (nothing,) * len(row.names), tuple(row.previous or ())) for row in rows]
    candidates = candidates_of(offers)
    labels = np.zeros(len(candidates.names))
    starts = candidates.offsets[:-1].tolist()
    labels[[start + row.right for start, row in zip(starts, rows, strict=True) if row.right is not None]] = 1.0
    return Groups(candidates, labels, candidates.offsets)
