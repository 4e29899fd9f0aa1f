"""What is wrong, or odd, with data or with a run: findings, and the report that collects them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ltr.arrays import BoolArray, IntArray
from ltr.data.candidates import Candidates
from ltr.data.groups import Groups
from ltr.errors import DataError, FileError, SampleError

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
EXAMPLES = 3


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

    def finding(self) -> Finding:
        """The share as a finding."""
        message = self.predicate if self.of is None else f"in {self.count:,} of {self.of:,} groups {self.predicate}"
        return Finding(severity=self.severity, code=self.code, message=message, where=self.where, count=self.count)


@dataclass(frozen=True, slots=True)
class AuditReport:
    """All findings, errors first; and counts of errors, warnings and infos, and of what was read."""

    findings: tuple[Finding, ...]
    counts: dict[str, int]

    @classmethod
    def of(cls, findings: Iterable[Finding], sizes: dict[str, int]) -> "AuditReport":
        """The findings by severity, otherwise in their order; sizes: how much was read."""
        unordered = list(findings)
        ordered = [finding for severity in SEVERITIES for finding in unordered if finding.severity == severity]
        counts = {f"{level}s": sum(finding.severity == level for finding in ordered) for level in SEVERITIES}
        return cls(tuple(ordered), counts | sizes)


def row_lines(candidates: Candidates, rows: IntArray) -> tuple[str, ...]:
    """The first few of the rows, as file:line."""
    return tuple("{}:{}".format(*candidates.place(row)) for row in rows[:EXAMPLES].tolist())


def first_lines(candidates: Candidates, groups: IntArray) -> tuple[str, ...]:
    """The first rows of the first few of the groups, as file:line."""
    return row_lines(candidates, candidates.offsets[groups[:EXAMPLES]])


def percentage(part: float, total: float) -> str:
    """A part of the total in per cent.

    >>> percentage(1, 8)
    '12.5 %'
    """
    return f"{100 * part / max(total, 1):.3g} %"


def error_finding(error: DataError) -> Finding:
    """The error as a finding, at the line or the file that it names."""
    message, where = str(error), tuple[str, ...]()
    if isinstance(error, FileError):
        path, message = error.args
        where = (path,)
    elif isinstance(error, SampleError):
        path, line, name, problem = error.args
        message, where = f"{name}: {problem}" if name else problem, (f"{path}:{line}",)
    return Finding(severity="error", code="data-error", message=message, where=where)


def shares_of_rows(groups: Groups, chosen: BoolArray, severity: Severity, code: str, message: str) -> Iterator[Share]:
    """The chosen rows as a share of all, with the first few places; nothing where none is chosen."""
    rows: IntArray = np.flatnonzero(chosen)
    if rows.size:
        where = row_lines(groups.candidates, rows)
        yield Share(severity=severity, code=code, predicate=message, where=where, count=len(rows))
