"""How the weights of a run came about and what they say: the recipe, the learning curve, each weight or curve."""

from collections.abc import Iterator, Sequence
from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

from ltr.errors import count
from ltr.records.training import (
    AlternativeRecord,
    EpochRecord,
    NewcomersRecord,
    PerFeature,
    RecommendedChoiceRecord,
    TrainingRecord,
)
from ltr.report.charts import Estimate, bars, curve, estimates, estimates_table, thinned
from ltr.report.metrics import title_of
from ltr.report.page import Block, Figure, Line, TerminalBlock
from ltr.report.table import Bounds, Column, Kind, Medium, Table, Value
from ltr.report.words import NONE, fixed, objective, percent, sentence, short
from ltr.training import effective_text

if TYPE_CHECKING:
    from ltr.flow import RunResult
    from ltr.results import Evaluated
    from ltr.runs import ModelRecord

MOST_ROWS = 70  # of the table under a drawing, which has more
MOST_CURVES = MOST_PRODUCTS = 12
FORMS = {"hessian": "plain", "by_trace": "by trace", "by_group": "by query"}  # of standard errors
TWICE = "each group counts twice: with right tools before it, and with choices of models that saw nothing of its trace"
SKIPPED = {
    "groups_one_candidate": "with one candidate",
    "groups_no_positive": "without a right candidate",
    "groups_equally_right": "without a wrong candidate",
}
ALTERNATIVES = (
    "Alternatives on traces left out, and the difference of their MRR to that of the chosen one; of a query with "
    "several right answers the average precision counts; "
    "lines: a weight for each column, knots: a curve for each, products: each two columns multiplied too"
)


class Among(Enum):
    """The numbers of a feature that are shown together."""

    WEIGHTS = auto()
    ERRORS = auto()  # where there are standard errors
    CURVES = auto()
    LOSSES = auto()  # where they were computed


class OfFeature(NamedTuple):
    """A number of each feature on the terminal and on the page of a run."""

    among: Among
    column: Column


# How each number is shown; None: beside another, or in a warning. The type check fails where one is left out.
COLUMNS = PerFeature[OfFeature | None](
    weight=OfFeature(Among.WEIGHTS, Column("weight", "weight", Kind.WEIGHT)),
    unpenalised=OfFeature(Among.ERRORS, Column("unpenalised", "at l2 0", Kind.WEIGHT)),
    standard_error=OfFeature(Among.ERRORS, Column("standard_error", "standard error", Kind.AMOUNT, Medium.PAGE)),
    low=OfFeature(Among.ERRORS, Column("", "95 %", Kind.WEIGHT_INTERVAL)),
    high=None,
    z=OfFeature(Among.ERRORS, Column("z", "z", Kind.Z)),
    shrinkage=None,
    lowest_at=OfFeature(Among.CURVES, Column("lowest_at", "adds least at", Kind.AMOUNT)),
    highest_at=OfFeature(Among.CURVES, Column("highest_at", "adds most at", Kind.AMOUNT)),
    range=OfFeature(Among.CURVES, Column("range", "range", Kind.SCORE)),
    loss_without=OfFeature(Among.LOSSES, Column("loss_without", "loss without", Kind.LOSS)),
)


# Tables of features.


def weights_table(training: TrainingRecord) -> Table:
    """Return each feature with its weight and the loss without it, and how sure that is where it is known."""
    shown = {Among.WEIGHTS, Among.ERRORS} if training.errors.form else {Among.WEIGHTS}
    where = ", where the other features have their centre" if training.products else ""
    return _of_features(training, tuple(training.weights), shown, f"Weights as they multiply the features{where}")


def curves_table(training: TrainingRecord, names: Sequence[str]) -> Table:
    """Return each feature with what it adds to the score as its value grows, and the loss without it."""
    knots = Column("knots", "knots", Kind.COUNT, value=lambda name: len(training.curves[name]) - 2)
    return _of_features(training, names, {Among.CURVES}, "What each feature adds to the score", knots)


def products_table(training: TrainingRecord) -> Table:
    """Return the products that move the score most."""
    columns = (Column("first", "feature"), Column("second", "times"), Column("range", "range", Kind.SCORE))
    return Table.of(columns, training.products[:MOST_PRODUCTS], "What each two features add together")


def _of_features(
    training: TrainingRecord, names: Sequence[str], among: set[Among], caption: str, *first: Column
) -> Table:
    """Return the features of these names: other columns first, then numbers of each."""
    records = [training.weights[name] for name in names]
    if any(record.loss_without is not None for record in records):
        among = among | {Among.LOSSES}
    fields: list[OfFeature | None] = [getattr(COLUMNS, field) for field in COLUMNS.__struct_fields__]
    named = Table.of((Column("feature", "feature", value=str), *first), names)
    numbers = Table.of((field.column for field in fields if field and field.among in among), records)
    rows = tuple((*name, *values) for name, values in zip(named.rows, numbers.rows, strict=True))
    return Table((*named.columns, *numbers.columns), rows, caption)


def weight_or_curve(training: TrainingRecord, name: str) -> Value:
    """Return the feature's weight; no number describes one that changes with its value, or with other features."""
    if name not in training.weights:
        return None
    if len(training.curves.get(name, ())) > 2:
        return "a curve"
    is_multiplied = any(name in (pair.first, pair.second) for pair in training.products)
    return "depends on the others" if is_multiplied else training.weights[name].weight


def alternatives_table(choice: RecommendedChoiceRecord) -> Table:
    """Return each alternative from simple to rich, with its loss, Top-1 and MRR, and the paired interval of the MRR."""
    chosen = frozenset(place for place, way in enumerate(choice.alternatives) if way.title == choice.chosen)

    def difference(way: AlternativeRecord) -> Value:
        return "chosen" if way.title == choice.chosen else way.difference

    def ends(way: AlternativeRecord) -> Value:
        return None if way.title == choice.chosen else Bounds(way.low, way.high)

    columns = (
        Column("title", "alternative"),
        Column("loss", "loss", Kind.NEAR_LOSS),
        Column("top1_accuracy", "top-1", Kind.SHARE),
        Column("mrr", "MRR", Kind.SHARE),
        Column("difference", "difference", Kind.DIFFERENCE, value=difference),
        Column("", "95 %, by trace", Kind.INTERVAL, value=ends),
    )
    return Table.of(columns, choice.alternatives, ALTERNATIVES, marked=chosen)


# In words.


def choice_headline(choice: RecommendedChoiceRecord) -> str:
    """Say what was chosen, and why only where no folds could choose.

    >>> choice_headline(RecommendedChoiceRecord("ten", "the least loss", 5, []))
    'settings that 5-fold cross-validation chose among 0: ten'
    """
    if not choice.folds:
        return f"chosen: {choice.chosen}; {choice.reason}"
    return f"settings that {choice.folds}-fold cross-validation chose among {len(choice.alternatives)}: {choice.chosen}"


def choice_text(choice: RecommendedChoiceRecord) -> str:
    """Say what was chosen and why.

    >>> choice_text(RecommendedChoiceRecord("tool.proto alone", "no folds: 1 training trace, too few for folds"))
    'chosen: tool.proto alone; no folds: 1 training trace, too few for folds'
    """
    return f"{choice_headline(choice)}; {choice.reason}" if choice.folds else choice_headline(choice)


def errors_text(training: TrainingRecord) -> str:
    """Return the form of the standard errors: plain, or by what they are clustered, and how many clusters count."""
    form, clusters = training.errors.form, training.errors.clusters
    counted = training.errors.effective_clusters
    if form != "by_trace":
        return FORMS.get(str(form), NONE)
    effective = effective_text(clusters, counted) if isinstance(counted, float) else ""
    return f"by trace, {clusters} clusters{f', that count as {effective}' if effective else ''}"


def newcomers_text(learned: NewcomersRecord) -> str:
    """Say what is added to the score of a tool that was never right.

    >>> newcomers_text(NewcomersRecord(0.5, -0.25, 60, 900))
    'Tools that were never right get +0.500 -0.250 tool.zero_shot, learned from 900 queries, 60 for tools held out'
    """
    added = f"{learned.offset:+.3f} {learned.slope:+.3f} tool.zero_shot"
    queries = f"{count(learned.queries, 'query', 'queries')}, {learned.held_out:,} for tools held out"
    return f"Tools that were never right get {added}, learned from {queries}"


# On a page.


def learning_section(model: "ModelRecord", history: list[EpochRecord]) -> Iterator[Block | None]:
    """Yield the loss of each epoch over the optimum, the metric on validation data, and how the training went."""
    training, is_descent = model.training, model.trainer.trainer == "descent"
    turn = "epoch" if is_descent else "step"
    valid = [(float(epoch.epoch), epoch.valid) for epoch in history if epoch.valid is not None]
    columns = [Column("epoch", turn, Kind.COUNT), Column("loss", "loss", Kind.AMOUNT)]
    columns += [Column("valid", "validation", Kind.AMOUNT)] if valid else []
    epochs = Table.of(columns, thinned(history, MOST_ROWS), "Loss by epoch")
    what = "The mean of each query's objective before its own step" if is_descent else "The objective of each step"
    yield curve(
        Figure("Learning curve", f"{what}; the broken line is the exact optimum.", epochs),
        [(float(epoch.epoch), epoch.loss) for epoch in history],
        (turn, "loss"),
        level=None if training.objective is None or training.gap is None else training.objective - training.gap,
    )
    metric = training.watched.metric if training.watched else "validation"
    watched = f"{metric} after each pass; the best epoch is the model's."
    yield curve(Figure("On validation data", watched, epochs), valid, (turn, metric))
    yield " ".join(_learned(model, turn))
    if training.choice:
        yield sentence(choice_text(training.choice))
        yield alternatives_table(training.choice) if training.choice.alternatives else None
    basis = (
        ("gradient norm", short(training.gradient_norm)),
        ("groups that count, by weight", short(training.effective_groups)),
        ("groups where all candidates are equally right", f"{training.groups_all_alike:,}"),
        ("condition number of the columns", short(training.condition_number)),
        ("share of the possible gain that the penalty takes", percent(training.lost_to_penalty)),
        ("standard errors", errors_text(training)),
    )
    yield Table((Column("what", ""), Column("value", "value", Kind.WRITTEN)), basis, "What the weights rest on")


def _learned(model: "ModelRecord", turn: str) -> Iterator[str]:
    """Say how the training went."""
    training, trainer = model.training, model.trainer
    how = f"{trainer.trainer}, l2 {trainer.penalty:g}, {count(training.epochs, turn)}"
    yield f"Learned from {count(training.groups, 'group')} by {how}."
    if training.gap is not None:
        yield f"Distance to the optimum: {short(training.gap)}."
    elif training.optimum and not training.escape:
        yield "Not proved to be the optimum."
        if training.gap_bound is not None:
            yield f"At most {short(training.gap_bound)} above the optimum."
    if training.watched:
        yield f"Validation data chose epoch {training.watched.best_epoch}."
    if skipped := sum(getattr(training, name) for name in SKIPPED):
        reasons = "one candidate, or none right" + (", or none wrong" if training.groups_equally_right else "")
        yield f"{count(skipped, 'group')} could not train: {reasons}."
    if training.not_identified:
        yield f"Not identified: {', '.join(training.not_identified)}."


def weights_section(training: TrainingRecord) -> Iterator[Block | None]:
    """Yield each weight or curve, drawn and in a table; then how the standard errors were made."""
    if not training.weights:
        return
    caption = "Loss without each feature"
    table = _of_features(training, tuple(training.weights), set(), caption)
    losses = bars(
        Figure(caption, "How far the best reachable objective rises when the feature is left out.", table),
        [(name, of.loss_without, f"{name}: {short(of.loss_without)}") for name, of in training.weights.items()],
    )
    if training.curves:
        yield losses
        yield from _curves(training)
    else:
        yield from (_weights(training), losses, weights_table(training))
    if training.products:
        shown, number = min(MOST_PRODUCTS, len(training.products)), len(training.products)
        first = f"The {shown} of {number} products that move the score most. " if shown < number else ""
        yield products_table(training)
        yield (
            f"{first}A product makes one feature count more, or less, where the other is high. Its range is the "
            "difference between the most and the least that it adds to a training candidate. Explanations give half "
            "of it to each of its features."
        )
    if training.newcomers:
        yield f"{newcomers_text(training.newcomers)}."
    if training.errors.form is not None:
        yield f"Standard errors of the weights without a penalty, {errors_text(training)}."
    elif training.errors.reason:
        yield f"No standard errors: {training.errors.reason}."


def _weights(training: TrainingRecord) -> Block | None:
    """Draw the weights with their intervals, in one unit where the deviations of the features are recorded."""
    scales = training.deviations if len(training.deviations or ()) == len(training.weights) else None
    comparable = "times the deviation of its feature, which makes weights comparable"
    unit = comparable if scales else "as they multiply the features"
    unit += ", where the other features have their centre" if training.products else ""
    has_errors, rows = training.errors.form is not None, []
    for (name, of), scale in zip(training.weights.items(), scales or [1.0] * len(training.weights), strict=True):
        numbers = (of.weight, of.unpenalised, of.low, of.high)
        value, free, low, high = (None if number is None else number * scale for number in numbers)
        others = (("weight at l2 0", free),) if has_errors else ()
        rows.append(Estimate(name, value, low, high, others, f"{name}: {short(of.weight)}"))
    names = ("weight", "weight at l2 0") if has_errors else ("weight",)
    title = "Weights and how sure they are" if has_errors else "The weight of each feature"
    how_sure = " A diamond is the weight without a penalty, the line its 95 % interval." if has_errors else ""
    table = estimates_table(f"Each weight {unit}", ("feature", *names), rows)
    return estimates(Figure(title, f"Each weight {unit}.{how_sure}", table), rows, names, zero=True)


def _curves(training: TrainingRecord) -> Iterator[Block | None]:
    """Yield what each feature adds to the score by its value: the strongest drawn, and a table of all."""
    strength = {
        name: (of.loss_without or 0.0, of.range or 0.0, name)
        for name, of in training.weights.items()
        if training.curves.get(name)
    }
    names = sorted(strength, key=lambda name: strength[name], reverse=True)
    columns = (Column("value", "value", Kind.AMOUNT), Column("adds", "adds", Kind.AMOUNT))
    for name in names[:MOST_CURVES]:
        points, does = training.curves[name], f"What {name} adds"
        added = [(value, height - points[0][1]) for value, height in thinned(points, MOST_ROWS)]
        what = "What each value of the feature adds to the score. Its least value in the training data adds 0."
        yield curve(Figure(does, what, Table(columns, tuple(added), f"{does} by its value")), added, ("value", "adds"))
    yield curves_table(training, names)
    first = f"The first {MOST_CURVES} of {len(names)} curves are drawn. " if len(names) > MOST_CURVES else ""
    yield f"{first}Each curve has a scale of its own; its dots are its knots and its ends."


# On a terminal.


def alternative_blocks(training: TrainingRecord) -> Iterator[TerminalBlock]:
    """Yield every alternative that folds chose among, and the choice with its reason."""
    if training.choice:
        yield from (alternatives_table(training.choice), Line()) if training.choice.alternatives else ()
        yield choice_text(training.choice)


def weight_blocks(training: TrainingRecord) -> Iterator[TerminalBlock]:
    """Yield each feature with its weight and how sure that is, or with its curve; and the loss without it."""
    yield curves_table(training, list(training.weights)) if training.curves else weights_table(training)
    if training.products:
        shown = min(MOST_PRODUCTS, len(training.products))
        heading = f"the {shown} of {count(len(training.products), 'product')} that move the score most"
        yield from (Line(), Line(heading), products_table(training))


def trust_texts(result: "RunResult") -> Iterator[str]:
    """Say how w came about, what it rests on, and what is wrong with it."""
    training, settings, terms = result.router.training, result.router.trainer, result.model.terms
    counts = ((len(terms.knots), "knot"), (len(terms.products), "product"))
    counted = "".join(f"{count(number, noun)}, " for number, noun in counts if number)
    steps = count(training.epochs, "epoch" if settings.trainer == "descent" else "step")
    how = f"{settings.trainer}, l2 {settings.penalty:g}, {counted}{steps}"
    yield f"learned from {count(training.groups, 'group')} by {how}: objective {_objective(training)}"
    errors, form = training.errors, ""
    if errors.form:
        effective = effective_text(errors.clusters, errors.effective_clusters or errors.clusters)
        many = f" ({errors.clusters:,}{f' that count as {effective}' if effective else ''})"
        form = f", standard errors {FORMS[errors.form]}{many if errors.form == 'by_trace' else ''}"
    yield (
        f"gradient norm {training.gradient_norm:.1e}, effective groups {training.effective_groups:,.0f}, "
        f"condition number {training.condition_number:.3g}{form}"
    )
    yield TWICE if training.past == "labels" else ""
    yield newcomers_text(training.newcomers) if training.newcomers else ""
    if (chosen := training.validated) is not None:
        best = next(choice.value for choice in chosen.path if choice.l2 == chosen.l2)
        yield f"l2 {chosen.l2:g} of {len(chosen.path)}, {_best(chosen.metric, best)}"
    if (watched := training.watched) is not None:
        yield f"kept epoch {watched.best_epoch:,}, {_best(watched.metric, watched.best)}"
    yield from fold_texts(result.measured, result.config.data.split)
    skipped = [f"{number:,} {words}" for name, words in SKIPPED.items() if (number := getattr(training, name))]
    yield f"groups that cannot train: {', '.join(skipped)}" if skipped else ""
    if training.escape:
        yield f"no optimum: the loss falls for ever along {training.escape}; set an l2 above 0"
    elif errors.form is None:
        yield f"no standard errors: {errors.reason}"
    if training.not_identified:
        yield f"not identified, changes no probability: {', '.join(training.not_identified)}"
    yield from (f"note: {warning}" for warning in training.warnings)


def _objective(training: TrainingRecord) -> str:
    """Return the objective, and how far from the optimum it is."""
    written = objective(training.objective)
    if training.optimum == "found":
        return f"{written}, the optimum"
    if training.gap is not None:
        return f"{written}, {training.gap:.2g} above the optimum"
    if training.gap_bound is None:
        return written
    return f"{written}, not proved to be the optimum; at most {training.gap_bound:.2g} above it"


def _best(metric: str, value: float) -> str:
    return f"the best on validation data: {title_of(metric)} {value:.4f}"


def fold_texts(measured: "Evaluated", split: str) -> Iterator[str]:
    """Say what cross-validation measured: pooled, and from the least fold to the greatest."""
    folds = measured.folds
    if folds is None:
        return
    texts = []
    for name, mean in folds.pooled.items():
        values = [value for means in folds.each if (value := means[name]) is not None]
        spread = f" ({min(values):.3f} to {max(values):.3f})" if values else ""
        texts.append(f"{title_of(name)} {fixed(mean)}{spread}")
    chosen = f", l2 {folds.l2:g} chosen of {len(folds.l2s)}" if len(folds.l2s) > 1 else ""
    past = ", right tools as the past (labels)" if folds.past == "labels" else ""
    yield f"{len(folds.each)} folds by {split}{chosen}{past}: {', '.join(texts)}"
