"""The epochs of a training: what is told of each, where it goes on, and when validation data stop it."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ltr.arrays import FloatArray, as_matrix, linear_scores
from ltr.engine import IN_PROCESS, Engine
from ltr.errors import ArrayError, DataError, FileError, RunError, UsageError
from ltr.evaluation import Evaluation, Measure, Rules, evaluate_by, named, rank
from ltr.sums import added
from ltr.training.config import LOSS, TrainConfig
from ltr.training.designs import Design, Designs, training_groups
from ltr.training.model import Watched
from ltr.training.objective import slope
from ltr.training.terms import NO_TERMS, Terms


@dataclass(frozen=True, slots=True)
class Epoch:
    """One epoch of descent, or one step of newton, as it ends."""

    number: int
    loss: float
    w: FloatArray
    progress: "Callable[[], Progress] | None" = None  # what to resume from; None of a trainer that cannot


@dataclass(frozen=True, slots=True)
class Progress:
    """What a training resumes from, in the scale it is done in: it ends in the same bytes as without a break."""

    w: FloatArray
    history: tuple[float, ...]  # a loss an epoch
    watched: tuple[float, ...] = ()  # a value of the validation data an epoch
    best: FloatArray | None = None  # the w of the best of them
    name: str = "progress"  # what an error calls it

    def refuse_other(self, columns: int, epochs: int, *, is_watched: bool) -> None:
        """Raise if this is not of a training of so many columns and epochs, with validation data or without."""
        values, needed = len(self.watched), len(self.history) if is_watched else 0
        problems = []
        for w in (self.w,) if self.best is None else (self.w, self.best):
            if w.shape != (columns,):
                problems.append(f"{len(w)} weights, {columns} are learned")
            elif not np.isfinite(w).all():
                problems.append("a weight that is not finite")
        if len(self.history) > epochs:
            problems.append(f"{len(self.history):,} epochs, {epochs:,} are asked for")
        if values != needed:
            problems.append(f"{values:,} values of validation data, {needed:,} are needed")
        if (self.best is None) != (needed == 0):
            problems.append(f"{'no' if self.best is None else 'a'} best w, for {needed:,} values of validation data")
        if problems:
            raise FileError(self.name, f"{problems[0]}: damaged, or of another training; add --overwrite to start anew")


OnEpoch = Callable[[Epoch], bool | None]  # True: stop here


def ignore(epoch: Epoch) -> None:
    """Do nothing: the default of `on_epoch`."""


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


@dataclass(slots=True)
class Watcher:
    """An `on_epoch` that holds the w of the best epoch, and stops after `patience` epochs without a better one."""

    validation: Validation
    config: TrainConfig
    units: FloatArray | None
    on_epoch: OnEpoch
    values: list[float] = field(default_factory=list)
    best: FloatArray | None = None
    best_epoch: int = 0  # the first with the greatest value, counted from 1

    def __call__(self, epoch: Epoch) -> bool | None:
        """Evaluate the epoch's w, and pass the epoch on, its progress with the values so far."""
        value = self.validation.value(epoch.w if self.units is None else epoch.w / self.units, self.config)
        self.values.append(value)
        if self.best is None or value > self.values[self.best_epoch - 1]:
            self.best, self.best_epoch = epoch.w.copy(), len(self.values)
        trainer = epoch.progress
        if trainer is not None:
            epoch = replace(epoch, progress=lambda: replace(trainer(), watched=tuple(self.values), best=self.best))
        return bool(self.on_epoch(epoch)) or self.is_over

    @property
    def is_over(self) -> bool:
        """Whether patience has run out."""
        return bool(self.values) and len(self.values) - self.best_epoch >= self.config.patience

    def resume(self, progress: Progress) -> None:
        """Go on from the values and the best w of that progress."""
        self.values, self.best = list(progress.watched), progress.best
        self.best_epoch = int(np.argmax(self.values)) + 1

    def best_w(self) -> FloatArray:
        """The w of the best epoch."""
        if self.best is None:
            raise RunError(f"{self.config.trainer} reported no epoch, so there was nothing to evaluate")
        return self.best

    def record(self) -> Watched:
        """The metric epoch by epoch."""
        return Watched(self.config.metric, sign(self.config.metric) * np.array(self.values), self.best_epoch)
