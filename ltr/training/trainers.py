"""Learn w: the trainers by name, and a fit on arrays or on designs."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ltr.arrays import FloatArray
from ltr.engine import IN_PROCESS, Engine
from ltr.errors import DivergedError, RunError, UsageError
from ltr.plugins import OURS, bad_result, plugin_errors
from ltr.registry import Registry
from ltr.training.certificate import gap_bound
from ltr.training.config import TrainConfig, remedy
from ltr.training.descent import fit_descent
from ltr.training.designs import Design, Designs, TrainingGroups, count_origins, training_groups
from ltr.training.epochs import OnEpoch, Progress, Validation, Watcher, ignore
from ltr.training.geometry import Geometry, in_units
from ltr.training.groups import Trainable
from ltr.training.model import Fitted, Model, Training, Watched
from ltr.training.newton import centre_of, fit_newton
from ltr.training.objective import slope
from ltr.training.terms import terms_of

Trainer = Callable[..., Fitted]  # (groups, geometry, config, on_epoch[, progress])
TRAINERS: Registry[Trainer] = Registry("trainer")


TRAINERS.add("descent", fit_descent)
TRAINERS.add("newton", fit_newton)
MANY = "takes all samples at once, in memory; a directory of columns is learned from with newton or descent"


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


def fit(
    phi: npt.ArrayLike,
    labels: npt.ArrayLike,
    offsets: npt.ArrayLike,
    config: TrainConfig | None = None,
    *,
    weights: npt.ArrayLike | None = None,
    score_offset: npt.ArrayLike | None = None,
    prior: FloatArray | None = None,
    valid: Validation | None = None,
    on_epoch: OnEpoch = ignore,
    progress: Progress | None = None,
) -> Model:
    """The model that the trainer of the config learns: w, and how far it is from the optimum.

    `score_offset` is added to the score of each row while w is learned, and only then: where rows were drawn, -log of
    the probability that each would be.
    `prior`: a weight for each column of phi that newton's penalty pulls towards instead of 0, in the scale of the
    training.
    With `valid` descent stops once the metric has not improved for `patience` epochs, and returns the best w.
    With `progress`, reported by an earlier epoch of the same training, the training resumes there.

    >>> phi = [[1.0], [0.0], [0.0], [1.0], [1.0], [0.0]]
    >>> model = fit(phi, [1, 0, 1, 0, 1, 0], [0, 2, 4, 6], TrainConfig(trainer="newton", l2=0.0))
    >>> model.w.round(6), str(model.training.optimum)  # ln 2: the odds are 2 to 1
    (array([0.693147]), 'found')
    """
    config = TrainConfig() if config is None else config
    if not isinstance(config, TrainConfig):
        raise UsageError(f"config is {config!r}; a TrainConfig is needed")
    designs = (Design(phi, labels, offsets, weights, score_offset),)
    return fit_designs(designs, config, prior=prior, valid=valid, on_epoch=on_epoch, progress=progress)


def fit_designs(
    designs: Designs,
    config: TrainConfig,
    *,
    prior: FloatArray | None = None,
    valid: Validation | None = None,
    on_epoch: OnEpoch = ignore,
    progress: Progress | None = None,
    engine: Engine = IN_PROCESS,
) -> Model:
    """Fit on one design in memory or on many: sums over them are added in their order, to the last digits of sums.

    Descent goes through the groups of one design after those of another; a plug-in's trainer takes one in memory.
    """
    trainer = checked_trainer(config.trainer)
    refuse_many(designs, config)
    all_groups = training_groups(designs, targets_are=config.targets, engine=engine)
    terms = terms_of(designs, config, engine=engine)
    groups, units = in_units(all_groups, standardize=config.standardize, terms=terms)
    geometry, columns = Geometry.of(groups), groups.columns
    if prior is not None and trainer is not fit_newton:
        raise UsageError(f"a prior needs trainer newton; {config.trainer} pulls the weights towards 0")
    if prior is not None and not (np.shape(prior) == (columns - len(terms),) and np.isfinite(prior).all()):
        raise UsageError(f"prior is {prior!r}; a finite number for each of {columns - len(terms)} columns is needed")
    centre = centre_of(prior, columns)
    report = on_epoch if units is None else lambda epoch: on_epoch(replace(epoch, w=epoch.w / units))
    is_watched = valid is not None and trainer is not fit_newton  # of newton only the last w is meant
    if progress is not None:
        progress.refuse_other(groups.columns, config.epochs, is_watched=is_watched)
    elif len(terms) and trainer is fit_descent:  # it starts with straight curves and without products
        start = np.zeros(groups.columns)
        start[: terms.features] = config.init
        progress = Progress(start, ())
    watcher, run_config = None, config
    if valid is not None and is_watched:
        watcher = Watcher(valid.with_terms(terms), config, units, report)
        if progress is not None and progress.watched:
            watcher.resume(progress)
            if watcher.is_over:
                run_config = replace(config, epochs=len(progress.history))  # it stopped there
    resumed = () if progress is None else (progress,)  # a trainer that reports no progress does not take one
    centred = {} if prior is None else {"centre": centre}
    fitted = trainer(groups, geometry, run_config, report if watcher is None else watcher, *resumed, **centred)
    if watcher is not None:
        fitted = replace(fitted, w=watcher.best_w(), at_end=None)
    watched = None if watcher is None else watcher.record()
    training = _training(groups, geometry, config, fitted, watched, centre)
    model = Model(fitted.w, training, terms)
    return model if units is None else in_raw_scale(model, units, standardized=config.standardize)


def refuse_many(designs: Designs, config: TrainConfig) -> None:
    """Raise for many designs where the trainer is one of a plug-in."""
    if not isinstance(designs, tuple) and checked_trainer(config.trainer) not in (fit_newton, fit_descent):
        raise UsageError(f"trainer {config.trainer} {MANY}")


def in_raw_scale(model: Model, units: FloatArray, *, standardized: bool) -> Model:
    """The model for the columns as they are, from that for the columns divided by units."""
    with np.errstate(over="ignore"):
        w = model.w / units
    if not np.isfinite(w).all():
        place, features = int(np.argmin(np.isfinite(w))), len(w) - len(model.terms)
        name = f"column {place}" if place < features else "a product or of a knot of these columns"
        raise RunError(f"the weight of {name} is too large for its raw scale")
    training = model.training
    not_identified = training.not_identified / units
    escape = None if training.escape is None else training.escape / units
    training = replace(
        training,
        escape=None if escape is None else escape / np.abs(escape).max(),
        not_identified=not_identified / np.abs(not_identified).max(axis=1, keepdims=True, initial=0.0),
        deviations=units[: len(units) - len(model.terms)] if standardized else None,
    )
    return replace(model, w=w, training=training)


def _training(
    groups: TrainingGroups,
    geometry: Geometry,
    config: TrainConfig,
    fitted: Fitted,
    watched: Watched | None,
    centre: FloatArray,
) -> Training:
    """What is known of the fitted w: its objective, gradient and distance to the optimum."""
    away = fitted.w - centre
    with np.errstate(over="ignore", invalid="ignore"):  # of a w too large: the next check refuses it
        at_end = fitted.at_end or slope(groups, fitted.w, geometry.scale)
        objective = at_end.loss + config.penalty * float(away @ away)
        by_deviation = at_end.gradient + 2 * config.penalty * away / geometry.scale
    if not math.isfinite(objective):
        raise DivergedError(f"{config.trainer} diverged: its objective is {objective}; {remedy(config)}")
    return Training(
        trainer=config.trainer,
        groups=count_origins(groups),
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
