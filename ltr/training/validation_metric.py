"""A metric on validation data, and whether more of it is better."""

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from ltr.arrays import FloatArray, as_matrix
from ltr.errors import ArrayError, DataError, UsageError
from ltr.evaluation.evaluate import Rules, evaluate_by
from ltr.evaluation.linear_scores import linear_scores
from ltr.evaluation.metrics.registry import Measure, named
from ltr.evaluation.ranking import rank
from ltr.training.config import LOSS, TrainConfig
from ltr.training.nonlinear_terms import Terms
from ltr.training.objective import slope
from ltr.training.trainable_groups import trainable


@dataclass(frozen=True, slots=True)
class Validation:
    """Groups to evaluate each epoch on, columns in the raw scale."""

    phi: npt.ArrayLike
    labels: npt.ArrayLike
    offsets: npt.ArrayLike
    keys: npt.ArrayLike | None = None  # rank of each id, for ties
    weights: npt.ArrayLike | None = None  # of the groups in the loss; metrics weigh all queries alike
    score_offset: npt.ArrayLike | None = None  # of the rows in the loss; metrics take the scores as they are served
    rules: Rules = field(default_factory=Rules)  # but for its metrics: the training names its own
    name: str = "validation data"  # in error messages

    def with_terms(self, terms: Terms) -> "Validation":
        """The same groups with a column for each term."""
        if not len(terms):
            return self
        try:
            phi, _ = as_matrix("phi", self.phi, self.offsets)
            if phi.shape[1] != terms.features:
                raise ArrayError("phi", "", f"{terms.features} features are needed, found shape {phi.shape}")
        except DataError as error:
            raise DataError(f"{self.name}: {error}") from error
        return replace(self, phi=terms(phi))

    def value(self, w: FloatArray, config: TrainConfig) -> float:
        """The metric of w on these groups, so that greater is better: -metric where less is better, as of `loss`.

        >>> pair = Validation(np.array([[1.0], [0.0]]), [1, 0], [0, 2])
        >>> round(pair.value(np.zeros(1), TrainConfig()), 6)  # -ln 2
        -0.693147
        """
        try:
            if config.metric == LOSS:
                data, weights = (self.phi, self.labels, self.offsets), self.weights
                groups = trainable(*data, weights=weights, score_offset=self.score_offset, targets_are=config.targets)
                return -slope(groups, w, np.ones(len(w))).loss
            scores = linear_scores(np.asarray(self.phi, dtype=float), w)
            ranking = rank(scores, self.offsets, keys=self.keys)
            evaluation = evaluate_by(ranking, self.labels, replace(self.rules, metrics=(config.metric,)))
            mean = evaluation.means[watchable(config.metric).name]
            if mean is None:
                raise no_value(config.metric)
        except DataError as error:
            raise DataError(f"{self.name}: {error}") from error
        return sign(config.metric) * mean


def watchable(metric: str) -> Measure:
    """The measure of that name, if it is a single number.

    >>> watchable("logloss").less_is_better
    True
    """
    try:
        measure = named(metric)
    except UsageError as error:
        raise UsageError(f"{error}; or {LOSS}") from error
    if not measure.is_number:
        raise UsageError(f"{metric} is not one number; name a metric that is, such as mrr")
    return measure


def no_value(metric: str) -> DataError:
    """The error about groups on which the metric is not defined."""
    return DataError(f"{metric} has no value: no query has a right candidate, or none has another")


def sign(metric: str) -> int:
    """-1 for metrics of which less is better, the loss included; else 1.

    >>> sign("loss"), sign("mrr")
    (-1, 1)
    """
    return -1 if metric == LOSS or watchable(metric).less_is_better else 1
