"""The columns of training groups: given, or made by features that are fitted on them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.config.run import RunConfig, feature_configs
from ltr.data.candidates import Candidates
from ltr.data.groups import Groups
from ltr.data.previous_tools import past_of
from ltr.data.supplied_feature_names import refuse_other_columns, unnamed
from ltr.encoders.registry import AUTO, best_installed
from ltr.errors import DataError, UsageError
from ltr.experiments.progress import OnProgress, Step, silent
from ltr.experiments.warnings import feature_warnings
from ltr.features.crossfit import SharedCounts, fit_features
from ltr.features.fitted_features import FittedFeatures
from ltr.features.presets import RECOMMENDED
from ltr.features.registry import FeatureConfig


@dataclass(frozen=True, slots=True)
class Prepared:
    """Groups with their phi, and the features that made it; None for ready numbers without a state."""

    groups: Groups
    phi: FloatArray
    features: FittedFeatures | None
    config_warnings: tuple[str, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the config, and what the columns that are here, make doubtful."""
        if self.features is None or self.groups.candidates.features is not None:
            return self.config_warnings
        return (*self.config_warnings, *feature_warnings(self.features))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns of phi."""
        return self.features.names if self.features else unnamed(self.phi.shape[1])

    def only(self, places: IntArray) -> "Prepared":
        """Some of the columns, by their places."""
        if len(places) == self.phi.shape[1]:
            return self
        features = self.features
        if features is not None:
            configs, states = ([column[place] for place in places] for column in (features.configs, features.states))
            features = replace(features, configs=tuple(configs), states=tuple(states))
        return replace(self, phi=np.ascontiguousarray(self.phi[:, places]), features=features)

    def applied(self, candidates: Candidates) -> FloatArray:
        """The columns of candidates that were not trained on."""
        if candidates.features is None and self.features is not None:
            return self.features(candidates)
        if candidates.features is None:
            raise DataError("the training samples bear ready numbers; the others need them too")
        refuse_other_columns(self.names, candidates.feature_names)
        return candidates.features


def prepare(
    config: RunConfig,
    groups: Groups,
    state: FittedFeatures | None,
    on_progress: OnProgress = silent,
    shared: tuple[SharedCounts, int] | None = None,
) -> Prepared:
    """The groups with their phi: ready numbers as they are, else the configured features, cross-fitted.

    `shared`: see `fit_features`.
    """
    ready = groups.candidates.features
    kind, traces = groups.candidates.kind, len(groups.candidates.trace_ids)
    has_past = kind == "tool" and past_of(groups.candidates) is not None
    configs, warnings = feature_configs(config, kind, traces, has_past=has_past)
    if ready is None:
        on_progress(Step("featurising"))
        features, phi = fit_features(
            configs,
            groups,
            encoder_name(config),
            lambda fold, of: on_progress(Step("featurising", fold, of)),
            shared=shared,
        )
        return Prepared(groups, phi, features, warnings)
    refuse_other_features(config, tuple(column.name for column in configs), groups.candidates.feature_names)
    return Prepared(groups, ready, state)


def refuse_other_features(config: RunConfig, named: tuple[str, ...], borne: tuple[str, ...]) -> None:
    """Raise where the config names other features than the samples bear; a recipe's own are no wish."""
    by_recipe = config.train.recipe == RECOMMENDED and config.features == (RECOMMENDED,)
    if config.features and not by_recipe and named != borne:
        raise UsageError(f"the samples bear the ready features {', '.join(borne)}; the config names {', '.join(named)}")


def encoder_name(config: RunConfig) -> str:
    """The encoder of a run: the named one, or the best that is installed."""
    return best_installed() if config.encoder == AUTO else config.encoder


def nothing_to_choose(config: RunConfig) -> RunConfig:
    """The config where folds choose nothing: `recommended` stands for the same columns whatever the samples say."""
    return replace(config, train=replace(config.train, choose=()))


def listed_features(configs: Sequence[FeatureConfig]) -> tuple[str | dict[str, Any], ...]:
    """The features as a config lists them."""
    return tuple({"name": column.name, **column.options} if column.options else column.name for column in configs)
