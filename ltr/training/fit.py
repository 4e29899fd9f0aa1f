"""Learn w: the trainers by name, and the one function that runs them."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ltr.arrays import FloatArray
from ltr.errors import DivergedError, RunError, UsageError
from ltr.plugins import OURS, blamed, unfit
from ltr.registry import Registry
from ltr.training.certificate import gap_bound
from ltr.training.config import OnEpoch, Progress, TrainConfig, Trainer, ignore, remedy
from ltr.training.curves import Knots
from ltr.training.descent import fit_descent
from ltr.training.early_stopping import Validation, Watcher
from ltr.training.identifiability import Geometry, in_units
from ltr.training.model import Fitted, Model, Training, Watched
from ltr.training.newton import fit_newton
from ltr.training.objective import Trainable, slope, trainable

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
    valid: Validation | None = None,
    on_epoch: OnEpoch = ignore,
    progress: Progress | None = None,
) -> Model:
    """The model that the configured trainer learns: w, and what is known about its distance to the optimum.

    With `valid` descent stops once its metric has not improved for `patience` epochs, and the best w is returned.
    `progress` is that of an epoch of the same training: it goes on from there.

    >>> phi = [[1.0], [0.0], [0.0], [1.0], [1.0], [0.0]]
    >>> model = fit(phi, [1, 0, 1, 0, 1, 0], [0, 2, 4, 6], TrainConfig(trainer="newton", l2=0.0))
    >>> model.w.round(6), str(model.training.optimum)  # ln 2: the odds are 2 to 1
    (array([0.693147]), 'found')
    """
    config = TrainConfig() if config is None else config
    if not isinstance(config, TrainConfig):
        raise UsageError(f"config is {config!r}; a TrainConfig is needed")
    trainer = looked_at(config.trainer)
    groups = trainable(phi, labels, offsets, weights=weights, targets_are=config.targets)
    knots = Knots.of(phi, config.knots)
    groups, units = in_units(groups, standardize=config.standardize, knots=knots)
    geometry = Geometry.of(groups)
    shown = on_epoch if units is None else lambda epoch: on_epoch(replace(epoch, w=epoch.w / units))
    is_watched = valid is not None and trainer is not fit_newton  # whose every w but the last is only on the way
    if progress is not None:
        progress.refuse_other(groups.phi.shape[1], config.epochs, is_watched=is_watched)
    elif len(knots) and trainer is fit_descent:
        progress = Progress(knots.start(config.init), ())
    going_on = () if progress is None else (progress,)  # a trainer that told of none takes none
    if valid is None or not is_watched:
        fitted, watched = trainer(groups, geometry, config, shown, *going_on), None
    else:
        watcher = Watcher(valid.with_curves(knots), config, units, shown)
        fitted, watched = watched_fit(trainer, groups, geometry, config, watcher, progress)
    model = Model(fitted.w, _training(groups, geometry, config, fitted, watched), knots)
    return model if units is None else in_raw_scale(model, units, standardized=config.standardize)


def looked_at(name: str) -> Trainer:
    """The trainer of that name; what a stranger's does wrong is told as its own, and what it prints is no result."""
    trainer, source = TRAINERS[name], TRAINERS.source(name)
    if source == OURS:
        return trainer

    def call(groups: Trainable, *others: Any) -> Fitted:
        with blamed(f"trainer {name}", trainer, source):
            found = trainer(groups, *others)
            is_sound = isinstance(found, Fitted) and np.shape(found.w) == groups.phi.shape[1:]
            if not (is_sound and np.ndim(found.history) == 1 and np.asarray(found.w).dtype.kind in "fiu"):
                problem = f"gave {type(found).__name__}; a Fitted with a number for each column is needed"
                raise unfit(trainer, f"trainer {name}: {problem}")
            return replace(found, w=np.asarray(found.w, dtype=float), history=np.asarray(found.history, dtype=float))

    return call


def watched_fit(
    trainer: Trainer,
    groups: Trainable,
    geometry: Geometry,
    config: TrainConfig,
    watcher: Watcher,
    progress: Progress | None,
) -> tuple[Fitted, Watched]:
    """What the trainer returns with the w of its best epoch, and what was seen on the way."""
    watcher = watcher.resumed(progress)
    if progress is not None and watcher.is_over:
        config = replace(config, epochs=len(progress.history))  # it was stopped there
    fitted = trainer(groups, geometry, config, watcher, *(() if progress is None else (progress,)))
    if watcher.best is None:
        raise RunError(f"{config.trainer} told of no epoch: nothing could be watched")
    return replace(fitted, w=watcher.best, at_end=None), watcher.record()


def in_raw_scale(model: Model, units: FloatArray, *, standardized: bool) -> Model:
    """The model of columns that were divided by units, for the columns as they are."""
    known = model.training
    with np.errstate(over="ignore"):
        w = model.w / units
    if not np.isfinite(w).all():
        raise RunError(f"the weight of column {int(np.argmin(np.isfinite(w)))} is too large for its raw scale")
    hidden = [_largest_one(direction / units) for direction in known.not_identified]
    escape = None if known.escape is None else _largest_one(known.escape / units)
    not_identified = np.array(hidden).reshape(known.not_identified.shape)
    deviations = units[: len(units) - len(model.knots)] if standardized else None
    known = replace(known, escape=escape, not_identified=not_identified, deviations=deviations)
    return replace(model, w=w, training=known)


def _largest_one(direction: FloatArray) -> FloatArray:
    return direction / np.abs(direction).max()


def _training(
    groups: Trainable, geometry: Geometry, config: TrainConfig, fitted: Fitted, watched: Watched | None
) -> Training:
    """What is known of the w that was fitted."""
    with np.errstate(over="ignore", invalid="ignore"):  # of a w too large, which is refused here
        at_end = fitted.at_end or slope(groups, fitted.w, geometry.scale)
        objective = at_end.loss + config.penalty * float(fitted.w @ fitted.w)
        by_deviation = at_end.gradient + 2 * config.penalty * fitted.w / geometry.scale
    if not math.isfinite(objective):
        raise DivergedError(f"{config.trainer} diverged: its objective is {objective}; {remedy(config)}")
    return Training(
        trainer=config.trainer,
        groups=groups.groups,
        skipped=groups.skipped,
        epochs=fitted.epochs,
        history=fitted.history,
        objective=objective,
        gradient_norm=math.hypot(*(by_deviation if config.penalty else geometry.identified_part(by_deviation))),
        gap_bound=gap_bound(by_deviation * geometry.scale, config.penalty),
        optimum=fitted.optimum,
        escape=fitted.escape,
        not_identified=geometry.not_identified(),
        watched=watched,
    )
