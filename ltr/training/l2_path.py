"""One fit for each l2."""

import math

import numpy as np
import numpy.typing as npt

from ltr.arrays import FloatArray
from ltr.engines.engine import IN_PROCESS, Engine
from ltr.training.column_scale import in_units
from ltr.training.config import TrainConfig
from ltr.training.identifiability import Geometry
from ltr.training.newton import centre_of, solve
from ltr.training.nonlinear_terms import Terms
from ltr.training.trainable import Design, Designs, training_groups


def exact_path(
    phi: npt.ArrayLike,
    labels: npt.ArrayLike,
    offsets: npt.ArrayLike,
    config: TrainConfig,
    *,
    weights: npt.ArrayLike | None = None,
    score_offset: npt.ArrayLike | None = None,
    prior: FloatArray | None = None,
    start: FloatArray | None = None,
) -> list[FloatArray]:
    """The optimum for each l2 of the config, in its order and in the raw scale, with the terms of `Terms.of(phi)`.

    `prior`: see `fit`.

    Along log l2 the optimum moves smoothly. The fits go from the largest l2 to the smallest, each starts on the line
    through the last two optima, the first at `start`, such as an optimum of nearly the same data. That saves steps; no
    start changes the result.

    >>> phi, labels, offsets = [[1.0], [0.0], [0.0], [1.0], [1.0], [0.0]], [1, 0] * 3, [0, 2, 4, 6]
    >>> [w.round(3).item() for w in exact_path(phi, labels, offsets, TrainConfig(l2=(0.0, 0.1)))]
    [0.693, 0.373]
    """
    designs = (Design(phi, labels, offsets, weights, score_offset),)
    return optima_along(designs, Terms.of(phi, config), config, prior=prior, start=start)


def optima_along(
    designs: Designs,
    terms: Terms,
    config: TrainConfig,
    *,
    prior: FloatArray | None = None,
    start: FloatArray | None = None,
    engine: Engine = IN_PROCESS,
) -> list[FloatArray]:
    """Return the same for one design or many, with these terms."""
    all_groups = training_groups(designs, targets_are=config.targets, engine=engine)
    groups, units = in_units(all_groups, standardize=config.standardize, terms=terms)
    geometry, optima, centre = Geometry.of(groups), dict[float, FloatArray](), centre_of(prior, groups.columns)
    if start is not None:
        start = start * (1 if units is None else units) if len(start) == groups.columns else None  # other terms
    for l2 in sorted(config.l2s, reverse=True):
        first = _start(optima, l2) if optima else start
        optima[l2] = solve(groups, geometry, l2, centre=centre, start=first).w
    return [optima[l2] if units is None else optima[l2] / units for l2 in config.l2s]


def _start(optima: dict[float, FloatArray], l2: float) -> FloatArray:
    """Where the next optimum should be: on the line through the last two along log l2, or at the last one."""
    last_two = list(optima)[-2:]
    last = optima[last_two[-1]]
    logs = [math.log(value) for value in (*last_two, l2) if value > 0]  # a quotient of two l2 may overflow
    if len(logs) < 3 or logs[0] == logs[1]:
        return last
    ahead = (logs[1] - logs[2]) / (logs[0] - logs[1])
    start = last + ahead * (last - optima[last_two[0]])
    return start if np.isfinite(start).all() else last
