"""ltr validate: samples, or a run, in; what is wrong with them out."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ltr.cli.config_of_flags import configured
from ltr.cli.options import Address, Code, EngineName, Graphs, ShardRows, Shown, Tools, Verbose, Workers, given_keys
from ltr.cli.output import emphasis, show
from ltr.errors import DataError, UsageError, count
from ltr.reporting.escaping import visible

if TYPE_CHECKING:
    from ltr.audit.findings import AuditReport, Finding
    from ltr.engines.config import EngineConfig

COLUMNS = ("severity", "code", "count", "where", "message")


def validate(
    ctx: typer.Context,
    samples: Annotated[list[str], typer.Argument(metavar="SAMPLES|RUN", help="Samples, or one run directory.")],
    against: Annotated[
        list[str] | None,
        typer.Option("--against", metavar="TRAIN", help="Training samples: say which of SAMPLES they contain."),
    ] = None,
    tools: Tools = None,
    graphs: Graphs = None,
    shard_rows: ShardRows = None,
    engine: EngineName = None,
    workers: Workers = None,
    address: Address = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 3 on warnings too.")] = False,
    code: Code = None,
    shown: Shown = None,
    verbose: Verbose = False,
) -> None:
    """Say what is wrong with SAMPLES, or with a RUN.

    Of samples: lines that cannot be used, leaks, overlap, degenerate groups. Of a run: whether it is whole.
    """
    from ltr.audit.sample_audit import audit_samples
    from ltr.engines.config import EngineConfig
    from ltr.files.crash_recovery import put_back

    keys = given_keys(ctx)
    engine_config = configured(None, None, keys).engine if keys else EngineConfig()
    runs = [name for name in samples if put_back(name).is_dir()]
    if not runs:
        report = audit_samples(
            samples, against=against, tools=tools, graphs=graphs, rows=shard_rows, engine=engine_config
        )
    elif len(samples) > 1 or against or tools or graphs or shard_rows:
        raise UsageError(f"{runs[0]}: a run is validated alone, without --against, --tools, --graphs or --shard-rows")
    else:
        report = directory_report(runs[0], engine_config, code or ())
    show(shown, report, [COLUMNS, *map(cells, report.findings)], lambda: lines(report))
    if report.counts["errors"]:
        raise DataError(f"{count(report.counts['errors'], 'error')} found")
    if strict and report.counts["warnings"]:
        raise DataError(f"{count(report.counts['warnings'], 'warning')} found")


def directory_report(directory: str, config: "EngineConfig", code: Sequence[str]) -> "AuditReport":
    """What is wrong with a directory of columns, or with a run."""
    from ltr.engines.open_engine import open_engine, warn_without_shards
    from ltr.storage.sharded_columns import MANIFEST

    if Path(directory, MANIFEST).exists():
        from ltr.audit.shard_audit import audit_columns

        with open_engine(config, code) as engine:
            return audit_columns(directory, engine=engine)
    from ltr.audit.run_integrity import audit_run

    warn_without_shards(config)
    return audit_run(directory)


def cells(finding: "Finding") -> list[str]:
    """One finding as a row."""
    return [finding.severity, finding.code, str(finding.count), ", ".join(finding.where), finding.message]


def lines(report: "AuditReport") -> list[str]:
    """The findings to read, and how many there are."""
    shown = []
    for finding in report.findings:
        shown.append(f"{emphasis(finding.severity)} {finding.code}: {visible(finding.message)}")
        more, places = finding.count - len(finding.where), list(dict.fromkeys(finding.where))
        if finding.where:
            rest = f" and {more:,} more" if more > 0 else ""
            if len(places) < len(finding.where):  # the values of an array on one line have one place
                rest = f" ({finding.count:,} in all)"
            shown.append(f"  {visible(', '.join(places))}{rest}")
    looked = [count(report.counts[f"{name}s"], name) for name in ("group", "candidate") if f"{name}s" in report.counts]
    totals = [count(report.counts[f"{name}s"], name) for name in ("error", "warning")]
    return [*shown, f"{', '.join([*totals, *looked])}" if looked else ", ".join(totals)]
