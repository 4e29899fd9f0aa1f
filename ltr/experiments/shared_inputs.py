"""What runs of the same data, features, encoder and seed share: groups and their columns, made once."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from ltr.arrays import FloatArray
from ltr.config.run import RunConfig, feature_configs
from ltr.configtext.rendering import plain_values
from ltr.data.groups import Candidates, Groups
from ltr.encoders.naming import AUTO, best_installed
from ltr.errors import DataError, UsageError
from ltr.experiments.loading import Loaded, read_data, refuse_fitted
from ltr.features.crossfit import FittedFeatures, fit_features
from ltr.features.presets import RECOMMENDED
from ltr.serving.router import Router
from ltr.storage.model_file import nameless, refuse_other_columns

MOST_KEPT = 1 << 28  # bytes of the columns of folds; beyond, each run makes them anew


@dataclass(frozen=True, slots=True)
class Prepared:
    """Groups with their phi, and the features that made it; None for ready numbers without a state."""

    groups: Groups
    phi: FloatArray
    features: FittedFeatures | None
    warnings: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns of phi."""
        return self.features.names if self.features else nameless(self.phi.shape[1])

    def applied(self, candidates: Candidates) -> FloatArray:
        """The columns of candidates that were not trained on."""
        if candidates.features is None and self.features is not None:
            return self.features(candidates)
        if candidates.features is None:
            raise DataError("the training samples bear ready numbers; the others need them too")
        refuse_other_columns(self.names, candidates)
        return candidates.features


def prepare(config: RunConfig, groups: Groups, state: FittedFeatures | None) -> Prepared:
    """The groups with their phi: ready numbers as they are, else the configured features, cross-fitted."""
    ready = groups.candidates.features
    configs, warnings = feature_configs(config, groups.candidates.kind, len(groups.candidates.trace_ids))
    if ready is None:
        features, phi = fit_features(configs, groups, encoder_name(config))
        return Prepared(groups, phi, features, warnings)
    by_recipe = config.train.recipe == RECOMMENDED and config.features == (RECOMMENDED,)
    names = () if by_recipe or not config.features else tuple(column.name for column in configs)
    if names and names != groups.candidates.feature_names:
        bears = ", ".join(groups.candidates.feature_names)
        raise UsageError(f"the samples bear the ready features {bears}; the config names {', '.join(names)}")
    return Prepared(groups, ready, state)


def encoder_name(config: RunConfig) -> str:
    """The encoder of a run: the named one, or the best that is installed."""
    return best_installed() if config.encoder == AUTO else config.encoder


class SharedInputs:
    """Groups and columns of a config, each made when it is first asked for; of many runs, kept for all of them."""

    def __init__(self, config: RunConfig, loaded: Loaded | None = None) -> None:
        self.config, self._loaded = config, loaded
        self._tested: FloatArray | None = None
        self._folded: dict[tuple[int, int], tuple[FloatArray, FloatArray]] = {}

    def for_run(self, config: RunConfig) -> Self:
        """The shared of another run: this one, or one that shares what was read, or neither."""
        if basis_key(config) == basis_key(self.config):
            return self
        return type(self)(config, self._loaded if data_key(config) == data_key(self.config) else None)

    @property
    def loaded(self) -> Loaded:
        """What was read."""
        if self._loaded is None:
            self._loaded = read_data(self.config)
        return self._loaded

    @cached_property
    def prepared(self) -> Prepared:
        """The training groups with their columns."""
        return prepare(self.config, *self.loaded.train)

    @cached_property
    def valid_phi(self) -> FloatArray | None:
        """The columns of the validation groups, if there are any."""
        return None if self.loaded.valid is None else self.prepared.applied(self.loaded.valid.candidates)

    def test_phi(self, router: Router) -> FloatArray:
        """The columns the metrics are of: those of the test groups, or the training ones."""
        if self.loaded.test is None:
            return self.prepared.phi
        if self._tested is None:
            self._tested = router.phi(self.loaded.test.candidates)
        return self._tested

    def foldable(self) -> Groups:
        """The training groups, unless their features know all of them."""
        groups, state = self.loaded.train
        refuse_fitted(state, "folds are asked for")
        return groups

    def featurise(self, fold: tuple[int, int], learned: Groups, held: Groups) -> tuple[FloatArray, FloatArray]:
        """The columns of a fold, of nothing but what it learns from; fold: its place, and how many there are."""
        if fold in self._folded:
            return self._folded[fold]
        prepared = prepare(self.config, learned, None)
        columns = prepared.phi, prepared.applied(held.candidates)
        if sum(each.nbytes for pair in (*self._folded.values(), columns) for each in pair) <= MOST_KEPT:
            self._folded[fold] = columns
        return columns


def data_key(config: RunConfig) -> Any:
    """All that decides what is read."""
    return plain_values((config.data, config.kind, config.seed))


def basis_key(config: RunConfig) -> Any:
    """All that decides groups and columns."""
    return data_key(config), plain_values((config.features, config.encoder))
