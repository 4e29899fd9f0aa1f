"""A run over shards as a run directory: query by query while it is measured, the rest when that is done."""

import time
from pathlib import Path

from ltr.config.recipes import recipe_version
from ltr.config.run import RunConfig, relocated, render
from ltr.engines.engine import IN_PROCESS, Engine
from ltr.experiments.progress import OnProgress, silent
from ltr.experiments.resume import task_of_files
from ltr.experiments.run_saving import write_all
from ltr.experiments.shard_run import ShardsResult, run_shards
from ltr.files.output_replacement import new_directory
from ltr.files.path_arguments import AnyPath
from ltr.results.hits_and_mistakes_by_tool import tool_records
from ltr.results.metric_curves import curves
from ltr.results.metrics_record import metrics_record
from ltr.storage.model_file import save_model
from ltr.storage.run_contents import RunContents, StoredQueries
from ltr.storage.run_directory import PER_QUERY
from ltr.storage.run_provenance import inputs
from ltr.storage.run_record import RUN_FORMAT, RunRecord, TaskRecord
from ltr.storage.training_record import epoch_records


def run_and_save_shards(
    config: RunConfig, directory: AnyPath, *, on_progress: OnProgress = silent, engine: Engine = IN_PROCESS
) -> ShardsResult:
    """The result of the run, which now lies in the directory; the caller holds its lock."""
    start = time.perf_counter()
    with new_directory(directory) as home:
        result = run_shards(config, keep_in=home / PER_QUERY, on_progress=on_progress, engine=engine)
        run_seconds, began = time.perf_counter() - start, time.perf_counter()
        task = task_of_files(config, result.files, home)
        files = _run_contents(result, home, task)
        made = files, result.router, None
        write_all(*made, seconds=run_seconds, saving_since=began, workers=engine.kinds)
    return result


def _run_contents(result: ShardsResult, home: Path, task: TaskRecord) -> RunContents:
    """What the run directory says."""
    config = result.config
    record = RunRecord(
        format=RUN_FORMAT,
        name=config.name,
        seed=config.seed,
        recipe=recipe_version(config.train.recipe),
        inputs=inputs(result.files, home),
        warnings=list(result.warnings),
        task=task,
    )
    return RunContents(
        path=home.as_posix(),
        record=record,
        is_recorded=True,
        metrics=metrics_record(result.measured),
        model=save_model(home, result.router),
        curves=curves(result.measured),
        history=epoch_records(result.model.training),
        queries=StoredQueries(home / PER_QUERY),
        examples=list(result.measured.examples),
        tools=tool_records(result.measured.tools),
        config=render(relocated(config, home)),
    )
