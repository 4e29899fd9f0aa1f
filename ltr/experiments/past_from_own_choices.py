"""The past that a model makes for itself, by its first choices: to be measured with, and to learn from."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ltr.arrays import FloatArray, ragged
from ltr.config.run import RunConfig
from ltr.data.candidates import Candidates, key_order
from ltr.data.groups import Groups, select
from ltr.data.previous_tools import past_lists, past_of, with_past
from ltr.evaluation.ranking import Ties, order, rank
from ltr.experiments.cross_fitted_scores import fold_models
from ltr.experiments.progress import OnProgress, silent
from ltr.experiments.sampling_correction import score_offset
from ltr.experiments.training_columns import Prepared
from ltr.features.prior_weights import prior_of
from ltr.logs import stage
from ltr.training.config import TrainConfig
from ltr.training.fit import fit
from ltr.training.model import Model


class Scorer(Protocol):
    """What gives candidates their columns and scores, such as a router."""

    def phi(self, candidates: Candidates) -> FloatArray:
        """The columns."""
        ...

    def scores(self, phi: FloatArray) -> FloatArray:
        """The score of each row."""
        ...


@dataclass(frozen=True, slots=True)
class FoldScorer:
    """The model of a fold, for candidates that it did not learn from."""

    prepared: Prepared
    model: Model

    def phi(self, candidates: Candidates) -> FloatArray:
        """The columns."""
        return self.prepared.applied(candidates)

    def scores(self, phi: FloatArray) -> FloatArray:
        """The score of each row."""
        return self.model.scores(phi)


@stage("walking through the traces")
def with_own_past(scorer: Scorer, groups: Groups, phi: FloatArray | None = None) -> tuple[Groups, FloatArray]:
    """The groups with the scorer's first choices as what was done before each in its trace, and their phi.

    It is a walk through each trace, group after group, made in passes over all traces: the first group has nothing
    before it, and each pass settles at least the next one. Only groups whose past has changed are featurised again.
    `phi`: that of the groups as they are.
    """
    phi = np.array(scorer.phi(groups.candidates) if phi is None else phi)
    while True:
        walked = with_past(groups, first_choices(scorer, groups, phi), "own")
        pairs = zip(past_lists(groups.candidates), past_lists(walked.candidates), strict=True)
        changed = np.flatnonzero([before != after for before, after in pairs])
        groups = walked
        if not len(changed):
            return groups, phi
        owner, within = ragged(np.diff(groups.offsets)[changed])
        phi[groups.offsets[changed][owner] + within] = scorer.phi(select(groups, changed).candidates)


def first_choices(scorer: Scorer, groups: Groups, phi: FloatArray) -> list[tuple[str, ...]]:
    """The name that stands first in each group."""
    candidates = groups.candidates
    ranking = rank(scorer.scores(phi), groups.offsets, keys=key_order(candidates))
    first = candidates.names[order(ranking, Ties.EXPECTED)[groups.offsets[:-1]]]
    return [(candidates.name_texts[code],) for code in first.tolist()]


def rows_to_learn(
    config: RunConfig, train: TrainConfig, prepared: Prepared, on_progress: OnProgress = silent
) -> tuple[FloatArray, Groups]:
    """Phi and groups to learn w from; of groups with a past made of labels each twice, once with own choices before it.

    The choices are of models of other folds, so that no label of its trace is among them. Who learns from right tools
    alone trusts the past more than a past of own choices deserves.
    """
    groups = prepared.groups
    if past_of(groups.candidates) != "labels":
        return prepared.phi, groups
    models = fold_models(config, train, groups, (), on_progress)
    candidates = groups.candidates
    fold_of_group = np.array([models.folds[trace] for trace in candidates.trace_ids])[candidates.traces]
    own = prepared.phi.copy()
    for fold, model in enumerate(models.models):
        inside = fold_of_group == fold
        rows = np.repeat(inside, np.diff(groups.offsets))
        own[rows] = with_own_past(FoldScorer(*model), select(groups, np.flatnonzero(inside)))[1]
    return np.vstack([prepared.phi, own]), select(groups, np.tile(np.arange(len(fold_of_group)), 2))


def both_pasts(
    config: RunConfig, train: TrainConfig, prepared: Prepared, held: Groups
) -> tuple[FloatArray, Groups, FloatArray]:
    """Phi and groups to learn w from, and the columns of held groups after the own choices of a model of all columns.

    Every alternative is taught and judged by the same choices.
    """
    phi, learned = rows_to_learn(config, train, prepared)
    weights, offset, prior = learned.weights, score_offset(learned), prior_of(train, prepared.names)
    model = fit(phi, learned.labels, learned.offsets, train, weights=weights, score_offset=offset, prior=prior)
    return phi, learned, with_own_past(FoldScorer(prepared, model), held)[1]
