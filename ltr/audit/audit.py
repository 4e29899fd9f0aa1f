"""The audits: of samples, in memory or in shards; of a directory of columns; of a run; and the quick part of a run."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path

import msgspec
import numpy as np

from ltr.audit.checks import (
    NO_LABELS,
    column_findings,
    degenerate,
    none_shares,
    not_in_catalogue,
    shares_of_shard,
    silent_tools,
)
from ltr.audit.findings import AuditReport, Finding, LineFindings, Severity, Share, add_to, error_finding
from ltr.audit.leaks import label_leaks, likeness_leak
from ltr.audit.overlap import file_overlap, near_duplicates, query_overlap
from ltr.catalogues import GraphCatalogue, ToolCatalogue, read_graphs, read_tools
from ltr.config import load_config
from ltr.engine import IN_PROCESS, Engine, EngineConfig, open_engine, warn_without_shards
from ltr.errors import DataError, LtrError, UsageError
from ltr.featurized import load_columns, open_columns, with_feature_names
from ltr.files import ContentDigest, read_bytes
from ltr.logs import stage
from ltr.paths import STDIN, AnyPath, expand, path_to
from ltr.runs import Part, load_model
from ltr.samples import Groups, LenientReader, Shards, are_large, sample_shards

ENOUGH = 20_000  # groups in which the quick part looks for leaks
EXAMINED = 500_000  # candidates that are compared with each other, in memory
LINES_AT_ONCE = 100_000
LARGEST_RECORD = 16 << 20
LOOKED_FOR = "leaks, tools without text and equal columns were looked for in"
MEND_FIRST = "only single lines were checked: mend their errors first, then groups and leaks are checked too"


def quick_findings(train: Groups, test: Groups | None, *, is_share: bool = False) -> list[Finding]:
    """Return tools without a text, leaks of the label, and what training and test data share: part of every run.

    A test set that is a share of the training files has the same files by design (`is_share`), but other groups.
    """
    shared: list[Finding] = []
    if test is not None:
        shared = [] if is_share else list(file_overlap(test, train))
        shared = shared or list(query_overlap(test, train))  # a shared file says it all
    groups = len(train.offsets) - 1
    sample = train.select(np.arange(0, groups, -(-groups // ENOUGH)))
    return [*silent_tools(train.candidates), *label_leaks(sample), *shared]


def audit_samples(
    paths: AnyPath | Iterable[AnyPath],
    *,
    against: AnyPath | Iterable[AnyPath] | None = None,
    tools: AnyPath | None = None,
    graphs: AnyPath | None = None,
    rows: int | None = None,
    engine: EngineConfig | None = None,
) -> AuditReport:
    """Find what is wrong with samples; with `against`, also what they share with those training samples.

    A line that cannot be used is an error; its group is left out, and all other groups are examined. Many samples, or
    any for which `rows` says how many are read at once, are read in shards, on which the engine works: every line and
    every group is examined, and what compares them all with each other, such as the search for leaks, sees a sample of
    traces, which the report says.
    """
    if against and rows is not None:
        raise UsageError("--against compares all texts in memory: validate without it, or without --shard-rows")
    try:
        catalogues = read_tools(tools) if tools else {}, read_graphs(graphs) if graphs else {}
        files = expand(paths)
        is_packed = any(name.endswith(".npz") for name in files)  # columns, which hold no lines to cut
        if not against and not is_packed and (rows is not None or are_large(files)):
            with open_engine(engine or EngineConfig()) as workers:
                return _audit_in_shards(files, *catalogues, rows, workers)
        warn_without_shards(engine or EngineConfig())
        samples, errors = _read_leniently(paths, tools=catalogues[0], graphs=catalogues[1])
        training, training_errors = None, list[Finding]()
        if against:
            training, training_errors = _read_leniently(against, tools=catalogues[0], graphs=catalogues[1])
            training = None if training is None else training.without_none()
        findings = [*errors, *training_errors]
        if samples is None:
            return AuditReport.of(findings, {"groups": 0})
        findings += [share.finding for share in none_shares(samples)]
        groups = samples.without_none()
    except DataError as error:  # a file that cannot be used at all, such as a catalogue
        return AuditReport.of([error_finding(error)], {})
    for check in (degenerate, label_leaks, likeness_leak, column_findings):
        findings += check(groups)
    findings += not_in_catalogue(groups, catalogues[0])
    if training:
        for compare in (file_overlap, query_overlap, near_duplicates):
            findings += compare(groups, training)
    return AuditReport.of(findings, {"files": len(groups.candidates.files), **_sizes(groups)})


def _audit_in_shards(
    paths: Sequence[str], tools: ToolCatalogue, graphs: GraphCatalogue, rows: int | None, engine: Engine
) -> AuditReport:
    """Audit samples in shards of about so many rows: EXAMINED candidates of them are compared with each other."""
    if STDIN in paths:
        raise UsageError("stdin can be read once only, and shards of it are read twice; name a file")
    findings, has_labels = _line_findings(paths)
    if any(finding.severity == "error" for finding in findings):
        return AuditReport.of([*findings, Finding(severity="info", code="not-examined", message=MEND_FIRST)], {})
    try:
        with sample_shards(paths, rows=rows, tools=tools, graphs=graphs, labels_required=False) as shards:
            notes = [Finding(severity="info", code="copied", message=note) for note in shards.notes]
            notes += _merged(shards.repeated.number, shards.repeated.message)
            odd = _OddGroups(shards, has_labels=has_labels, is_cut=shards.are_regrouped)
            shares, sizes = odd.together(len(shards.files), engine)
            examined = with_feature_names(shards.sample(EXAMINED).to_learn(), paths)
    except DataError as error:
        return AuditReport.of([*findings, error_finding(error)], {})
    findings += [*notes, *shares, *_compared(examined, tools)]
    if len(examined.offsets) - 1 < sizes["groups"]:
        which = f"those of the traces with the lowest digests: more than {EXAMINED:,} candidates"
        findings.append(_sampled(examined, sizes, f"{which} are not compared in memory"))
    return AuditReport.of(findings, sizes)


def audit_columns(directory: AnyPath, *, engine: Engine = IN_PROCESS) -> AuditReport:
    """Find what is wrong with a directory of columns; those of its first part are compared with each other."""
    try:
        shards = open_columns(directory)
    except DataError as error:
        return AuditReport.of([error_finding(error)], {})
    has_labels = not all(np.isnan(shards.arrays(part, ["labels"])["labels"]).all() for part in range(len(shards)))
    findings, sizes = _OddGroups(shards, has_labels=has_labels, is_cut=True).together(len(shards), engine)
    examined = shards[0].to_learn()
    findings += _compared(examined, {})
    if len(shards) > 1:
        findings.append(_sampled(examined, sizes, "those of the first part"))
    return AuditReport.of(findings, sizes)


@dataclass(frozen=True, slots=True, eq=False)
class _OddGroups:
    """What is odd about the groups of shards; an engine takes it to where it examines one after the other."""

    shards: Shards
    _: KW_ONLY
    has_labels: bool
    is_cut: bool

    def examined(self, number: int) -> tuple[dict[str, int], list[Share]]:
        """Return how much is in a shard, and what is odd about its groups."""
        shard = self.shards[number]
        groups = shard.to_learn()
        return _sizes(groups), [*shares_of_shard(shard, groups, has_labels=self.has_labels, is_cut=self.is_cut)]

    def together(self, files: int, engine: Engine) -> tuple[list[Finding], dict[str, int]]:
        """Return what is odd, all shards together; and how much was read."""
        shares: dict[tuple[str, ...], Share] = {}
        sizes = {"files": files, **dict.fromkeys(("traces", "groups", "candidates", "positives", "none"), 0)}
        for of_shard, odd in engine.map(self.examined, range(len(self.shards))):
            sizes |= {name: sizes[name] + number for name, number in of_shard.items()}
            for share in odd:
                add_to(shares, (share.severity, share.code, share.predicate), share)
        totals = {True: sizes["groups"] + sizes["none"], False: sizes["groups"]}
        of_all = (
            share if share.of is None else replace(share, of=totals[share.code == "none"]) for share in shares.values()
        )
        return [*([] if self.has_labels else [NO_LABELS]), *(share.finding for share in of_all)], sizes


def _sizes(groups: Groups) -> dict[str, int]:
    return {
        "traces": len(groups.candidates.trace_ids),
        "groups": len(groups.offsets) - 1,
        "candidates": len(groups.labels),
        "positives": int((groups.labels > 0).sum()),
        "none": groups.num_none,
    }


def _compared(groups: Groups, tools: ToolCatalogue) -> Iterator[Finding]:
    """Yield what follows only from groups side by side."""
    if len(groups.labels):
        yield from silent_tools(groups.candidates)
        for check in (label_leaks, likeness_leak, column_findings):
            yield from check(groups)
        yield from not_in_catalogue(groups, tools)


def _sampled(examined: Groups, sizes: dict[str, int], which: str) -> Finding:
    """Return that leaks were not looked for everywhere."""
    message = f"{LOOKED_FOR} {len(examined.offsets) - 1:,} of {sizes['groups']:,} groups, {which}"
    return Finding(severity="info", code="sampled", message=message)


class _Input(msgspec.Struct):
    """A file that the run read."""

    path: str
    sha256: str


class _Record(msgspec.Struct):
    """The part of run.json that says what the files were."""

    artifacts: dict[str, str]
    status: str | None = None
    inputs: list[_Input] = []


def audit_run(directory: AnyPath) -> AuditReport:
    """Find out whether a run is as it was written: every file with its checksum, a config and a model that load."""
    return AuditReport.of(_run_findings(Path(directory)), {})


def _run_findings(directory: Path) -> Iterator[Finding]:
    try:
        record = msgspec.json.decode(read_bytes(directory / Part.RUN, limit=LARGEST_RECORD), type=_Record)
    except (LtrError, msgspec.MsgspecError, ValueError, RecursionError) as error:
        yield _of_file(
            "error", "incomplete", f"no usable {Part.RUN}, so the run did not finish: {error}", directory / Part.RUN
        )
        return
    if record.status != "complete":
        yield _of_file("error", "incomplete", f"status {record.status!r}; complete is needed", directory / Part.RUN)
    for name, checksum in record.artifacts.items():
        file = directory / Path(name).name  # whatever the record says, nothing outside the run is read
        if not os.path.isfile(file):  # noqa: PTH113  # False for a name that no file can have
            yield _of_file("error", "missing-file", f"{name} is in {Part.RUN} and not in the directory", file)
        elif ContentDigest.of(file).sha256 != checksum.removeprefix("sha256:"):
            message = f"{name} is not what it was when the run ended: changed or damaged"
            yield _of_file("error", "checksum", message, file)
    yield from _changed_inputs(directory, record.inputs)
    for name, load in ((Part.CONFIG, load_config), (Part.MODEL, load_model)):
        if (directory / name).exists():
            try:
                load(directory / name)
            except LtrError as error:
                yield _of_file("error", "unreadable", str(error), directory / name)


def _changed_inputs(directory: Path, inputs: list[_Input]) -> Iterator[Finding]:
    """Yield input files that have changed since the run, or that are gone: the run cannot be repeated with them."""
    for recorded in inputs:
        path = path_to(directory, recorded.path)
        if not os.path.isfile(path):  # noqa: PTH113  # as above
            yield _of_file("info", "input-missing", "an input of the run is no longer there", path)
        elif ContentDigest.of(path).sha256 != recorded.sha256:
            message = "an input of the run has changed since: the same config gives another result"
            yield _of_file("warning", "input-changed", message, path)


def _of_file(severity: Severity, code: str, message: str, path: Path) -> Finding:
    return Finding(severity=severity, code=code, message=message, where=(path.as_posix(),))


@stage("reading")
def _read_leniently(
    paths: AnyPath | Iterable[AnyPath], *, tools: ToolCatalogue, graphs: GraphCatalogue
) -> tuple[Groups | None, list[Finding]]:
    """Return the groups without an error, None where there is none; and a finding for each kind of error."""
    files = expand(paths)
    if len(files) == 1 and files[0].endswith(".npz"):
        return load_columns(files[0])[0], []
    findings = LineFindings()
    reader = LenientReader(findings.warn, findings.take)
    reader.read(files)
    groups, repeated = reader.groups(tools=tools, graphs=graphs)
    findings.take(reader.errors)
    named = None if groups is None else with_feature_names(groups, files)
    return named, findings.all(_merged(repeated.number, repeated.message))


@stage("reading")
def _line_findings(paths: Iterable[str]) -> tuple[list[Finding], bool]:
    """Return a finding for each kind of error of a line, and whether a row has a label; few lines are in memory."""
    findings = LineFindings()
    reader = LenientReader(findings.warn, findings.take)
    reader.read(paths, at_once=LINES_AT_ONCE)
    reader.forget()
    return findings.all(), reader.has_labels


def _merged(number: int, message: str) -> list[Finding]:
    """Return the candidates that were merged, where there are any."""
    return [Finding(severity="warning", code="repeated-candidate", message=message, count=number)] if number else []
