"""How far a run is: the stages report it to whoever wants to show it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ltr.training import Epoch

Stage = Literal["importing", "reading", "featurising", "folds", "training", "measuring"]


@dataclass(frozen=True, slots=True)
class Step:
    """A stage begins (done is 0), or a part of it is done."""

    stage: Stage
    done: int = 0
    total: int | None = None  # None: the number of parts is not known before
    epoch: Epoch | None = None  # of the training: the epoch that ended


OnProgress = Callable[[Step], bool | None]  # True, after an epoch: stop the training here


def silent(step: Step) -> None:
    """Show nothing: the default of `on_progress`."""
