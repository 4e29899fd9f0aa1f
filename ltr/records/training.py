"""The record of a training in model.json: one description for writing, reading and showing it."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Generic, TypeVar

import msgspec
import numpy as np

from ltr.evaluation import Baseline, BestFeature

if TYPE_CHECKING:
    import numpy.typing as npt

    from ltr.training import Diagnosis, Model, Training, Watched

NO_FEATURE = BestFeature("", 1)
Value = TypeVar("Value")


class PerFeature(msgspec.Struct, Generic[Value], kw_only=True):
    """The numbers of a feature's weight, or how each of them is shown.

    No field has a default: the type check fails until whoever adds one computes it here, and says in
    report/training.py how it is shown.
    """

    weight: Value
    unpenalised: Value
    standard_error: Value
    low: Value
    high: Value
    z: Value
    shrinkage: Value  # share of the unpenalised weight that the penalty, or stopping early, took away
    lowest_at: Value  # of a curve: the value at which it adds least
    highest_at: Value
    range: Value  # how much more it adds at most than at least
    loss_without: Value  # how far the optimum rises without the feature


class WeightRecord(PerFeature[float | None], kw_only=True):
    """The weight of a feature with its statistics; None: not computed, or no finite number."""

    weight: float


class ProductRecord(msgspec.Struct):
    """Two features whose product the score has, and how much more it adds at most than at least."""

    first: str
    second: str
    range: float


class ErrorsRecord(msgspec.Struct, omit_defaults=True):
    """How the standard errors came about; without a form, why there are none."""

    form: str | None = None  # hessian: its inverse; by_trace, by_group: the sandwich, clustered
    reason: str = ""
    clusters: int = 0
    effective_clusters: float | None = None
    level: float = 0.95


class WatchedRecord(msgspec.Struct):
    """The metric on validation data: at the epoch whose weights were returned, and at the last."""

    metric: str
    best_epoch: int
    best: float
    last: float


class PenaltyRecord(msgspec.Struct, omit_defaults=True):
    """One l2 and its metric on held-out data; over folds the mean with its standard error."""

    l2: float
    value: float
    standard_error: float | None = None


class ChoiceRecord(msgspec.Struct, omit_defaults=True):
    """How l2 was chosen: by folds, or by validation data."""

    metric: str
    l2: float
    path: list[PenaltyRecord] = []
    folds: int | None = None


class AlternativeRecord(msgspec.Struct, omit_defaults=True):
    """One way to train, its loss and metrics on what it did not learn from, and the loss beside the chosen one's."""

    title: str
    loss: float
    top1_accuracy: float
    mrr: float  # of a query with several right candidates the average precision counts
    difference: float  # of its MRR to that of the chosen one, paired by trace
    low: float | None = None  # of its 95 % interval; None: one trace
    high: float | None = None


class RecommendedChoiceRecord(msgspec.Struct, omit_defaults=True):
    """What folds chose for the recommended recipe, and why."""

    chosen: str
    reason: str
    folds: int = 0
    alternatives: list[AlternativeRecord] = []  # from simple to rich


class NewcomersRecord(msgspec.Struct):
    """What is added to the score of a tool that was never right, a + b zero_shot, and what that was learned from."""

    offset: float  # a
    slope: float  # b
    held_out: int  # queries for tools held out
    queries: int  # all that were left out


class EpochRecord(msgspec.Struct, omit_defaults=True):
    """A line of history.jsonl: the loss of an epoch, and what validation data said after it."""

    epoch: int
    loss: float
    valid: float | None = None


class BaselinesRecord(msgspec.Struct):
    """Rankings that need no training: the one that results are compared with, and what each has in training."""

    compared: str = Baseline.BEST_FEATURE
    top1: dict[str, float] = {}  # of the training groups
    left_out: dict[str, str] = {}  # which are not compared, and why
    uses: dict[str, Annotated[int, msgspec.Meta(ge=1)]] = {}  # how often a tool, or a type of graphs, was right


class TrainingRecord(msgspec.Struct, kw_only=True):
    """A training: its objective and distance to the optimum, the weights with their standard errors, its warnings."""

    groups: int = 0
    groups_one_candidate: int = 0
    groups_no_positive: int = 0
    groups_equally_right: int = 0
    groups_all_alike: int = 0
    effective_groups: float | None = None
    epochs: int = 0
    objective: float | None = None
    objective_at_zero: float | None = None
    possible_gain: float | None = None
    lost_to_penalty: float | None = None
    gap: float | None = None
    gap_bound: float | None = None
    gradient_norm: float | None = None
    optimum: str = ""
    deviations: list[float] | None = None
    escape: str | None = None
    not_identified: list[str] = []
    condition_number: float | None = None
    scale_ratio: float | None = None
    collinear: list[tuple[str, str, float]] = []
    weights: dict[str, WeightRecord] = {}
    curves: dict[str, list[tuple[float, float]]] = {}
    products: list[ProductRecord] = []  # from the greatest range to the least
    errors: ErrorsRecord = msgspec.field(default_factory=ErrorsRecord)
    watched: WatchedRecord | None = None
    warnings: list[str] = []
    best_feature: BestFeature = NO_FEATURE  # of all columns that were made, also those that folds left out
    baselines: BaselinesRecord = msgspec.field(default_factory=BaselinesRecord)
    traces: list[str] = []  # short hashes of the traces it learned from
    answers: list[str] = []  # short hashes of the tools that were right
    past: str = ""  # what came before its queries: logged, or labels; "": nothing was known
    folds: ChoiceRecord | None = None
    choice: RecommendedChoiceRecord | None = None
    validated: ChoiceRecord | None = None
    newcomers: NewcomersRecord | None = None


def training_record(
    model: "Model",
    diagnosis: "Diagnosis",
    names: Sequence[str],
    *,
    is_l2_chosen: bool = False,
) -> TrainingRecord:
    """The record of a training, columns by name; `is_l2_chosen`: see `Diagnosis.warnings`."""
    from ltr.training import direction_text

    training = model.training
    columns = model.terms.names(names)
    return TrainingRecord(
        groups=training.groups,
        groups_one_candidate=training.skipped.one_candidate,
        groups_no_positive=training.skipped.no_positive,
        groups_equally_right=training.skipped.equally_right,
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
        products=product_records(model, diagnosis, names),
        errors=errors_record(diagnosis),
        watched=None if training.watched is None else watched_record(training.watched),
        warnings=list(diagnosis.warnings(model, names, is_l2_chosen=is_l2_chosen)),
    )


def errors_record(diagnosis: "Diagnosis") -> ErrorsRecord:
    """How the standard errors came about, or why there are none."""
    errors = diagnosis.errors
    if errors is None:
        return ErrorsRecord(reason=diagnosis.no_errors or "")
    return ErrorsRecord(errors.form, clusters=errors.clusters, effective_clusters=errors.effective_clusters)


def watched_record(watched: "Watched") -> WatchedRecord:
    """What validation data said of the epoch whose weights were returned, and of the last."""
    best, last = float(watched.values[watched.best_epoch - 1]), float(watched.values[-1])
    return WatchedRecord(watched.metric, watched.best_epoch, best, last)


def not_identified(diagnosis: "Diagnosis", names: Sequence[str]) -> list[str]:
    """The directions that change no probability, in words, without the columns that only rounding puts there."""
    from ltr.training import direction_text

    rows = np.where(diagnosis.is_open, diagnosis.not_identified, 0.0)
    return [direction_text(row * np.sign(row[np.argmax(row != 0)]), names, diagnosis.deviation) for row in rows]


def weight_records(model: "Model", diagnosis: "Diagnosis", names: Sequence[str]) -> dict[str, WeightRecord]:
    """Of each feature its weight, the unpenalised one with its standard error, and the loss without the feature.

    Of a curve the values at which it adds least and most, and how much more that is.
    """
    errors, weights, curves = diagnosis.errors, model.w[: len(names)], diagnosis.curves
    unpenalised = None if errors is None else errors.w
    with np.errstate(divide="ignore", invalid="ignore"):
        shrinkage = None if unpenalised is None else 1 - model.w / unpenalised

    def number(column: "npt.ArrayLike | None", place: int) -> float | None:
        value = math.nan if column is None else float(np.asarray(column)[place])
        return value if math.isfinite(value) else None

    return {
        name: WeightRecord(
            weight=float(weights[place]),
            unpenalised=number(unpenalised, place),
            standard_error=None if errors is None else number(errors.standard, place),
            low=None if errors is None else number(errors.interval[0], place),
            high=None if errors is None else number(errors.interval[1], place),
            z=None if errors is None else number(errors.z, place),
            shrinkage=number(shrinkage, place),
            lowest_at=float(curves[place][curves[place][:, 1].argmin(), 0]) if curves else None,
            highest_at=float(curves[place][curves[place][:, 1].argmax(), 0]) if curves else None,
            range=float(np.ptp(curves[place][:, 1])) if curves else None,
            loss_without=number(diagnosis.loss_without, place),
        )
        for place, name in enumerate(names)
    }


def product_records(model: "Model", diagnosis: "Diagnosis", names: Sequence[str]) -> list[ProductRecord]:
    """The products, from the greatest range to the least."""
    products, ranges = model.terms.products, diagnosis.product_ranges
    pairs = zip(products.first, products.second, ranges.tolist(), strict=True)
    records = [ProductRecord(names[first], names[second], reach) for first, second, reach in pairs]
    return sorted(records, key=lambda record: -record.range)


def epoch_records(training: "Training") -> list[EpochRecord]:
    """The loss of each epoch or step, with the metric on validation data where it was watched."""
    losses = training.history.tolist()
    values = [None] * len(losses) if training.watched is None else training.watched.values.tolist()
    return [EpochRecord(number, *epoch) for number, epoch in enumerate(zip(losses, values, strict=True), start=1)]
