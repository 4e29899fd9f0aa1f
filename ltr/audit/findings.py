"""What was found wrong, or odd, with data or with a run."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from ltr.arrays import IntArray
from ltr.data.groups import Candidates

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
EXAMPLES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was found, how often, and where it is seen."""

    severity: Severity
    code: str
    message: str
    where: tuple[str, ...] = ()  # the first few places, file:line where a line is at fault
    count: int = 1


@dataclass(frozen=True, slots=True)
class Report:
    """All findings, errors first, and how much was looked at."""

    findings: tuple[Finding, ...]
    counts: dict[str, int]

    def document(self) -> dict[str, Any]:
        """The report as JSON."""
        keys = ("severity", "code", "message", "where", "count")
        findings = [{key: getattr(finding, key) for key in keys} for finding in self.findings]
        return {"findings": [{**each, "where": list(each["where"])} for each in findings], "counts": self.counts}


def report(findings: Iterable[Finding], looked_at: dict[str, int]) -> Report:
    """The findings by severity, in the order they were made, and how many there are of each."""
    made = list(findings)
    by_severity = {severity: [each for each in made if each.severity == severity] for severity in SEVERITIES}
    counts = {f"{severity}s": len(found) for severity, found in by_severity.items()}
    return Report(tuple(each for found in by_severity.values() for each in found), counts | looked_at)


def places(candidates: Candidates, rows: IntArray) -> tuple[str, ...]:
    """Where the first few of the rows stand, as file:line."""
    return tuple("{}:{}".format(*candidates.place(row)) for row in rows[:EXAMPLES].tolist())


def first_rows(candidates: Candidates, groups: IntArray) -> tuple[str, ...]:
    """Where the first few of the groups begin."""
    return places(candidates, candidates.offsets[groups[:EXAMPLES]])


def share(part: float, whole: float) -> str:
    """A part in per cent.

    >>> share(1, 8)
    '12.5 %'
    """
    return f"{100 * part / max(whole, 1):.3g} %"
