"""What model.json says of a training: where w stands, how sure each weight is, what each feature is worth."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ltr.training.diagnosis import Diagnosis
from ltr.training.model import Model, direction_text

LEVEL = 0.95


def training_document(
    model: Model, diagnosis: Diagnosis, names: Sequence[str], best_feature: dict[str, Any]
) -> dict[str, Any]:
    """The training in plain JSON, columns by name."""
    columns = model.knots.names(tuple(names))
    return {
        **standing(model, diagnosis),
        "escape": None if diagnosis.escape is None else direction_text(diagnosis.escape, columns),
        "not_identified": not_identified(diagnosis, names),
        "condition_number": diagnosis.condition_number,
        "scale_ratio": diagnosis.scale_ratio,
        "collinear": [[names[first], names[second], found] for first, second, found in diagnosis.collinear],
        "weights": weights_document(model, diagnosis, names),
        "curves": {name: curve.tolist() for name, curve in zip(names, diagnosis.curves, strict=bool(diagnosis.curves))},
        "errors": errors_document(diagnosis),
        "watched": watched_document(model),
        "warnings": list(diagnosis.warnings(model, names)),
        "best_feature": best_feature,
    }


def standing(model: Model, diagnosis: Diagnosis) -> dict[str, Any]:
    """What w was learned from, and how far it is from the best there is."""
    known = model.training
    return {
        "groups": known.groups,
        "groups_one_candidate": known.skipped.one_candidate,
        "groups_no_positive": known.skipped.no_positive,
        "groups_all_alike": diagnosis.groups_all_alike,
        "effective_groups": diagnosis.effective_groups,
        "epochs": known.epochs,
        "objective": known.objective,
        "objective_at_zero": diagnosis.at_zero,
        "possible_gain": diagnosis.possible_gain,
        "lost_to_penalty": diagnosis.lost_to_penalty,
        "gap": diagnosis.gap,
        "gap_bound": known.gap_bound,
        "gradient_norm": known.gradient_norm,
        "optimum": known.optimum.value,
        "deviations": None if known.deviations is None else known.deviations.tolist(),
    }


def not_identified(diagnosis: Diagnosis, names: Sequence[str]) -> list[str]:
    """The directions that change no probability, in words, without the columns that only rounding puts there."""
    rows = np.where(diagnosis.is_open, diagnosis.not_identified, 0.0)
    return [direction_text(row * np.sign(row[np.argmax(row != 0)]), names, diagnosis.deviation) for row in rows]


def watched_document(model: Model) -> dict[str, Any] | None:
    """What validation data said of the epoch whose w is kept."""
    watched = model.training.watched
    if watched is None:
        return None
    best = float(watched.values[watched.best_epoch - 1])
    return {"metric": watched.metric, "best_epoch": watched.best_epoch, "best": best, "last": float(watched.values[-1])}


def errors_document(diagnosis: Diagnosis) -> dict[str, Any]:
    """How standard errors came about, or why there are none."""
    if diagnosis.errors is None:
        return {"form": None, "reason": diagnosis.no_errors}
    errors = diagnosis.errors
    counts = {"clusters": errors.clusters, "effective_clusters": errors.effective_clusters}
    return {"form": errors.form, **counts, "level": LEVEL}


def weights_document(model: Model, diagnosis: Diagnosis, names: Sequence[str]) -> dict[str, dict[str, float | None]]:
    """Of each feature its weight, the unpenalised one with its standard error, and what the feature is worth.

    Of a curve the values at which it adds least and most, and its range: how much more that is.
    Shrinkage: the share of the unpenalised weight that the penalty, or stopping early, took away.
    """
    columns: dict[str, Any] = {"weight": model.w[: len(names)]}
    if diagnosis.errors is not None:
        free, (low, high) = diagnosis.errors.w, diagnosis.errors.interval
        with np.errstate(divide="ignore", invalid="ignore"):
            shrinkage = 1 - model.w / free
        columns |= {"unpenalised": free, "standard_error": diagnosis.errors.standard, "z": diagnosis.errors.z}
        columns |= {"low": low, "high": high, "shrinkage": shrinkage}
    if diagnosis.loss_without is not None:
        columns["loss_without"] = diagnosis.loss_without
    if diagnosis.curves:
        columns["lowest_at"] = [curve[curve[:, 1].argmin(), 0] for curve in diagnosis.curves]
        columns["highest_at"] = [curve[curve[:, 1].argmax(), 0] for curve in diagnosis.curves]
        columns["range"] = [np.ptp(curve[:, 1]) for curve in diagnosis.curves]
    return {
        name: {key: finite(float(column[place])) for key, column in columns.items()} for place, name in enumerate(names)
    }


def finite(value: float) -> float | None:
    """The value; None where it is no finite number."""
    return value if math.isfinite(value) else None
