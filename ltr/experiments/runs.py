"""One config in, one run directory out."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, cast

import msgspec

from ltr.config.run import RunConfig, checked, relocated, render
from ltr.configtext.document import Document, Value
from ltr.data.groups import Candidates
from ltr.experiments.pipeline import RunResult, run
from ltr.experiments.resume import Digests, Keeper, is_finished
from ltr.experiments.shared_inputs import SharedInputs
from ltr.features.presets import RECOMMENDED
from ltr.files.locked import locked
from ltr.files.reading import AnyPath
from ltr.files.writing import encode_lines, write_lines, write_text
from ltr.reporting.run_page import run_page
from ltr.results.evaluated_ranking import EvaluatedRanking
from ltr.results.examples import examples
from ltr.results.metrics_record import curves, metrics_record
from ltr.results.query_records import query_records
from ltr.serving.router import Router
from ltr.storage.run_directory import (
    CONFIG,
    EVALUATION,
    EXAMPLES,
    REPORT,
    TOOLS,
    claim,
    inputs,
    refuse_taken,
    write_history,
    write_log,
    write_metrics,
    write_record,
)
from ltr.storage.run_record import RUN_FORMAT, RunRecord
from ltr.training.config import OnEpoch, ignore

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Finished:
    """A run and where it is kept."""

    directory: Path
    result: RunResult | None  # None of a run that was complete and is left as it was: all of it lies in the directory
    seconds: float

    @property
    def is_untouched(self) -> bool:
        """Whether the run was complete before, so that nothing was done."""
        return self.result is None


def train(
    samples: AnyPath | Sequence[AnyPath],
    *,
    out: AnyPath | None = None,
    recommended: bool = False,
    features: Sequence[str] = (),
    valid: AnyPath | float | None = None,
    test: AnyPath | float | None = None,
    tools: AnyPath | None = None,
    graphs: AnyPath | None = None,
    encoder: str | None = None,
    seed: int = 0,
    overwrite: bool = False,
    **settings: Value,
) -> RunResult:
    """The result of a run on the samples, also written into the directory `out`, if there is one.

    `recommended` is the recipe of that name. `settings` are keys of `train` in a config, such as l2=0.1.
    """
    paths = [samples] if isinstance(samples, str | PathLike) else samples
    data = {"train": [str(path) for path in paths], "valid": valid, "test": test, "tools": tools, "graphs": graphs}
    written = {key: str(value) if isinstance(value, PathLike) else value for key, value in data.items()}
    document: dict[str, Any] = {
        "seed": seed,
        "data": {key: value for key, value in written.items() if value is not None},
        "train": {**({"recipe": RECOMMENDED} if recommended else {}), **settings},
        **({"name": Path(out).name} if out is not None else {}),
        **({"features": list(features)} if features else {}),
        **({} if encoder is None else {"encoder": encoder}),
    }
    config = checked(Document("ltr.train", document, {}))
    if out is None:
        return run(config)
    finished = run_and_save(config, out, overwrite=overwrite)
    return cast(RunResult, finished.result)  # without resume every run is made


def run_and_save(
    config: RunConfig,
    directory: AnyPath,
    *,
    overwrite: bool = False,
    resume: bool = False,
    on_epoch: OnEpoch = ignore,
    clock: Clock = time.perf_counter,
    shared: SharedInputs | None = None,
    digests: Digests | None = None,
) -> Finished:
    """Run the config and keep all of it in the directory; run.json is written last.

    `resume`: go on where the same run was broken off; where it was not even begun, begin; where it is complete,
    leave it as it is. While another process writes there, this one is refused. `shared` and `digests`: what runs of
    the same data and features have made, and fingerprints of files that have been read before.
    """
    start = clock()
    if resume and is_finished(config, Path(directory), digests or Digests()):
        return Finished(Path(directory), None, clock() - start)
    refuse_taken(directory, overwrite=overwrite or resume)
    keeper = Keeper(Path(directory), config, on_epoch, clock, resume=resume)
    with locked(directory):
        result = run(config, on_epoch=keeper, begin=keeper.begin, shared=shared)
        known = record(result, Path(directory))  # before anything of an older run is removed
        home = claim(directory, overwrite=overwrite or resume or keeper.has_kept)
        computed = clock() - start
        save(result, home)
        known = msgspec.structs.replace(known, task=keeper.task)
        write_text(home / REPORT, run_page(home, known))
        timings = {"run_seconds": computed, "save_seconds": clock() - start - computed}
        write_log(home, [{"event": name, "seconds": seconds} for name, seconds in timings.items()])
        write_record(home, msgspec.structs.replace(known, timings=timings))
        keeper.finish()
    return Finished(home, result, clock() - start)


def save(result: RunResult, home: Path) -> None:
    """Everything of a run but its log and record."""
    result.router.save(home)
    write_text(home / CONFIG, render(relocated(result.config, home)))
    watched = result.model.training.watched
    values = [] if watched is None else watched.values.tolist()
    write_history(home, result.model.training.history.tolist(), values)
    write_metrics(
        home, metrics_record(result.measured), query_records(result.measured, result.router), curves(result.measured)
    )
    write_lines(home / EXAMPLES, encode_lines(examples(result.measured, result.router)))
    if result.router.features and result.router.kind == "tool":
        write_lines(home / TOOLS, map(msgspec.json.encode, catalogue(result.train.candidates)))


def keep_evaluation(
    measured: EvaluatedRanking, router: Router | None, out: AnyPath, *, explain: bool, overwrite: bool
) -> None:
    """metrics.json and per_query.jsonl of an evaluation, in a directory that holds nothing else."""
    home = claim(out, overwrite=overwrite, ours=EVALUATION)
    queries = query_records(measured, router, explain=explain)
    write_metrics(home, metrics_record(measured), queries, measured.evaluation.curves)


def catalogue(candidates: Candidates) -> Iterator[dict[str, str]]:
    """The tools that stand in the training samples, each with the first text it has there."""
    seen: set[int] = set()
    for name, text in zip(candidates.names.tolist(), candidates.texts.tolist(), strict=True):
        if name not in seen:
            seen.add(name)
            yield {"name": candidates.name_texts[name], **candidates.tool_texts[text]._asdict()}


def record(result: RunResult, home: Path) -> RunRecord:
    """What run.json says of the run, all but its times."""
    read_by = [result.train.candidates, result.measured.groups.candidates]
    files = [file for candidates in read_by for file in (*candidates.files, *candidates.catalogues)]
    known = inputs(files, home)
    told = dict(zip(dict.fromkeys(repr(file.path) for file in files), (repr(each.path) for each in known), strict=True))
    return RunRecord(
        format=RUN_FORMAT,
        name=result.config.name,
        seed=result.config.seed,
        inputs=known,
        warnings=[renamed(warning, told) for warning in result.warnings],
    )


def renamed(text: str, names: Mapping[str, str]) -> str:
    """The text with files named as the run finds them, from wherever the command was called.

    >>> renamed("'a' and 'b' share a trace", {"'a'": "'../a'"})
    "'../a' and 'b' share a trace"
    """
    for old, new in names.items():
        text = text.replace(old, new)
    return text
