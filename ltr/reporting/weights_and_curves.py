"""What each feature weighs: its weight or its curve, how sure that is, and the loss without the feature."""

from collections.abc import Sequence
from enum import Enum, auto
from typing import NamedTuple

from ltr.errors import count
from ltr.reporting.charts import Estimate, Words, bars, curve, estimates, estimates_table, thinned
from ltr.reporting.number_formats import NONE, short
from ltr.reporting.page import Block, Section, Text
from ltr.reporting.table import Column, Kind, Medium, Table, Value, table_of
from ltr.storage.training_record import NewcomersRecord, PerFeature, TrainingRecord
from ltr.training.standard_errors import effective_text

MOST_ROWS = 70  # of the table under a drawing, which has more
MOST_CURVES = 12
MOST_PRODUCTS = 12
PRODUCTS_CAPTION = "What each two features add together"
FORMS = {"hessian": "plain", "by_trace": "by trace", "by_group": "by query"}  # of standard errors


class Among(Enum):
    """The numbers of a feature that are shown together."""

    WEIGHTS = auto()
    ERRORS = auto()  # where there are standard errors
    CURVES = auto()
    LOSSES = auto()  # where they were computed


class Shown(NamedTuple):
    """A number of each feature on the terminal and on the page of a run."""

    among: Among
    column: Column


# How each number is shown; None: beside another, or in a warning. The type check fails where one is left out.
COLUMNS = PerFeature[Shown | None](
    weight=Shown(Among.WEIGHTS, Column("weight", "weight", Kind.WEIGHT)),
    unpenalised=Shown(Among.ERRORS, Column("unpenalised", "at l2 0", Kind.WEIGHT)),
    standard_error=Shown(Among.ERRORS, Column("standard_error", "standard error", Kind.AMOUNT, Medium.PAGE)),
    low=Shown(Among.ERRORS, Column("", "95 %", Kind.WEIGHT_INTERVAL)),
    high=None,
    z=Shown(Among.ERRORS, Column("z", "z", Kind.Z)),
    shrinkage=None,
    lowest_at=Shown(Among.CURVES, Column("lowest_at", "adds least at", Kind.AMOUNT)),
    highest_at=Shown(Among.CURVES, Column("highest_at", "adds most at", Kind.AMOUNT)),
    range=Shown(Among.CURVES, Column("range", "range", Kind.SCORE)),
    loss_without=Shown(Among.LOSSES, Column("loss_without", "loss without", Kind.LOSS)),
)


def weights_table(training: TrainingRecord) -> Table:
    """Each feature with its weight and the loss without it; where there are standard errors, how sure that is."""
    shown = {Among.WEIGHTS, Among.ERRORS} if training.errors.form else {Among.WEIGHTS}
    where = ", where the other features have their centre" if training.products else ""
    return _of_features(training, tuple(training.weights), shown, f"Weights as they multiply the features{where}")


def curves_table(training: TrainingRecord, names: Sequence[str]) -> Table:
    """Each feature with what it adds to the score as its value grows, and the loss without it."""
    knots = Column("knots", "knots", Kind.COUNT, value=lambda name: len(training.curves[name]) - 2)
    return _of_features(training, names, {Among.CURVES}, "What each feature adds to the score", knots)


def products_table(training: TrainingRecord) -> Table:
    """The products that move the score most."""
    columns = (Column("first", "feature"), Column("second", "times"), Column("range", "range", Kind.SCORE))
    return table_of(columns, training.products[:MOST_PRODUCTS], PRODUCTS_CAPTION)


def _of_features(
    training: TrainingRecord, names: Sequence[str], among: set[Among], caption: str, *first: Column
) -> Table:
    """The features of these names: other columns first, then numbers of each."""
    records = [training.weights[name] for name in names]
    if any(record.loss_without is not None for record in records):
        among = among | {Among.LOSSES}
    listed: list[Shown | None] = [getattr(COLUMNS, field) for field in COLUMNS.__struct_fields__]
    numbers = table_of((shown.column for shown in listed if shown and shown.among in among), records)
    named = table_of((Column("feature", "feature", value=str), *first), names)
    rows = tuple((*name, *values) for name, values in zip(named.rows, numbers.rows, strict=True))
    return Table((*named.columns, *numbers.columns), rows, caption)


def weight_or_curve(training: TrainingRecord, name: str) -> Value:
    """The feature's weight in a cell: no number describes one that changes with its value, or with other features."""
    if name not in training.weights:
        return None
    if len(training.curves.get(name, ())) > 2:
        return "a curve"
    is_multiplied = any(name in (pair.first, pair.second) for pair in training.products)
    return "depends on the others" if is_multiplied else training.weights[name].weight


def errors_text(training: TrainingRecord) -> str:
    """The form of the standard errors: plain, or by what they are clustered, and how many clusters count."""
    form, clusters = training.errors.form, training.errors.clusters
    counted = training.errors.effective_clusters
    if form != "by_trace":
        return FORMS.get(str(form), NONE)
    effective = effective_text(clusters, counted) if isinstance(clusters, int) and isinstance(counted, float) else ""
    return f"by trace, {clusters} clusters{f', that count as {effective}' if effective else ''}"


def weights_section(training: TrainingRecord) -> Section:
    """Each weight or curve, drawn and in a table; then how the standard errors were made."""
    if not training.weights:
        return Section("Weights", ())
    losses = bars(
        Words(
            "Loss without each feature",
            "How far the best reachable objective rises when the feature is left out.",
            _of_features(training, tuple(training.weights), set(), "Loss without each feature"),
        ),
        [
            (name, feature.loss_without, f"{name}: {short(feature.loss_without)}")
            for name, feature in training.weights.items()
        ],
    )
    blocks = (
        [losses, *_curves(training)]
        if training.curves
        else [_weights_figure(training), losses, weights_table(training)]
    )
    if training.products:
        blocks += [products_table(training), Text(products_text(training))]
    if training.newcomers:
        blocks.append(Text(f"{newcomers_text(training.newcomers)}."))
    if training.errors.form is not None:
        blocks.append(Text(f"Standard errors of the weights without a penalty, {errors_text(training)}."))
    elif training.errors.reason:
        blocks.append(Text(f"No standard errors: {training.errors.reason}."))
    return Section("Weights", [block for block in blocks if block])


def newcomers_text(learned: NewcomersRecord) -> str:
    """What is added to the score of a tool that was never right.

    >>> newcomers_text(NewcomersRecord(0.5, -0.25, 60, 900))
    'Tools that were never right get +0.500 -0.250 tool.zero_shot, learned from 900 queries, 60 for tools held out'
    """
    added = f"{learned.offset:+.3f} {learned.slope:+.3f} tool.zero_shot"
    queries = f"{count(learned.queries, 'query', 'queries')}, {learned.held_out:,} for tools held out"
    return f"Tools that were never right get {added}, learned from {queries}"


def products_text(training: TrainingRecord) -> str:
    """How to read the products."""
    shown, number = min(MOST_PRODUCTS, len(training.products)), len(training.products)
    first = f"The {shown} of {number} products that move the score most. " if shown < number else ""
    return (
        f"{first}A product makes one feature count more, or less, where the other is high. Its range is the difference "
        "between the most and the least that it adds to a training candidate. Explanations give half of it to each of "
        "its features."
    )


def _weights_figure(training: TrainingRecord) -> Block | None:
    """The weights with their intervals, in one unit where the deviations of the features are recorded."""
    scales = training.deviations if len(training.deviations or ()) == len(training.weights) else None
    unit = (
        "times the deviation of its feature, which makes weights comparable"
        if scales
        else "as they multiply the features"
    )
    unit += ", where the other features have their centre" if training.products else ""
    has_errors, rows = training.errors.form is not None, []
    for (name, feature), scale in zip(training.weights.items(), scales or [1.0] * len(training.weights), strict=True):
        value, free, low, high = (
            None if number is None else number * scale
            for number in (feature.weight, feature.unpenalised, feature.low, feature.high)
        )
        others = (("weight at l2 0", free),) if has_errors else ()
        rows.append(Estimate(name, value, low, high, others, f"{name}: {short(feature.weight)}"))
    names = ("weight", "weight at l2 0") if has_errors else ("weight",)
    how_sure = " A diamond is the weight without a penalty, the line its 95 % interval." if has_errors else ""
    words = Words(
        "Weights and how sure they are" if has_errors else "The weight of each feature",
        f"Each weight {unit}.{how_sure}",
        estimates_table(f"Each weight {unit}", ("feature", *names), rows),
    )
    return estimates(words, rows, names, zero=True)


def _curves(training: TrainingRecord) -> list[Block | None]:
    """What each feature adds to the score by its value: the strongest drawn, and a table of all."""
    strength = {
        name: (feature.loss_without or 0.0, feature.range or 0.0, name)
        for name, feature in training.weights.items()
        if training.curves.get(name)
    }
    names = sorted(strength, key=lambda name: strength[name], reverse=True)
    blocks: list[Block | None] = []
    for name in names[:MOST_CURVES]:
        points = training.curves[name]
        added = [(value, height - points[0][1]) for value, height in thinned(points, MOST_ROWS)]
        columns = (Column("value", "value", Kind.AMOUNT), Column("adds", "adds", Kind.AMOUNT))
        words = Words(
            f"What {name} adds",
            "What each value of the feature adds to the score. Its least value in the training data adds 0.",
            Table(columns, tuple(added), f"What {name} adds by its value"),
        )
        blocks.append(curve(words, added, ("value", "adds")))
    first = f"The first {MOST_CURVES} of {len(names)} curves are drawn. " if len(names) > MOST_CURVES else ""
    scales = Text(f"{first}Each curve has a scale of its own; its dots are its knots and its ends.")
    return [*blocks, curves_table(training, names), scales]
