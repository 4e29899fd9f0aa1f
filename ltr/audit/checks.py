"""What is odd about groups: those that teach or measure nothing; labels, texts, catalogues, columns of numbers."""

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from ltr.arrays import FloatArray, group_sums
from ltr.audit.findings import Finding, Severity, Share, row_lines
from ltr.audit.leaks import feature_leaks
from ltr.catalogues import ToolCatalogue, foreign_catalogue
from ltr.doubts import rows_with_text, without_text
from ltr.features import FeatureConfig, Presets, fit_features
from ltr.samples import RIGHT, Candidates, Groups

LARGEST_EXPONENT = 31  # 2^label - 1 beyond it is more than other tools compute
COPIED = 0.999  # correlation inside groups from which a column is another one in another scale
SAMPLE = 300  # groups that plain features are computed for
EXPLAINED = {("tool.rel", "tool.struct"): "tool.struct is a monotone copy of tool.rel, sqrt(tool.rel + 0.1)"}
NO_LABELS = Finding(
    severity="info",
    code="no-labels",
    message="no label at all: these samples can be ranked, but not trained on or evaluated",
)


def degenerate(groups: Groups) -> Iterator[Finding]:
    """Yield findings about labels, texts and sizes of groups, and about groups that are spread over the file."""
    if np.isnan(groups.labels).all():
        yield NO_LABELS
    else:
        yield from (share.finding for share in label_shares(groups))
    yield from (share.finding for share in query_shares(groups))
    yield from silent_tools(groups.candidates)
    yield from (share.finding for share in chain(text_shares(groups), size_shares(groups)))


def shares_of_shard(whole: Groups, groups: Groups, *, has_labels: bool, is_cut: bool) -> Iterator[Share]:
    """Yield what is odd about the groups of a shard; `groups` are without those for which none is right."""
    yield from none_shares(whole)
    if len(groups.labels):
        yield from label_shares(groups) if has_labels else ()
        yield from query_shares(groups)
        yield from text_shares(groups)
        yield from size_shares(groups, is_cut=is_cut)


def none_shares(groups: Groups) -> Iterator[Share]:
    """Yield the groups for which nothing offered is right."""
    if groups.none is not None:
        message = "nothing offered is right (none): read and counted, not used to train or to measure"
        yield from Share.of_groups(groups, groups.none == RIGHT, "info", "none", message)


def label_shares(groups: Groups) -> Iterator[Share]:
    """Yield missing, equal, several, graded and very large labels, where some row has one."""
    labels, starts, sizes = groups.labels, groups.offsets[:-1], np.diff(groups.offsets)
    missing = np.isnan(labels)
    message = "label: missing, while other lines have one; training and evaluation refuse such lines"
    yield from Share.of_rows(groups, missing, "error", "data-error", message)
    labelled = ~np.logical_or.reduceat(missing, starts)
    right = np.add.reduceat((labels > 0).astype(np.int64), starts)
    message = "no candidate is right: these cannot train, and are left out of means"
    yield from Share.of_groups(groups, labelled & (right == 0), "warning", "no-positive", message)
    message = "every candidate is right: any order is as good"
    yield from Share.of_groups(groups, labelled & (right == sizes) & (sizes > 1), "warning", "all-positive", message)
    message = "several candidates are right: in training they share the target, and rank and MRR count the best ranked"
    yield from Share.of_groups(groups, labelled & (right > 1) & (right < sizes), "info", "several-positives", message)
    message = "labels other than 0 and 1: graded; a candidate is relevant from --rel-threshold on"
    yield from Share.of_rows(groups, ~missing & (labels != 0) & (labels != 1), "info", "graded-labels", message)
    message = f"labels above {LARGEST_EXPONENT}: too large for an exponential gain (ndcg_exp); use the linear one"
    yield from Share.of_rows(groups, labels > LARGEST_EXPONENT, "warning", "large-labels", message)


def query_shares(groups: Groups) -> Iterator[Share]:
    """Yield the queries without words."""
    candidates = groups.candidates
    blank = np.array([not text.strip() for text in candidates.query_texts])[candidates.queries]
    yield from Share.of_groups(groups, blank, "warning", "empty-query", "the query is empty")


def text_shares(groups: Groups) -> Iterator[Share]:
    """Yield graphs without nodes, and candidates with the text of another of their group."""
    candidates = groups.candidates
    if candidates.features is not None:
        return
    if candidates.kind == "graph":
        codes, what = candidates.graphs, "graph"
        empty = np.array([not graph.texts for graph in candidates.distinct_graphs])[codes]
        yield from Share.of_rows(groups, empty, "warning", "no-text", "graphs without nodes")
    else:
        codes, what = candidates.texts, "description"
        empty = np.array([not text.description for text in candidates.tool_texts])[codes]
    rows = np.flatnonzero(~empty)
    owner = np.repeat(np.arange(len(groups.offsets) - 1), np.diff(groups.offsets))[rows]
    _, first = np.unique(owner * (int(codes.max(initial=0)) + 1) + codes[rows], return_index=True)
    repeats = ~empty
    repeats[rows[first]] = False
    message = f"candidates with the {what} of another of their group"
    yield from Share.of_rows(groups, repeats, "info", "same-text", message)


def size_shares(groups: Groups, *, is_cut: bool = False) -> Iterator[Share]:
    """Yield groups of one candidate, and groups spread over the file; `is_cut`: lines between them lie elsewhere."""
    mend = "; --negatives catalogue adds tools, ltr init --from does that with those of the samples"
    message = f"there is one candidate: nothing to rank{mend if groups.candidates.kind == 'tool' else ''}"
    yield from Share.of_groups(groups, np.diff(groups.offsets) == 1, "warning", "one-candidate", message)
    starts, lines = groups.offsets[:-1], groups.candidates.lines
    ranks = lines if is_cut else np.unique(lines, return_inverse=True)[1]
    steps = np.diff(ranks, prepend=ranks[:1])  # above 1 where rows of other groups stand between
    steps[starts] = 0
    message = "the lines are spread over the file: they are put together, whatever the order"
    yield from Share.of_groups(groups, np.maximum.reduceat(steps, starts) > 1, "info", "split-group", message)


def silent_tools(candidates: Candidates) -> Iterator[Finding]:
    """Yield one finding for all tools that have a text neither in their lines nor in a catalogue."""
    rows = rows_with_text(candidates)
    for warning in without_text(rows):
        is_silent = np.array([not rows.get(name, 1) for name in candidates.name_texts])
        where = row_lines(candidates, np.flatnonzero(is_silent[candidates.names]))
        code, message = warning.split(": ", 1)
        yield Finding(severity="warning", code=code, message=message, where=where, count=int(is_silent.sum()))


def not_in_catalogue(groups: Groups, tools: ToolCatalogue) -> Iterator[Finding]:
    """Yield the tools that are missing in the catalogue, where there is one."""
    if not tools or groups.candidates.kind != "tool":
        return
    names = groups.candidates.name_texts
    is_missing = np.array([name not in tools for name in names])
    rows = is_missing[groups.candidates.names]
    if problem := foreign_catalogue(names, tools):
        where = row_lines(groups.candidates, np.flatnonzero(rows))
        count = int(is_missing.sum())
        yield Finding(severity="error", code="not-in-catalogue", message=problem, where=where, count=count)
        return
    message = f"tools that the catalogue does not have ({is_missing.sum():,} names): they keep their own text"
    yield from (share.finding for share in Share.of_rows(groups, rows, "info", "not-in-catalogue", message))


def column_findings(groups: Groups) -> Iterator[Finding]:
    """Yield findings about ready numbers; without them, copies among the specification's features on a sample."""
    ready, names = groups.candidates.features, groups.candidates.feature_names
    if ready is None:
        count = len(groups.offsets) - 1
        sample = groups.select(np.arange(0, count, -(-count // SAMPLE)))
        configs = [FeatureConfig(name) for name in Presets.SPECIFICATION[sample.candidates.kind]]
        _, phi = fit_features(configs, sample, "hash")
        yield from copied_columns([config.name for config in configs], phi, sample, "info")
        return
    yield from feature_leaks(groups, ready)
    starts = groups.offsets[:-1]
    ranges = np.maximum.reduceat(ready, starts, axis=0) - np.minimum.reduceat(ready, starts, axis=0)
    for column in np.flatnonzero(ranges.max(axis=0) == 0).tolist():
        message = f"{names[column]} is the same for all candidates of each group: no weight changes a ranking"
        yield Finding(severity="warning", code="constant-feature", message=message)
    yield from copied_columns(names, ready, groups, "warning")


def copied_columns(names: Sequence[str], phi: FloatArray, groups: Groups, severity: Severity) -> Iterator[Finding]:
    """Yield pairs of columns that inside groups are copies of each other up to scale: |r| of COPIED or more."""
    sizes = np.diff(groups.offsets)
    means = np.column_stack([group_sums(column, groups.offsets) / sizes for column in phi.T])
    inside = phi - np.repeat(means, sizes, axis=0)  # only what differs inside a group changes a ranking
    lengths = np.linalg.norm(inside, axis=0)
    varying = np.flatnonzero(lengths > 0)
    unit = inside[:, varying] / lengths[varying]
    correlations = unit.T @ unit
    for first, second in zip(*np.nonzero(np.triu(np.abs(correlations) >= COPIED, 1)), strict=True):
        pair = names[varying[first]], names[varying[second]]
        explanation = EXPLAINED.get(pair, f"{pair[1]} is {pair[0]} in another scale")
        r = f"r = {correlations[first, second]:.5f}"
        message = f"{explanation}: {r} inside groups, so neither weight means much alone"
        yield Finding(severity=severity, code="collinear", message=message)
