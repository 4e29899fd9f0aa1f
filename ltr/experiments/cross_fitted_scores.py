"""Scores of training data that saw none of their own traces: columns and w of the other folds."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.config.run import RunConfig
from ltr.data.groups import Groups, select
from ltr.errors import DataError, DivergedError
from ltr.experiments.progress import OnProgress, Step, silent
from ltr.experiments.sampling_correction import score_offset
from ltr.experiments.training_columns import Prepared, PreparedChoices
from ltr.features.prior_weights import prior_of
from ltr.logs import stage
from ltr.training.config import TrainConfig
from ltr.training.fit import fit
from ltr.training.model import Model

FOLDS = 5


@dataclass(frozen=True, slots=True)
class ScoredGroups:
    """Groups with the columns and the scores of their rows."""

    groups: Groups
    phi: FloatArray
    scores: FloatArray


@dataclass(frozen=True, slots=True)
class FoldModels:
    """A model a fold, learned from the groups of all other folds; a fold has whole traces."""

    folds: Mapping[str, int]  # of each trace id
    models: tuple[tuple[Prepared, Model], ...]

    def of_groups(self, groups: Groups) -> IntArray:
        """The fold of each group."""
        of_trace = np.array([self.folds[trace] for trace in groups.candidates.trace_ids], dtype=np.int64)
        folds: IntArray = of_trace[groups.candidates.traces]
        return folds

    def scored(self, groups: Groups) -> ScoredGroups:
        """The groups, each as the model that knows nothing of its trace scores it."""
        fold_of_group = self.of_groups(groups)
        phi = np.empty((len(groups.labels), len(self.models[0][0].names)))
        scores = np.empty(len(groups.labels))
        for fold, (prepared, model) in enumerate(self.models):
            inside = np.flatnonzero(fold_of_group == fold)
            if len(inside):
                rows = np.repeat(fold_of_group == fold, np.diff(groups.offsets))
                phi[rows] = prepared.applied(select(groups, inside).candidates)
                scores[rows] = model.scores(phi[rows])
        return ScoredGroups(groups, phi, scores)


@stage("cross-fitting scores")
def fold_models(
    config: RunConfig, train: TrainConfig, learned: Groups, others: tuple[Groups, ...], on_progress: OnProgress = silent
) -> FoldModels:
    """The models that score the groups they learn from, and others; `train` has the one l2."""
    traces = sorted({trace for groups in (learned, *others) for trace in groups.candidates.trace_ids}, key=_hash)
    number = min(FOLDS, len(learned.candidates.trace_ids))
    if number < 2:
        raise DataError("none and abstaining are learned by folds of traces; there is a single trace to learn from")
    known = set(learned.candidates.trace_ids)
    dealt = [trace for trace in traces if trace in known] + [trace for trace in traces if trace not in known]
    folds = {trace: place % number for place, trace in enumerate(dealt)}
    fold_of_trace = np.array([folds[trace] for trace in learned.candidates.trace_ids], dtype=np.int64)
    fold_of_group = fold_of_trace[learned.candidates.traces]
    choices = [np.flatnonzero(fold_of_group != fold) for fold in range(number)]
    each = PreparedChoices(config, learned, choices)
    models = []
    for fold in range(number):
        on_progress(Step("folds", fold, number))
        prepared = each.prepared(fold)
        inside = prepared.groups
        try:
            data = prepared.phi, inside.labels, inside.offsets
            prior, offset = prior_of(train, prepared.names), score_offset(inside)
            model = fit(*data, train, weights=inside.weights, score_offset=offset, prior=prior)
        except DataError as error:
            raise DataError(f"scores without fold {fold + 1} of the traces: {error}") from error
        except DivergedError as error:
            raise DivergedError(f"scores without fold {fold + 1} of the traces: {error}") from error
        models.append((prepared, model))
    return FoldModels(folds, tuple(models))


def _hash(trace: str) -> bytes:
    return hashlib.blake2b(trace.encode(), digest_size=8).digest()
