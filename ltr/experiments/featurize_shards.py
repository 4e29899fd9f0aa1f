"""Samples in, a directory of columns out: shard by shard, so that neither samples nor columns need fit memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ltr.arrays import FloatArray
from ltr.config.run import RunConfig, encoder_name, feature_configs, nothing_to_choose
from ltr.data.groups import Groups
from ltr.data.none_candidates import RIGHT
from ltr.data.none_of_these_groups import groups_to_learn
from ltr.data.sample_shards import SampleShards
from ltr.engines.engine import Engine
from ltr.engines.open_engine import open_engine
from ltr.errors import DataError, count
from ltr.experiments.featurize import Featurized, auto_encoder, with_none_rows
from ltr.experiments.negative_sampling import drawn
from ltr.experiments.progress import OnProgress, Step, silent
from ltr.experiments.sampling_correction import count_uncorrected, uncorrected_warnings
from ltr.experiments.training_columns import feature_warnings
from ltr.features.crossfit_shards import CrossFit, TraceFolds, first_traces, fit_over_shards
from ltr.features.fitted_features import FittedFeatures
from ltr.files.path_arguments import AnyPath
from ltr.files.temporary_directory import temporary_directory
from ltr.storage.plain_or_featurized_samples import read_shards
from ltr.storage.run_directory import refuse_taken
from ltr.storage.sharded_columns import COLUMNS_KIND, new_columns


@dataclass(frozen=True, slots=True)
class GroupsToLearn:
    """The groups of each shard to learn from: those for which something offered may be right."""

    samples: SampleShards
    config: RunConfig

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, number: int) -> Groups:
        return groups_to_learn(self.whole(number))

    def whole(self, number: int) -> Groups:
        """All groups of a shard, with the tools that data.negatives adds."""
        return drawn(self.samples[number], self.config)


def featurize_shards(
    config: RunConfig,
    out: AnyPath,
    *,
    features: FittedFeatures | None = None,
    rows: int | None = None,
    overwrite: bool = False,
    on_progress: OnProgress = silent,
    code: Sequence[str] = (),
) -> Featurized:
    """What now lies in the directory `out`: the columns of samples, in parts of about so many rows.

    They are cross-fitted; of `features` that are there already, applied. The parts follow from data and rows alone.
    """
    refuse_taken(out, overwrite=overwrite, kind=COLUMNS_KIND)
    on_progress(Step("reading"))
    reading = read_shards(config.data.train, config.data, rows=rows, labels_required=features is None)
    with open_engine(config.engine, code) as engine, reading as samples, temporary_directory() as folder:
        shards, warnings = GroupsToLearn(samples, config), samples.notes
        warnings += (str(samples.repeated),) if samples.repeated.number else ()
        on_progress(Step("featurising"))
        source: CrossFit | FittedFeatures
        if features is None:
            source, more = _fit(shards, on_progress, folder, engine)
            features, warnings = source.features, (*warnings, *more)
        else:
            source = features
        numbers, made, none = range(len(shards)), partial(_featurized, source, shards), 0
        uncorrected = 0
        with new_columns(out, features, is_applied=source is features, overwrite=overwrite) as writer:
            for groups, phi in engine.map(made, numbers):
                writer.add(groups, phi)
                uncorrected += count_uncorrected(groups)
                none += 0 if groups.none is None else int((groups.none == RIGHT).sum())
                on_progress(Step("featurising", len(shards) + len(writer.parts), 2 * len(shards)))
    if source is not features:
        warnings += tuple(uncorrected_warnings(uncorrected, samples.groups))
    if none and source is not features:
        warnings += (f"none: {count(none, 'group')}, not used: nothing offered is right",)
    name = "" if source is features else auto_encoder(config, features)
    candidates = sum(part.candidates for part in writer.parts)
    return Featurized(candidates, samples.groups, features.names, warnings, name)


def _fit(
    shards: GroupsToLearn, on_progress: OnProgress, folder: Path, engine: Engine
) -> tuple[CrossFit, tuple[str, ...]]:
    """The features of the config, fitted on all groups, and what is to be said about them."""
    traces = first_traces(shards)
    if not traces:
        names = ", ".join(file.path for file in shards.samples.files)
        number = count(shards.samples.groups, "group")
        raise DataError(f"{names}: none is right in {number}, and there is no other to use")
    configs, warnings = feature_configs(nothing_to_choose(shards.config), shards.samples.kind, len(traces))
    folds, encoder = TraceFolds.of(traces), encoder_name(shards.config)

    def on_shard(done: int, of: int) -> None:
        on_progress(Step("featurising", done, 2 * of))

    fitted = fit_over_shards(configs, shards, folds, encoder, on_shard, folder=folder, engine=engine)
    return fitted, (*warnings, *feature_warnings(fitted.features))


def _featurized(source: CrossFit | FittedFeatures, shards: GroupsToLearn, number: int) -> tuple[Groups, FloatArray]:
    """All groups of a shard with their columns."""
    groups = shards.whole(number)
    if isinstance(source, FittedFeatures):
        return groups, source.apart()(groups.candidates)
    return groups, with_none_rows(groups, source.phi(groups_to_learn(groups)), source.features.apart())
