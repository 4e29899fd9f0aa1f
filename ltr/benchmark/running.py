"""A bench from its config to its verdict: each reranker measured by itself, all judged by the same queries."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ltr.arrays import IntArray
from ltr.benchmark.config import BenchConfig, Entry
from ltr.benchmark.measurements import claim, key_of, read_measurement, refuse_other, refuse_taken, write_measurement
from ltr.benchmark.measuring import Measurement, Task, measured, revised, revision, scored
from ltr.benchmark.processes import apart, cause
from ltr.benchmark.verdict import Bench, Missing, verdict
from ltr.benchmark.writing import write_bench
from ltr.data.catalogues.graphs import read_graphs
from ltr.data.catalogues.tools import read_tools
from ltr.data.groups import Candidates, Groups, read_groups, select
from ltr.errors import DataError, DiskError
from ltr.files.locked import held
from ltr.files.reading import AnyPath
from ltr.plugins import OURS
from ltr.rerankers.documents import collection, truth
from ltr.rerankers.registry import RERANKERS, Choice, Setting
from ltr.storage.run_directory import inputs, machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """What may reach outside; never a key of a config."""

    command: bool = False
    download: bool = False
    code: tuple[str, ...] = ()  # files that were run here, and are run in each process


@dataclass(frozen=True, slots=True)
class Event:
    """Something to tell while the bench goes on."""

    name: str
    what: str  # runs (a command, with its arguments), measured, kept, left out, failed
    detail: str = ""


Tell = Callable[[Event], None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stand:
    """What all rerankers of a bench share."""

    config: BenchConfig
    asked: Groups  # the queries that were drawn
    timed: tuple[int, ...]  # which of them are timed
    setting: Setting
    allowed: Allowed
    task: Mapping[str, Any]  # what decides a measurement besides the reranker
    home: Path
    tell: Tell


def run_bench(
    config: BenchConfig,
    out: AnyPath,
    *,
    allowed: Allowed | None = None,
    overwrite: bool = False,
    resume: bool = False,
    tell: Tell = lambda event: None,
) -> Bench:
    """Measure the rerankers one after the other, judge them, and keep all of it in the directory.

    Each measurement is kept as soon as it is made; `resume` takes those whose reranker, data and settings are the
    same. A reranker that cannot be used here is left out, one that fails leaves the others alone; both are named.
    """
    refuse_taken(Path(out), may_go_on=overwrite or resume)
    groups = read(config)
    with held(out):
        task = task_of(config, groups.candidates, Path(out))
        stand = stood(config, groups, allowed or Allowed(), task=task, home=Path(out), tell=tell)
        claim(out, task, overwrite=overwrite, resume=resume)
        outcomes = [(entry, outcome(stand, entry)) for entry in config.entries]
        bench = verdict(config, stand.asked, outcomes, queries_in_data=len(groups.offsets) - 1)
        write_bench(bench, stand.home)
    return bench


def forecast(
    config: BenchConfig, out: AnyPath, *, allowed: Allowed | None = None, overwrite: bool = False, resume: bool = False
) -> list[Missing]:
    """The rerankers that a bench would leave out, as far as is known before the work; raises what it would raise."""
    refuse_taken(Path(out), may_go_on=overwrite or resume)
    groups = read(config)
    task = task_of(config, groups.candidates, Path(out))
    if resume:
        refuse_other(Path(out), task)
    stand = stood(config, groups, allowed or Allowed(), task=task, home=Path(out), tell=lambda event: None)
    found = [chosen(stand, entry) for entry in config.entries]
    return [each for each in found if isinstance(each, Missing)]


def stood(
    config: BenchConfig, groups: Groups, allowed: Allowed, *, task: Mapping[str, Any], home: Path, tell: Tell
) -> Stand:
    """What the rerankers share; at least one query must have a right candidate, or there is nothing to measure."""
    drawn, timed = draw(config, len(groups.offsets) - 1)
    asked = select(groups, drawn)
    if not (asked.labels >= config.rel_threshold).any():
        of = "" if config.sample is None else " of the queries that were drawn"
        raise DataError(f"no candidate{of} has a label of {config.rel_threshold:g} or more, so none is right")
    setting = Setting(
        collection=collection(groups.candidates),
        seed=config.seed,
        allow_command=allowed.command,
        allow_download=allowed.download,
    )
    return Stand(
        config=config, asked=asked, timed=timed, setting=setting, allowed=allowed, task=task, home=home, tell=tell
    )


def read(config: BenchConfig) -> Groups:
    """The groups of the data."""
    data = config.data
    tools = read_tools(data.tools) if data.tools else None
    graphs = read_graphs(data.graphs) if data.graphs else None
    return read_groups(data.samples, tools=tools, graphs=graphs)


def draw(config: BenchConfig, queries: int) -> tuple[IntArray, tuple[int, ...]]:
    """The queries of the bench, in the order of the data, and which of them are timed; both drawn by the seed.

    >>> from ltr.benchmark.config import BenchData
    >>> drawn, timed = draw(BenchConfig(data=BenchData(samples="s"), rerankers=("random",), sample=3, timed=2), 9)
    >>> len(drawn), len(timed), max(timed) < 3
    (3, 2, True)
    """
    sample, timed = np.random.default_rng(config.seed).spawn(2)
    drawn = _some(sample, queries, config.sample)
    return drawn, tuple(_some(timed, len(drawn), config.timed).tolist())


def _some(rng: np.random.Generator, count: int, wanted: int | None) -> IntArray:
    """So many of the numbers below count, rising."""
    is_drawn = np.zeros(count, dtype=bool)
    is_drawn[rng.permutation(count)[:wanted]] = True
    return np.flatnonzero(is_drawn)


def task_of(config: BenchConfig, candidates: Candidates, home: Path) -> dict[str, Any]:
    """What decides a measurement besides the reranker: queries, settings, machine."""
    found = inputs([*candidates.files, *candidates.catalogues], home)
    keys = ("seed", "sample", "timed", "repeats", "warm_up")
    return {
        "settings": {key: getattr(config, key) for key in keys},
        "inputs": {each.path: each.sha256 for each in found},
        "machine": machine(),
    }


def chosen(stand: Stand, entry: Entry) -> Choice | Missing:
    """The reranker; or why it cannot be used here."""
    try:
        choice = Choice(entry.name, entry.options)
        why = choice.absent(stand.setting)
    except Exception as error:  # a library may raise anything, and must not end the others' bench
        return Missing(entry.called, cause(error), is_failure=True)
    return Missing(entry.called, why, is_failure=False) if why else choice


def outcome(stand: Stand, entry: Entry) -> Measurement | Missing:
    """The measurement of one reranker, kept or fresh; or why there is none."""
    choice = chosen(stand, entry)
    if isinstance(choice, Missing):
        return _missed(stand, choice)
    try:
        if choice.name == "command":
            stand.tell(Event(entry.called, "runs", " ".join(map(repr, entry.options.get("arguments", ())))))
        return _measurement(stand, entry, choice)
    except DiskError:  # the others could not be kept either
        raise
    except Exception as error:  # a library or a plug-in may raise anything, and must not end the others' bench
        return _missed(stand, Missing(entry.called, cause(error), is_failure=True))


def _missed(stand: Stand, missing: Missing) -> Missing:
    stand.tell(Event(missing.name, "failed" if missing.is_failure else "left out", missing.why))
    return missing


def _measurement(stand: Stand, entry: Entry, choice: Choice) -> Measurement:
    task = _task(stand, choice)
    key = key_of(stand.task, _identity(task))
    kept = read_measurement(stand.home, key, task)
    if kept is not None:
        stand.tell(Event(entry.called, "kept"))
        return kept
    fresh = _fresh(stand, task)
    write_measurement(stand.home, key, fresh)
    stand.tell(Event(entry.called, "measured"))
    return fresh


def _task(stand: Stand, choice: Choice) -> Task:
    known = truth(stand.asked) if choice.recipe.is_reference else {}
    return Task(
        choice=choice,
        setting=replace(stand.setting, truth=known),
        groups=stand.asked,
        timed=stand.timed,
        repeats=stand.config.repeats,
        warm_up=stand.config.warm_up,
        code=stand.allowed.code,
    )


def _identity(task: Task) -> dict[str, Any]:
    """What decides a measurement of the reranker's own. A plug-in is opened elsewhere: it may do anything."""
    source = RERANKERS.source(task.choice.recipe.spelling)
    own = revision(task.choice.opened(task.setting)) if source == OURS else apart(revised, [task])[0]
    return {
        "name": task.choice.recipe.spelling,
        "options": dict(task.choice.options),
        "revision": own,
        "source": str(source),
    }


def _fresh(stand: Stand, task: Task) -> Measurement:
    """The timed queries in one process, by itself; after it the others, in as many as the config says."""
    (found,) = apart(measured, [task])
    parts = list(_untimed(stand))
    tasks = [replace(task, groups=select(stand.asked, part)) for part in parts]
    for part, scores in zip(parts, apart(scored, tasks), strict=True):
        found.scores.update(zip(part.tolist(), scores, strict=True))
    return found


def _untimed(stand: Stand) -> Iterator[IntArray]:
    """The queries that are not timed, in a part for each worker: a query is scored alone, so no cut can show."""
    rest = np.setdiff1d(np.arange(len(stand.asked.offsets) - 1), stand.timed)
    yield from (part for part in np.array_split(rest, stand.config.workers) if part.size)
