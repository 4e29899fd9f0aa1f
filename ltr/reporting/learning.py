"""How the weights came about, how sure they are, and what each feature is worth."""

from ltr.reporting.blocks import Block, Figure, Section, Table, Text
from ltr.reporting.charts import Estimate, Words, bars, drawn_table, estimates
from ltr.reporting.figures import NONE, count, percent, short
from ltr.reporting.planes import curves, thinned
from ltr.reporting.reading import RunFiles
from ltr.storage.records import TrainingRecord, WeightRecord
from ltr.training.config import TrainConfig
from ltr.training.standard_errors import effective_text

MOST_ROWS = 70  # of the table under a drawing, which has more
MOST_CURVES = 12


def learning_section(run: RunFiles) -> Section:
    """The loss of each epoch over the optimum, and what validation data thought of it."""
    if run.model is None:
        return Section("Learning", ())
    drawn = [each for each in (_losses(run, run.model.training), _watched(run, run.model.training)) if each]
    known = run.model.training
    return Section("Learning", (*drawn, Text(_how(run, known)), _basis(known)))


def _losses(run: RunFiles, known: TrainingRecord) -> Figure | None:
    optimum = None if known.objective is None or known.gap is None else known.objective - known.gap
    what = (
        "The mean of each query's objective before its own step" if _is_descent(run) else "The objective of each step"
    )
    words = Words("Learning curve", f"{what}; the broken line is the exact optimum.", _epochs(run))
    losses = [(float(each.epoch), each.loss) for each in run.history]
    return curves(words, [("training loss", losses)], (_turn(run), "loss"), level=optimum)


def _watched(run: RunFiles, known: TrainingRecord) -> Figure | None:
    metric = known.watched.metric if known.watched else "validation"
    words = Words("On validation data", f"{metric} after each pass; the best one is kept.", _epochs(run))
    valid = [(float(each.epoch), each.valid) for each in run.history if each.valid is not None]
    return curves(words, [(metric, valid)], (_turn(run), metric), level=None)


def _epochs(run: RunFiles) -> Table:
    """The numbers of both drawings, of MOST_ROWS epochs at most."""
    columns = 3 if any(each.valid is not None for each in run.history) else 2
    rows = [
        (f"{each.epoch:,}", short(each.loss), short(each.valid))[:columns] for each in thinned(run.history, MOST_ROWS)
    ]
    return Table("Loss by epoch", (_turn(run), "loss", "validation")[:columns], tuple(rows))


def _is_descent(run: RunFiles) -> bool:
    return run.model is not None and run.model.trainer.trainer == "descent"


def _turn(run: RunFiles) -> str:
    return "epoch" if _is_descent(run) else "step"


def _how(run: RunFiles, known: TrainingRecord) -> str:
    """One paragraph on the training."""
    trainer = run.model.trainer if run.model else TrainConfig()
    steps = count(known.epochs, _turn(run))
    told = f"Learned from {count(known.groups, 'group')} by {trainer.trainer}, l2 {trainer.penalty:g}, {steps}."
    skipped = known.groups_one_candidate + known.groups_no_positive
    left = f" {count(skipped, 'group')} could not train: one candidate, or none right." if skipped else ""
    stopped = f" Validation data chose epoch {known.watched.best_epoch}." if known.watched else ""
    lost = f" Not identified: {', '.join(known.not_identified)}." if known.not_identified else ""
    return f"{told}{_distance(known)}{stopped}{left}{lost}"


def _distance(known: TrainingRecord) -> str:
    if known.gap is not None:
        return f" Distance to the optimum: {short(known.gap)}."
    bound = f" At most {short(known.gap_bound)} above the optimum." if known.gap_bound is not None else ""
    return "" if known.escape or not known.optimum else f" Not proved to be the optimum.{bound}"


def _basis(known: TrainingRecord) -> Table:
    """What the weights rest on, in numbers."""
    rows = [
        ("gradient norm", short(known.gradient_norm)),
        ("groups that count, by weight", short(known.effective_groups)),
        ("groups where all candidates are equally right", f"{known.groups_all_alike:,}"),
        ("condition number of the columns", short(known.condition_number)),
        ("of what there is to learn, kept away by the penalty", percent(known.lost_to_penalty)),
        ("standard errors", _form(known)),
    ]
    return Table("What the weights rest on", ("", "value"), tuple(rows))


def _form(known: TrainingRecord) -> str:
    """plain, or by what they are clustered, and how many clusters count."""
    form, clusters, counted = known.errors.form, known.errors.clusters, known.errors.effective_clusters
    if form != "by_trace":
        return {"hessian": "plain", "by_group": "by query"}.get(str(form), NONE)
    as_many = "" if counted is None else effective_text(clusters, counted)
    as_many = f", that count as {as_many}" if as_many else ""
    return f"by trace, {clusters} clusters{as_many}"


def weight_section(run: RunFiles) -> Section:
    """Each weight with its standard error, and the worth of its feature."""
    if run.model is None or not run.model.training.weights:
        return Section("Weights", ())
    known = run.model.training
    if known.curves:
        return Section("Weights", (*_curves(known), *_errors(known)))
    heads = ("feature", "weight", "at l2 0", "standard error", "95 %", "z", "loss_without")
    rows = tuple(_row(name, each) for name, each in known.weights.items())
    table = Table("Weights as they multiply the features", heads, rows)
    drawn = [each for each in (_sure(known), _worths(known)) if each]
    return Section("Weights", (*drawn, table, *_errors(known)))


def _curves(known: TrainingRecord) -> list[Block]:
    """What each feature adds to the score as its value grows: a table of all, and the strongest drawn."""
    each = [
        (said.loss_without or 0.0, said.range or 0.0, name)
        for name, said in known.weights.items()
        if known.curves.get(name)
    ]
    names = [name for *_, name in sorted(each, reverse=True)]
    heads = ("feature", "knots", "adds least at", "adds most at", "so much more", "loss_without")
    table = Table("What each feature adds to the score", heads, tuple(_strength(name, known) for name in names))
    drawn = [_worths(known), *(_curve(name, known.curves[name]) for name in names[:MOST_CURVES])]
    of_all = f"The first {MOST_CURVES} of {len(names)} curves are drawn. " if len(names) > MOST_CURVES else ""
    scales = Text(f"{of_all}Each curve has a scale of its own; its dots are its knots and its ends.")
    return [*(each for each in drawn if each), table, scales]


def _strength(name: str, known: TrainingRecord) -> tuple[str, ...]:
    said = known.weights[name]
    knots = str(len(known.curves[name]) - 2)
    return name, knots, *map(short, (said.lowest_at, said.highest_at, said.range, said.loss_without))


def _curve(name: str, points: list[tuple[float, float]]) -> Figure | None:
    """The added part over the value, from what the least value adds."""
    above = [(value, added - points[0][1]) for value, added in thinned(points, MOST_ROWS)]
    rows = tuple((short(value), short(added)) for value, added in above)
    heads = ("value", "adds")
    words = Words(
        f"What {name} adds",
        "The part of the score by the feature's value, over that of its least value in the training data.",
        Table(f"What {name} adds by its value", heads, rows),
    )
    return curves(words, [(name, above)], heads, level=None)


def _sure(known: TrainingRecord) -> Figure | None:
    """The weights with their intervals, in one unit where the deviations are known."""
    scales = known.deviations if known.deviations and len(known.deviations) == len(known.weights) else None
    unit = "times the feature's deviation, so that they compare" if scales else "as they multiply the features"
    factors = scales or [1.0] * len(known.weights)
    drawn = [_estimate(name, each, factor) for (name, each), factor in zip(known.weights.items(), factors, strict=True)]
    names = ("weight", "weight at l2 0")
    words = Words(
        "Weights and how sure they are",
        f"Each weight {unit}; the interval is 95 % of the weight without a penalty, its point the diamond.",
        drawn_table(f"Each weight {unit}", ("feature", *names), drawn),
    )
    return estimates(words, drawn, names, zero=True)


def _worths(known: TrainingRecord) -> Figure | None:
    rows = tuple((name, short(each.loss_without)) for name, each in known.weights.items())
    words = Words(
        "What each feature is worth",
        "How far the best reachable objective rises when the feature is left out.",
        Table("Loss without each feature", ("feature", "loss without"), rows),
    )
    return bars(
        words,
        [(name, each.loss_without, f"{name}: {short(each.loss_without)}") for name, each in known.weights.items()],
    )


def _row(name: str, each: WeightRecord) -> tuple[str, ...]:
    interval = f"[{short(each.low)}, {short(each.high)}]" if each.low is not None else NONE
    return (
        name,
        *map(short, (each.weight, each.unpenalised, each.standard_error)),
        interval,
        *map(short, (each.z, each.loss_without)),
    )


def _estimate(name: str, each: WeightRecord, scale: float) -> Estimate:
    value, free, low, high = (
        None if number is None else number * scale for number in (each.weight, each.unpenalised, each.low, each.high)
    )
    return Estimate(name, value, low, high, (("weight at l2 0", free),), f"{name}: {short(each.weight)}")


def _errors(known: TrainingRecord) -> list[Text]:
    if known.errors.form is None:
        return [Text(f"No standard errors: {known.errors.reason}.")] if known.errors.reason else []
    return [Text(f"Standard errors of the weights without a penalty, {_form(known)}.")]


def weight_text(training: TrainingRecord, name: str) -> str:
    """The feature's weight in a cell: no single number says one that changes along the values."""
    if name not in training.weights:
        return NONE
    return "a curve" if len(training.curves.get(name, ())) > 2 else short(training.weights[name].weight)
