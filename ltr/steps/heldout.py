"""Models that know nothing of the traces they score: one a fold, learned from the groups of all other folds."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ltr.arrays import FloatArray
from ltr.columns import IN_MEMORY, Applied, Choices, Features, Work
from ltr.config import RunConfig
from ltr.errors import DataError, DivergedError
from ltr.features import FittedFeatures, prior_of
from ltr.hashes import Hashes, hashed
from ltr.logs import stage
from ltr.progress import OnProgress, Step, silent
from ltr.samples import Candidates, Groups, Shards
from ltr.splits import Dealt, Side, in_turn
from ltr.training import Model, TrainConfig, fit_designs

FOLDS = 5


@dataclass(frozen=True, slots=True)
class Scorer:
    """A model and its columns, for candidates that it did not learn from."""

    applied: Applied
    model: Model

    def phi(self, candidates: Candidates) -> FloatArray:
        """Return the columns of candidates."""
        return self.applied(candidates)

    def scores(self, phi: FloatArray) -> FloatArray:
        """Return the score of each row."""
        return self.model.scores(phi)


@dataclass(frozen=True, slots=True)
class Scored:
    """Groups with the columns and the scores of their rows."""

    groups: Groups
    phi: FloatArray
    scores: FloatArray


@dataclass(frozen=True, slots=True)
class HeldOut:
    """A model a fold; a fold has whole traces."""

    folds: Dealt  # of each trace
    models: tuple[Scorer, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.models[0].applied.names

    def scored(self, groups: Groups) -> Scored:
        """Return the groups, each as the model that knows nothing of its trace scores it."""
        fold_of_group = self.folds.of_groups(groups.candidates)
        phi, scores = np.empty((len(groups.labels), len(self.names))), np.empty(len(groups.labels))
        for fold, scorer in enumerate(self.models):
            inside = np.flatnonzero(fold_of_group == fold)
            if len(inside):
                rows = np.repeat(fold_of_group == fold, np.diff(groups.offsets))
                phi[rows] = scorer.phi(groups.select(inside).candidates)
                scores[rows] = scorer.scores(phi[rows])
        return Scored(groups, phi, scores)


@dataclass(slots=True)
class Held:
    """The models of a run whose weights are held, fitted when the first step asks for them."""

    config: RunConfig
    train: TrainConfig
    features: Features
    on_progress: OnProgress = silent
    _models: HeldOut | None = None

    def models(self, *others: Shards) -> HeldOut:
        """Return the models that score the training groups, and the others of whoever asks first."""
        if self._models is None:
            of = {"features": self.features.fitted, "work": self.features.work, "on_progress": self.on_progress}
            options: dict[str, Any] = of
            self._models = held_out(self.config, self.train, self.features.samples, others, **options)
        return self._models


@stage("cross-fitting scores")
def held_out(
    config: RunConfig,
    train: TrainConfig,
    shards: Shards,
    others: Sequence[Shards] = (),
    *,
    features: FittedFeatures | None = None,
    work: Work = IN_MEMORY,
    on_progress: OnProgress = silent,
) -> HeldOut:
    """Fit the models that score the groups they learn from, and others; `train` has the one l2.

    Their columns are those of the config, or of features that others were fitted as.
    """
    known, rest = (_trace_keys(of, work) for of in ((shards,), others))
    number = min(FOLDS, len(known))
    if number < 2:
        raise DataError("none and abstaining are learned by folds of traces; there is a single trace to learn from")
    folds, models = in_turn(known, rest, number), list[Scorer]()
    sides = [Side(folds, tuple(other for other in range(number) if other != fold)) for fold in range(number)]
    choices = Choices(config, shards, sides, work, features)
    for fold in range(number):
        on_progress(Step("folds", fold, number))
        prepared = choices.prepared(fold)
        try:
            prior = prior_of(train, prepared.names)
            model = fit_designs(prepared.designs, train, prior=prior, engine=work.engine)
        except DataError as error:
            raise DataError(f"scores without fold {fold + 1} of the traces: {error}") from error
        except DivergedError as error:
            raise DivergedError(f"scores without fold {fold + 1} of the traces: {error}") from error
        models.append(Scorer(prepared.applied, model))
    return HeldOut(folds, tuple(models))


def _trace_keys(several: Sequence[Shards], work: Work) -> Hashes:
    keys = [part for shards in several for part in work.engine.map(partial(_keys, shards), range(len(shards)))]
    return np.concatenate([hashed(()), *keys])


def _keys(shards: Shards, number: int) -> Hashes:
    return hashed(shards[number].candidates.trace_ids)
