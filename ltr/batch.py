"""Configs in, run directories out."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from ltr.artifacts import (
    CONFIG,
    EVALUATION,
    EXAMPLES,
    TOOLS,
    Router,
    claim,
    inputs,
    load_columns,
    load_features,
    load_router,
    refuse_taken,
    refuse_unwritable,
    save_columns,
    save_router,
    sidecar,
    write_featurized,
    write_history,
    write_log,
    write_metrics,
    write_record,
)
from ltr.config import RunConfig, relocated, render
from ltr.errors import UsageError
from ltr.features import FittedFeatures
from ltr.examples import examples
from ltr.files import AnyPath, encode_lines, inside, write_lines, write_text
from ltr.groups import Candidates, Groups
from ltr.measured import Measured
from ltr.pipeline import RunResult, prepare, read, run
from ltr.records import curves, lines, metrics, reliability
from ltr.resuming import Keeper
from ltr.train.config import OnEpoch, ignore

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Finished:
    """A run and where it is kept."""

    directory: Path
    result: RunResult
    seconds: float


def run_and_save(
    config: RunConfig,
    directory: AnyPath,
    *,
    overwrite: bool = False,
    resume: bool = False,
    on_epoch: OnEpoch = ignore,
    clock: Clock = time.perf_counter,
) -> Finished:
    """Run the config and keep all of it in the directory; run.json is written last.

    `resume`: go on where the same run was broken off; where it was not even begun, begin; where it is complete,
    write it again.
    """
    start = clock()
    refuse_taken(directory, overwrite=overwrite or resume)
    keeper = Keeper(Path(directory), config, on_epoch, clock, resume=resume)
    result = run(config, on_epoch=keeper, begin=keeper.begin)
    known = record(result, Path(directory))  # before anything of an older run is removed
    home = claim(directory, overwrite=overwrite or resume or keeper.has_kept)
    computed = clock() - start
    save(result, home)
    timings = {"run_seconds": computed, "save_seconds": clock() - start - computed}
    write_log(home, [{"event": name, "seconds": seconds} for name, seconds in timings.items()])
    write_record(home, {**known, "timings": timings, "task": keeper.task})
    keeper.finish()
    return Finished(home, result, clock() - start)


def save(result: RunResult, home: Path) -> None:
    """Everything of a run but its log and record."""
    save_router(home, result.router)
    write_text(home / CONFIG, render(relocated(result.config, home)))
    watched = result.model.training.watched
    values = [] if watched is None else watched.values.tolist()
    write_history(home, result.model.training.history.tolist(), values)
    drawn = {**curves(result.measured), **reliability(result.measured)}
    write_metrics(home, metrics(result.measured), lines(result.measured, result.router), drawn)
    write_lines(home / EXAMPLES, encode_lines(examples(result.measured, result.router)))
    if result.router.features and result.router.kind == "tool":
        write_lines(home / TOOLS, map(msgspec.json.encode, catalogue(result.train.candidates)))


def keep_evaluation(measured: Measured, router: Router | None, out: AnyPath, *, explain: bool, overwrite: bool) -> None:
    """metrics.json and per_query.jsonl of an evaluation, in a directory that holds nothing else."""
    home = claim(out, overwrite=overwrite, ours=EVALUATION)
    write_metrics(home, metrics(measured), lines(measured, router, explain=explain), curves(measured))


def featurize_and_save(
    config: RunConfig, out: AnyPath, *, model: AnyPath | None = None, overwrite: bool = False
) -> tuple[Groups, tuple[str, ...]]:
    """The groups and the names of the features whose columns now lie in `out`, with the state that made them."""
    refuse_output(Path(out), overwrite=overwrite)
    groups, _ = read(config.data.train, config.data, labels_required=model is None)
    if model is None:
        prepared = prepare(config, groups, None)
        features, phi = prepared.features, prepared.phi
    else:
        features = fitted_features(model)
        phi = features(groups.candidates)
    if features is None:
        raise UsageError("the samples bear ready features already")
    write = save_columns if str(out).endswith(".npz") else write_featurized
    write(out, groups, phi, features, is_applied=model is not None)
    return groups, features.names


def refuse_output(out: Path, *, overwrite: bool) -> None:
    """Raise unless featurised samples can be written there."""
    if not out.name.endswith((".npz", ".jsonl", ".jsonl.gz", ".jsonl.zst")):
        raise UsageError(f"{out}: name an output that ends in .npz, .jsonl, .jsonl.gz or .jsonl.zst")
    state = [] if out.suffix == ".npz" else [sidecar(out), sidecar(out).with_suffix(".npz")]
    taken = [each for each in (out, *state) if os.path.lexists(each)]
    if taken and not overwrite:
        raise UsageError(f"{taken[0]}: exists; add --overwrite, or name another file")
    refuse_unwritable(out.parent)


def fitted_features(path: AnyPath) -> FittedFeatures:
    """The features of a model, of a run, or of featurised data."""
    if str(path).endswith(".npz"):
        return load_columns(path)[1]
    if ".jsonl" in Path(path).suffixes:
        return load_features(sidecar(path)).features
    features = load_router(path).features
    if features is None:
        raise UsageError(f"{path}: a model of ready numbers; it knows no features to apply")
    return features


def catalogue(candidates: Candidates) -> Iterator[dict[str, str]]:
    """The tools that stand in the training samples, each with the first text it has there."""
    seen: set[int] = set()
    for name, text in zip(candidates.names.tolist(), candidates.texts.tolist(), strict=True):
        if name not in seen:
            seen.add(name)
            yield {"name": candidates.name_texts[name], **candidates.tool_texts[text]._asdict()}


def record(result: RunResult, home: Path) -> dict[str, Any]:
    """What run.json says of the run, all but its times."""
    read_by = [result.train.candidates, result.measured.groups.candidates]
    files = [file for candidates in read_by for file in (*candidates.files, *candidates.catalogues)]
    return {
        "name": result.config.name,
        "seed": result.config.seed,
        "inputs": inputs(files, home),
        "warnings": list(result.warnings),
    }


def directories(configs: Sequence[RunConfig], root: AnyPath) -> list[Path]:
    """Where each run is kept: a directory of root named after it."""
    homes = [inside(root, config.name) for config in configs]
    if len(set(homes)) < len(homes):
        twice = next(home for home in homes if homes.count(home) > 1)
        raise UsageError(f"two runs would be kept in {twice}: give each config a name of its own")
    return homes


def run_all(
    configs: Sequence[RunConfig],
    root: AnyPath,
    *,
    overwrite: bool = False,
    resume: bool = False,
    on_epoch: OnEpoch = ignore,
) -> Iterator[Finished]:
    """The runs of the configs, in order, each in a directory of root named after it."""
    homes = directories(configs, root)
    for home in homes:  # before the first of them has taken its hours
        refuse_taken(home, overwrite=overwrite or resume)
    for config, home in zip(configs, homes, strict=True):
        yield run_and_save(config, home, overwrite=overwrite, resume=resume, on_epoch=on_epoch)
