"""One config in, one run directory out."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from ltr.config.recipes import recipe_version
from ltr.config.run import RunConfig, checked, relocated, render
from ltr.configtext.parsed_document import Document, Value
from ltr.data.data_frame_rows import Table, rows_of
from ltr.engines.open_engine import open_engine, warn_without_shards
from ltr.experiments.pipeline import RunResult, run
from ltr.experiments.progress import OnProgress, silent
from ltr.experiments.read_data import read_data
from ltr.experiments.resume import Checkpoints, Digests, is_finished, task_of
from ltr.experiments.run_saving import Clock, write_all
from ltr.experiments.shared_inputs import SharedInputs
from ltr.features.presets import RECOMMENDED
from ltr.files.directory_lock import locked
from ltr.files.output_replacement import new_directory
from ltr.files.path_arguments import AnyPath
from ltr.results.hashed_queries import hash_texts, without_texts
from ltr.results.hits_and_mistakes_by_tool import by_tool
from ltr.results.instructive_examples import examples
from ltr.results.metric_curves import curves
from ltr.results.metrics_record import metrics_record
from ltr.results.query_records import query_records
from ltr.storage.model_file import save_model
from ltr.storage.run_contents import RunContents
from ltr.storage.run_directory import refuse_taken
from ltr.storage.run_provenance import inputs
from ltr.storage.run_record import RUN_FORMAT, RunRecord, TaskRecord
from ltr.storage.sharded_columns import columns_directory
from ltr.storage.training_record import epoch_records

if TYPE_CHECKING:
    from ltr.experiments.shard_run import ShardsResult


@dataclass(frozen=True, slots=True)
class Finished:
    """A run and where it is kept."""

    directory: Path
    result: "RunResult | ShardsResult | None"  # None of a run that was complete, which is left as it was
    seconds: float

    @property
    def is_untouched(self) -> bool:
        """Whether the run was complete before, so that nothing was done."""
        return self.result is None


def train(
    samples: AnyPath | Sequence[AnyPath] | Table,
    *,
    out: AnyPath | None = None,
    recommended: bool = False,
    features: Sequence[str] = (),
    valid: AnyPath | float | Table | None = None,
    test: AnyPath | float | Table | None = None,
    tools: AnyPath | None = None,
    graphs: AnyPath | None = None,
    negatives: str | int | None = None,
    encoder: str | None = None,
    seed: int = 0,
    overwrite: bool = False,
    on_progress: OnProgress = silent,
    **settings: Value,
) -> "RunResult | ShardsResult":
    """The result of a run on the samples, also written into the directory `out`, if there is one.

    Samples, validation and test samples are files, or what `read_groups` takes; `valid` and `test` may be shares.
    Samples and test samples may be a directory of columns, which is read shard by shard.
    `recommended` is the recipe of that name. `negatives` adds tools of the catalogue to the candidates: "catalogue", or
    a number for each query. `settings` are keys of `train` in a config, such as l2=0.1.
    """
    paths = [samples] if isinstance(samples, str | PathLike) else samples
    data: dict[str, Any] = {"train": paths, "valid": valid, "test": test, "tools": tools, "graphs": graphs}
    data["negatives"] = negatives
    given = {key: rows for key, value in data.items() if (rows := rows_of(value)) is not None}
    written = {key: given[key].name if key in given else _as_config(value) for key, value in data.items()}
    document: dict[str, Any] = {
        "seed": seed,
        "data": {key: value for key, value in written.items() if value is not None},
        "train": {**({"recipe": RECOMMENDED} if recommended else {}), **settings},
        **({"name": Path(out).name} if out is not None else {}),
        **({"features": list(features)} if features else {}),
        **({} if encoder is None else {"encoder": encoder}),
    }
    config = checked(Document("ltr.train", document, {}))
    shared = SharedInputs(config, read_data(config, given)) if given else None
    if out is None and columns_directory(config.data.train) is not None:
        from ltr.experiments.shard_run import run_shards  # samples in memory do not need it, nor below

        with open_engine(config.engine) as engine:
            return run_shards(config, on_progress=on_progress, engine=engine)
    if out is None:
        return run(config, on_progress=on_progress, shared=shared)
    finished = run_and_save(config, out, overwrite=overwrite, on_progress=on_progress, shared=shared)
    return cast("RunResult | ShardsResult", finished.result)  # without resume every run is made


def _as_config(value: Any) -> Any:
    """Paths as a config has them; everything else as it is."""
    if isinstance(value, PathLike):
        return str(value)
    return [str(path) for path in value] if isinstance(value, Sequence) and not isinstance(value, str) else value


def run_and_save(
    config: RunConfig,
    directory: AnyPath,
    *,
    overwrite: bool = False,
    resume: bool = False,
    on_progress: OnProgress = silent,
    clock: Clock = time.perf_counter,
    shared: SharedInputs | None = None,
    digests: Digests | None = None,
    code: Sequence[str] = (),
) -> Finished:
    """Run the config and save the result in the directory.

    `resume`: go on where the same run was broken off; where it was not even begun, begin; where it is complete,
    leave it as it is. While another process writes there, this one is refused. `shared` and `digests`: what runs of
    the same data and features have made, and fingerprints of files that have been read before. `code`: files of
    plug-ins, which the workers of the config's engine run first.
    """
    start, home = clock(), Path(directory)
    if resume and is_finished(config, home, digests or Digests()):
        return Finished(home, None, clock() - start)
    refuse_taken(home, overwrite=overwrite or resume)
    if columns_directory(config.data.train) is not None:
        from ltr.experiments.shard_run_saving import run_and_save_shards

        with locked(home), open_engine(config.engine, code) as engine:
            made = run_and_save_shards(config, home, on_progress=on_progress, engine=engine)
        return Finished(home, made, clock() - start)
    warn_without_shards(config.engine)
    with locked(home):
        shared = SharedInputs(config) if shared is None else shared.for_run(config)
        task = task_of(config, shared.data(on_progress), home)
        checkpoints = Checkpoints(home, task, on_progress, clock, resume=resume)
        result = run(config, on_progress=checkpoints, resume=checkpoints.progress, shared=shared)
        replaces = overwrite or resume or checkpoints.are_written
        save(result, home, task, overwrite=replaces, seconds=clock() - start, clock=clock)
    return Finished(home, result, clock() - start)


def save(
    result: RunResult,
    directory: AnyPath,
    task: TaskRecord | None = None,
    *,
    overwrite: bool = False,
    seconds: float = 0.0,
    clock: Clock = time.perf_counter,
) -> None:
    """Write all of a run as a directory, which replaces an earlier run, and checkpoints, when all of it is written.

    `task` is what decides its numbers, `seconds` its time.
    """
    start = clock()
    if not result.config.data.texts:
        texts = (*result.train.candidates.query_texts, *result.measured.groups.candidates.query_texts)
        warnings = tuple(hash_texts(result.warnings, dict.fromkeys(texts)))
        learned = result.learned
        if learned is not None:  # the nodes of graphs may repeat what their queries say
            is_graph = result.router.kind == "graph"
            learned = None if is_graph else replace(learned, groups=result.train).without_texts
        result = replace(result, measured=without_texts(result.measured), warnings=warnings, learned=learned)
    described = record(result, Path(directory))
    refuse_taken(directory, overwrite=overwrite)
    with new_directory(directory) as home:
        files = RunContents(
            path=home.as_posix(),
            record=msgspec.structs.replace(described, task=task),
            is_recorded=True,
            metrics=metrics_record(result.measured),
            model=save_model(home, result.router),
            curves=curves(result.measured),
            history=epoch_records(result.model.training),
            queries=list(query_records(result.measured, result.router)),
            examples=list(examples(result.measured, result.router)),
            tools=by_tool(result.measured),
            config=render(relocated(result.config, home)),
        )
        write_all(files, result.router, result.learned, seconds=seconds, saving_since=start, clock=clock)


def record(result: RunResult, home: Path) -> RunRecord:
    """What run.json says of the run, all but its times."""
    read_by = [result.train.candidates, result.measured.groups.candidates]
    files = [file for candidates in read_by for file in (*candidates.files, *candidates.catalogues)]
    records = inputs(files, home)
    paths = dict.fromkeys(repr(file.path) for file in files)
    renames = dict(zip(paths, (repr(read.path) for read in records), strict=True))
    return RunRecord(
        format=RUN_FORMAT,
        name=result.config.name,
        seed=result.config.seed,
        recipe=recipe_version(result.config.train.recipe),
        inputs=records,
        warnings=[renamed(warning, renames) for warning in result.warnings],
    )


def renamed(text: str, names: Mapping[str, str]) -> str:
    """The text with files named as the run finds them, from wherever the command was called.

    >>> renamed("'a' and 'b' share a trace", {"'a'": "'../a'"})
    "'../a' and 'b' share a trace"
    """
    for old, new in names.items():
        text = text.replace(old, new)
    return text
