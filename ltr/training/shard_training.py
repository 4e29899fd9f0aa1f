"""Fits, paths of l2, losses and diagnoses over shards."""

from collections.abc import Sequence

import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.engines.engine import IN_PROCESS, Engine
from ltr.errors import UsageError
from ltr.training.config import TrainConfig
from ltr.training.diagnosis import Diagnosis, diagnose_groups
from ltr.training.epochs_and_progress import OnEpoch, ignore
from ltr.training.fit import fit_groups
from ltr.training.l2_path import optima_along
from ltr.training.model import Model
from ltr.training.newton import fit_newton
from ltr.training.nonlinear_terms import NO_TERMS, Terms
from ltr.training.objective import slope
from ltr.training.trainable_shards import ShardSource, trainable_shards

CHAIN = (
    "trainer {}: every step starts where the one before it ended, so that it needs all samples in memory and runs on "
    "one core; shards are learned from with --trainer newton, which sums over them"
)


def fit_shards(
    source: ShardSource,
    config: TrainConfig,
    *,
    terms: Terms = NO_TERMS,
    prior: FloatArray | None = None,
    on_epoch: OnEpoch = ignore,
    engine: Engine = IN_PROCESS,
) -> Model:
    """The model that newton learns from the shards, which `fit` learns from the same arrays in one.

    Sums over shards are added in their order: the weights differ from those of one shard in the last digits.
    The terms are those of `shard_terms`.
    """
    refuse_chain(config)
    groups = trainable_shards(source, targets_are=config.targets, engine=engine)
    return fit_groups(groups, terms, config, fit_newton, prior=prior, on_epoch=on_epoch)


def path_of_shards(
    source: ShardSource,
    config: TrainConfig,
    *,
    terms: Terms = NO_TERMS,
    prior: FloatArray | None = None,
    engine: Engine = IN_PROCESS,
) -> list[FloatArray]:
    """The optimum for each l2 of the config: `exact_path` over shards."""
    refuse_chain(config)
    groups = trainable_shards(source, targets_are=config.targets, engine=engine)
    return optima_along(groups, terms, config, prior=prior)


def losses_of_shards(
    source: ShardSource,
    config: TrainConfig,
    ws: Sequence[FloatArray],
    *,
    terms: Terms = NO_TERMS,
    engine: Engine = IN_PROCESS,
) -> list[float]:
    """The mean loss of each w over the groups of all shards, without a penalty."""
    groups = trainable_shards(source, targets_are=config.targets, engine=engine)
    if len(terms):
        groups = groups.with_columns(terms, len(ws[0]))
    return [slope(groups, w, np.ones(len(w))).loss for w in ws]


def diagnose_shards(
    source: ShardSource,
    config: TrainConfig,
    model: Model,
    *,
    prior: FloatArray | None = None,
    clusters: IntArray | None = None,
    names: Sequence[str] | None = None,
    engine: Engine = IN_PROCESS,
) -> Diagnosis:
    """The diagnosis of a model that `fit_shards` gave for the same shards; a cluster lies in one of them."""
    groups = trainable_shards(source, targets_are=config.targets, engine=engine)
    return diagnose_groups(groups, config, model, prior=prior, clusters=clusters, names=names)


def refuse_chain(config: TrainConfig) -> None:
    """Raise for a trainer that is no sum over shards."""
    if config.trainer != "newton":
        raise UsageError(CHAIN.format(config.trainer))
