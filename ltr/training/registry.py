"""What a trainer is, and the trainers by name."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ltr.plugins import OURS, bad_result, plugin_errors
from ltr.registry import Registry
from ltr.training.descent import fit_descent
from ltr.training.fit_result import Fitted
from ltr.training.newton import fit_newton
from ltr.training.trainable import Trainable

Trainer = Callable[..., Fitted]  # (groups, geometry, config, on_epoch[, progress])
TRAINERS: Registry[Trainer] = Registry("trainer")
TRAINERS.add("descent", fit_descent)
TRAINERS.add("newton", fit_newton)


def trainer(name: str) -> Callable[[Trainer], Trainer]:
    """A decorator that registers a trainer under the name."""
    return TRAINERS.register(name)


def checked_trainer(name: str) -> Trainer:
    """The trainer of that name. One of a plug-in has its result checked, and its errors name the plug-in."""
    trainer, source = TRAINERS[name], TRAINERS.source(name)
    if source == OURS:
        return trainer

    def call(groups: Trainable, *others: Any) -> Fitted:
        with plugin_errors(f"trainer {name}", trainer, source):
            fitted = trainer(groups, *others)
            is_sound = isinstance(fitted, Fitted) and np.shape(fitted.w) == groups.phi.shape[1:]
            if not (is_sound and np.ndim(fitted.history) == 1 and np.asarray(fitted.w).dtype.kind in "fiu"):
                problem = f"gave {type(fitted).__name__}; a Fitted with a number for each column is needed"
                raise bad_result(trainer, f"trainer {name}: {problem}")
            w, history = np.asarray(fitted.w, dtype=float), np.asarray(fitted.history, dtype=float)
            return replace(fitted, w=w, history=history)

    return call
