"""What a training came to, for its record: where the weights stand, how sure each is, the loss without a feature."""

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from ltr.evaluation.ranking import BestFeature
from ltr.storage.records import EpochRecord
from ltr.storage.training_record import NO_FEATURE, ErrorsRecord, TrainingRecord, WatchedRecord, WeightRecord
from ltr.training.diagnosis import Diagnosis
from ltr.training.model import Model, Training, Watched, direction_text


def training_record(
    model: Model, diagnosis: Diagnosis, names: Sequence[str], best_feature: BestFeature = NO_FEATURE
) -> TrainingRecord:
    """The record of a training, columns by name."""
    training = model.training
    columns = model.knots.names(tuple(names))
    return TrainingRecord(
        groups=training.groups,
        groups_one_candidate=training.skipped.one_candidate,
        groups_no_positive=training.skipped.no_positive,
        groups_all_alike=diagnosis.groups_all_alike,
        effective_groups=diagnosis.effective_groups,
        epochs=training.epochs,
        objective=training.objective,
        objective_at_zero=diagnosis.at_zero,
        possible_gain=diagnosis.possible_gain,
        lost_to_penalty=diagnosis.lost_to_penalty,
        gap=diagnosis.gap,
        gap_bound=training.gap_bound,
        gradient_norm=training.gradient_norm,
        optimum=training.optimum.value,
        deviations=None if training.deviations is None else training.deviations.tolist(),
        escape=None if diagnosis.escape is None else direction_text(diagnosis.escape, columns),
        not_identified=not_identified(diagnosis, names),
        condition_number=diagnosis.condition_number,
        scale_ratio=diagnosis.scale_ratio,
        collinear=[(names[first], names[second], share) for first, second, share in diagnosis.collinear],
        weights=weight_records(model, diagnosis, names),
        curves={
            name: [(value, added) for value, added in curve.tolist()]
            for name, curve in zip(names, diagnosis.curves, strict=bool(diagnosis.curves))
        },
        errors=errors_record(diagnosis),
        watched=None if training.watched is None else watched_record(training.watched),
        warnings=list(diagnosis.warnings(model, names)),
        best_feature=best_feature,
    )


def epoch_records(training: Training) -> list[EpochRecord]:
    """The loss of each epoch or step, with the metric on validation data where it was watched."""
    losses = training.history.tolist()
    values = [None] * len(losses) if training.watched is None else training.watched.values.tolist()
    return [EpochRecord(number, *epoch) for number, epoch in enumerate(zip(losses, values, strict=True), start=1)]


def errors_record(diagnosis: Diagnosis) -> ErrorsRecord:
    """How the standard errors came about, or why there are none."""
    errors = diagnosis.errors
    if errors is None:
        return ErrorsRecord(reason=diagnosis.no_errors or "")
    return ErrorsRecord(errors.form, clusters=errors.clusters, effective_clusters=errors.effective_clusters)


def watched_record(watched: Watched) -> WatchedRecord:
    """What validation data said of the epoch whose weights were returned, and of the last."""
    best, last = float(watched.values[watched.best_epoch - 1]), float(watched.values[-1])
    return WatchedRecord(watched.metric, watched.best_epoch, best, last)


def not_identified(diagnosis: Diagnosis, names: Sequence[str]) -> list[str]:
    """The directions that change no probability, in words, without the columns that only rounding puts there."""
    rows = np.where(diagnosis.is_open, diagnosis.not_identified, 0.0)
    return [direction_text(row * np.sign(row[np.argmax(row != 0)]), names, diagnosis.deviation) for row in rows]


def weight_records(model: Model, diagnosis: Diagnosis, names: Sequence[str]) -> dict[str, WeightRecord]:
    """Of each feature its weight, the unpenalised one with its standard error, and the loss without the feature.

    Of a curve the values at which it adds least and most, and how much more that is.
    """
    columns: dict[str, Any] = {"weight": model.w[: len(names)]}
    if diagnosis.errors is not None:
        unpenalised, (low, high) = diagnosis.errors.w, diagnosis.errors.interval
        with np.errstate(divide="ignore", invalid="ignore"):
            shrinkage = 1 - model.w / unpenalised
        columns |= {"unpenalised": unpenalised, "standard_error": diagnosis.errors.standard, "z": diagnosis.errors.z}
        columns |= {"low": low, "high": high, "shrinkage": shrinkage}
    if diagnosis.loss_without is not None:
        columns["loss_without"] = diagnosis.loss_without
    if diagnosis.curves:
        columns["lowest_at"] = [curve[curve[:, 1].argmin(), 0] for curve in diagnosis.curves]
        columns["highest_at"] = [curve[curve[:, 1].argmax(), 0] for curve in diagnosis.curves]
        columns["range"] = [np.ptp(curve[:, 1]) for curve in diagnosis.curves]
    numbers = {key: [float(value) for value in column[: len(names)]] for key, column in columns.items()}
    return {
        name: msgspec.convert(
            {key: column[place] for key, column in numbers.items() if math.isfinite(column[place])}, WeightRecord
        )
        for place, name in enumerate(names)
    }
