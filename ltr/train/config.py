"""What a trainer is asked to do."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real

from ltr.arrays import LARGEST, FloatArray
from ltr.errors import UsageError
from ltr.listwise import Trainable
from ltr.model import Fitted
from ltr.train.geometry import Geometry

MOST_EPOCHS = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainConfig:
    """The trainer by name, and the numbers it may read."""

    trainer: str = "descent"
    learning_rate: float = 0.01
    epochs: int = 100
    l2: float = 0.001
    standardize: bool = False  # columns over their deviation: start, penalty and gap bound hold in that scale

    def __post_init__(self) -> None:
        if not isinstance(self.trainer, str):
            raise UsageError(f"trainer is {self.trainer!r}; a name is needed")
        if not _is_number(self.learning_rate) or not 0 < self.learning_rate <= LARGEST:
            raise UsageError(f"learning_rate is {self.learning_rate!r}; it must be above 0, at most {LARGEST:g}")
        if not _is_number(self.epochs) or not isinstance(self.epochs, Integral) or not 1 <= self.epochs <= MOST_EPOCHS:
            raise UsageError(f"epochs is {self.epochs!r}; it must be at least 1, a whole number up to {MOST_EPOCHS:,}")
        if not isinstance(self.standardize, bool):
            raise UsageError(f"standardize is {self.standardize!r}; true or false is needed")
        if not _is_number(self.l2) or not 0 <= self.l2 <= LARGEST:
            raise UsageError(f"l2 is {self.l2!r}; it must be 0 or more, at most {LARGEST:g}")


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


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
