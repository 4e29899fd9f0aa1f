"""Outcomes of served queries: kept in a journal, and learned from on top of what a run was trained on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from ltr.arrays import FloatArray
from ltr.data.candidates import key_order
from ltr.data.groups import Groups, select
from ltr.data.outcome_groups import all_told, corrections_of
from ltr.errors import DataError, RunError
from ltr.evaluation.ranking import Ties, order, rank
from ltr.features.corrections import Rarity
from ltr.features.presets import CORRECTIONS
from ltr.files.journal import append_line, read_journal
from ltr.serving.correction_term import scores_below, uncorrected, with_term
from ltr.serving.outcomes import OutcomeRow, outcome_groups
from ltr.serving.threads import SharedByThreads
from ltr.storage.run_record import refuse_changed
from ltr.storage.training_groups import Learned, read_learned
from ltr.storage.update_state import JOURNAL, TRAINING, covered

if TYPE_CHECKING:
    from ltr.data.schema import Kind
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
        lines = read_journal(path, self.end)
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


class Feedback(SharedByThreads):
    """The outcomes of a run directory, and what they make of its model. Threads may share it."""

    def __init__(self, home: Path, base: "Router") -> None:
        if base.features is None:
            raise DataError(READY_NUMBERS)
        super().__init__()
        self.home, self.base = home, base
        self.covered = covered(home)
        self.journal = Journal(base.kind)
        self._told: tuple[Rarity, Groups | None] | None = None
        self._corrections: tuple[int, Groups | None] = -1, None  # as they stood at this end of the journal
        self._scores: dict[tuple[str, int], FloatArray] = {}  # without the term, by the id of an outcome, and forgets

    def __reduce__(self) -> tuple[type["Feedback"], tuple[Path, "Router"]]:
        return Feedback, (self.home, self.base)  # the journal is the state

    def start_anew(self) -> None:
        """Read the journal again when it is next needed."""
        self.journal = Journal(self.base.kind)

    @property
    def path(self) -> Path:
        """The journal."""
        return self.home / JOURNAL

    def learned(self) -> Learned:
        """What the run was learned from; an error where it does not keep it."""
        return learned_of(self.home, self.base)

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
            some = select(corrections, np.array(new))
            parts = np.split(scores_below(base, some), some.offsets[1:-1])
            known |= dict(zip((ids[place] for place in new), parts, strict=True))
        return np.concatenate([known[name] for name in ids])

    def append(self, line: JournalLine) -> int:
        """Write what is new of the line to the journal, all of it or none; how many outcomes are new."""
        early = self.told[1]  # before anything is written: a run that keeps nothing is refused
        self.journal.read_on(self.path)
        known = {*self.journal.rows, *(() if early is None else early.outcomes or ())} - self.journal.forgotten
        new = list({row.id: row for row in reversed(line.outcomes) if row.id not in known}.values())[::-1]
        if new or line.forget:
            append_line(self.path, msgspec.json.encode(JournalLine(new, line.forget)))
            self.journal.read_on(self.path)
        return len(new)

    def read(self) -> Journal:
        """What the journal says, read to its end."""
        self.journal.read_on(self.path)
        return self.journal

    def router(self) -> "Router":
        """The router that has learned all that the journal says, by the layer on top of the last refit."""
        if (now := covered(self.home)) != self.covered:  # another process has learned anew
            self.base, self.covered, self._scores = self.base.again(), now, {}
        self.journal.read_on(self.path)
        if self.journal.end == self.covered.bytes:
            return self.base
        corrections = self.corrections
        return (
            uncorrected(self.base)
            if corrections is None
            else with_term(self.base, corrections, self.told[0], self.scores)
        )

    def summary(self, router: "Router", new: int, known: int, skipped: Mapping[str, int]) -> Update:
        """What all outcomes came to; `new` of them were not known, `skipped` could not be written."""
        rows, corrections = self.journal.rows.values(), self.corrections
        cut, first = {"a last line that was cut off": 1} if self.journal.is_cut else {}, 0
        if corrections is not None:
            scores = self.scores(self.base, corrections)
            if router.names[-1] == CORRECTIONS:
                scores = scores + router.fitted.only(CORRECTIONS)(corrections.candidates)[:, 0]
            ranking = rank(scores, corrections.offsets, keys=key_order(corrections.candidates))
            best = order(ranking, Ties.EXPECTED)[corrections.offsets[:-1]]
            most = np.maximum.reduceat(corrections.labels, corrections.offsets[:-1])
            first = int((corrections.labels[best] == most).sum())
        return Update(
            outcomes=new,
            known=known,
            total=len(rows),
            right=sum(row.right is not None for row in rows),
            wrong=sum(row.right is None and not row.none for row in rows),
            none=sum(row.none for row in rows),
            corrected=0 if corrections is None else len(corrections.offsets) - 1,
            first=first,
            at_once=self.base.kind == "tool",
            is_refit=self.journal.end == self.covered.bytes,
            skipped={**skipped, **self.journal.skipped, **cut},
        )


def learned_of(home: Path, router: "Router") -> Learned:
    """What the run in the directory was learned from; an error where it does not keep it."""
    file = home / TRAINING
    if not file.exists():
        texts = "" if router.kind == "tool" else " and with their texts"
        problem = f"keeps nothing to learn from outcomes with ({TRAINING})"
        raise RunError(f"{home}: {problem}; train it again, from samples{texts}")
    refuse_changed(file)
    return read_learned(file, router.fitted)
