"""Learn w: the trainers by name, and the one function that runs them."""

import math

import numpy as np
import numpy.typing as npt

from ltr.listwise import derivatives, trainable
from ltr.model import Model, Training
from ltr.registry import Registry
from ltr.train.config import Epoch, OnEpoch, TrainConfig, Trainer, ignore
from ltr.train.descent import fit_descent
from ltr.train.geometry import Geometry
from ltr.train.newton import fit_newton

__all__ = ["TRAINERS", "Epoch", "TrainConfig", "Trainer", "fit"]

TRAINERS: Registry[Trainer] = Registry("trainer")
TRAINERS.add("descent", fit_descent)
TRAINERS.add("newton", fit_newton)


def fit(
    phi: npt.ArrayLike,
    labels: npt.ArrayLike,
    offsets: npt.ArrayLike,
    config: TrainConfig | None = None,
    *,
    weights: npt.ArrayLike | None = None,
    on_epoch: OnEpoch = ignore,
) -> Model:
    """The model that the configured trainer learns: w, and what is known about its distance to the optimum.

    >>> phi = [[1.0], [0.0], [0.0], [1.0], [1.0], [0.0]]
    >>> model = fit(phi, [1, 0, 1, 0, 1, 0], [0, 2, 4, 6], TrainConfig(trainer="newton", l2=0.0))
    >>> model.w.round(6), str(model.training.optimum)  # ln 2: the odds are 2 to 1
    (array([0.693147]), 'found')
    """
    config = config or TrainConfig()
    groups = trainable(phi, labels, offsets, weights=weights)
    geometry = Geometry.of(groups)
    fitted = TRAINERS[config.trainer](groups, geometry, config, on_epoch)
    at_end = derivatives(groups, fitted.w, geometry.scale)
    by_deviation = geometry.varying * (at_end.gradient + 2 * config.l2 * fitted.w / geometry.scale)
    training = Training(
        trainer=config.trainer,
        groups=groups.groups,
        skipped=groups.skipped,
        epochs=len(fitted.history),
        history=fitted.history,
        objective=at_end.loss + config.l2 * float(fitted.w @ fitted.w),
        gradient_norm=math.hypot(*by_deviation),
        gap_bound=gap_bound(at_end.gradient * geometry.scale + 2 * config.l2 * fitted.w, config.l2),
        optimum=fitted.optimum,
        escape=fitted.escape,
        not_identified=geometry.not_identified,
    )
    return Model(fitted.w, training)


def gap_bound(gradient: npt.NDArray[np.float64], l2: float) -> float | None:
    """How far the objective can be above its optimum: |gradient|^2 / (4 l2), as it curves by 2 l2 at least.

    >>> round(gap_bound(np.array([0.0, 0.02]), 0.001), 12)
    0.1
    >>> gap_bound(np.array([0.0, 0.02]), 0.0)
    """
    norm = math.hypot(*gradient)
    bound = norm * norm / (4 * l2) if l2 > 0 else math.inf
    return bound if math.isfinite(bound) else None
