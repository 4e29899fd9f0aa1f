"""A metric on validation data, and whether more of it is better."""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ltr.arrays import FloatArray, as_matrix
from ltr.engines.engine import IN_PROCESS, Engine
from ltr.errors import ArrayError, DataError, UsageError
from ltr.evaluation.evaluate import Evaluation, Rules, evaluate_by
from ltr.evaluation.linear_scores import linear_scores
from ltr.evaluation.metrics.registry import Measure, named
from ltr.evaluation.ranking import rank
from ltr.evaluation.sums import added
from ltr.training.config import LOSS, TrainConfig
from ltr.training.nonlinear_terms import NO_TERMS, Terms
from ltr.training.objective import slope
from ltr.training.trainable import Design, Designs, training_groups


@dataclass(frozen=True, slots=True, eq=False)
class Validation:
    """Groups to evaluate each epoch on, columns in the raw scale: one design in memory, or many.

    Metrics weigh all queries alike, and take the scores as served: weights and score offsets count in the loss.
    """

    designs: Designs
    rules: Rules = field(default_factory=Rules)  # but for its metrics: the training names its own
    name: str = "validation data"  # in error messages
    terms: Terms = NO_TERMS  # whose columns follow those of each design
    engine: Engine = IN_PROCESS

    @classmethod
    def of(cls, phi: npt.ArrayLike, labels: npt.ArrayLike, offsets: npt.ArrayLike, **more: Any) -> Self:
        """Return the groups of arrays; `more`: weights, score_offset and keys of a design."""
        return cls((Design(phi, labels, offsets, **more),))

    def with_terms(self, terms: Terms) -> "Validation":
        """Return the same groups with a column for each term."""
        if not len(terms):
            return self
        if not isinstance(self.designs, tuple):
            return replace(self, terms=terms)
        (one,) = self.designs
        try:
            phi, _ = as_matrix("phi", one.phi, one.offsets)
            if phi.shape[1] != terms.features:
                raise ArrayError("phi", "", f"{terms.features} features are needed, found shape {phi.shape}")
        except DataError as error:
            raise DataError(f"{self.name}: {error}") from error
        return replace(self, designs=(replace(one, phi=terms(phi)),))

    def value(self, w: FloatArray, config: TrainConfig) -> float:
        """Return the metric of w on these groups so that greater is better: -metric where less is, as of `loss`.

        >>> pair = Validation.of(np.array([[1.0], [0.0]]), [1, 0], [0, 2])
        >>> round(pair.value(np.zeros(1), TrainConfig()), 6)  # -ln 2
        -0.693147
        """
        try:
            if config.metric == LOSS:
                groups = training_groups(self.designs, targets_are=config.targets, engine=self.engine)
                groups = groups.with_columns(self.terms, len(w)) if len(self.terms) else groups
                return -slope(groups, w, np.ones(len(w))).loss
            rules = replace(self.rules, metrics=(config.metric,))
            if isinstance(self.designs, tuple):
                mean = _evaluated(self.designs, rules, NO_TERMS, w, 0).means[watchable(config.metric).name]
            else:
                evaluated = partial(_evaluated, self.designs, replace(rules, max_grade=self._greatest()), self.terms, w)
                mean = added(self.engine.map(evaluated, range(len(self.designs)))).means[watchable(config.metric).name]
            if mean is None:
                raise no_value(config.metric)
        except DataError as error:
            raise DataError(f"{self.name}: {error}") from error
        return sign(config.metric) * mean

    def _greatest(self) -> float:
        """The greatest label there can be."""
        if self.rules.max_grade is not None:
            return self.rules.max_grade
        return max(self.engine.map(partial(_greatest_label, self.designs), range(len(self.designs))), default=1.0)


def _evaluated(designs: Designs, rules: Rules, terms: Terms, w: FloatArray, number: int) -> Evaluation:
    """What the metric adds up from in a design; of one in memory the metric itself."""
    design, is_part = designs[number], not isinstance(designs, tuple)
    phi = np.asarray(design.phi, dtype=float)
    ranking = rank(linear_scores(terms(phi) if len(terms) else phi, w), design.offsets, keys=design.keys)
    evaluation = evaluate_by(ranking, design.labels, rules, is_part=is_part)
    return evaluation.light() if is_part else evaluation


def _greatest_label(designs: Designs, number: int) -> float:
    return max(float(np.max(designs[number].labels, initial=0.0)), 1.0)


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
