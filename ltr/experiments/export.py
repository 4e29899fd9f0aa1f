"""Runs and samples in other people's formats."""

import warnings
from pathlib import Path

import numpy as np

from ltr.columns import prepare
from ltr.config.run import load_config
from ltr.data.candidates import key_order
from ltr.data.config import DataConfig
from ltr.data.exporters.registry import EXPORTERS, Exported
from ltr.data.fingerprint import fingerprint
from ltr.data.none_of_these_groups import none_warnings, without_none
from ltr.data.shards import Whole
from ltr.errors import DataError, LtrWarning
from ltr.evaluation.ranking import Ties, order, rank
from ltr.files.crash_recovery import put_back
from ltr.files.output_replacement import new_files, refuse_existing
from ltr.files.path_arguments import AnyPath
from ltr.read import read_data
from ltr.serving.router import load
from ltr.storage.evaluation_records import MetricsRecord
from ltr.storage.plain_or_featurized_samples import read
from ltr.storage.record_reader import read_record
from ltr.storage.run_directory import CONFIG, METRICS


def export(format_name: str, source: AnyPath, out: AnyPath, *, overwrite: bool = False) -> list[str]:
    """The files that now hold the source, a run directory or samples, in the named format."""
    write = EXPORTERS[format_name]
    refuse_existing(out, f"{out}.qrels", overwrite=overwrite)
    exported = exported_run(Path(source)) if put_back(source).is_dir() else exported_samples(source)
    with new_files(out) as new:
        written = write(exported, new / Path(out).name)
    return [str(Path(out).with_name(Path(path).name)) for path in written]


def exported_samples(source: AnyPath) -> Exported:
    """Samples as they are; their one ready number, if it is one, is their score."""
    groups = without_none(read((str(source),), DataConfig(), labels_required=False)[0])
    for warning in none_warnings(groups):
        warnings.warn(warning, LtrWarning, stacklevel=3)
    phi = groups.candidates.features
    if phi is None or phi.shape[1] != 1:
        return Exported(groups, phi, groups.candidates.feature_names)
    ranking = rank(phi[:, 0], groups.offsets, keys=key_order(groups.candidates))
    return Exported(groups, phi, groups.candidates.feature_names, ranking.scores, order(ranking, Ties.EXPECTED))


def exported_run(directory: Path) -> Exported:
    """What the run was measured on, as its model ranks it; refused when that is no longer the same data."""
    router, config = load(directory), load_config(directory / CONFIG)
    data = read_data(config)
    shards = data.test or data.train
    if not isinstance(shards, Whole):
        raise DataError(f"{directory}: was measured on a directory of columns; export the samples themselves")
    groups = shards.groups
    phi = prepare(config, data).phi if data.test is None else router.phi(groups.candidates)
    if read_record(directory / METRICS, MetricsRecord).rules.fingerprint != fingerprint(groups):
        raise DataError(f"{directory}: its data is not what it was measured on; export the samples themselves")
    ranking = rank(router.scores(np.asarray(phi)), groups.offsets, keys=key_order(groups.candidates))
    return Exported(groups, phi, router.names, ranking.scores, order(ranking, Ties.EXPECTED))
