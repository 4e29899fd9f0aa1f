"""What is wrong, or odd, with data or with a run: findings, and the report that collects them."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np

from ltr.arrays import BoolArray, IntArray
from ltr.errors import DataError, FileError, SampleError
from ltr.samples import Candidates, Groups

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
EXAMPLES = 3
MOST_ERRORS = 100  # findings; more kinds of errors are counted in one
VALUE, NUMBER = re.compile(r"found .*?; |\S*:[0-9]+ has (?!it for).*? for "), re.compile(r"[0-9]+")  # what differs


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong or odd, how often, and where."""

    severity: Severity
    code: str
    message: str
    where: tuple[str, ...] = ()  # the first few places, file:line where a line is at fault
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """How many groups, or rows, something is odd about: shares of shards add up."""

    severity: Severity
    code: str
    predicate: str  # what is said of the rows; of groups, what is odd in them
    where: tuple[str, ...]
    count: int
    of: int | None = None  # of so many groups; None: rows

    @classmethod
    def of_groups(
        cls, groups: Groups, chosen: BoolArray, severity: Severity, code: str, predicate: str
    ) -> "Iterator[Share]":
        """Yield the share of the chosen groups, with the first few places; nothing where none is chosen."""
        if (numbers := np.flatnonzero(chosen)).size:
            where, of = first_lines(groups.candidates, numbers), len(groups.offsets) - 1
            yield cls(severity=severity, code=code, predicate=predicate, where=where, count=len(numbers), of=of)

    @classmethod
    def of_rows(
        cls, groups: Groups, chosen: BoolArray, severity: Severity, code: str, predicate: str
    ) -> "Iterator[Share]":
        """Yield the share of the chosen rows, likewise."""
        if (rows := np.flatnonzero(chosen)).size:
            where = row_lines(groups.candidates, rows)
            yield cls(severity=severity, code=code, predicate=predicate, where=where, count=len(rows))

    @property
    def finding(self) -> Finding:
        """The share as a finding."""
        message = self.predicate if self.of is None else f"in {self.count:,} of {self.of:,} groups {self.predicate}"
        return Finding(severity=self.severity, code=self.code, message=message, where=self.where, count=self.count)


Counted = TypeVar("Counted", Finding, Share)


def add_to(known: dict[tuple[str, ...], Counted], key: tuple[str, ...], more: Counted) -> None:
    """Add a finding or a share to those of the same kind: their numbers add up, the first places stay."""
    if key in known:
        same: Counted = known[key]
        more = replace(same, where=(*same.where, *more.where)[:EXAMPLES], count=same.count + more.count)
    known[key] = more


@dataclass(frozen=True, slots=True)
class AuditReport:
    """All findings, errors first; and counts of errors, warnings and infos, and of what was read."""

    findings: tuple[Finding, ...]
    counts: dict[str, int]

    @classmethod
    def of(cls, findings: Iterable[Finding], sizes: dict[str, int]) -> "AuditReport":
        """Sort findings by severity, otherwise as they come; `sizes` say how much was read."""
        ordered = sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))
        counts = {f"{level}s": sum(finding.severity == level for finding in ordered) for level in SEVERITIES}
        return cls(tuple(ordered), counts | sizes)


def row_lines(candidates: Candidates, rows: IntArray) -> tuple[str, ...]:
    """Return the first few of the rows, as file:line."""
    return tuple("{}:{}".format(*candidates.place(row)) for row in rows[:EXAMPLES].tolist())


def first_lines(candidates: Candidates, groups: IntArray) -> tuple[str, ...]:
    """Return the first rows of the first few of the groups, as file:line."""
    return row_lines(candidates, candidates.offsets[groups[:EXAMPLES]])


def percentage(part: float, total: float) -> str:
    """Return a part of the total in per cent.

    >>> percentage(1, 8)
    '12.5 %'
    """
    return f"{100 * part / max(total, 1):.3g} %"


def error_finding(error: DataError) -> Finding:
    """Return the error as a finding, at the line or the file that it names."""
    message, where = str(error), tuple[str, ...]()
    if isinstance(error, FileError):
        path, message = error.args
        where = (path,)
    elif isinstance(error, SampleError):
        path, line, name, problem = error.args
        message, where = f"{name}: {problem}" if name else problem, (f"{path}:{line}",)
    return Finding(severity="error", code="data-error", message=message, where=where)


class LineFindings:
    """What is wrong with lines: a finding for each kind of error, and for each warning."""

    def __init__(self) -> None:
        self._by_kind: dict[tuple[str, ...], Finding] = {}  # the first error of each, and its number
        self._other_errors = 0  # of further kinds
        self._warned: dict[str, dict[tuple[str, ...], Finding]] = {"repeated-key": {}, "misspelt-key": {}}

    def take(self, errors: Iterable[DataError]) -> None:
        """Count the errors by their kinds: alike are those of which only values, places and numbers differ."""
        for error in errors:
            finding = error_finding(error)
            kind = (NUMBER.sub("0", VALUE.sub("", finding.message)),)
            if kind in self._by_kind or len(self._by_kind) < MOST_ERRORS:
                add_to(self._by_kind, kind, finding)
            else:
                self._other_errors += 1

    def warn(self, code: str, key: tuple[str, ...], message: str, where: str) -> None:
        """Count a warning of a line; those of the same key are one."""
        add_to(self._warned[code], key, Finding(severity="warning", code=code, message=message, where=(where,)))

    def all(self, repeated: Iterable[Finding] = ()) -> list[Finding]:
        """Return the errors, then merged candidates, then keys."""
        findings = list(self._by_kind.values())
        if self._other_errors:
            more = "more errors like these"
            findings.append(Finding(severity="error", code="data-error", message=more, count=self._other_errors))
        return [*findings, *repeated, *(finding for known in self._warned.values() for finding in known.values())]
