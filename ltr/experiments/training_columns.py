"""The columns of training groups: given, or made by features that are fitted on them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.config.run import RunConfig, encoder_name, feature_configs
from ltr.data.candidates import Candidates
from ltr.data.groups import Groups
from ltr.data.previous_tools import past_of
from ltr.data.supplied_feature_names import refuse_other_columns, unnamed
from ltr.errors import DataError, UsageError
from ltr.experiments.progress import OnProgress, Step, silent
from ltr.features.crossfit import SharedCounts, fit_features
from ltr.features.fitted_features import FittedFeatures
from ltr.features.presets import RECOMMENDED
from ltr.features.tool_popularity import strength_by_moments


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


def feature_warnings(features: FittedFeatures) -> Iterator[str]:
    """Which columns say nothing, and why."""
    for config, state in zip(features.configs, features.states, strict=True):
        is_estimated = config.name == "tool.lift" and "strength" not in config.options
        if is_estimated and state and strength_by_moments(state["wins"], state["chance"]) == float("inf"):
            yield (
                "tool.lift is 0 for every tool: chance alone explains that some are right more often than others; "
                "to use it all the same, write {name: tool.lift, strength: 5} in its place under `features`"
            )
