"""Samples in, samples with their columns out: the features fitted on them, or those of a model applied."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ltr.arrays import FloatArray
from ltr.config.run import RunConfig
from ltr.data.groups import Groups, none_warnings, select, without_none
from ltr.data.none_candidates import RIGHT
from ltr.encoders.naming import AUTO
from ltr.errors import UsageError
from ltr.experiments.loading import drawn
from ltr.experiments.progress import OnProgress, Step, silent
from ltr.experiments.shared_inputs import prepare
from ltr.features.crossfit import FittedFeatures
from ltr.files.reading import AnyPath
from ltr.files.replacing import new_files, refuse_existing
from ltr.files.restoring import put_back
from ltr.storage.feature_file import load_columns, load_features, save_columns, sidecar, write_featurized
from ltr.storage.model_file import load_model
from ltr.storage.read_samples import read


@dataclass(frozen=True, slots=True)
class Featurized:
    """Groups whose columns were written, the names of the columns, and what is to be said about them."""

    groups: Groups
    names: tuple[str, ...]
    warnings: tuple[str, ...]
    auto_encoder: str = ""  # the encoder that auto took


def featurize_and_save(
    config: RunConfig,
    out: AnyPath,
    *,
    model: AnyPath | None = None,
    overwrite: bool = False,
    on_progress: OnProgress = silent,
) -> Featurized:
    """What now lies in `out`, with the state that made it beside it."""
    refuse_output(Path(out), overwrite=overwrite)
    on_progress(Step("reading"))
    if config.data.negatives is not None and not str(out).endswith(".npz"):
        raise UsageError(f"{out}: candidates that are drawn have no line to repeat; name an output that ends in .npz")
    groups = drawn(read(config.data.train, config.data, labels_required=model is None)[0], config)
    warnings: tuple[str, ...] = ()
    if model is None:
        learned = without_none(groups)
        prepared = prepare(config, learned, None, on_progress)
        features, phi, warnings = prepared.features, prepared.phi, (*none_warnings(learned), *prepared.warnings)
        phi = with_none_rows(groups, phi, features)
    else:
        features = fitted_features(model)
        on_progress(Step("featurising"))
        phi = features(groups.candidates)
    if features is None:
        raise UsageError("the samples bear ready features already")
    write = save_columns if str(out).endswith(".npz") else write_featurized
    with new_files(out) as new:
        write(new / Path(out).name, groups, phi, features, is_applied=model is not None)
    auto_encoder = features.encoder.name if model is None and config.encoder == AUTO else ""
    return Featurized(groups, features.names, warnings, auto_encoder)


def with_none_rows(groups: Groups, phi: FloatArray, features: FittedFeatures | None) -> FloatArray:
    """Columns for all groups: those for which none is right have not been learned from, and get the final features."""
    if groups.none is None or features is None or not (is_none := groups.none == RIGHT).any():
        return phi
    is_none_row = np.repeat(is_none, np.diff(groups.offsets))
    columns = np.empty((len(is_none_row), phi.shape[1]))
    columns[~is_none_row] = phi
    columns[is_none_row] = features(select(groups, np.flatnonzero(is_none)).candidates)
    return columns


def refuse_output(out: Path, *, overwrite: bool) -> None:
    """Raise unless featurised samples can be written there."""
    if not out.name.endswith((".npz", ".jsonl", ".jsonl.gz", ".jsonl.zst")):
        raise UsageError(f"{out}: name an output that ends in .npz, .jsonl, .jsonl.gz or .jsonl.zst")
    state = [] if out.suffix == ".npz" else [sidecar(out), sidecar(out).with_suffix(".npz")]
    refuse_existing(out, *state, overwrite=overwrite)


def fitted_features(path: AnyPath) -> FittedFeatures:
    """The features of a model, of a run, or of featurised data."""
    if str(path).endswith(".npz"):
        return load_columns(path)[1]
    if ".jsonl" in Path(path).suffixes:
        return load_features(sidecar(put_back(path))).features
    features = load_model(path).features
    if features is None:
        raise UsageError(f"{path}: a model of ready numbers; it knows no features to apply")
    return features
