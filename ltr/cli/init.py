"""ltr init: a config and a small data set to start from, or a trained router made of a log."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ltr.cli.options import Code, Encoder, Overwrite, Quiet, Seed, Tools, Verbose
from ltr.cli.output import listing, say, table_lines, warn, wrapped
from ltr.cli.progress import run_progress
from ltr.errors import UsageError, count
from ltr.reporting.escaping import visible

if TYPE_CHECKING:
    from ltr.experiments.router_from_log import Started
    from ltr.reporting.table import Table

ROUTER = Path("router")


def init(
    directory: Annotated[
        Path | None,
        typer.Argument(metavar="DIR", help=f"Where to put it; default: here, or {ROUTER}/ with --from."),
    ] = None,
    logs: Annotated[
        list[str] | None,
        typer.Option("--from", metavar="LOG", help="A log, a table or samples: train a router on it at once."),
    ] = None,
    tools: Tools = None,
    encoder: Encoder = None,
    seed: Seed = None,
    code: Code = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Write ltr.yaml and small data to start from; or, --from a LOG, train.

    With --from it imports the log, holds a fifth of the conversations back, writes the config that fits, trains, and
    ends in a report.
    """
    if not logs and tools:
        rank = f'ltr rank --tools {shlex.quote(str(tools))} "your query"'
        raise UsageError(f"--tools without --from LOG: there is nothing to learn from; rank without training: {rank}")
    if not logs and (encoder or seed is not None):
        raise UsageError("--encoder and --seed are for --from LOG; without it, they stand in ltr.yaml")
    if not logs:
        show_starter(directory or Path(), overwrite=overwrite)
        return
    from ltr.experiments.router_from_log import init_from

    home = directory or ROUTER
    with run_progress(quiet=quiet) as on_progress:
        started = init_from(
            logs,
            home,
            tools=tools,
            encoder=encoder or "auto",
            seed=seed or 0,
            overwrite=overwrite,
            on_progress=on_progress,
        )
    result = started.recommended.result
    warn(*(result.warnings if result else ()))
    say(*started_lines(started))


def show_starter(directory: Path, *, overwrite: bool) -> None:
    """Write the starter; say what was written, and what comes next."""
    from ltr.experiments.starter import write_starter

    for path in write_starter(directory, overwrite=overwrite):
        print(f"wrote {visible(path.as_posix())}")
    move = "" if directory == Path() else f"cd {shlex.quote(directory.as_posix())} && "
    print(f"next: {visible(move)}ltr run")
    print('then: ltr rank runs/mine "send an email to Ann", or look at runs/mine/report.html')


def started_lines(started: "Started") -> list[str]:
    """What was read, what was decided, how good it is, and the next commands."""
    from ltr.cli.import_export import count_lines, summary_lines
    from ltr.cli.run_lines import gain_lines

    home, result = shlex.quote(started.directory.as_posix()), started.recommended.result
    run, page = (
        shlex.quote(path.as_posix()) for path in (started.recommended.directory, started.directory / "report.html")
    )
    can_rank = result is not None and result.router.kind == "tool" and result.router.features is not None
    samples = started.directory / "data" / "samples.jsonl"
    tools = f" --tools {home}/data/tools.json" if can_rank else ""
    check = f"; they are listed by: ltr validate {home}/data/samples.jsonl{tools}"
    found = [count(started.audit.counts[f"{name}s"], name) for name in ("error", "warning")]
    return [
        *(summary_lines(started.imported, samples, is_recognised=True) if started.imported else []),
        *count_lines("also", started.redacted),
        "chosen",
        *listing(["", ""], [[f"  {choice.key}: {choice.value}", choice.reason] for choice in started.choices]),
        *wrapped(visible(f"validated: {', '.join(found)}{check if started.audit.counts['warnings'] else ''}")),
        *table_lines(ways_table(started)),
        *(gain_lines(result.measured.record) if result else []),
        *wrapped(visible(f"wrote {home}/ ({started.seconds:.1f} s): ltr.yaml, data/, runs/, report.html")),
        *wrapped(visible(f"next: open {page}")),
        *(wrapped(visible(f'then: ltr rank {run} "your query"')) if can_rank else []),
        *wrapped(visible(f"or change ltr.yaml there and train again: (cd {home} && ltr run --overwrite)")),
    ]


def ways_table(started: "Started") -> "Table":
    """What needs no training, and the two recipes, beside each other on the same queries."""
    from ltr.evaluation.metrics.ranking_measures import TOP1
    from ltr.evaluation.metrics.registry import is_served, on_catalogue
    from ltr.reporting.metric_titles import shown_baselines, title_of
    from ltr.reporting.table import Column, Kind, Table

    records = [run.result.measured.record for run in (started.specification, started.recommended) if run.result]
    specification, recommended = records
    ways = {
        **shown_baselines(recommended),
        "specification": specification.metrics,
        "recommended": recommended.metrics,
    }
    shown = [name for name in recommended.metrics if not is_served(name) or name == on_catalogue(TOP1)]
    columns = (Column("way", "way"), *(Column(name, title_of(name), Kind.SHARE) for name in shown))
    rows = tuple((way, *(means.get(name) for name in shown)) for way, means in ways.items())
    return Table(columns, rows, corner=f"{count(recommended.counts.num_queries, 'test query', 'test queries')}")
