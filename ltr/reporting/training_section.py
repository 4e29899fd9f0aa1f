"""How the weights came about: the loss by epoch, the training in words, and what the weights rest on."""

from ltr.errors import count
from ltr.reporting.charts import Words, curve, thinned
from ltr.reporting.model_selection_table import alternatives_blocks
from ltr.reporting.number_formats import percent, short
from ltr.reporting.page import Section, Text
from ltr.reporting.table import Column, Kind, Table
from ltr.reporting.weights_and_curves import MOST_ROWS, errors_text
from ltr.storage.model_file import ModelRecord
from ltr.storage.training_record import EpochRecord


def learning_section(model: ModelRecord, history: list[EpochRecord]) -> Section:
    """The loss of each epoch over the optimum, and the metric on validation data."""
    training = model.training
    is_descent = model.trainer.trainer == "descent"
    turn = "epoch" if is_descent else "step"
    has_validation = any(epoch.valid is not None for epoch in history)
    validation = (Column("validation", "validation", Kind.AMOUNT),) if has_validation else ()
    width = 2 + len(validation)
    epochs = Table(
        (Column(turn, turn, Kind.COUNT), Column("loss", "loss", Kind.AMOUNT), *validation),
        tuple((epoch.epoch, epoch.loss, epoch.valid)[:width] for epoch in thinned(history, MOST_ROWS)),
        "Loss by epoch",
    )
    what = "The mean of each query's objective before its own step" if is_descent else "The objective of each step"
    learned = curve(
        Words("Learning curve", f"{what}; the broken line is the exact optimum.", epochs),
        [(float(epoch.epoch), epoch.loss) for epoch in history],
        (turn, "loss"),
        level=None if training.objective is None or training.gap is None else training.objective - training.gap,
    )
    metric = training.watched.metric if training.watched else "validation"
    watched = curve(
        Words("On validation data", f"{metric} after each pass; the best epoch is the model's.", epochs),
        [(float(epoch.epoch), epoch.valid) for epoch in history if epoch.valid is not None],
        (turn, metric),
    )
    figures = [figure for figure in (learned, watched) if figure]
    chosen = alternatives_blocks(training.choice)
    return Section("Learning", (*figures, Text(_training_text(model, turn)), *chosen, _basis(model)))


def _training_text(model: ModelRecord, turn: str) -> str:
    """How the training went, in one paragraph."""
    training, trainer = model.training, model.trainer
    how = f"{trainer.trainer}, l2 {trainer.penalty:g}, {count(training.epochs, turn)}"
    sentences = [f"Learned from {count(training.groups, 'group')} by {how}."]
    if training.gap is not None:
        sentences.append(f"Distance to the optimum: {short(training.gap)}.")
    elif training.optimum and not training.escape:
        sentences.append("Not proved to be the optimum.")
        if training.gap_bound is not None:
            sentences.append(f"At most {short(training.gap_bound)} above the optimum.")
    if training.watched:
        sentences.append(f"Validation data chose epoch {training.watched.best_epoch}.")
    if skipped := training.groups_one_candidate + training.groups_no_positive + training.groups_equally_right:
        reasons = "one candidate, or none right" + (", or none wrong" if training.groups_equally_right else "")
        sentences.append(f"{count(skipped, 'group')} could not train: {reasons}.")
    if training.not_identified:
        sentences.append(f"Not identified: {', '.join(training.not_identified)}.")
    return " ".join(sentences)


def _basis(model: ModelRecord) -> Table:
    """What the weights rest on, in numbers."""
    training = model.training
    rows = (
        ("gradient norm", short(training.gradient_norm)),
        ("groups that count, by weight", short(training.effective_groups)),
        ("groups where all candidates are equally right", f"{training.groups_all_alike:,}"),
        ("condition number of the columns", short(training.condition_number)),
        ("share of the possible gain that the penalty takes", percent(training.lost_to_penalty)),
        ("standard errors", errors_text(training)),
    )
    return Table((Column("what", ""), Column("value", "value", Kind.WRITTEN)), rows, "What the weights rest on")
