"""The audit of samples that memory does not hold: each shard is examined, and leaks are looked for in some of them."""

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from itertools import chain

import numpy as np

from ltr.audit.candidate_similarity_leak import likeness_leak
from ltr.audit.catalogue_coverage import not_in_catalogue, silent_tool_findings
from ltr.audit.degenerate_groups import NO_LABELS, label_shares, none_shares, query_shares, size_shares, text_shares
from ltr.audit.feature_columns import column_findings
from ltr.audit.findings import EXAMPLES, AuditReport, Finding, Share, error_finding
from ltr.audit.id_and_position_leaks import label_leaks
from ltr.audit.lenient_reader import line_findings, repetition_findings
from ltr.data.catalogues.graphs import GraphCatalogue
from ltr.data.catalogues.tools import ToolCatalogue
from ltr.data.groups import Groups
from ltr.data.none_of_these_groups import groups_to_learn
from ltr.data.sample_shards import sample_shards
from ltr.data.shards import Shards
from ltr.engines.engine import IN_PROCESS, Engine
from ltr.errors import DataError, UsageError
from ltr.files.path_arguments import STDIN, AnyPath
from ltr.storage.featurized_jsonl import with_feature_names
from ltr.storage.sharded_columns import open_columns

EXAMINED = 500_000  # candidates that are compared with each other, in memory
LINES_AT_ONCE = 100_000
LOOKED_FOR = "leaks, tools without text and equal columns were looked for in"
MEND_FIRST = "only single lines were checked: mend their errors first, then groups and leaks are checked too"


def audit_shards(
    paths: Sequence[str],
    *,
    tools: ToolCatalogue,
    graphs: GraphCatalogue,
    rows: int | None = None,
    engine: Engine = IN_PROCESS,
) -> AuditReport:
    """All findings about samples, read in shards of about so many rows.

    Every line and every group is examined. What compares them all with each other, such as the search for leaks, sees
    the traces with the lowest digests, EXAMINED candidates; the report says so.
    """
    if STDIN in paths:
        raise UsageError("stdin can be read once only, and shards of it are read twice; name a file")
    findings, has_labels = line_findings(paths, LINES_AT_ONCE)
    if any(finding.severity == "error" for finding in findings):
        return AuditReport.of([*findings, Finding(severity="info", code="not-examined", message=MEND_FIRST)], {})
    try:
        with sample_shards(paths, rows=rows, tools=tools, graphs=graphs, labels_required=False) as shards:
            notes = [Finding(severity="info", code="copied", message=note) for note in shards.notes]
            notes += repetition_findings(shards.repeated)
            audit = ShardAudit(shards, has_labels=has_labels, is_cut=shards.are_regrouped)
            shares, sizes = _examined(audit, len(shards.files), engine)
            examined = with_feature_names(groups_to_learn(shards.sample(EXAMINED)), paths)
    except DataError as error:
        return AuditReport.of([*findings, error_finding(error)], {})
    findings += [*notes, *shares, *_compared(examined, tools)]
    if len(examined.offsets) - 1 < sizes["groups"]:
        findings.append(_examined_some(len(examined.offsets) - 1, sizes["groups"]))
    return AuditReport.of(findings, sizes)


def audit_columns(directory: AnyPath, *, engine: Engine = IN_PROCESS) -> AuditReport:
    """All findings about a directory of columns; the columns of its first part are compared with each other."""
    try:
        shards = open_columns(directory)
    except DataError as error:
        return AuditReport.of([error_finding(error)], {})
    has_labels = not all(np.isnan(shards.arrays(part, ["labels"])["labels"]).all() for part in range(len(shards)))
    findings, sizes = _examined(ShardAudit(shards, has_labels=has_labels, is_cut=True), len(shards), engine)
    examined = groups_to_learn(shards[0])
    findings += _compared(examined, {})
    if len(shards) > 1:
        of = f"{len(examined.offsets) - 1:,} of {sizes['groups']:,} groups, those of the first part"
        findings.append(Finding(severity="info", code="sampled", message=f"{LOOKED_FOR} {of}"))
    return AuditReport.of(findings, sizes)


@dataclass(frozen=True, slots=True, eq=False)
class ShardAudit:
    """The audit of one shard after the other, and what it depends on."""

    shards: Shards
    _: KW_ONLY
    has_labels: bool
    is_cut: bool

    def examined(self, number: int) -> tuple[dict[str, int], list[Share]]:
        """How much is in a shard, and what is odd about its groups."""
        shard = self.shards[number]
        groups = groups_to_learn(shard)
        sizes = {
            "traces": len(groups.candidates.trace_ids),
            "groups": len(groups.offsets) - 1,
            "candidates": len(groups.labels),
            "positives": int((groups.labels > 0).sum()),
            "none": groups.num_none,
        }
        return sizes, list(_shares(shard, groups, has_labels=self.has_labels, is_cut=self.is_cut))


def _examined(audit: ShardAudit, files: int, engine: Engine) -> tuple[list[Finding], dict[str, int]]:
    """What is odd about groups, all shards together; and how much was read."""
    shares: dict[tuple[str, str, str], Share] = {}
    sizes = {"files": files, **dict.fromkeys(("traces", "groups", "candidates", "positives", "none"), 0)}
    for of_shard, odd in engine.map(audit.examined, range(len(audit.shards))):
        sizes |= {name: sizes[name] + number for name, number in of_shard.items()}
        for share in odd:
            key = share.severity, share.code, share.predicate
            shares[key] = _together(shares[key], share) if key in shares else share
    totals = {True: sizes["groups"] + sizes["none"], False: sizes["groups"]}
    of_all = (
        share if share.of is None else replace(share, of=totals[share.code == "none"]) for share in shares.values()
    )
    return [*([] if audit.has_labels else [NO_LABELS]), *(share.finding() for share in of_all)], sizes


def _shares(whole: Groups, groups: Groups, *, has_labels: bool, is_cut: bool) -> Iterator[Share]:
    """What is odd about the groups of a shard; `groups`: without those for which none is right."""
    yield from none_shares(whole)
    if len(groups.labels):
        labels = label_shares(groups) if has_labels else iter(())
        yield from chain(labels, query_shares(groups), text_shares(groups), size_shares(groups, is_cut=is_cut))


def _together(left: Share, right: Share) -> Share:
    """The share of two shards."""
    return replace(left, where=(*left.where, *right.where)[:EXAMPLES], count=left.count + right.count)


def _compared(groups: Groups, tools: ToolCatalogue) -> Iterator[Finding]:
    """What follows only from groups side by side."""
    if not len(groups.labels):
        return
    yield from silent_tool_findings(groups.candidates)
    for check in (label_leaks, likeness_leak, column_findings):
        yield from check(groups)
    yield from not_in_catalogue(groups, tools)


def _examined_some(some: int, of: int) -> Finding:
    """That leaks were not looked for everywhere."""
    message = (
        f"{LOOKED_FOR} {some:,} of {of:,} groups, those of the "
        f"traces with the lowest digests: more than {EXAMINED:,} candidates are not compared in memory"
    )
    return Finding(severity="info", code="sampled", message=message)
