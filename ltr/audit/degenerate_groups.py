"""Groups that teach or measure nothing, missing or odd labels, missing or equal texts."""

from collections.abc import Iterator
from itertools import chain

import numpy as np

from ltr.arrays import BoolArray, IntArray
from ltr.audit.catalogue_coverage import silent_tool_findings
from ltr.audit.findings import Finding, Severity, Share, first_lines, shares_of_rows
from ltr.data.groups import Groups
from ltr.data.none_candidates import RIGHT

LARGEST_EXPONENT = 31  # 2^label - 1 beyond it is more than other tools compute
NO_LABELS = Finding(
    severity="info",
    code="no-labels",
    message="no label at all: these samples can be ranked, but not trained on or evaluated",
)


def degenerate(groups: Groups) -> Iterator[Finding]:
    """Findings about labels, texts and sizes of groups, and about groups that are spread over the file."""
    if np.isnan(groups.labels).all():
        yield NO_LABELS
    else:
        yield from (share.finding() for share in label_shares(groups))
    yield from (share.finding() for share in query_shares(groups))
    yield from silent_tool_findings(groups.candidates)
    yield from (share.finding() for share in chain(text_shares(groups), size_shares(groups)))


def size_shares(groups: Groups, *, is_cut: bool = False) -> Iterator[Share]:
    """Groups of one candidate, and groups that are spread over the file; `is_cut`: lines between them lie elsewhere."""
    alone = np.diff(groups.offsets) == 1
    mend = "; --negatives catalogue adds tools, ltr init --from does that with those of the samples"
    message = f"there is one candidate: nothing to rank{mend if groups.candidates.kind == 'tool' else ''}"
    yield from _of_groups(groups, alone, "warning", "one-candidate", message)
    starts, lines = groups.offsets[:-1], groups.candidates.lines
    ranks = lines if is_cut else np.unique(lines, return_inverse=True)[1]
    steps = np.diff(ranks, prepend=ranks[:1])  # above 1 where rows of other groups stand between
    steps[starts] = 0
    message = "the lines are spread over the file: they are put together, whatever the order"
    yield from _of_groups(groups, np.maximum.reduceat(steps, starts) > 1, "info", "split-group", message)


def label_shares(groups: Groups) -> Iterator[Share]:
    """Missing, equal, several, graded and very large labels, where some row has one."""
    labels, starts, sizes = groups.labels, groups.offsets[:-1], np.diff(groups.offsets)
    missing = np.isnan(labels)
    message = "label: missing, while other lines have one; training and evaluation refuse such lines"
    yield from shares_of_rows(groups, missing, "error", "data-error", message)
    labelled = ~np.logical_or.reduceat(missing, starts)
    right = np.add.reduceat((labels > 0).astype(np.int64), starts)
    message = "no candidate is right: these cannot train, and are left out of means"
    yield from _of_groups(groups, labelled & (right == 0), "warning", "no-positive", message)
    message = "every candidate is right: any order is as good"
    yield from _of_groups(groups, labelled & (right == sizes) & (sizes > 1), "warning", "all-positive", message)
    message = "several candidates are right: in training they share the target, and rank and MRR count the best ranked"
    yield from _of_groups(groups, labelled & (right > 1) & (right < sizes), "info", "several-positives", message)
    message = "labels other than 0 and 1: graded; a candidate is relevant from --rel-threshold on"
    yield from shares_of_rows(groups, ~missing & (labels != 0) & (labels != 1), "info", "graded-labels", message)
    message = f"labels above {LARGEST_EXPONENT}: too large for an exponential gain (ndcg_exp); use the linear one"
    yield from shares_of_rows(groups, labels > LARGEST_EXPONENT, "warning", "large-labels", message)


def query_shares(groups: Groups) -> Iterator[Share]:
    """Queries without words."""
    candidates = groups.candidates
    blank = np.array([not text.strip() for text in candidates.query_texts])[candidates.queries]
    yield from _of_groups(groups, blank, "warning", "empty-query", "the query is empty")


def text_shares(groups: Groups) -> Iterator[Share]:
    """Graphs without nodes, candidates with the text of another of their group."""
    candidates = groups.candidates
    if candidates.features is not None:
        return
    if candidates.kind == "graph":
        codes, what = candidates.graphs, "graph"
        empty = np.array([not graph.texts for graph in candidates.distinct_graphs])[codes]
        yield from shares_of_rows(groups, empty, "warning", "no-text", "graphs without nodes")
    else:
        codes, what = candidates.texts, "description"
        empty = np.array([not text.description for text in candidates.tool_texts])[codes]
    rows = np.flatnonzero(~empty)
    owner = np.repeat(np.arange(len(groups.offsets) - 1), np.diff(groups.offsets))[rows]
    _, first = np.unique(owner * (int(codes.max(initial=0)) + 1) + codes[rows], return_index=True)
    repeats = ~empty
    repeats[rows[first]] = False
    message = f"candidates with the {what} of another of their group"
    yield from shares_of_rows(groups, repeats, "info", "same-text", message)


def none_shares(groups: Groups) -> Iterator[Share]:
    """Groups for which nothing offered is right."""
    if groups.none is not None:
        message = "nothing offered is right (none): read and counted, not used to train or to measure"
        yield from _of_groups(groups, groups.none == RIGHT, "info", "none", message)


def _of_groups(groups: Groups, chosen: BoolArray, severity: Severity, code: str, predicate: str) -> Iterator[Share]:
    numbers: IntArray = np.flatnonzero(chosen)
    if numbers.size:
        where, of = first_lines(groups.candidates, numbers), len(groups.offsets) - 1
        yield Share(severity=severity, code=code, predicate=predicate, where=where, count=len(numbers), of=of)
