"""The columns of training groups: given, or made by features that are fitted on them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.config.run import RunConfig, encoder_name, feature_configs
from ltr.data.candidates import Candidates
from ltr.data.groups import Groups, select
from ltr.data.previous_tools import past_of
from ltr.data.supplied_feature_names import refuse_other_columns, unnamed
from ltr.errors import DataError, UsageError
from ltr.experiments.progress import OnProgress, Step, silent
from ltr.features.crossfit import CrossFitting, OnFold, fit_features
from ltr.features.fitted_features import FittedFeatures
from ltr.features.presets import RECOMMENDED
from ltr.features.registry import FeatureConfig
from ltr.features.tool_popularity import strength_by_moments
from ltr.logs import stage


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
            features = features.taken(places.tolist())
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
    config: RunConfig, groups: Groups, state: FittedFeatures | None, on_progress: OnProgress = silent
) -> Prepared:
    """The groups with their phi: ready numbers as they are, else the configured features, cross-fitted."""
    ready, (configs, warnings) = groups.candidates.features, _features(config, groups)
    if ready is None:
        on_progress(Step("featurising"))
        fitted, phi = fit_features(configs, groups, encoder_name(config), _fold_steps(on_progress))
        return Prepared(groups, phi, fitted, warnings)
    refuse_other_features(config, tuple(column.name for column in configs), groups.candidates.feature_names)
    return Prepared(groups, ready, state)


class PreparedChoices:
    """Choices of training groups with their phi; features are fitted on each, and see no label beyond it.

    What choices share is made once: see `CrossFitting`.
    """

    def __init__(self, config: RunConfig, groups: Groups, choices: Sequence[IntArray]) -> None:
        self.choices = tuple(choices)
        configs, self._warnings = _features(config, groups)
        self._config, self._groups, ready = config, groups, groups.candidates.features
        self._fitting = CrossFitting(configs, groups, encoder_name(config), choices) if ready is None else None

    def prepared(self, choice: int, on_progress: OnProgress = silent) -> Prepared:
        """A choice with its phi."""
        chosen, groups = self.choices[choice], self._groups
        is_all = len(chosen) == len(groups.offsets) - 1
        members = groups if is_all else select(groups, chosen)  # a part of them is without groups of none
        if self._fitting is None:
            return prepare(self._config, members, None)
        on_progress(Step("featurising"))
        with stage("featurising"):
            features, phi = self._fitting.fitted(choice, _fold_steps(on_progress))
        return Prepared(members, phi, features, self._warnings)

    def applied(self, prepared: Prepared, choice: int, candidates: Candidates) -> FloatArray:
        """The columns of candidates of queries in the groups that the choice leaves out."""
        if self._fitting is None or prepared.features is None:
            return prepared.applied(candidates)
        return self._fitting.applied(prepared.features, choice, candidates)


def _features(config: RunConfig, groups: Groups) -> tuple[tuple[FeatureConfig, ...], tuple[str, ...]]:
    """The features of a run on these groups, and the warnings about them."""
    kind, traces = groups.candidates.kind, len(groups.candidates.trace_ids)
    return feature_configs(config, kind, traces, has_past=kind == "tool" and past_of(groups.candidates) is not None)


def _fold_steps(on_progress: OnProgress) -> OnFold:
    return lambda fold, of: on_progress(Step("featurising", fold, of))


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
