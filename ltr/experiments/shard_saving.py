"""A run over shards as a run directory: query by query while it is measured, the rest when that is done."""

import time
from pathlib import Path

import msgspec

from ltr.config.recipes import recipe_version
from ltr.config.run import RunConfig, relocated, render
from ltr.engines.engine import IN_PROCESS, Engine
from ltr.experiments.progress import OnProgress, silent
from ltr.experiments.resume import task_of_files
from ltr.experiments.shard_run import ShardsResult, run_shards
from ltr.files.atomic_replace import new_directory
from ltr.files.atomic_write import write_lines, write_text
from ltr.files.reading import AnyPath
from ltr.reporting.run_page import run_page
from ltr.results.by_tool import tool_records
from ltr.results.metrics_record import curves, metrics_record
from ltr.storage.model_file import save_model
from ltr.storage.run_directory import PER_QUERY, REPORT, inputs, write_log, write_record
from ltr.storage.run_files import RunFiles, StoredQueries, write_run
from ltr.storage.run_record import RUN_FORMAT, TOOLS, RunRecord, TaskRecord
from ltr.storage.training_record import epoch_records
from ltr.storage.update_file import UPDATE, write_base


def run_and_save_shards(
    config: RunConfig, directory: AnyPath, *, on_progress: OnProgress = silent, engine: Engine = IN_PROCESS
) -> ShardsResult:
    """The result of the run, which now lies in the directory; the caller holds its lock."""
    start = time.perf_counter()
    with new_directory(directory) as home:
        result = run_shards(config, keep_in=home / PER_QUERY, on_progress=on_progress, engine=engine)
        run_seconds, began = time.perf_counter() - start, time.perf_counter()
        task = task_of_files(config, result.files, home)
        files = _run_files(result, home, task)
        write_run(files)
        if result.router.tools:
            tools = ({"name": name, **text._asdict()} for name, text in result.router.tools.items())
            write_lines(home / TOOLS, map(msgspec.json.encode, tools))
        if result.update_base is not None:
            write_base(home / UPDATE, result.update_base)
        write_text(home / REPORT, run_page(files))
        timings = {"run_seconds": run_seconds, "save_seconds": time.perf_counter() - began}
        write_log(home, [{"event": name, "seconds": spent} for name, spent in timings.items()])
        write_record(home, msgspec.structs.replace(files.record, timings=timings, workers=list(engine.kinds)))
    return result


def _run_files(result: ShardsResult, home: Path, task: TaskRecord) -> RunFiles:
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
    return RunFiles(
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
