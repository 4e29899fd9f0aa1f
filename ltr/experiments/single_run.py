"""One config in, one run directory out."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, cast

from ltr.columns import Data, Features
from ltr.config import Document, RunConfig, run_config
from ltr.engine import warn_without_shards
from ltr.experiments.run_saving import Clock, Times, write_all
from ltr.features import RECOMMENDED
from ltr.files import locked, new_directory
from ltr.flow import RunResult, features_of, learn, work_for
from ltr.paths import AnyPath
from ltr.progress import OnProgress, silent
from ltr.read import reads_directory
from ltr.records.run import RUN_FORMAT, RunRecord, TaskRecord
from ltr.results import hash_texts
from ltr.runs import RUN_KIND, Checkpoints, Digests, Part, RunDirectory, inputs, task_of
from ltr.samples import SourceFile, Table, TableRows, Whole, rows_of


@dataclass(frozen=True, slots=True)
class Finished:
    """A run and where it is kept."""

    directory: Path
    result: RunResult | None  # None of a run that was complete, which is left as it was
    seconds: float
    features: Features | None = None  # of groups in memory, which other runs may share

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
    **settings: object,
) -> RunResult:
    """Return the result of a run on the samples, also written into the directory `out`, if there is one.

    Samples, validation and test samples are files, or what `read_groups` takes; `valid` and `test` may be shares.
    All but outcomes may be a directory of columns, which is read shard by shard.
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
    config = run_config(Document.of(document, "ltr.train"))
    if out is None:
        with work_for(config) as work:
            made = features_of(config, work=work, given=given, on_progress=on_progress)
            return learn(config, made, on_progress=on_progress)
    finished = run_and_save(config, out, overwrite=overwrite, on_progress=on_progress, given=given)
    return cast("RunResult", finished.result)  # without resume every run is made


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
    features: Features | None = None,
    given: Mapping[str, TableRows] | None = None,
    digests: Digests | None = None,
    code: Sequence[str] = (),
) -> Finished:
    """Run the config and save the result in the directory, which replaces an earlier run when all of it is written.

    `resume`: go on where the same run was broken off; where it was not even begun, begin; where it is complete,
    leave it as it is. While another process writes there, this one is refused. `features` and `digests`: what runs of
    the same data and features have made, and fingerprints of files that have been read before. `given`: rows that stand
    for files. `code`: files of plug-ins, which the workers of the config's engine run first.
    """
    start, home = clock(), Path(directory)
    if resume and (digests or Digests()).are_of(config, home):
        return Finished(home, None, clock() - start)
    RUN_KIND.refuse_taken(home, overwrite=overwrite or resume)
    if not reads_directory(config):
        warn_without_shards(config.engine)
    with locked(home), work_for(config, code) as work:
        features = features_of(config, features, work=work, given=given, on_progress=on_progress)
        task = task_of(config, features.data.files, home)
        checkpoints = Checkpoints(home, task, on_progress, clock, resume=resume)
        with new_directory(home) as new:
            progress, records = checkpoints.progress, new / Part.PER_QUERY
            result = learn(config, features, on_progress=checkpoints, resume=progress, keep_in=records)
            times = Times(clock() - start, clock(), clock)
            RUN_KIND.refuse_taken(home, overwrite=overwrite or resume or checkpoints.are_written)
            kept = result if config.data.texts else without_queries(result)
            record = recorded(kept, new, task, work.engine.kinds)
            write_all(new, kept, record, RunDirectory(new).queries, times, kept.learned)
    return Finished(home, result, clock() - start, features)


def without_queries(result: RunResult) -> RunResult:
    """Return the result with a hash for each query: in groups, warnings, and what outcomes are learned beside."""
    parts = [part.groups for part in (result.data.train, result.data.test) if isinstance(part, Whole)]
    texts = dict.fromkeys(text for groups in parts for text in groups.candidates.query_texts)
    learned = result.learned
    if learned is not None:  # the nodes of graphs may repeat what their queries say
        is_graph = result.router.kind == "graph"
        learned = None if is_graph else replace(learned, groups=result.train).without_texts
    warnings = tuple(hash_texts(result.warnings, texts))
    return replace(result, measured=result.measured.without_texts(), warnings=warnings, learned=learned)


def recorded(result: RunResult, home: Path, task: TaskRecord, workers: Sequence[str] = ()) -> RunRecord:
    """Return what run.json says of the run, all but its times."""
    files = tuple(_files(result.data))
    records = inputs(files, home)
    paths = dict.fromkeys(repr(file.path) for file in files)
    renames = dict(zip(paths, (repr(read.path) for read in records), strict=True))
    return RunRecord(
        format=RUN_FORMAT,
        name=result.config.name,
        seed=result.config.seed,
        recipe=result.config.recipe,
        inputs=records,
        warnings=[renamed(warning, renames) for warning in result.warnings],
        task=task,
        workers=list(workers),
    )


def _files(data: Data) -> Iterator[SourceFile]:
    """The files that the result rests on: of the training samples, and of those it is measured on."""
    for name in ("train", "test"):
        yield from data.files.get(name, ())


def renamed(text: str, names: Mapping[str, str]) -> str:
    """The text with files named as the run finds them, from wherever the command was called.

    >>> renamed("'a' and 'b' share a trace", {"'a'": "'../a'"})
    "'../a' and 'b' share a trace"
    """
    for old, new in names.items():
        text = text.replace(old, new)
    return text
