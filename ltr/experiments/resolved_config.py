"""The config of a run with everything decided: kind, features, encoder, metrics."""

from dataclasses import replace

from ltr.config.run import RunConfig, listed_features
from ltr.data.schema import Kind
from ltr.engines.config import EngineConfig
from ltr.evaluation.metrics.registry import all_named
from ltr.experiments.training_columns import Prepared
from ltr.features.fitted_features import FittedFeatures


def decided(config: RunConfig, prepared: Prepared) -> RunConfig:
    """The config with what the data and the machine decided, so that it says all that was done.

    Who did it changes no result, and is left out.
    """
    return decided_by(config, prepared.groups.candidates.kind, prepared.features)


def decided_by(config: RunConfig, kind: Kind, fitted: FittedFeatures | None) -> RunConfig:
    """The same where the candidates are of the kind and these features made their columns."""
    metrics = tuple(measure.name for measure in all_named(config.evaluate.metrics))
    config = replace(config, kind=kind, evaluate=replace(config.evaluate, metrics=metrics), engine=EngineConfig())
    if fitted is None:
        return config
    return replace(config, features=listed_features(fitted.configs), encoder=fitted.encoder.name)
