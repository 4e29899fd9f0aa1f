"""Early stopping: the metric of each epoch on validation data, and when to stop."""

from dataclasses import dataclass, field, replace

import numpy as np

from ltr.arrays import FloatArray
from ltr.errors import RunError
from ltr.training.config import TrainConfig
from ltr.training.epochs_and_progress import Epoch, OnEpoch, Progress
from ltr.training.fit_result import Watched
from ltr.training.validation_metric import Validation, sign


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
