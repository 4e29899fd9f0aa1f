"""Samples in, samples with their columns out: the features fitted on them, or those of a model applied."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from ltr.arrays import FloatArray
from ltr.columns import Applied, Choices, ColumnsOf, Prepared, Work
from ltr.config import RunConfig
from ltr.encoders import AUTO
from ltr.engine import open_engine, warn_without_shards
from ltr.errors import DataError, UsageError, count
from ltr.features import CrossFit, FittedFeatures
from ltr.featurized import ColumnShards, new_columns, read, read_shards, save_featurized, sidecar, stored_features
from ltr.files import new_files, refuse_existing
from ltr.paths import AnyPath
from ltr.progress import OnProgress, Step, silent
from ltr.runs import load_model
from ltr.samples import RIGHT, Groups, Shards, Whole, none_warnings
from ltr.steps.negatives import count_uncorrected, drawn, uncorrected_warnings
from ltr.temporary import temporary_directory

MADE_ONCE = (
    "columns are made once, and a past of right tools gives way to one of own choices when a model is measured; "
    "leave data.previous out, or train on the samples themselves"
)


@dataclass(frozen=True, slots=True)
class Featurized:
    """How much was written, the names of the columns, and what is to be said about them."""

    candidates: int
    groups: int
    names: tuple[str, ...]
    warnings: tuple[str, ...]
    auto_encoder: str = ""  # the encoder that auto took


def featurize_and_save(
    config: RunConfig,
    out: AnyPath,
    *,
    model: AnyPath | None = None,
    overwrite: bool = False,
    rows: int | None = None,
    on_progress: OnProgress = silent,
    code: Sequence[str] = (),
) -> Featurized:
    """Write columns into `out`, with the state that made them; an `out` that ends in / is a directory of columns.

    For a directory samples are read in shards of about so many rows, and the config's engine works on them, whose
    workers run the files of `code` first.
    """
    if config.data.previous is not None:
        raise UsageError(f"{out}: {MADE_ONCE}")
    if names_directory(out):
        return _featurize_shards(config, Path(out), model, rows, on_progress, code, overwrite=overwrite)
    if rows is not None:
        raise UsageError(f"{out}: --shard-rows cuts a directory of columns into parts; name an output that ends in /")
    refuse_output(Path(out), overwrite=overwrite)
    on_progress(Step("reading"))
    if config.data.negatives is not None and not str(out).endswith(".npz"):
        raise UsageError(
            f"{out}: candidates that are drawn have no line to repeat; name an output that ends in .npz or /"
        )
    groups = drawn(read(config.data.train, config.data, labels_required=model is None)[0], config)
    if groups.candidates.repeated and not str(out).endswith(".npz"):
        problem = f"{groups.candidates.repeated}; each line would need features of its own"
        raise UsageError(f"{out}: {problem}: remove the second ones, or name an output that ends in .npz or /")
    warn_without_shards(config.engine)
    warnings: tuple[str, ...] = (groups.candidates.repeated,) if groups.candidates.repeated else ()
    if model is None:
        learned = groups.without_none()
        if learned.candidates.features is not None:
            raise UsageError("the samples bear ready features already")
        prepared = Choices(config.without_choice(), Whole(learned), (None,)).prepared(0, on_progress)
        features, warnings = fitted_of(prepared), (*warnings, *_learned_warnings(prepared, Whole(learned)))
        phi = with_none_rows(groups, prepared.phi, features)
    else:
        features = fitted_features(model)
        on_progress(Step("featurising"))
        phi = features(groups.candidates)
    with new_files(out) as new:
        save_featurized(new / Path(out).name, groups, phi, features, is_applied=model is not None)
    auto = "" if model is not None else auto_encoder(config, features)
    return Featurized(len(groups.labels), len(groups.offsets) - 1, features.names, warnings, auto)


def _featurize_shards(
    config: RunConfig,
    out: Path,
    model: AnyPath | None,
    rows: int | None,
    on_progress: OnProgress,
    code: Sequence[str],
    *,
    overwrite: bool,
) -> Featurized:
    """The same in parts of about so many rows, which follow from data and rows alone."""
    features = None if model is None else fitted_features(model)
    ColumnShards.KIND.refuse_taken(out, overwrite=overwrite)
    on_progress(Step("reading"))
    reading = read_shards(config.data.train, config.data, rows=rows, labels_required=features is None)
    with open_engine(config.engine, code) as engine, reading as samples, temporary_directory() as folder:
        whole = samples.changed(partial(drawn, config=config))
        shards, warnings = whole.changed(Groups.to_learn), samples.notes
        warnings += (str(samples.repeated),) if samples.repeated.number else ()
        on_progress(Step("featurising"))
        columns_of: ColumnsOf
        if features is None:
            if not any(len(shards[number].labels) for number in range(len(shards))):
                names, number = ", ".join(file.path for file in samples.files), count(samples.groups, "group")
                raise DataError(f"{names}: none is right in {number}, and there is no other to use")
            choices = Choices(config.without_choice(), shards, (None,), Work(engine, folder))
            fitted, more = choices.fitted(0, on_progress)
            features, warnings = fitted.features, (*warnings, *more)
            columns_of = partial(_cross_fitted, fitted)
        else:
            columns_of = Applied(features.names, features, is_apart=True).of_groups
        uncorrected = none = 0
        with new_columns(out, features, is_applied=model is not None, overwrite=overwrite) as writer:
            for groups, phi in engine.map(partial(_with_columns, whole, columns_of), range(len(whole))):
                writer.add(groups, phi)
                uncorrected += count_uncorrected(groups)
                none += 0 if groups.none is None else int((groups.none == RIGHT).sum())
                on_progress(Step("featurising", len(whole) + len(writer.parts), 2 * len(whole)))
    if model is None:
        warnings += (*uncorrected_warnings(uncorrected, samples.groups), *none_warnings(none))
    name = "" if model is not None else auto_encoder(config, features)
    candidates = sum(part.candidates for part in writer.parts)
    return Featurized(candidates, samples.groups, features.names, warnings, name)


def _with_columns(shards: Shards, columns_of: ColumnsOf, number: int) -> tuple[Groups, FloatArray]:
    groups = shards[number]
    return groups, columns_of(groups)


def _cross_fitted(fitted: CrossFit, groups: Groups) -> FloatArray:
    """The columns of all groups of a shard."""
    return with_none_rows(groups, fitted.phi(groups.to_learn()), fitted.features.apart())


def _learned_warnings(prepared: Prepared, shards: Whole) -> Iterator[str]:
    yield from uncorrected_warnings(count_uncorrected(shards.groups), shards.count_groups())
    yield from (*none_warnings(shards.groups.num_none), *prepared.warnings)


def fitted_of(prepared: Prepared) -> FittedFeatures:
    """Return the features that made the columns."""
    if prepared.features is None:
        raise UsageError("the samples bear ready features already")
    return prepared.features


def auto_encoder(config: RunConfig, features: FittedFeatures) -> str:
    """The encoder that `auto` took; "" where the config names one."""
    return features.encoder.name if config.encoder == AUTO else ""


def names_directory(out: AnyPath) -> bool:
    """Whether the output is a directory of columns.

    >>> names_directory("columns/"), names_directory("columns.npz")
    (True, False)
    """
    return os.fspath(out).endswith(("/", os.sep))


def with_none_rows(groups: Groups, phi: FloatArray, features: FittedFeatures | None) -> FloatArray:
    """Columns for all groups: those for which none is right have not been learned from, and get the final features."""
    if groups.none is None or features is None or not (is_none := groups.none == RIGHT).any():
        return phi
    is_none_row = np.repeat(is_none, np.diff(groups.offsets))
    columns = np.empty((len(is_none_row), phi.shape[1]))
    columns[~is_none_row] = phi
    columns[is_none_row] = features(groups.select(np.flatnonzero(is_none)).candidates)
    return columns


def refuse_output(out: Path, *, overwrite: bool) -> None:
    """Raise unless featurised samples can be written there."""
    if not out.name.endswith((".npz", ".jsonl", ".jsonl.gz", ".jsonl.zst")):
        raise UsageError(
            f"{out}: name an output that ends in .npz, .jsonl, .jsonl.gz or .jsonl.zst, or in / for a directory"
        )
    state = [] if out.suffix == ".npz" else [sidecar(out), sidecar(out).with_suffix(".npz")]
    refuse_existing(out, *state, overwrite=overwrite)


def fitted_features(path: AnyPath) -> FittedFeatures:
    """The features of a model, of a run, or of featurised data."""
    features = stored_features(path)
    if features is None and (features := load_model(path).features) is None:
        raise UsageError(f"{path}: a model of ready numbers; it knows no features to apply")
    return features
