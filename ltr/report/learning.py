"""How the weights came about, how sure they are, and what each feature is worth."""

from ltr.report.blocks import Block, Section, Table, Text
from ltr.report.charts import Estimate, Words, bars, curves, drawn_table, estimates, thinned
from ltr.report.figures import NONE, count, short
from ltr.report.reading import RunFiles, Training, Weight

MOST_EPOCHS = 60  # rows of the table; the drawing has more


def learning_section(run: RunFiles) -> Section:
    """The loss of each epoch over the optimum."""
    if run.model is None:
        return Section("Learning", ())
    known, trainer = run.model.training, run.model.trainer.get("trainer", "")
    losses = [(float(each.epoch), each.loss) for each in run.history]
    valid = [(float(each.epoch), each.valid) for each in run.history if each.valid is not None]
    has_valid = bool(valid)
    rows = tuple(
        (
            f"{run.history[int(place)].epoch:,}",
            short(run.history[int(place)].loss),
            short(run.history[int(place)].valid),
        )
        for place, _ in thinned([(float(place), 0.0) for place in range(len(run.history))])[
            :: max(1, min(len(run.history), 200) // MOST_EPOCHS)
        ]
    )
    heads = ("epoch" if trainer == "descent" else "step", "loss", "validation")
    table = Table(
        "Loss by epoch", heads if has_valid else heads[:2], rows if has_valid else tuple(row[:2] for row in rows)
    )
    words = Words(
        "Learning curve",
        "The objective after each pass over the data; the broken line is the exact optimum.",
        table,
    )
    optimum = None if known.objective is None or known.gap is None else known.objective - known.gap
    blocks: list[Block] = []
    if figure := curves(words, [("training loss", losses)], (heads[0], "loss"), level=optimum):
        blocks.append(figure)
    if has_valid:
        metric = str((known.watched or {}).get("metric", "validation"))
        watched = Words("On validation data", f"{metric} after each pass; the best one is kept.", table)
        figure = curves(watched, [(metric, valid)], (heads[0], metric), level=None)
        blocks += [figure] if figure else []
    return Section("Learning", (*blocks, Text(_how(run, known))))


def _how(run: RunFiles, known: Training) -> str:
    """One paragraph on the training."""
    trainer = run.model.trainer if run.model else {}
    steps = count(known.epochs, "epoch" if trainer.get("trainer") == "descent" else "step")
    told = f"Learned from {count(known.groups, 'group')} by {trainer.get('trainer')}, l2 {trainer.get('l2')}, {steps}."
    distance = f" Distance to the optimum: {short(known.gap)}." if known.gap is not None else ""
    skipped = known.groups_one_candidate + known.groups_no_positive
    left = f" {count(skipped, 'group')} could not train: one candidate, or none right." if skipped else ""
    stopped = f" Validation data chose epoch {known.watched.get('best_epoch')}." if known.watched else ""
    lost = f" Not identified: {', '.join(known.not_identified)}." if known.not_identified else ""
    return f"{told}{distance}{stopped}{left}{lost}"


def weight_section(run: RunFiles) -> Section:
    """Each weight with its standard error, and the worth of its feature."""
    if run.model is None or not run.model.training.weights:
        return Section("Weights", ())
    known = run.model.training
    scales = known.deviations if known.deviations and len(known.deviations) == len(known.weights) else None
    rows = tuple(_row(name, each) for name, each in known.weights.items())
    heads = ("feature", "weight", "at l2 0", "standard error", "95 %", "z", "worth")
    table = Table("Weights as they multiply the features", heads, rows)
    unit = "times the feature's deviation, so that they compare" if scales else "as they multiply the features"
    drawn = [
        _estimate(name, each, 1.0 if scales is None else scales[place])
        for place, (name, each) in enumerate(known.weights.items())
    ]
    names = ("weight", "weight at l2 0")
    words = Words(
        "Weights and how sure they are",
        f"Each weight {unit}; the interval is 95 % of the weight without a penalty, its point the diamond.",
        drawn_table(f"Each weight {unit}", ("feature", *names), drawn),
    )
    figure = estimates(words, drawn, names, zero=True)
    worth = Words(
        "What each feature is worth",
        "How far the best reachable objective rises when the feature is left out.",
        Table("Worth of each feature", ("feature", "worth"), tuple((row[0], row[-1]) for row in rows)),
    )
    worths = bars(worth, [(name, each.worth, f"{name}: {short(each.worth)}") for name, each in known.weights.items()])
    blocks: list[Block] = [each for each in (figure, worths, table) if each is not None]
    return Section("Weights", (*blocks, *_errors(known)))


def _row(name: str, each: Weight) -> tuple[str, ...]:
    interval = f"[{short(each.low)}, {short(each.high)}]" if each.low is not None else NONE
    return (
        name,
        *map(short, (each.weight, each.unpenalised, each.standard_error)),
        interval,
        *map(short, (each.z, each.worth)),
    )


def _estimate(name: str, each: Weight, scale: float) -> Estimate:
    value, free, low, high = (
        None if number is None else number * scale for number in (each.weight, each.unpenalised, each.low, each.high)
    )
    return Estimate(name, value, low, high, (("weight at l2 0", free),), f"{name}: {short(each.weight)}")


def _errors(known: Training) -> list[Text]:
    form = known.errors.get("form")
    if form is None:
        return [Text(f"No standard errors: {known.errors.get('reason')}.")] if known.errors.get("reason") else []
    clusters = known.errors.get("clusters")
    by = f", {clusters} clusters" if clusters else ""
    return [Text(f"Standard errors of the weights without a penalty, {str(form).replace('_', ' ')}{by}.")]
