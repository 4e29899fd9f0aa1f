"""What is wrong with samples: errors, leaks, degenerate groups, overlap with training data."""

from collections.abc import Iterable

from ltr.audit.candidate_similarity_leak import likeness_leak
from ltr.audit.catalogue_coverage import not_in_catalogue
from ltr.audit.degenerate_groups import degenerate, none_shares
from ltr.audit.feature_columns import column_findings
from ltr.audit.findings import AuditReport, Finding, error_finding
from ltr.audit.id_and_position_leaks import label_leaks
from ltr.audit.lenient_reader import read_leniently
from ltr.audit.overlap import file_overlap, near_duplicates, query_overlap
from ltr.data.catalogues.graphs import read_graphs
from ltr.data.catalogues.tools import read_tools
from ltr.data.none_of_these_groups import without_none
from ltr.data.sample_shards import are_large
from ltr.engines.config import EngineConfig
from ltr.engines.open_engine import open_engine, warn_without_shards
from ltr.errors import DataError, UsageError
from ltr.files.path_arguments import AnyPath, expand

OVERLAPS = (file_overlap, query_overlap, near_duplicates)  # of samples with training samples


def audit_samples(
    paths: AnyPath | Iterable[AnyPath],
    *,
    against: AnyPath | Iterable[AnyPath] | None = None,
    tools: AnyPath | None = None,
    graphs: AnyPath | None = None,
    rows: int | None = None,
    engine: EngineConfig | None = None,
) -> AuditReport:
    """All findings about samples; with `against`, also about what they share with those training samples.

    A line that cannot be used is an error; its group is left out, and all other groups are examined. Many samples, or
    any for which `rows` says how many are read at once, are read in shards, on which the engine works:
    see `audit_shards`.
    """
    if against and rows is not None:
        raise UsageError("--against compares all texts in memory: validate without it, or without --shard-rows")
    training, training_errors = None, list[Finding]()
    try:
        tool_catalogue = read_tools(tools) if tools else {}
        graph_catalogue = read_graphs(graphs) if graphs else {}
        files = expand(paths)
        is_packed = any(name.endswith(".npz") for name in files)  # columns, which hold no lines to cut
        if not against and not is_packed and (rows is not None or are_large(files)):
            from ltr.audit.shard_audit import audit_shards  # what fits memory does not need it

            with open_engine(engine or EngineConfig()) as workers:
                return audit_shards(files, tools=tool_catalogue, graphs=graph_catalogue, rows=rows, engine=workers)
        warn_without_shards(engine or EngineConfig())
        groups, errors = read_leniently(paths, tools=tool_catalogue, graphs=graph_catalogue)
        none = [] if groups is None else [share.finding() for share in none_shares(groups)]
        groups = None if groups is None else without_none(groups)
        if against:
            training, training_errors = read_leniently(against, tools=tool_catalogue, graphs=graph_catalogue)
            training = None if training is None else without_none(training)
    except DataError as error:  # a file that cannot be used at all, such as a catalogue
        return AuditReport.of([error_finding(error)], {})
    findings = [*errors, *training_errors, *none]
    if groups is None:
        return AuditReport.of(findings, {"groups": 0})
    for check in (degenerate, label_leaks, likeness_leak, column_findings):
        findings += check(groups)
    findings += not_in_catalogue(groups, tool_catalogue)
    if training:
        findings += [finding for check in OVERLAPS for finding in check(groups, training)]
    sizes = {
        "files": len(groups.candidates.files),
        "traces": len(groups.candidates.trace_ids),
        "groups": len(groups.offsets) - 1,
        "candidates": len(groups.labels),
        "positives": int((groups.labels > 0).sum()),
        "none": groups.num_none,
    }
    return AuditReport.of(findings, sizes)
