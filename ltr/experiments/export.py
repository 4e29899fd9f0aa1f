"""Runs and samples in other people's formats."""

import warnings
from pathlib import Path

import numpy as np

from ltr.columns import prepare
from ltr.config import load_config
from ltr.errors import DataError, LtrWarning
from ltr.evaluation import Ties, order, rank
from ltr.featurized import read
from ltr.files import new_files, put_back, refuse_existing
from ltr.importers import EXPORTERS, Exported
from ltr.paths import AnyPath
from ltr.read import read_data
from ltr.records.metrics import MetricsRecord
from ltr.records.run import read_record
from ltr.runs import Part
from ltr.samples import DataConfig, Whole, none_warnings
from ltr.serving import load


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
    groups = read((str(source),), DataConfig(), labels_required=False)[0].without_none()
    for warning in none_warnings(groups.num_none):
        warnings.warn(warning, LtrWarning, stacklevel=3)
    phi = groups.candidates.features
    if phi is None or phi.shape[1] != 1:
        return Exported(groups, phi, groups.candidates.feature_names)
    ranking = rank(phi[:, 0], groups.offsets, keys=groups.candidates.key_order())
    return Exported(groups, phi, groups.candidates.feature_names, ranking.scores, order(ranking, Ties.EXPECTED))


def exported_run(directory: Path) -> Exported:
    """What the run was measured on, as its model ranks it; refused when that is no longer the same data."""
    router, config = load(directory), load_config(directory / Part.CONFIG)
    data = read_data(config)
    shards = data.test or data.train
    if not isinstance(shards, Whole):
        raise DataError(f"{directory}: was measured on a directory of columns; export the samples themselves")
    groups = shards.groups
    phi = prepare(config, data).phi if data.test is None else router.phi(groups.candidates)
    if read_record(directory / Part.METRICS, MetricsRecord).rules.fingerprint != groups.fingerprint:
        raise DataError(f"{directory}: its data is not what it was measured on; export the samples themselves")
    ranking = rank(router.scores(np.asarray(phi)), groups.offsets, keys=groups.candidates.key_order())
    return Exported(groups, phi, router.names, ranking.scores, order(ranking, Ties.EXPECTED))
