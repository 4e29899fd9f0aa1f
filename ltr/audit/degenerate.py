"""Groups that teach or measure nothing, and what else is odd about them."""

from collections.abc import Iterator

import numpy as np

from ltr.arrays import BoolArray, IntArray, code_sums
from ltr.audit.findings import Finding, Severity, first_rows, places
from ltr.data.catalogues.tools import ToolCatalogue
from ltr.data.groups import Candidates, Groups
from ltr.data.jsonlines import excerpt

LARGEST_EXPONENT = 31  # 2^label - 1 beyond it is more than other tools compute


def degenerate(groups: Groups) -> Iterator[Finding]:
    """Findings about labels and sizes of groups, about texts, and about rows that are told apart by name alone."""
    yield from _labels(groups)
    yield from _texts(groups)
    sizes = np.diff(groups.offsets)
    yield from _of_groups(groups, sizes == 1, "warning", "one-candidate", "have one candidate: nothing to rank")
    said = "are spread over the file: they are put together, whatever the order"
    yield from _of_groups(groups, _split(groups), "info", "split-group", said)


def _split(groups: Groups) -> BoolArray:
    """Groups with rows of other groups between theirs."""
    starts, (_, ranks) = groups.offsets[:-1], np.unique(groups.candidates.lines, return_inverse=True)
    steps = np.diff(ranks, prepend=ranks[:1])
    steps[starts] = 0
    return np.maximum.reduceat(steps, starts) > 1


def _labels(groups: Groups) -> Iterator[Finding]:
    """Missing, equal, several, graded and very large labels."""
    labels = groups.labels
    missing = np.isnan(labels)
    if missing.all():
        yield Finding(severity="info", code="no-labels", message="no label at all: fit to be ranked, not to be learned")
        return
    said = "label: missing, while other lines have one; training and evaluation refuse such lines"
    yield from _of_rows(groups, np.flatnonzero(missing), "error", "data-error", said)
    yield from _of_right(groups, ~np.logical_or.reduceat(missing, groups.offsets[:-1]))
    graded = "labels other than 0 and 1: graded; a candidate is relevant from --rel-threshold on"
    rows = np.flatnonzero(~missing & (labels != 0) & (labels != 1))
    yield from _of_rows(groups, rows, "info", "graded-labels", graded)
    large = f"labels above {LARGEST_EXPONENT}: too large for an exponential gain (ndcg_exp); use the linear one"
    yield from _of_rows(groups, np.flatnonzero(labels > LARGEST_EXPONENT), "warning", "large-labels", large)


def _of_right(groups: Groups, whole: BoolArray) -> Iterator[Finding]:
    """Groups with no, only or several right candidates, of those that are labelled as a whole."""
    sizes, right = np.diff(groups.offsets), np.add.reduceat((groups.labels > 0).astype(np.int64), groups.offsets[:-1])
    nothing = "have no right candidate: they cannot train, and are left out of means"
    yield from _of_groups(groups, whole & (right == 0), "warning", "no-positive", nothing)
    alike = "have right candidates only: any order is as good"
    yield from _of_groups(groups, whole & (right == sizes) & (sizes > 1), "warning", "all-positive", alike)
    several = "have several right candidates, which share the target; the best ranked counts for rank and MRR"
    yield from _of_groups(groups, whole & (right > 1) & (right < sizes), "info", "several-positives", several)


def _of_rows(groups: Groups, rows: IntArray, severity: Severity, code: str, said: str) -> Iterator[Finding]:
    if rows.size:
        where = places(groups.candidates, rows)
        yield Finding(severity=severity, code=code, message=said, where=where, count=len(rows))


def _of_groups(groups: Groups, chosen: BoolArray, severity: Severity, code: str, said: str) -> Iterator[Finding]:
    found = np.flatnonzero(chosen)
    if found.size:
        message = f"{len(found):,} of {len(groups.offsets) - 1:,} groups {said}"
        where = first_rows(groups.candidates, found)
        yield Finding(severity=severity, code=code, message=message, where=where, count=len(found))


def _texts(groups: Groups) -> Iterator[Finding]:
    """Queries without words, tools without a text, candidates of a group that say the same."""
    candidates = groups.candidates
    silent = np.array([not text.strip() for text in candidates.query_texts])[candidates.queries]
    yield from _of_groups(groups, silent, "warning", "empty-query", "have an empty query")
    if candidates.features is not None:
        return
    if candidates.kind == "graph":
        empty = np.array([not graph.texts for graph in candidates.distinct_graphs])[candidates.graphs]
        yield from _of_rows(groups, np.flatnonzero(empty), "warning", "no-text", "graphs without nodes")
        again, what = _repeats(groups, candidates.graphs, ~empty), "graph"
    else:
        empty = np.array([not text.description for text in candidates.tool_texts])[candidates.texts]
        yield from untold_tools(candidates)
        again, what = _repeats(groups, candidates.texts, ~empty), "description"
    yield from _of_rows(groups, again, "info", "same-text", f"candidates with the {what} of another of their group")


def untold_tools(candidates: Candidates) -> Iterator[Finding]:
    """Tools that neither a line nor a catalogue says anything of, told once."""
    if candidates.kind == "graph" or candidates.features is not None:
        return
    is_told = np.array([any(text) for text in candidates.tool_texts])[candidates.texts]
    silent = np.setdiff1d(candidates.names, candidates.names[is_told])
    if silent.size:
        message = (
            f"{len(silent):,} of {len(candidates.name_texts):,} tools have no text, such as "
            f"{excerpt(candidates.name_texts[silent[0]])}: neither tool_description nor a catalogue (--tools) gives one"
        )
        where = places(candidates, np.flatnonzero(np.isin(candidates.names, silent)))
        yield Finding(severity="warning", code="no-text", message=message, where=where, count=len(silent))


def not_in_catalogue(candidates: Candidates, tools: ToolCatalogue) -> Iterator[Finding]:
    """Tools that the catalogue, where there is one, says nothing of."""
    if tools and candidates.kind == "tool":
        known = np.array([name in tools for name in candidates.name_texts])
        rows = np.flatnonzero(~known[candidates.names])
        said = f"tools that the catalogue does not know ({(~known).sum():,} names): they keep their own text"
        if rows.size:
            where = places(candidates, rows)
            yield Finding(severity="info", code="not-in-catalogue", message=said, where=where, count=len(rows))


def _repeats(groups: Groups, codes: IntArray, counted: BoolArray) -> IntArray:
    """The rows whose code another row of their group has before them."""
    rows = np.flatnonzero(counted)
    owner = np.repeat(np.arange(len(groups.offsets) - 1), np.diff(groups.offsets))[rows]
    _, first = np.unique(owner * (int(codes.max(initial=0)) + 1) + codes[rows], return_index=True)
    is_first = code_sums(first, np.ones(len(first)), len(rows)) > 0
    return rows[~is_first]
