"""A bench from its config to its results: each reranker measured by itself, all judged by the same queries."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import numpy as np

from ltr.arrays import IntArray
from ltr.benchmark.bench_directory import (
    BenchSettings,
    BenchTask,
    Identity,
    begin_bench,
    measurement_file,
    read_measurement,
    refuse_other_bench,
    refuse_taken_bench,
    write_bench,
)
from ltr.benchmark.config import BenchConfig, BenchEntry
from ltr.benchmark.isolated_measurement import (
    Measurement,
    Task,
    cause_of,
    in_own_process,
    measured,
    revision,
    revision_of,
    scored,
)
from ltr.benchmark.reranker_comparison import Bench, Outcome, judge_outcomes
from ltr.data.catalogues.graphs import read_graphs
from ltr.data.catalogues.tools import read_tools
from ltr.data.groups import Groups, read_groups, select
from ltr.data.none_of_these_groups import without_none
from ltr.encoders.registry import AUTO
from ltr.errors import DataError, DiskError
from ltr.files.atomic_write import write_bytes
from ltr.files.directory_lock import locked
from ltr.files.path_arguments import AnyPath
from ltr.plugins import OURS
from ltr.rerankers.documents import collection, labels_by_key
from ltr.rerankers.registry import RERANKERS, RerankerChoice, Setting
from ltr.steps.negatives import draw_negatives
from ltr.storage.bench_record import Failed, LeftOut
from ltr.storage.run_provenance import inputs, machine


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan:
    """What all rerankers of a bench share."""

    config: BenchConfig
    home: Path
    queries_in_data: int
    groups: Groups  # the queries that were drawn
    timed: tuple[int, ...]  # the numbers of those that are timed
    setting: Setting
    code: tuple[str, ...]
    task: BenchTask
    resume: bool  # whether measurements of an earlier bench are taken


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
        outcomes = [(entry, outcome(plan, entry, on_event)) for entry in config.entries]
        bench = judge_outcomes(config, plan.groups, outcomes, queries_in_data=plan.queries_in_data)
        write_bench(bench, home, resume=resume)
    return bench


def forecast_bench(
    config: BenchConfig, out: AnyPath, *, allowed: Allowed | None = None, overwrite: bool = False, resume: bool = False
) -> list[LeftOut | Failed]:
    """The rerankers that a bench would have to do without, as far as is known before it; raises what it would raise."""
    home = Path(out)
    refuse_taken_bench(home, may_go_on=overwrite or resume)
    plan = plan_bench(config, home, allowed or Allowed(), resume=resume)
    if resume:
        refuse_other_bench(home, plan.task)
    choices = [usable(plan, entry) for entry in config.entries]
    return [choice for choice in choices if not isinstance(choice, RerankerChoice)]


def plan_bench(config: BenchConfig, home: Path, allowed: Allowed, *, resume: bool) -> Plan:
    """The queries and the task; at least one query must have a right candidate, or there is nothing to measure."""
    data = config.data
    tools = read_tools(data.tools) if data.tools else None
    graphs = read_graphs(data.graphs) if data.graphs else None
    groups = without_none(read_groups(data.samples, tools=tools, graphs=graphs))
    queries_in_data = len(groups.offsets) - 1
    drawn, timed = draw(config, queries_in_data)
    chosen = replace(select(groups, drawn), none_groups=groups.none_groups)
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
    """The queries of the bench, in the order of the data, and which of them are timed; both drawn by the seed.

    >>> from ltr.benchmark.config import BenchData
    >>> drawn, timed = draw(BenchConfig(data=BenchData(samples="s"), rerankers=("random",), sample=3, timed=2), 9)
    >>> len(drawn), len(timed), max(timed) < 3
    (3, 2, True)
    """

    def rising(rng: np.random.Generator, count: int, wanted: int | None) -> IntArray:
        is_drawn = np.zeros(count, dtype=bool)
        is_drawn[rng.permutation(count)[:wanted]] = True
        return np.flatnonzero(is_drawn)

    of_sample, of_timed = np.random.default_rng(config.seed).spawn(2)
    drawn = rising(of_sample, queries, config.sample)
    return drawn, tuple(rising(of_timed, len(drawn), config.timed).tolist())


def usable(plan: Plan, entry: BenchEntry) -> RerankerChoice | LeftOut | Failed:
    """The reranker; or why it cannot be used here."""
    try:
        choice = RerankerChoice(entry.name, entry.options)
        why = choice.absent(plan.setting)
    except Exception as error:  # a library may raise anything, and must not end the others' bench
        return Failed(entry.shown_name, cause_of(error))
    return LeftOut(entry.shown_name, why) if why else choice


def outcome(plan: Plan, entry: BenchEntry, on_event: OnEvent) -> Outcome:
    """The measurement of one reranker, from the directory or fresh; or why there is none."""
    choice = usable(plan, entry)
    if isinstance(choice, RerankerChoice):
        try:
            if choice.name == "command":
                on_event(Event(entry.shown_name, "runs", " ".join(map(repr, entry.options.get("arguments", ())))))
            return measurement_of(plan, entry, choice, on_event)
        except DiskError:  # the others could not be written either
            raise
        except Exception as error:  # a library or a plug-in may raise anything, and must not end the others' bench
            choice = Failed(entry.shown_name, cause_of(error))
    on_event(Event(choice.name, "failed" if isinstance(choice, Failed) else "left out", choice.why))
    return choice


def measurement_of(plan: Plan, entry: BenchEntry, choice: RerankerChoice, on_event: OnEvent) -> Measurement:
    """The measurement in the directory, if there is one; else a fresh one, written there."""
    kind = choice.kind
    task = Task(
        choice=choice,
        setting=replace(plan.setting, labels=labels_by_key(plan.groups) if kind.is_reference else {}),
        groups=plan.groups,
        timed=plan.timed,
        repeats=plan.config.repeats,
        warm_up=plan.config.warm_up,
        code=plan.code,
    )
    source = RERANKERS.source(kind.spelling)
    # a plug-in is opened elsewhere: it may do anything
    own = revision(choice.opened(task.setting)) if source == OURS else in_own_process(revision_of, [task])[0]
    identity = Identity(name=kind.spelling, options=dict(choice.options), revision=own, source=str(source))
    path = measurement_file(plan.home, plan.task, identity, resume=plan.resume)
    measurement = read_measurement(path, task)
    if measurement is not None:
        on_event(Event(entry.shown_name, "reused"))
        return measurement
    measurement = fresh_measurement(task, workers=plan.config.workers)
    write_bytes(path, msgspec.json.encode(measurement))
    on_event(Event(entry.shown_name, "measured"))
    return measurement


def fresh_measurement(task: Task, *, workers: int) -> Measurement:
    """The timed queries in one process, by itself; after it the others, in a process for each worker.

    A query is scored alone, so the number of workers changes no score.
    """
    (measurement,) = in_own_process(measured, [task])
    untimed = np.setdiff1d(np.arange(len(task.groups.offsets) - 1), task.timed)
    parts = [part for part in np.array_split(untimed, workers) if part.size]
    tasks = [replace(task, groups=select(task.groups, part)) for part in parts]
    for part, scores in zip(parts, in_own_process(scored, tasks), strict=True):
        measurement.scores.update(zip(part.tolist(), scores, strict=True))
    return measurement
