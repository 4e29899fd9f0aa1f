"""What a trainer tells of each epoch, and where it goes on."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ltr.arrays import FloatArray
from ltr.errors import FileError


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
