"""What a trainer is asked to do."""

from collections.abc import Callable
from dataclasses import dataclass

from ltr.arrays import FloatArray
from ltr.errors import UsageError
from ltr.listwise import Trainable
from ltr.model import Fitted
from ltr.train.geometry import Geometry


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainConfig:
    """The trainer by name, and the numbers it may read."""

    trainer: str = "descent"
    learning_rate: float = 0.01
    epochs: int = 100
    l2: float = 0.001

    def __post_init__(self) -> None:
        if not 0 < self.learning_rate < float("inf"):
            raise UsageError(f"learning_rate is {self.learning_rate}; it must be above 0")
        if self.epochs < 1:
            raise UsageError(f"epochs is {self.epochs}; it must be at least 1")
        if not 0 <= self.l2 < float("inf"):
            raise UsageError(f"l2 is {self.l2}; it must be 0 or more")


@dataclass(frozen=True, slots=True)
class Epoch:
    """One epoch of descent, or one step of newton, as it ends."""

    number: int
    loss: float
    w: FloatArray


OnEpoch = Callable[[Epoch], None]
Trainer = Callable[[Trainable, Geometry, TrainConfig, OnEpoch], Fitted]


def ignore(epoch: Epoch) -> None:
    """Nobody watches."""
