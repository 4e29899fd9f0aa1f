"""From a log to a trained router in one call: import, validate, a config that fits, two runs of it, a page."""

import json
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import msgspec
import numpy as np

from ltr.audit import AuditReport, audit_samples
from ltr.catalogues import ToolCatalogue, ToolText, foreign_catalogue, read_tools
from ltr.config import RunConfig, load_config
from ltr.disk import make_directory
from ltr.encoders import AUTO, ENCODERS, best_installed
from ltr.errors import DataError, FileError, LtrError, UsageError, count
from ltr.experiments.batch import BOARD
from ltr.experiments.single_run import Finished, run_and_save
from ltr.features import RECOMMENDED
from ltr.files import ContentDigest, DirectoryKind, locked, new_directory, write_file, write_lines
from ltr.importers import AUTO as ANY_FORMAT
from ltr.importers import Count, ImportSummary, Tally, import_samples, recognise, redact_sample
from ltr.jsonl import sample_lines
from ltr.paths import STDIN, AnyPath, expand
from ltr.progress import OnProgress, Step, silent
from ltr.report import write_report
from ltr.runs import RUN_KIND, Part
from ltr.samples import Candidates, Groups, Table, read_groups, rows_of
from ltr.splits import TIME, TRACE
from ltr.steps.negatives import WHOLE

SPECIFICATION = RunConfig().train.recipe  # of a config that names none
CONFIG, DATA, SAMPLES, TOOLS, RUNS = "ltr.yaml", "data", "samples.jsonl", "tools.json", "runs"
TEST_SHARE = 0.2
FEWEST_TRACES = round(1 / TEST_SHARE)
FEW = 5  # candidates: where half of the lists hold fewer, tools of the catalogue join them
COMMENTS_AT = 35


@dataclass(frozen=True, slots=True)
class Choice:
    """A key of the config, the value that data or machine decided, and why."""

    key: str
    value: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """What was made of a log."""

    directory: Path
    imported: ImportSummary | None  # None of files that were samples already
    redacted: tuple[Count, ...]  # in these samples; what an import replaced stands in its summary
    audit: AuditReport
    choices: tuple[Choice, ...]
    specification: Finished
    recommended: Finished
    seconds: float


def init_from(
    source: AnyPath | Sequence[AnyPath] | Table,
    directory: AnyPath,
    *,
    tools: AnyPath | None = None,
    encoder: str = AUTO,
    seed: int = 0,
    overwrite: bool = False,
    on_progress: OnProgress = silent,
) -> Started:
    """Make a directory of logs, tables or samples: samples, tools, a config that fits, two runs of it, a page.

    The source is files, whose format is recognised, or samples as a data frame or a list of dicts. `tools` is a
    catalogue; its texts replace those of the log. The directory is written whole or not at all.
    """
    start, home = time.perf_counter(), Path(directory)
    catalogue = read_tools(tools) if tools is not None else {}
    encoder = best_installed() if encoder == AUTO else encoder
    ENCODERS[encoder]  # an unknown name is refused before the work
    refuse_project(home, overwrite=overwrite)
    with locked(home), new_directory(home) as new, called(new, home):
        on_progress(Step("importing"))
        samples = make_directory(new / DATA) / SAMPLES
        redactions = Tally()
        imported = write_samples(source, samples, redactions)
        groups = read_groups(samples)
        if tools is not None and (problem := foreign_catalogue(groups.candidates.name_texts, catalogue)):
            raise FileError(str(tools), problem)
        texts = {**last_texts(groups.candidates), **catalogue} if has_texts(groups) else {}
        if texts:
            write_file(new / DATA / TOOLS, catalogue_text(texts))
        audit = audit_samples(samples, tools=new / DATA / TOOLS if texts else None)
        if audit.counts["errors"]:
            raise DataError(f"{audit.findings[0].message}; ltr import and ltr validate show all errors")
        choices = choices_for(groups, texts, encoder)
        write_file(new / CONFIG, config_text(choices, groups.candidates.kind, seed))
        config = load_config(new / CONFIG)
        recommended = run_and_save(config, new / RUNS / RECOMMENDED, on_progress=on_progress)
        plain = load_config(new / CONFIG, [f"name={SPECIFICATION}", f"train.recipe={SPECIFICATION}"])
        specification = run_and_save(
            plain, new / RUNS / SPECIFICATION, on_progress=on_progress, features=recommended.features
        )
        write_report([specification.directory, recommended.directory], new / Part.REPORT, seed=seed)
    return Started(
        directory=home,
        imported=imported,
        redacted=redactions.remarks(),
        audit=audit,
        choices=choices,
        specification=Finished(home / RUNS / SPECIFICATION, specification.result, specification.seconds),
        recommended=Finished(home / RUNS / RECOMMENDED, recommended.result, recommended.seconds),
        seconds=time.perf_counter() - start,
    )


def _is_project(directory: Path) -> bool:
    return all((directory / RUNS / name).is_dir() for name in (RECOMMENDED, SPECIFICATION))


PROJECT_KIND = DirectoryKind(
    files=(CONFIG, Part.REPORT),
    folders={
        DATA: re.compile("|".join(map(re.escape, (SAMPLES, TOOLS)))),
        RUNS: re.compile("|".join(map(re.escape, (RECOMMENDED, SPECIFICATION, *BOARD)))),
    },
    is_one=_is_project,
)


def refuse_project(directory: Path, *, overwrite: bool) -> None:
    """Raise unless the directory is free, or holds nothing but what an earlier `init_from` made, to be overwritten."""
    names = PROJECT_KIND.refuse_foreign(directory)
    if names and not overwrite:
        raise UsageError(f"{directory}: holds a router; add --overwrite, or name another directory")
    if names:
        for run in (RECOMMENDED, SPECIFICATION):
            RUN_KIND.refuse_taken(directory / RUNS / run, overwrite=True)


@contextmanager
def called(new: Path, home: Path) -> Iterator[None]:
    """Errors that name files of the new directory name them as they would have been called."""
    try:
        yield
    except LtrError as error:
        error.args = tuple(arg.replace(str(new), str(home)) if isinstance(arg, str) else arg for arg in error.args)
        raise


def write_samples(source: AnyPath | Sequence[AnyPath] | Table, out: Path, redactions: Tally) -> ImportSummary | None:
    """Write what the source holds as samples: imported, or where it is samples already, its lines.

    Mail addresses, keys and tokens are replaced in both; of lines, the tally counts them.
    """
    if rows := rows_of(source):
        read_groups(rows)  # what is wrong is said of the user's own rows
        write_lines(out, (_redacted(line, redactions) for _, line in rows.lines(digest=ContentDigest())))
        return None
    paths = expand(cast("AnyPath | Sequence[AnyPath]", source))
    if STDIN in paths:
        raise UsageError("stdin cannot be read a second time; name a file")
    if any(recognise(path) for path in paths):
        return import_samples(ANY_FORMAT, paths, out)
    read_groups(paths)  # as above: its lines
    lines = (line for path in paths for _, line in sample_lines(path) if line and not line.isspace())
    write_lines(out, (_redacted(msgspec.json.format(line, indent=-1), redactions) for line in lines))
    return None


def _redacted(line: bytes, redactions: Tally) -> bytes:
    sample = msgspec.json.decode(line)
    replaced = redact_sample(sample, redactions.remark)
    return line if replaced is sample else msgspec.json.encode(replaced)


def has_texts(groups: Groups) -> bool:
    """Whether the candidates are tools, to be compared by their texts."""
    return groups.candidates.kind == "tool" and groups.candidates.features is None


def last_texts(candidates: Candidates) -> dict[str, ToolText]:
    """Return every tool with the last text that it has there."""
    has_text = np.array([any(text) for text in candidates.tool_texts], dtype=bool)[candidates.texts]
    return candidates.first_texts() | candidates.first_texts(np.flatnonzero(has_text)[::-1])


def catalogue_text(tools: ToolCatalogue) -> str:
    """The tools as JSON, in the first shape of the documents."""
    entries = {name: {key: text for key, text in texts._asdict().items() if text} for name, texts in tools.items()}
    return json.dumps({"tools": entries}, indent=1, ensure_ascii=False) + "\n"


def choices_for(groups: Groups, tools: ToolCatalogue, encoder: str) -> tuple[Choice, ...]:
    """What the data decide of a config; data from which nothing can be learned are refused."""
    usable = groups.without_none()
    traces = len(usable.candidates.trace_ids)
    if traces < FEWEST_TRACES:
        found = f"{count(traces, 'conversation')} with a right candidate (values of trace_id)"
        raise DataError(f"{found}; at least {FEWEST_TRACES} are needed to hold one back and learn from the others")
    if len(tools) == 1:
        raise DataError(f"one tool ({next(iter(tools))}): there is nothing to choose between; --tools FILE names more")
    choices = [_split(groups)]
    if tools:
        choices.append(Choice("data.tools", f"{DATA}/{TOOLS}", f"{count(len(tools), 'tool')}, each with its last text"))
    median = float(np.median(np.diff(usable.offsets)))
    if median < min(FEW, len(tools)):
        why = f"half of the lists hold {median:g} or fewer of {len(tools):,} tools"
        choices.append(Choice("data.negatives", WHOLE, f"tools of the catalogue join them: {why}"))
    if usable.candidates.features is None:
        choices.append(Choice("encoder", encoder, "what makes vectors of texts; `ltr list encoders` shows others"))
    return tuple(choices)


def _split(groups: Groups) -> Choice:
    """By time where it can be: every decision has one, and most conversations end at a time of their own."""
    times, candidates = groups.times, groups.candidates
    if times is None or np.isnan(times).any():
        return Choice("data.split", TRACE, "drawn by the seed: not every decision has a time")
    latest = np.full(len(candidates.trace_ids), -np.inf)
    np.maximum.at(latest, candidates.traces, times)
    if 2 * len(np.unique(latest)) <= len(latest):
        return Choice("data.split", TRACE, "drawn by the seed: most conversations end at the same times")
    return Choice("data.split", TIME, "the latest conversations are the test: every decision has a time")


def config_text(choices: Sequence[Choice], kind: str, seed: int) -> str:
    """The config as YAML, each value with its meaning or its reason."""
    of_data = [choice for choice in choices if choice.key.startswith("data.")]
    encoder = [choice for choice in choices if choice.key == "encoder"]
    lines = [
        ("# Made by `ltr init --from`; `ltr config render ltr.yaml` shows every key that there is.", ""),
        ("", ""),
        (f"name: {RECOMMENDED}", f"the run is stored in {RUNS}/{RECOMMENDED}/"),
        (f"seed: {seed}", "every random choice follows from it"),
        (f"kind: {kind}", "what the candidates are"),
        ("", ""),
        ("data:", "paths are relative to this file"),
        (f"  train: {DATA}/{SAMPLES}", "all decisions"),
        (f"  test: {TEST_SHARE}", "the share of the conversations that is kept away to measure on"),
        *((f"  {choice.key.removeprefix('data.')}: {choice.value}", choice.reason) for choice in of_data),
        ("", ""),
        *((f"encoder: {json.dumps(choice.value)}", choice.reason) for choice in encoder),
        *([("", "")] if encoder else []),
        ("train:", ""),
        (f"  recipe: {RECOMMENDED}", f"{RUNS}/{SPECIFICATION} differs in this line alone"),
        ("", ""),
        ("evaluate:", ""),
        ("  metrics: [complete@5]", "how often the first 5 hold every right candidate"),
    ]
    return "".join((f"{line:<{COMMENTS_AT}}# {comment}" if comment else line) + "\n" for line, comment in lines)
