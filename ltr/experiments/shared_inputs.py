"""What runs of the same data, features, encoder and seed share: groups and their columns, made once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.config.run import RunConfig, feature_configs
from ltr.configtext.yaml_and_schema_output import plain_values
from ltr.data.groups import Candidates, Groups
from ltr.data.previous_tools import past_of
from ltr.data.splits import fold_indices
from ltr.data.supplied_feature_names import refuse_other_columns, unnamed
from ltr.encoders.registry import AUTO, best_installed
from ltr.errors import DataError, UsageError
from ltr.experiments.progress import OnProgress, Step, silent
from ltr.experiments.read_data import Loaded, read_data, refuse_fitted
from ltr.experiments.warnings import feature_warnings
from ltr.features.crossfit import FittedFeatures, SharedCounts, fit_features
from ltr.features.presets import RECOMMENDED
from ltr.features.prior_weights import prior_weights
from ltr.features.registry import FeatureConfig
from ltr.serving.router import Router
from ltr.training.config import COLUMNS, TrainConfig

MOST_KEPT = 1 << 28  # bytes of the columns of folds; beyond, each run makes them anew


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


class SharedInputs:
    """Groups and columns of a config, which each method reads or makes once; runs that share them make them once."""

    def __init__(self, config: RunConfig, data: Loaded | None = None) -> None:
        self.config = config
        self._data = data
        self._columns: Prepared | None = None
        self._valid_columns: FloatArray | None = None
        self._test_columns: FloatArray | None = None
        self._folds: dict[tuple[int, int], tuple[FloatArray, FloatArray]] = {}
        self._counts: tuple[int, SharedCounts] | None = None  # of so many folds

    def for_run(self, config: RunConfig) -> Self:
        """The shared inputs of another run: these, or some that share what was read, or neither."""
        if columns_key(config) == columns_key(self.config):
            return self
        return type(self)(config, self._data if data_key(config) == data_key(self.config) else None)

    def narrowed(self, config: RunConfig, places: IntArray) -> Self:
        """What a run uses whose config names some of the columns, by their places."""
        columns = self.columns()
        narrow = type(self)(config, self._data)
        narrow._columns = columns.only(places)
        if len(places) == columns.phi.shape[1]:
            narrow._valid_columns, narrow._test_columns = self._valid_columns, self._test_columns
        narrow._folds = {fold: (learned[:, places], held[:, places]) for fold, (learned, held) in self._folds.items()}
        return narrow

    def data(self, on_progress: OnProgress = silent) -> Loaded:
        """The training, validation and test groups; read at the first call."""
        if self._data is None:
            on_progress(Step("reading"))
            self._data = read_data(self.config)
        return self._data

    def columns(self, on_progress: OnProgress = silent) -> Prepared:
        """The training groups with their columns; featurised at the first call."""
        if self._columns is None:
            groups, state = self.data(on_progress).train
            self._columns = prepare(self.config, groups, state, on_progress)
        return self._columns

    def valid_columns(self) -> FloatArray | None:
        """The columns of the validation groups, if there are any."""
        valid = self.data().valid
        if valid is not None and self._valid_columns is None:
            self._valid_columns = self.columns().applied(valid.candidates)
        return self._valid_columns

    def test_columns(self, router: Router) -> FloatArray:
        """The columns that the metrics are of: those of the test groups, or the training ones."""
        test = self.data().test
        if test is None:
            return self.columns().phi
        if self._test_columns is None:
            self._test_columns = router.phi(test.candidates)
        return self._test_columns

    def foldable(self) -> Groups:
        """The training groups, unless their features know all of them."""
        groups, state = self.data().train
        refuse_fitted(state, "folds are asked for")
        return groups

    def fold_columns(self, fold: tuple[int, int], learned: Groups, held: Groups) -> tuple[FloatArray, FloatArray]:
        """The columns of a fold, of nothing but what it learns from; fold: its place, and how many there are."""
        if fold in self._folds:
            return self._folds[fold]
        prepared, *columns = self.fold_columns_of(fold, learned, held.candidates)
        return prepared.phi, columns[0]

    def fold_columns_of(
        self, fold: tuple[int, int], learned: Groups, *others: Candidates
    ) -> tuple[Prepared, *tuple[FloatArray, ...]]:
        """What a fold learned from, with columns of others, of which the first are those that the fold leaves out."""
        number, count = fold
        if self._counts is None or self._counts[0] != count:
            sides = fold_indices(self.foldable(), count, seed=self.config.seed, by=self.config.data.split)
            self._counts = count, SharedCounts.of(self.foldable(), [choice for choice, _ in sides])
        prepared = prepare(self.config, learned, None, shared=(self._counts[1], number))
        if number + 1 == count:
            self._counts = None
        columns = tuple(map(prepared.applied, others))
        kept = prepared.phi, columns[0]
        if sum(column.nbytes for pair in (*self._folds.values(), kept) for column in pair) <= MOST_KEPT:
            self._folds[fold] = kept
        return prepared, *columns


def nothing_to_choose(config: RunConfig) -> RunConfig:
    """The config where folds choose nothing: `recommended` stands for the same columns whatever the samples say."""
    return replace(config, train=replace(config.train, choose=()))


def listed_features(configs: Sequence[FeatureConfig]) -> tuple[str | dict[str, Any], ...]:
    """The features as a config lists them."""
    return tuple({"name": column.name, **column.options} if column.options else column.name for column in configs)


def prior_of(config: TrainConfig, names: Sequence[str]) -> FloatArray | None:
    """What the penalty pulls the weights of these columns towards; None: 0."""
    if config.prior == "zero":
        return None
    config.refuse_other_scale("prior")
    return prior_weights(names)


def data_key(config: RunConfig) -> Any:
    """All that decides what is read: the encoder too, where it chooses candidates."""
    encoder = None if config.data.negatives is None else config.encoder
    return plain_values((config.data, config.kind, config.seed, encoder, config.abstain.rule is not None))


def columns_key(config: RunConfig) -> Any:
    """All that decides groups and columns."""
    return data_key(config), plain_values((config.features, config.encoder)), COLUMNS in config.train.choose
