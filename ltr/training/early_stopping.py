"""Validation data: what a w is worth on groups it did not learn from, and when to stop."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from ltr.arrays import FloatArray, as_matrix
from ltr.errors import ArrayError, DataError, UsageError
from ltr.evaluation.evaluate import evaluate
from ltr.evaluation.metrics.registry import Measure, named
from ltr.evaluation.ranking import rank, scores
from ltr.training.config import LOSS, Epoch, OnEpoch, Progress, TrainConfig
from ltr.training.curves import Knots
from ltr.training.model import Watched
from ltr.training.objective import slope, trainable


@dataclass(frozen=True, slots=True)
class Validation:
    """Groups a training is watched on, columns in the raw scale."""

    phi: npt.ArrayLike
    labels: npt.ArrayLike
    offsets: npt.ArrayLike
    keys: npt.ArrayLike | None = None  # order of the ids, for ties
    weights: npt.ArrayLike | None = None  # of the groups in the loss; metrics are means of queries alike
    rel_threshold: float = 1.0
    ties: str = "expected"
    threshold: float = 0.5
    max_grade: float | None = None
    name: str = "validation data"  # what an error calls them

    def with_curves(self, knots: Knots) -> "Validation":
        """The same groups with a column a knot."""
        if not len(knots):
            return self
        try:
            phi, _ = as_matrix("phi", self.phi, self.offsets)
            if phi.shape[1] != len(knots.ends):
                raise ArrayError("phi", "", f"{len(knots.ends)} features are needed, found shape {phi.shape}")
        except DataError as error:
            raise DataError(f"{self.name}: {error}") from error
        return replace(self, phi=knots(phi))

    def value(self, w: FloatArray, config: TrainConfig) -> float:
        """The metric of w on these groups, greater is better: of `loss`, and where less is better, the value below 0.

        >>> held = Validation(np.array([[1.0], [0.0]]), [1, 0], [0, 2])
        >>> round(held.value(np.zeros(1), TrainConfig()), 6)  # ln 2
        -0.693147
        """
        try:
            found = self._loss(w, config) if config.metric == LOSS else self._mean(w, config.metric)
        except DataError as error:
            raise DataError(f"{self.name}: {error}") from error
        return sign(config.metric) * found

    def _loss(self, w: FloatArray, config: TrainConfig) -> float:
        groups = trainable(self.phi, self.labels, self.offsets, weights=self.weights, targets_are=config.targets)
        return slope(groups, w, np.ones(len(w))).loss

    def _mean(self, w: FloatArray, metric: str) -> float:
        ranking = rank(scores(np.asarray(self.phi, dtype=float), w), self.offsets, keys=self.keys)
        mean = evaluate(
            ranking,
            self.labels,
            [metric],
            ties=self.ties,
            rel_threshold=self.rel_threshold,
            threshold=self.threshold,
            max_grade=self.max_grade,
        ).means[watchable(metric).name]
        if mean is None:
            raise DataError(f"{metric} has no value: no query has a right candidate, or none has another")
        return mean


def watchable(metric: str) -> Measure:
    """The measure of that name, if one number says how good a ranking is.

    >>> watchable("logloss").less_is_better
    True
    """
    try:
        found = named(metric)
    except UsageError as error:
        raise UsageError(f"{error}; or {LOSS}") from error
    if not found.is_number:
        raise UsageError(f"{metric} is not one number; name a metric that is, such as mrr")
    return found


def sign(metric: str) -> int:
    """What makes greater values better: -1 where less of the metric is better, the loss among them.

    >>> sign("loss"), sign("mrr")
    (-1, 1)
    """
    return -1 if metric == LOSS or watchable(metric).less_is_better else 1


@dataclass(slots=True)
class Watcher:
    """Keeps the w of the best epoch; tells the trainer to stop once none has been better for `patience` epochs."""

    validation: Validation
    config: TrainConfig
    units: FloatArray | None
    on_epoch: OnEpoch
    values: list[float] = field(default_factory=list)
    best: FloatArray | None = None
    best_epoch: int = 0  # the first with the greatest value, counted from 1

    def __call__(self, epoch: Epoch) -> bool | None:
        """Measure the epoch's w, and pass it on."""
        raw = epoch.w if self.units is None else epoch.w / self.units
        value = self.validation.value(raw, self.config)
        self.values.append(value)
        if self.best is None or value > self.values[self.best_epoch - 1]:
            self.best, self.best_epoch = epoch.w.copy(), len(self.values)
        if epoch.progress is not None:
            epoch = replace(epoch, progress=partial(self.progress, epoch.progress))
        return bool(self.on_epoch(epoch)) or self.is_over

    def progress(self, trainer: Callable[[], Progress]) -> Progress:
        """The trainer's progress, with what was seen so far."""
        return replace(trainer(), watched=tuple(self.values), best=self.best)

    @property
    def is_over(self) -> bool:
        """Whether patience has run out."""
        return bool(self.values) and len(self.values) - self.best_epoch >= self.config.patience

    def resumed(self, progress: Progress | None) -> "Watcher":
        """The watcher as it was when that progress was kept."""
        if progress is not None and progress.watched:
            self.values, self.best = list(progress.watched), progress.best
            self.best_epoch = int(np.argmax(self.values)) + 1
        return self

    def record(self) -> Watched:
        """What was seen."""
        return Watched(self.config.metric, sign(self.config.metric) * np.array(self.values), self.best_epoch)
