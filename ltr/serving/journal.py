"""Outcomes of served queries: kept in a journal, and learned from on top of what a run was trained on."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from ltr.arrays import FloatArray
from ltr.errors import DataError, RunError
from ltr.evaluation import Ties, order, rank
from ltr.features import CORRECTIONS, Rarity
from ltr.journal import JournalFile
from ltr.runs import Learned, Part, RunDirectory
from ltr.samples import Groups, all_told, corrections_of
from ltr.serving.outcomes import Outcome, OutcomeRow, outcome_groups, usable_rows
from ltr.serving.threads import SharedByThreads

if TYPE_CHECKING:
    from ltr.samples import Kind
    from ltr.serving.router import Router

READY_NUMBERS = "the model was trained on ready numbers; outcomes are learned from by columns made of texts"


class JournalLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What is written at once: all of it counts or nothing."""

    outcomes: list[OutcomeRow] = []
    forget: list[str] = []  # ids of outcomes, or of traces, that count no more


@dataclass(slots=True)
class Journal:
    """What the journal of a run says: each outcome once, by its id."""

    kind: "Kind"  # of what the outcomes offer
    end: int = 0
    rows: dict[str, OutcomeRow] = field(default_factory=dict)
    forgotten: set[str] = field(default_factory=set)
    forgets: int = 0  # how often something was taken back: an id may stand for another outcome since
    skipped: dict[str, int] = field(default_factory=dict)
    is_cut: bool = False  # the last line has no end: a write that a kill cut off

    def read_on(self, path: Path) -> None:
        """Read what was written since."""
        lines = JournalFile(path).read(self.end)
        self.end = lines.end
        self.is_cut = lines.is_cut
        self._skip("damaged lines of the journal", lines.damaged)
        decode = msgspec.json.Decoder(JournalLine).decode
        for content in lines.contents:
            try:
                line = decode(content)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                self._skip("damaged lines of the journal", 1)
                continue
            for name in line.forget:
                self.rows.pop(name, None)
                self.forgotten.add(name)
                self.forgets += 1
            sound = [row for row in line.outcomes if row.kind == self.kind and row.is_sound]
            self._skip("outcomes that cannot be", len(line.outcomes) - len(sound))
            for row in sound:
                self.forgotten.discard(row.id)
                self.rows.setdefault(row.id, row)

    def _skip(self, reason: str, number: int) -> None:
        if number:
            self.skipped[reason] = self.skipped.get(reason, 0) + number

    @property
    def groups(self) -> Groups | None:
        """The outcomes as groups; None without any."""
        return outcome_groups([self.rows[name] for name in sorted(self.rows)]) if self.rows else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """What the outcomes of a run came to."""

    outcomes: int  # that were written by this call
    known: int  # that had been written before, by their ids
    total: int  # in the journal
    right: int  # of those: the right candidate is known
    wrong: int  # nobody knows what was right: they were offered, and one was not right
    none: int  # nothing offered was right
    corrected: int  # queries and offers of which a right candidate is known
    first: int  # of those: the right one stands first
    at_once: bool  # whether corrections rank from now on; those of graphs do with the refit
    is_refit: bool  # whether columns and weights know all of them
    skipped: Mapping[str, int]  # why, and how many: lines that are damaged, or could not be used
    failure: str = ""  # why the last refit in the background failed; the next one is tried all the same


@dataclass(frozen=True, slots=True)
class Written:
    """What became of outcomes that were to be written."""

    new: int
    known: int  # that had been written before, by their ids
    skipped: Mapping[str, int]  # why, and how many


class Feedback(SharedByThreads):
    """The outcomes of a run directory, and what they make of its model. Threads may share it."""

    def __init__(self, home: Path, base: "Router") -> None:
        if base.features is None:
            raise DataError(READY_NUMBERS)
        super().__init__()
        self.home, self.path, self.base = home, home / Part.JOURNAL, base
        self.covered = RunDirectory(home).covered
        self.journal = Journal(base.kind)
        self._told: tuple[Rarity, Groups | None] | None = None
        self._corrections: tuple[int, Groups | None] = -1, None  # as they stood at this end of the journal
        self._scores: dict[tuple[str, int], FloatArray] = {}  # without the term, by the id of an outcome, and forgets

    def __reduce__(self) -> tuple[type["Feedback"], tuple[Path, "Router"]]:
        return Feedback, (self.home, self.base)  # the journal is the state

    def start_anew(self) -> None:
        """Read the journal again when it is next needed."""
        self.journal = Journal(self.base.kind)

    def learned(self) -> Learned:
        """Return what the run was learned from; an error where it does not keep it."""
        if not (self.home / Part.TRAINING).exists():
            texts = "" if self.base.kind == "tool" else " and with their texts"
            problem = f"keeps nothing to learn from outcomes with ({Part.TRAINING})"
            raise RunError(f"{self.home}: {problem}; train it again, from samples{texts}")
        return Learned.read(self.home, self.base.fitted)

    @property
    def told(self) -> tuple[Rarity, Groups | None]:
        """How rare words of training queries are, and the outcomes among them."""
        if self._told is None:
            learned = self.learned()
            self._told = learned.rarity, learned.outcomes
        return self._told

    @property
    def corrections(self) -> Groups | None:
        """What all outcomes correct: those among the training samples, and those of the journal."""
        end, corrections = self._corrections
        if end != self.journal.end:
            outcomes = all_told(self.told[1], self.journal.groups, self.journal.forgotten)
            corrections = None if outcomes is None else corrections_of(outcomes)
            self._corrections = self.journal.end, corrections
        return corrections

    def scores(self, base: "Router", corrections: Groups) -> FloatArray:
        """Return what the model without the term says of corrected queries; it says it of each once."""
        ids, known = [(name, self.journal.forgets) for name in corrections.outcomes or ()], self._scores
        if new := [place for place, name in enumerate(ids) if name not in known]:
            some = corrections.select(np.array(new))
            parts = np.split(base.scores_below(some), some.offsets[1:-1])
            known |= dict(zip((ids[place] for place in new), parts, strict=True))
        return np.concatenate([known[name] for name in ids])

    def write(
        self, outcomes: Iterable[Outcome | Mapping[str, object]], forget: Sequence[str] = (), *, is_strict: bool
    ) -> Written:
        """Write what is new to the journal, all of it or none."""
        rows, skipped = usable_rows(outcomes, self.base.offerable, self.base.kind, is_strict=is_strict)
        early = self.told[1]  # before anything is written: a run that keeps nothing is refused
        journal = self.read()
        known = {*journal.rows, *(() if early is None else early.outcomes or ())} - journal.forgotten
        new = list({row.id: row for row in reversed(rows) if row.id not in known}.values())[::-1]
        if new or forget:
            JournalFile(self.path).append(msgspec.json.encode(JournalLine(new, list(forget))))
            self.read()
        return Written(len(new), len(rows) - len(new), skipped)

    def read(self) -> Journal:
        """Return what the journal says, read to its end."""
        self.journal.read_on(self.path)
        return self.journal

    def router(self) -> "Router":
        """Return the router that has learned all that the journal says, by the layer on top of the last refit."""
        if (now := RunDirectory(self.home).covered) != self.covered:  # another process has learned anew
            self.base, self.covered, self._scores = self.base.again(), now, {}
        if self.read().end == self.covered.bytes:
            return self.base
        corrections = self.corrections
        if corrections is None:
            return self.base.uncorrected()
        return self.base.with_term(corrections, self.told[0], self.scores)

    def summary(self, router: "Router", written: Written) -> Update:
        """Return what all outcomes came to."""
        rows, corrections = self.journal.rows.values(), self.corrections
        cut, first = {"a last line that was cut off": 1} if self.journal.is_cut else {}, 0
        if corrections is not None:
            scores = self.scores(self.base, corrections)
            if router.names[-1] == CORRECTIONS:
                scores = scores + router.fitted.only(CORRECTIONS)(corrections.candidates)[:, 0]
            ranking = rank(scores, corrections.offsets, keys=corrections.candidates.key_order())
            best = order(ranking, Ties.EXPECTED)[corrections.offsets[:-1]]
            most = np.maximum.reduceat(corrections.labels, corrections.offsets[:-1])
            first = int((corrections.labels[best] == most).sum())
        return Update(
            outcomes=written.new,
            known=written.known,
            total=len(rows),
            right=sum(row.right is not None for row in rows),
            wrong=sum(row.right is None and not row.none for row in rows),
            none=sum(row.none for row in rows),
            corrected=0 if corrections is None else len(corrections.offsets) - 1,
            first=first,
            at_once=self.base.kind == "tool",
            is_refit=self.journal.end == self.covered.bytes,
            skipped={**written.skipped, **self.journal.skipped, **cut},
        )
