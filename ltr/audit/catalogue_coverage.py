"""Tools without a text, and tools that the catalogue lacks."""

from collections.abc import Iterator

import numpy as np

from ltr.audit.findings import Finding, row_lines, shares_of_rows
from ltr.data.candidates import Candidates
from ltr.data.catalogues.tools import ToolCatalogue, foreign_catalogue
from ltr.data.groups import Groups
from ltr.serving.candidate_warnings import rows_with_text, without_text


def silent_tool_findings(candidates: Candidates) -> Iterator[Finding]:
    """One finding for all tools that have a text neither in their lines nor in a catalogue."""
    rows = rows_with_text(candidates)
    for warning in without_text(rows):
        is_silent = np.array([not rows.get(name, 1) for name in candidates.name_texts])
        where = row_lines(candidates, np.flatnonzero(is_silent[candidates.names]))
        code, message = warning.split(": ", 1)
        yield Finding(severity="warning", code=code, message=message, where=where, count=int(is_silent.sum()))


def not_in_catalogue(groups: Groups, tools: ToolCatalogue) -> Iterator[Finding]:
    """Tools that are missing in the catalogue, where there is one."""
    if tools and groups.candidates.kind == "tool":
        is_missing = np.array([name not in tools for name in groups.candidates.name_texts])
        if problem := foreign_catalogue(groups.candidates.name_texts, tools):
            where = row_lines(groups.candidates, np.flatnonzero(is_missing[groups.candidates.names]))
            count = int(is_missing.sum())
            yield Finding(severity="error", code="not-in-catalogue", message=problem, where=where, count=count)
            return
        message = f"tools that the catalogue does not have ({is_missing.sum():,} names): they keep their own text"
        for share in shares_of_rows(groups, is_missing[groups.candidates.names], "info", "not-in-catalogue", message):
            yield share.finding()
