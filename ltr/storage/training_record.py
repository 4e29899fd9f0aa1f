"""The record of a training in model.json: one description for writing, reading and showing it."""

import msgspec

from ltr.evaluation.ranking import BestFeature

NO_FEATURE = BestFeature("", 1)


class WeightRecord(msgspec.Struct, omit_defaults=True):
    """The weight of a feature with its statistics; a number that was not computed is left out."""

    weight: float
    unpenalised: float | None = None
    standard_error: float | None = None
    z: float | None = None
    low: float | None = None
    high: float | None = None
    shrinkage: float | None = None  # share of the unpenalised weight that the penalty, or stopping early, took away
    loss_without: float | None = None  # how far the optimum rises without the feature
    lowest_at: float | None = None  # of a curve: the value at which it adds least
    highest_at: float | None = None
    range: float | None = None  # how much more it adds at most than at least


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


class TrainingRecord(msgspec.Struct, kw_only=True):
    """A training: its objective and distance to the optimum, the weights with their standard errors, its warnings."""

    groups: int = 0
    groups_one_candidate: int = 0
    groups_no_positive: int = 0
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
    errors: ErrorsRecord = msgspec.field(default_factory=ErrorsRecord)
    watched: WatchedRecord | None = None
    warnings: list[str] = []
    best_feature: BestFeature = NO_FEATURE
    traces: list[str] = []  # short hashes of the traces it learned from
    folds: ChoiceRecord | None = None
    validated: ChoiceRecord | None = None
