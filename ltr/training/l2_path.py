"""One fit for each l2, and the l2 that held-out data chooses."""

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ltr.arrays import FloatArray
from ltr.training.config import TrainConfig
from ltr.training.curves import Knots
from ltr.training.identifiability import Geometry, in_units
from ltr.training.model import Fitted
from ltr.training.newton import solve
from ltr.training.objective import trainable


def penalties(config: TrainConfig) -> tuple[float, ...]:
    """Every l2 of the config."""
    return config.l2 if isinstance(config.l2, tuple) else (config.l2,)


def with_l2(config: TrainConfig, l2: float) -> TrainConfig:
    """The config of a fit with that l2 alone."""
    return replace(config, l2=l2)


def exact_path(
    phi: npt.ArrayLike,
    labels: npt.ArrayLike,
    offsets: npt.ArrayLike,
    config: TrainConfig,
    *,
    weights: npt.ArrayLike | None = None,
) -> list[FloatArray]:
    """The optimum of each l2, raw scale, in the order of the config, with the knots that phi has by `Knots.of`.

    Each starts where the larger ones point.

    The columns are looked at once. Along log l2 the optimum moves smoothly: a start on the line through the last two
    optima saves steps, and no start changes what is found.

    >>> phi, labels, offsets = [[1.0], [0.0], [0.0], [1.0], [1.0], [0.0]], [1, 0] * 3, [0, 2, 4, 6]
    >>> [w.round(3).item() for w in exact_path(phi, labels, offsets, TrainConfig(l2=(0.0, 0.1)))]
    [0.693, 0.373]
    """
    groups = trainable(phi, labels, offsets, weights=weights, targets_are=config.targets)
    knots = Knots.of(phi, config.knots)
    groups, units = in_units(groups, standardize=config.standardize, knots=knots)
    geometry, found = Geometry.of(groups), dict[float, Fitted]()
    for l2 in sorted(penalties(config), reverse=True):
        found[l2] = solve(groups, geometry, l2, start=_start(found, l2))
    return [found[l2].w if units is None else found[l2].w / units for l2 in penalties(config)]


def _start(found: dict[float, Fitted], l2: float) -> FloatArray | None:
    """Where the optimum should be, on the line through the last two along log l2; the last where that is too far."""
    last = list(found)[-2:]
    if not last:
        return None
    near = found[last[-1]].w
    steps = [math.log(each) for each in (*last, l2) if each > 0]  # a quotient of two l2 may overflow
    if len(steps) < 3 or steps[0] == steps[1]:
        return near
    ahead = (steps[1] - steps[2]) / (steps[0] - steps[1])
    start = near + ahead * (near - found[last[0]].w)
    return start if np.isfinite(start).all() else near


def chosen_l2(l2s: tuple[float, ...], values: FloatArray, rule: str) -> float:
    """The l2 with the best mean over the folds (l2s, folds), greater better, the larger of equals.

    `one_se`: the largest whose mean is within one standard error, of the best one's folds, of the best.

    >>> import numpy as np
    >>> values = np.array([[0.7, 0.9], [0.75, 0.83], [0.2, 0.2]])
    >>> chosen_l2((0.01, 0.1, 1.0), values, "best"), chosen_l2((0.01, 0.1, 1.0), values, "one_se")
    (0.01, 0.1)
    """
    means = values.mean(axis=1)
    best = max(range(len(l2s)), key=lambda place: (means[place], l2s[place]))
    least, folds = means[best], values.shape[1]
    if rule == "one_se" and folds > 1:
        least -= float(values[best].std(ddof=1)) / math.sqrt(folds)
    return max(l2 for l2, mean in zip(l2s, means, strict=True) if mean >= least)
