"""Configs in, run directories and a leaderboard out: runs that fail leave the others alone."""

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from ltr.columns import Features, columns_key
from ltr.config import Point, RunConfig
from ltr.disk import make_directory
from ltr.encoders import CachedEncoder
from ltr.engine import run_each
from ltr.errors import LtrError, LtrWarning, RunError, UsageError, count
from ltr.evaluation import MRR, TOP1, TOP3, named
from ltr.experiments.single_run import run_and_save
from ltr.files import locked
from ltr.flow import features_of
from ltr.leaderboard import BOARDS, Entry, Leaderboard, leaderboard, refuse_foreign_board
from ltr.paths import STDIN, AnyPath, path_inside
from ltr.plugins import load_code
from ltr.progress import OnProgress, silent
from ltr.report import write_standings
from ltr.runs import RUN_KIND, Checkpoints, Digests, Part, refuse_other_task, task_of
from ltr.samples import Candidates


@dataclass(frozen=True, slots=True)
class Planned:
    """A run of a batch, and where it is kept."""

    config: RunConfig
    sweep: dict[str, Any]
    directory: Path


@dataclass(frozen=True, slots=True)
class Ended:
    """What became of a run."""

    planned: Planned
    error: LtrError | None = None
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0
    is_untouched: bool = False  # it was complete before
    auto_encoder: str = ""  # the encoder that auto took


OnEnd = Callable[[Ended], object]
BOARD = (*BOARDS, Part.REPORT)  # what lies beside the runs


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOptions:
    """How the runs of a batch are made; nothing of it changes a byte of them."""

    overwrite: bool = False
    resume: bool = False
    jobs: int = 1
    code: tuple[str, ...] = ()  # files of plug-ins, for the processes of the jobs


def planned(runs: Sequence[Point | RunConfig | Planned], root: AnyPath) -> tuple[Planned, ...]:
    """Each run with its directory: one of root that is named after it, unless it is planned already."""
    plan: list[Planned] = []
    for run in runs:
        if isinstance(run, Planned):
            plan.append(run)
            continue
        config, values = (run, {}) if isinstance(run, RunConfig) else (run.config, run.values)
        plan.append(Planned(config, values, path_inside(root, config.name)))
    refuse_homes([run.directory for run in plan])
    if len(plan) > 1:
        refuse_stdin([run.config for run in plan])
    return tuple(plan)


def refuse_homes(homes: Sequence[Path]) -> None:
    """Raise for a directory that two runs would have, or a run and the leaderboard."""
    alike = [str(home).casefold() for home in homes]  # some disks know no capitals
    if len(set(alike)) < len(alike):
        twice = next(home for home, name in zip(homes, alike, strict=True) if alike.count(name) > 1)
        raise UsageError(f"two runs would be kept in {twice}: give each config a name of its own")
    for home in homes:
        if home.name.casefold() in BOARD:
            raise UsageError(f"{home}: the leaderboard is kept there; give the config another name")


def refuse_stdin(configs: Sequence[RunConfig]) -> None:
    """Raise for data that only one of several runs could read, and no process of the jobs."""
    for config in configs:
        if any(STDIN in ((names,) if isinstance(names, str) else names) for names in config.data.sources().values()):
            raise UsageError(f"{config.name}: reads stdin, which several runs cannot; name a file")


def run_batch(
    runs: Sequence[Point | RunConfig | Planned],
    root: AnyPath,
    options: BatchOptions = BatchOptions(),  # frozen
    *,
    metric: str = MRR,
    on_progress: OnProgress = silent,
    on_end: OnEnd = bool,
) -> tuple[tuple[Ended, ...], Leaderboard]:
    """What became of each run, in the order of the plan, and the leaderboard that now lies in root.

    What cannot be begun at all, such as a run that is there already, is refused before the first; and so is a batch
    while another one writes there.
    """
    plan = planned(runs, root)
    refuse_unmeasured(plan, metric)
    ended: dict[int, Ended] = {}
    with locked(root):
        refuse_foreign_board(root)
        for planned_run in plan:
            refuse_taken_run(planned_run, options)
        make_directory(root, sweep=True)
        for index, ended_run in run_all(plan, options, on_progress=on_progress):
            ended[index] = ended_run
            on_end(ended_run)
        all_ended = tuple(ended[index] for index in range(len(plan)))
        board = leaderboard([entry(ended_run) for ended_run in all_ended], root, metric=metric)
        if any(Path(root).iterdir()):  # no run came as far as that otherwise
            write_standings(root, board)
    return all_ended, board


def refuse_unmeasured(plan: Sequence[Planned], metric: str) -> None:
    """Raise for a metric that no run will have; what a preset adds depends on the data."""
    name, rules = named(metric).name, [planned_run.config.evaluate for planned_run in plan]
    measured = {named(other).name for config in rules for other in (TOP1, TOP3, MRR, *config.metrics)}
    if name not in measured and all(config.preset == "ltr" for config in rules):
        raise UsageError(f"no run measures {name}; add it to evaluate.metrics, or sort by another metric")


def refuse_taken_run(planned_run: Planned, options: BatchOptions) -> None:
    """Raise for a directory that holds something else, or a run that is not to be touched, which names --resume."""
    if options.overwrite or options.resume or not (planned_run.directory / Part.RUN).exists():
        RUN_KIND.refuse_taken(planned_run.directory, overwrite=options.overwrite or options.resume)
        return
    raise UsageError(
        f"{planned_run.directory}: holds a result; add --resume to keep it, or --overwrite, or -o elsewhere"
    )


def entry(ended: Ended) -> Entry:
    """What the leaderboard is told of the run."""
    error = None if ended.error is None else " ".join(str(ended.error).split("\n"))
    return Entry(ended.planned.config.name, ended.planned.directory, ended.planned.sweep, error)


def run_all(
    plan: Sequence[Planned], options: BatchOptions, *, on_progress: OnProgress = silent
) -> Iterator[tuple[int, Ended]]:
    """Each run as it ends, with its place in the plan; runs of one shared one after the other."""
    keys = [repr(columns_key(planned_run.config)) for planned_run in plan]
    if options.jobs > 1 and len(plan) > 1:
        start = partial(started, options)
        for index, outcome in run_each(start, plan, keys, workers=options.jobs):
            yield index, outcome if isinstance(outcome, Ended) else Ended(plan[index], outcome)
        return
    runner = Runner(options, on_progress)
    for key in dict.fromkeys(keys):
        yield from ((index, runner(plan[index])) for index, other in enumerate(keys) if other == key)


class Runner:
    """Makes one run after the other; what was read and featurised for the last one serves the next."""

    def __init__(self, options: BatchOptions, on_progress: OnProgress = silent) -> None:
        self._options, self._on_progress = options, on_progress
        self._digests = Digests()
        self._features: Features | None = None

    def __call__(self, planned_run: Planned) -> Ended:
        """The run made, or left as it is, or what was wrong with it."""
        start = time.perf_counter()
        try:
            return replace(self._made(planned_run), seconds=time.perf_counter() - start)
        except LtrError as error:
            return Ended(planned_run, error)
        except MemoryError:
            self._features = None
            return Ended(planned_run, RunError("there is not enough memory"))

    def _made(self, planned_run: Planned) -> Ended:
        made = run_and_save(
            planned_run.config,
            planned_run.directory,
            overwrite=self._options.overwrite,
            resume=self._options.resume,
            on_progress=self._on_progress,
            features=self._features,
            digests=self._digests,
            code=self._options.code,
        )
        if made.result is None:
            return Ended(planned_run, is_untouched=True)
        self._features = made.features
        return Ended(planned_run, warnings=made.result.warnings, auto_encoder=made.result.auto_encoder)


def started(options: BatchOptions) -> Callable[[Planned], Ended]:
    """A runner in a process of its own, with the plug-ins; what libraries of ours warn of goes with the run."""
    for file in options.code:
        load_code(file)
    runner = Runner(options)

    def call(planned_run: Planned) -> Ended:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", LtrWarning)
            ended = runner(planned_run)
        new = tuple(str(warning.message) for warning in caught if issubclass(warning.category, LtrWarning))
        return replace(ended, warnings=(*ended.warnings, *new))

    return call


def forecast(plan: Sequence[Planned], options: BatchOptions) -> Iterator[tuple[Planned, str]]:
    """What would become of each run: left as it is, gone on with, made; data and what is refused are looked at."""
    digests, last = Digests(), None
    for planned_run in plan:
        refuse_taken_run(planned_run, options)
        if options.resume and digests.are_of(planned_run.config, planned_run.directory):
            yield planned_run, "complete, stays as it is"
            continue
        last = features_of(planned_run.config, last)
        train, test = last.data.train, last.data.test
        before = Checkpoints.task_before(planned_run.directory) if options.resume else None
        if before is not None:
            task = task_of(planned_run.config, last.data.files, planned_run.directory)
            refuse_other_task(planned_run.directory, before, task)
        tested = "the same" if test is None else count(test.count_groups(), "test group")
        how = "goes on" if before else "is to be made"
        message = f"{how}: learns from {count(train.count_groups(), 'group')}, is measured on {tested}"
        yield planned_run, message + vectors_told(planned_run.config, train[0].candidates)


def vectors_told(config: RunConfig, candidates: Candidates) -> str:
    """How many queries need no encoder, where vectors are kept between runs."""
    if candidates.features is not None:
        return ""
    queries = list(dict.fromkeys(candidates.query_texts))
    in_cache = CachedEncoder.fitted(config.encoder_name, ()).count_on_disk(queries, "query")
    return "" if in_cache is None else f"; vectors of {in_cache:,} of {len(queries):,} queries are in the cache"
