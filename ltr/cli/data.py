"""ltr init, validate, import and export: data to start from, what is wrong with data, other people's formats."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ltr.cli.options import Call, HashTopics, ShardRows, argument, flag, takes
from ltr.cli.output import Format, emphasis, lines_of, say, show, warn
from ltr.errors import DataError, UsageError, count, suggestion
from ltr.report import visible

if TYPE_CHECKING:
    from ltr.audit import AuditReport
    from ltr.experiments.router_from_log import Started
    from ltr.importers import Count, ImportSummary

ROUTER = Path("router")
COLUMNS = ("severity", "code", "count", "where", "message")


@takes("code overwrite quiet verbose", "seed data.tools encoder")
def init(
    call: Call,
    directory: Annotated[
        Path | None, argument("DIR", f"Where to put it; default: here, or {ROUTER}/ with --from.")
    ] = None,
    logs: Annotated[
        list[str] | None, flag("--from", "A log, a table or samples: train a router on it at once.", metavar="LOG")
    ] = None,
) -> None:
    """Write ltr.yaml and small data to start from; or, --from a LOG, train.

    With --from it imports the log, holds a fifth of the conversations back, writes the config that fits, trains, and
    ends in a report.
    """
    tools, encoder, seed = (call.keys.get(key) for key in ("data.tools", "encoder", "seed"))
    if logs:
        from ltr.experiments.router_from_log import init_from

        with call.progress() as on_progress:
            options: dict[str, Any] = {"tools": tools, "encoder": encoder or "auto", "seed": seed or 0}
            home = directory or ROUTER
            started = init_from(logs, home, **options, overwrite=call.overwrite, on_progress=on_progress)
        warn(*(started.recommended.result.warnings if started.recommended.result else ()))
        say(*started_lines(started))
        return
    if tools:
        rank = f'ltr rank --tools {shlex.quote(tools)} "your query"'
        raise UsageError(f"--tools without --from LOG: there is nothing to learn from; rank without training: {rank}")
    if encoder or seed is not None:
        raise UsageError("--encoder and --seed are for --from LOG; without it, they stand in ltr.yaml")
    from ltr.experiments.starter import write_starter

    home = directory or Path()
    for path in write_starter(home, overwrite=call.overwrite):
        print(f"wrote {visible(path.as_posix())}")
    move = "" if home == Path() else f"cd {shlex.quote(home.as_posix())} && "
    print(f"next: {visible(move)}ltr run")
    print('then: ltr rank runs/mine "send an email to Ann", or look at runs/mine/report.html')


def started_lines(started: "Started") -> list[str]:
    """Return what was read, what was decided, how good it is, and the next commands."""
    from ltr.report import Line, Table, ways

    home, result = shlex.quote(started.directory.as_posix()), started.recommended.result
    run, page = (
        shlex.quote(path.as_posix()) for path in (started.recommended.directory, started.directory / "report.html")
    )
    can_rank = result is not None and result.router.kind == "tool" and result.router.features is not None
    samples = started.directory / "data" / "samples.jsonl"
    tools = f" --tools {home}/data/tools.json" if can_rank else ""
    check = f"; they are listed by: ltr validate {home}/data/samples.jsonl{tools}"
    found = [count(started.audit.counts[f"{name}s"], name) for name in ("error", "warning")]
    records = [run.result.measured.record for run in (started.specification, started.recommended) if run.result]
    choices = [[f"  {choice.key}: {choice.value}", choice.reason] for choice in started.choices]
    return [
        *(summary_lines(started.imported, samples, is_recognised=True) if started.imported else []),
        *count_lines("also", started.redacted),
        *lines_of(
            Line("chosen"),
            Table.of_texts(["", ""], choices),
            f"validated: {', '.join(found)}{check if started.audit.counts['warnings'] else ''}",
            *ways(*records),
            f"wrote {home}/ ({started.seconds:.1f} s): ltr.yaml, data/, runs/, report.html",
            f"next: open {page}",
            f'then: ltr rank {run} "your query"' if can_rank else "",
            f"or change ltr.yaml there and train again: (cd {home} && ltr run --overwrite)",
        ),
    ]


@takes("code shown verbose", "data.tools data.graphs engine.name engine.workers engine.address")
def validate(
    call: Call,
    samples: Annotated[list[str], argument("SAMPLES|RUN", "Samples, or one run directory.")],
    against: Annotated[
        list[str] | None, flag("--against", "Training samples: say which of SAMPLES they contain.", metavar="TRAIN")
    ] = None,
    shard_rows: ShardRows = None,
    strict: Annotated[bool, flag("--strict", "Exit with 3 on warnings too.")] = False,
) -> None:
    """Say what is wrong with SAMPLES, or with a RUN.

    Of samples: lines that cannot be used, leaks, overlap, degenerate groups. Of a run: whether it is whole.
    """
    from ltr.audit import audit_columns, audit_run, audit_samples
    from ltr.engine import EngineConfig, open_engine, warn_without_shards
    from ltr.featurized import ColumnShards
    from ltr.files import put_back

    config = call.configured().engine if call.keys else EngineConfig()
    catalogues: dict[str, Any] = {name: call.keys.get(f"data.{name}") for name in ("tools", "graphs")}
    runs = [name for name in samples if put_back(name).is_dir()]
    if runs and (len(samples) > 1 or against or any(catalogues.values()) or shard_rows):
        raise UsageError(f"{runs[0]}: a run is validated alone, without --against, --tools, --graphs or --shard-rows")
    if not runs:
        report = audit_samples(samples, against=against, **catalogues, rows=shard_rows, engine=config)
    elif ColumnShards.lie_in(runs[0]):
        with open_engine(config, call.code or ()) as engine:
            report = audit_columns(runs[0], engine=engine)
    else:
        warn_without_shards(config)
        report = audit_run(runs[0])
    cells = [
        [each.severity, each.code, str(each.count), ", ".join(each.where), each.message] for each in report.findings
    ]
    show(call.shown, report, [COLUMNS, *cells], lambda: finding_lines(report))
    for severity in ("error", "warning") if strict else ("error",):
        if number := report.counts[f"{severity}s"]:
            raise DataError(f"{count(number, severity)} found")


def finding_lines(report: "AuditReport") -> list[str]:
    """Return the findings to read, and how many there are."""
    lines = []
    for finding in report.findings:
        lines.append(f"{emphasis(finding.severity)} {finding.code}: {visible(finding.message)}")
        more, places = finding.count - len(finding.where), list(dict.fromkeys(finding.where))
        if finding.where:
            rest = f" and {more:,} more" if more > 0 else ""
            if len(places) < len(finding.where):  # the values of an array on one line have one place
                rest = f" ({finding.count:,} in all)"
            lines.append(f"  {visible(', '.join(places))}{rest}")
    nouns = ["error", "warning", *(noun for noun in ("group", "candidate") if f"{noun}s" in report.counts)]
    return [*lines, ", ".join(count(report.counts[f"{noun}s"], noun) for noun in nouns)]


@takes("code overwrite", "data.tools data.negatives encoder")
def import_files(
    call: Call,
    words: Annotated[list[str], argument("[FORMAT] FILES", "A format (ltr list importers), and files, globs or -.")],
    out: Annotated[Path, flag("--out", "-o", "The samples: .jsonl, .jsonl.gz or .jsonl.zst.")],
    outcome: Annotated[
        str | None, flag("--outcome", "What says which calls were right: span-status, feedback, evaluation:FILE.")
    ] = None,
    repeats: Annotated[
        str | None,
        flag(
            "--repeats",
            "How often identical requests of a chat log count; default: each time, a growing conversation once.",
            metavar="once|all",
        ),
    ] = None,
    hash_topics: HashTopics = False,
    redact: Annotated[bool, flag("Replace mail addresses, keys and tokens in texts.")] = True,
    option: Annotated[list[str] | None, flag("--option", "An option of the importer.", metavar="NAME=VALUE")] = None,
    shown: Annotated[Format, flag("--format", "How to show the summary.")] = Format.HUMAN,
) -> None:
    """Turn FILES of another format into samples.

    Without FORMAT, or with auto, the format is the one that all of the files look like.
    It says what was kept and what was skipped, by reason.
    """
    import msgspec

    from ltr.experiments.import_with_negatives import import_with_negatives
    from ltr.importers import import_samples

    format_name, files = format_and_files(words)
    options = dict[str, str]()
    for text in option or ():
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise UsageError(f"--option {text!r}: NAME=VALUE is needed")
        options[name] = value
    flags = {"outcome": outcome, "repeats": repeats, "hash_topics": "yes" if hash_topics else None}
    options |= {name: value for name, value in flags.items() if value}
    given: dict[str, Any] = {"options": options, "redact": redact, "overwrite": call.overwrite}
    tools, negatives, encoder = (call.keys.get(key) for key in ("data.tools", "data.negatives", "encoder"))
    if negatives is None and (tools or encoder):
        raise UsageError("--tools and --encoder are for --negatives; the texts of a catalogue are read when you train")
    if negatives is None:
        summary = import_samples(format_name, files, out, **given)
    elif tools is None:
        raise UsageError("negatives are drawn from a catalogue: name one with --tools")
    elif negatives != "catalogue" and not (isinstance(negatives, int) and negatives > 0):
        raise UsageError(f"--negatives {negatives}: catalogue, or a number of 1 or more, is needed")
    else:
        given |= {"tools": tools, "negatives": negatives, "encoder": encoder or "auto"}
        summary = import_with_negatives(format_name, files, out, **given)
    warn(*summary.notes)
    wrote = [["wrote", summary.samples, "samples", out.as_posix()], ["wrote", summary.groups, "groups", ""]]
    counts = (("kept", summary.kept), ("skipped", summary.skipped), ("also", summary.remarks))
    rows = [[title, entry.number, entry.reason, ", ".join(entry.places)] for title, of in counts for entry in of]
    show(
        shown,
        {"out": out.as_posix(), **msgspec.to_builtins(summary)},
        [["what", "number", "reason", "places"], *wrote, *rows],
        lambda: summary_lines(summary, out, is_recognised=format_name != summary.format),
    )


def format_and_files(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the format, auto where the first word is a file or a glob, and the files."""
    import glob
    import os

    from ltr.importers import AUTO, IMPORTERS
    from ltr.paths import STDIN

    first, *files = words
    is_format = first == AUTO or first in IMPORTERS
    if is_format and files:
        return first, files
    if os.path.lexists(first) or glob.has_magic(first) or first == STDIN:
        return AUTO, words
    if is_format:
        raise UsageError(f"the files are missing: ltr import {first} FILES -o OUT")
    known = f"the formats are auto, {', '.join(IMPORTERS.names())}"
    raise UsageError(f"{first}: neither a file nor a format{suggestion(first, IMPORTERS.names())}; {known}")


def summary_lines(summary: "ImportSummary", out: Path, *, is_recognised: bool) -> list[str]:
    """Return the format if it was recognised, how much was written, and what was kept and skipped, by reason."""
    what = f"{count(summary.samples, 'sample')} in {count(summary.groups, 'group')}"
    lines = [f"read as {visible(summary.format)}"] if is_recognised else []
    lines.append(f"wrote {what} to {visible(out.as_posix())}")
    for title, entries in (("kept", summary.kept), ("skipped", summary.skipped), ("also", summary.remarks)):
        lines += count_lines(title, entries)
    return lines


def count_lines(title: str, entries: "Sequence[Count]") -> list[str]:
    """Return the title, if there is an entry, and below it numbers, reasons and first places; nothing is cut."""
    from ltr.report import Table

    if not entries:
        return []
    numbers = [f"{entry.number:,}" for entry in entries]
    width = max(map(len, numbers))
    rows = [
        [f"  {number:>{width}}", f"{entry.reason} ({_short_places(entry.places)})" if entry.places else entry.reason]
        for number, entry in zip(numbers, entries, strict=True)
    ]
    return [title, *lines_of(Table.of_texts(["", ""], rows))]


def _short_places(places: Sequence[str]) -> str:
    """Return places one after the other, each once; lines of one file after its name.

    >>> _short_places(["a.jsonl:1", "a.jsonl:7", "b.jsonl:2", "b.jsonl:2"])
    'a.jsonl:1, 7, b.jsonl:2'
    """
    parts, last = [], ""
    for place in dict.fromkeys(places):
        file, _, line = place.rpartition(":")
        parts.append(line if file and file == last and line.isdecimal() else place)
        last = file
    return ", ".join(parts)


@takes("code overwrite verbose")
def export(
    call: Call,
    format_name: Annotated[str, argument("FORMAT", "trec, letor or csv (ltr list exporters).")],
    source: Annotated[str, argument("RUN|SAMPLES", "A run directory, or samples.")],
    out: Annotated[Path, flag("--out", "-o", "What to write; trec also writes OUT.qrels.")],
) -> None:
    """Write a run, or samples, as TREC, LETOR or CSV."""
    from ltr.experiments.export import export

    for path in export(format_name, source, out, overwrite=call.overwrite):
        say(f"wrote {visible(path)}")
