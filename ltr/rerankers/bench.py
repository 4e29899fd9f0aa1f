"""A bench: each reranker measured by itself, all judged by the same queries, and the directory that holds it.

A measurement lies under a digest of all that decides it, written as soon as it is made.
"""

import hashlib
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np

from ltr.arrays import IntArray
from ltr.catalogues import read_graphs, read_tools
from ltr.config import yaml_text
from ltr.disk import make_directory, remove
from ltr.encoders import AUTO
from ltr.errors import DataError, DiskError, FileError, UsageError
from ltr.files import DirectoryKind, locked, new_directory, read_bytes, write_file, write_lines
from ltr.jsonl import encode_lines
from ltr.paths import AnyPath
from ltr.plugins import OURS
from ltr.records.bench import BENCH, TABLES, Failed, LeftOut
from ltr.records.metrics import QueryRecord
from ltr.report import write_standings
from ltr.rerankers.config import BenchConfig, BenchEntry, relocated_bench
from ltr.rerankers.figures import Bench, Outcome, judge_outcomes
from ltr.rerankers.measure import (
    Measurement,
    Task,
    cause_of,
    in_own_process,
    measured,
    revision,
    revision_of,
    scored,
)
from ltr.rerankers.protocol import RERANKERS, RerankerChoice, Setting, collection, labels_by_key
from ltr.results import query_records
from ltr.runs import Part, inputs, machine, refuse_other_task
from ltr.samples import Groups, read_groups
from ltr.steps.negatives import draw_negatives

CONFIG, SAMPLED, PER_QUERY = "config.yaml", "sampled.jsonl", "per_query.jsonl"
RESULTS = (BENCH, CONFIG, SAMPLED, PER_QUERY, *TABLES.values(), Part.REPORT)  # bench.json goes first, comes last
MEASURED, TASK = "measured", "task.json"
MEASUREMENT = re.compile(r"[0-9a-f]{32}\.json|task\.json")
LARGEST_FILE = 1 << 30
Read = TypeVar("Read", Measurement, "BenchTask")


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """What may reach outside; never a key of a config."""

    command: bool = False
    download: bool = False
    code: tuple[str, ...] = ()  # files that were run here, and are run in each process


@dataclass(frozen=True, slots=True)
class Event:
    """A step of a bench, for whoever watches it."""

    name: str
    what: str  # runs (a command, with its arguments), measured, reused, left out, failed
    detail: str = ""


OnEvent = Callable[[Event], None]


class BenchSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of a config that decide a measurement."""

    seed: int
    catalogue: bool
    sample: int | None
    timed: int | None
    repeats: int
    warm_up: int


class BenchTask(msgspec.Struct, frozen=True, kw_only=True):
    """task.json: what decides a measurement besides the reranker."""

    settings: BenchSettings
    inputs: dict[str, str]  # sha256 of each file, by its path
    machine: dict[str, str | int | list[str] | None]


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """What decides a measurement of the reranker's own."""

    name: str
    options: dict[str, object]
    revision: str
    source: str


class BenchQuery(QueryRecord, kw_only=True):
    """A line of per_query.jsonl: a query of a reranker."""

    reranker: str
    latency_ms: float | None  # mean; None: it was not timed


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan:
    """What all rerankers of a bench share, and where their measurements lie."""

    config: BenchConfig
    home: Path
    queries_in_data: int
    groups: Groups  # the queries that were drawn
    timed: tuple[int, ...]  # the numbers of those that are timed
    setting: Setting
    code: tuple[str, ...]
    task: BenchTask
    resume: bool  # whether measurements of an earlier bench are taken

    def usable(self, entry: BenchEntry) -> RerankerChoice | LeftOut | Failed:
        """Return the reranker; or why it cannot be used here."""
        try:
            choice = RerankerChoice(entry.name, entry.options)
            why = choice.absent(self.setting)
        except Exception as error:  # a library may raise anything, and must not end the others' bench
            return Failed(entry.shown_name, cause_of(error))
        return LeftOut(entry.shown_name, why) if why else choice

    def outcome(self, entry: BenchEntry, on_event: OnEvent) -> Outcome:
        """Measure one reranker, or take its measurement from the directory; or say why there is none."""
        choice = self.usable(entry)
        if isinstance(choice, RerankerChoice):
            try:
                if choice.name == "command":
                    on_event(Event(entry.shown_name, "runs", " ".join(map(repr, entry.options.get("arguments", ())))))
                measurement, what = self.measurement(choice)
                on_event(Event(entry.shown_name, what))
                return measurement
            except DiskError:  # the others could not be written either
                raise
            except Exception as error:  # a library or a plug-in may raise anything, and must not end the others' bench
                choice = Failed(entry.shown_name, cause_of(error))
        on_event(Event(choice.name, "failed" if isinstance(choice, Failed) else "left out", choice.why))
        return choice

    def measurement(self, choice: RerankerChoice) -> tuple[Measurement, str]:
        """Return the measurement in the directory, if there is one; else a fresh one, written there."""
        kind = choice.kind
        task = Task(
            choice=choice,
            setting=replace(self.setting, labels=labels_by_key(self.groups) if kind.is_reference else {}),
            groups=self.groups,
            timed=self.timed,
            repeats=self.config.repeats,
            warm_up=self.config.warm_up,
            code=self.code,
        )
        source = RERANKERS.source(kind.spelling)
        # a plug-in is opened elsewhere: it may do anything
        own = revision(choice.opened(task.setting)) if source == OURS else in_own_process(revision_of, [task])[0]
        identity = Identity(name=kind.spelling, options=dict(choice.options), revision=own, source=str(source))
        content = msgspec.json.encode([self.task, identity], order="sorted")
        name = f"{hashlib.sha256(content).hexdigest()[:32]}.json"
        earlier = self.home / MEASURED / name
        path = earlier if self.resume and earlier.exists() else self.home / Part.CHECKPOINTS / name
        if path.exists():
            known = _decoded(path, Measurement, "not a measurement: {}; remove it to measure again")
            if not known.answers(task):
                raise FileError(str(path), "not a measurement of these queries; remove it to measure again")
            return known, "reused"
        fresh = fresh_measurement(task, workers=self.config.workers)
        write_file(path, msgspec.json.encode(fresh))
        return fresh, "measured"


def run_bench(
    config: BenchConfig,
    out: AnyPath,
    *,
    allowed: Allowed | None = None,
    overwrite: bool = False,
    resume: bool = False,
    on_event: OnEvent = lambda event: None,
) -> Bench:
    """Measure the rerankers one after the other, judge them, and write all of it to the directory.

    Each measurement is written as soon as it is made; `resume` takes those whose reranker, data and settings are the
    same. A reranker that cannot be used here is left out; one that fails does not stop the others. Both are named.
    """
    home = Path(out)
    refuse_taken_bench(home, may_go_on=overwrite or resume)
    plan = plan_bench(config, home, allowed or Allowed(), resume=resume)
    with locked(home):
        begin_bench(home, plan.task, resume=resume)
        outcomes = [(entry, plan.outcome(entry, on_event)) for entry in config.entries]
        bench = judge_outcomes(config, plan.groups, outcomes, queries_in_data=plan.queries_in_data)
        write_bench(bench, home, resume=resume)
    return bench


def forecast_bench(
    config: BenchConfig, out: AnyPath, *, allowed: Allowed | None = None, overwrite: bool = False, resume: bool = False
) -> list[LeftOut | Failed]:
    """Return the rerankers that a bench would have to do without, as far as is known; raise what it would raise."""
    home = Path(out)
    refuse_taken_bench(home, may_go_on=overwrite or resume)
    plan = plan_bench(config, home, allowed or Allowed(), resume=resume)
    if resume:
        refuse_other_bench(home, plan.task)
    choices = [plan.usable(entry) for entry in config.entries]
    return [choice for choice in choices if not isinstance(choice, RerankerChoice)]


def plan_bench(config: BenchConfig, home: Path, allowed: Allowed, *, resume: bool) -> Plan:
    """Return the queries and the task; at least one query must have a right candidate, or nothing can be measured."""
    data = config.data
    tools = read_tools(data.tools) if data.tools else None
    graphs = read_graphs(data.graphs) if data.graphs else None
    groups = read_groups(data.samples, tools=tools, graphs=graphs).without_none()
    queries_in_data = len(groups.offsets) - 1
    drawn, timed = draw(config, queries_in_data)
    chosen = replace(groups.select(drawn), none_groups=groups.none_groups)
    if config.catalogue and tools:
        groups = chosen = draw_negatives(chosen, tools, len(tools), encoder=AUTO, seed=config.seed)
    if not (chosen.labels >= config.rel_threshold).any():
        of = "" if config.sample is None else " of the queries that were drawn"
        raise DataError(f"no candidate{of} has a label of {config.rel_threshold:g} or more, so none is right")
    files = inputs([*groups.candidates.files, *groups.candidates.catalogues], home)
    settings = BenchSettings(**{name: getattr(config, name) for name in BenchSettings.__struct_fields__})
    return Plan(
        config=config,
        home=home,
        queries_in_data=queries_in_data,
        groups=chosen,
        timed=timed,
        setting=Setting(
            collection=collection(groups.candidates),
            seed=config.seed,
            allow_command=allowed.command,
            allow_download=allowed.download,
        ),
        code=allowed.code,
        task=BenchTask(settings=settings, inputs={file.path: file.sha256 for file in files}, machine=machine()),
        resume=resume,
    )


def draw(config: BenchConfig, queries: int) -> tuple[IntArray, tuple[int, ...]]:
    """Draw the queries of the bench, in the order of the data, and which of them are timed; both by the seed.

    >>> from ltr.rerankers.config import BenchData
    >>> drawn, timed = draw(BenchConfig(data=BenchData(samples="s"), rerankers=("random",), sample=3, timed=2), 9)
    >>> len(drawn), len(timed), max(timed) < 3
    (3, 2, True)
    """
    of_sample, of_timed = np.random.default_rng(config.seed).spawn(2)
    drawn = sorted(of_sample.permutation(queries)[: config.sample].tolist())
    timed = sorted(of_timed.permutation(len(drawn))[: config.timed].tolist())
    return np.array(drawn, dtype=np.int64), tuple(timed)


def fresh_measurement(task: Task, *, workers: int) -> Measurement:
    """Measure the timed queries in one process, by itself; after it the others, in a process for each worker.

    A query is scored alone, so the number of workers changes no score.
    """
    (measurement,) = in_own_process(measured, [task])
    untimed = np.setdiff1d(np.arange(len(task.groups.offsets) - 1), task.timed)
    parts = [part for part in np.array_split(untimed, workers) if part.size]
    tasks = [replace(task, groups=task.groups.select(part)) for part in parts]
    for part, scores in zip(parts, in_own_process(scored, tasks), strict=True):
        measurement.scores.update(zip(part.tolist(), scores, strict=True))
    return measurement


def _is_bench(home: Path) -> bool:
    """Return whether measurements lie there, of a complete bench or of one that was broken off."""
    return (home / MEASURED / TASK).exists() or {entry.name for entry in home.iterdir()} == {Part.CHECKPOINTS}


BENCH_KIND = DirectoryKind(
    files=RESULTS, folders={MEASURED: MEASUREMENT, Part.CHECKPOINTS: MEASUREMENT}, is_one=_is_bench
)


def refuse_taken_bench(home: Path, *, may_go_on: bool) -> None:
    """Raise unless the directory is free, or a bench that may be replaced or gone on with; before the work."""
    if BENCH_KIND.refuse_foreign(home) and not may_go_on:
        raise UsageError(f"{home}: holds a bench; add --resume to keep what was measured, or --overwrite")


def refuse_other_bench(home: Path, task: BenchTask) -> None:
    """Raise where the directory holds measurements of another task; a bench that was broken off comes first."""
    path = next((home / name / TASK for name in (Part.CHECKPOINTS, MEASURED) if (home / name / TASK).exists()), None)
    if path is not None:
        refuse_other_task(home, _read_task(path), task)


def _read_task(path: Path) -> BenchTask:
    return _decoded(path, BenchTask, "not the task of a bench: {}; add --overwrite to start anew")


def _decoded(path: Path, kind: type[Read], problem: str) -> Read:
    try:
        return msgspec.json.decode(read_bytes(path, limit=LARGEST_FILE), type=kind)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise FileError(str(path), problem.format(error)) from error


def begin_bench(home: Path, task: BenchTask, *, resume: bool) -> None:
    """Make the directory of the measurements to come; with `resume` those of the same task stay.

    They are made beside an earlier bench, which stays complete until the new one is.
    """
    refuse_taken_bench(home, may_go_on=True)
    if resume:
        refuse_other_bench(home, task)
    folder = make_directory(home / Part.CHECKPOINTS, sweep=True)
    for path in [] if resume else [*folder.iterdir()]:
        remove(path)
    write_file(folder / TASK, msgspec.json.encode(task))


def write_bench(bench: Bench, home: Path, *, resume: bool) -> None:
    """Write the results and the measurements as a directory that replaces what is there."""
    with new_directory(home) as new:
        write_results(bench, new)
        folder, begun, earlier = make_directory(new / MEASURED), home / Part.CHECKPOINTS, home / MEASURED
        is_continued = resume and earlier.exists() and _read_task(earlier / TASK) == _read_task(begun / TASK)
        for source in (earlier, begun) if is_continued else (begun,):
            for path in sorted(source.iterdir()):
                if MEASUREMENT.fullmatch(path.name):
                    write_file(folder / path.name, read_bytes(path, limit=LARGEST_FILE))


def write_results(bench: Bench, home: Path) -> None:
    """Write the results of a bench, without the measurements."""
    write_file(home / CONFIG, yaml_text(relocated_bench(bench.config, home)))
    candidates = bench.groups.candidates
    keys = zip(candidates.traces.tolist(), candidates.node_ids, strict=True)
    sampled = ({"trace_id": candidates.trace_ids[code], "node_id": node} for code, node in keys)
    write_lines(home / SAMPLED, encode_lines(sampled))
    write_lines(home / PER_QUERY, encode_lines(_queries(bench)))
    write_standings(home, bench.record)
    write_file(home / BENCH, msgspec.json.format(msgspec.json.encode(bench.record), indent=2) + b"\n")


def _queries(bench: Bench) -> Iterator[BenchQuery]:
    """Yield each query of each reranker, with its mean latency and its metrics."""
    for result, measurement, ranking in zip(bench.record.rerankers, bench.measurements, bench.rankings, strict=True):
        times: dict[int, list[float]] = {}
        for index, elapsed in enumerate(measurement.latencies_ms):
            times.setdefault(measurement.timed[index % len(measurement.timed)], []).append(elapsed)
        values = {name: ranking.evaluation.values[name].tolist() for name in bench.config.metrics}
        for number, query in enumerate(query_records(ranking)):
            latencies = times.get(number)
            metrics = {name: None if math.isnan(column[number]) else column[number] for name, column in values.items()}
            yield BenchQuery(
                **msgspec.structs.asdict(query) | {"metrics": metrics},
                reranker=result.name,
                latency_ms=sum(latencies) / len(latencies) if latencies else None,
            )
