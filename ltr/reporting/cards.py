"""The card of a model: what it is for, what it learned from, how good it is, what to doubt; in Markdown."""

from ltr.reporting.blocks import Block, Page, Points, Row, Section, Table, Text
from ltr.reporting.conclusions import conclusions
from ltr.reporting.figures import count, short
from ltr.reporting.learning import weight_text
from ltr.reporting.pages import card_text
from ltr.reporting.reading import RunFiles
from ltr.reporting.runs import facts, queries, where

USE = {
    "tool": "Ranks the tools that an agent may call for a query, by a sum of what each feature below adds.",
    "graph": "Ranks teams of agents that may answer a query, by a sum of what each feature below adds.",
}
LIMITS = (
    "It ranks the candidates it is given, and does not say that none of them fits.",
    "Its numbers hold for queries and candidates like those it was measured on.",
    "Features of history know what was right in the training data, and repeat its mistakes.",
)


def card(run: RunFiles) -> str:
    """The card of the run's model."""
    model = run.model
    kind = model.kind if model else ""
    sections = [
        Section("Use", (Text(USE.get(kind, "Ranks candidates.")), Points(LIMITS))),
        Section("Quality", (_headline(run), Points(conclusions(run)))),
        Section("Model", tuple(_model(run))),
        Section("Data", (_data(run),)),
        Section("What to doubt", (_doubts(run),)),
    ]
    return card_text(Page(run.name, f"Measured on {queries(run)}, {where(run)}.", sections))


def _headline(run: RunFiles) -> Table:
    return Table("", ("metric", "value", "interval"), facts(run))


def _model(run: RunFiles) -> list[Block]:
    if run.model is None:
        return [Text("No model is kept here.")]
    known = run.model
    training = known.training
    rows: list[Row] = [
        (name, weight_text(training, name), short(each.loss_without)) for name, each in training.weights.items()
    ]
    encoder = f", encoder {known.encoder.get('name')}" if known.encoder else ""
    trainer = f"trainer {known.trainer.trainer}, l2 {known.trainer.penalty:g}"
    how = f"{len(known.features)} features{encoder}; {trainer}, "
    learned = f"{count(known.training.groups, 'group')}; seed {run.record.seed}; {known.checksum}."
    return [Table("", ("feature", "weight", "loss_without"), tuple(rows)), Text(how + learned)]


def _data(run: RunFiles) -> Block:
    files = tuple(f"{each.path}, {each.bytes:,} bytes, sha256 {each.sha256}" for each in run.record.inputs)
    return Points(files) if files else Text("Not recorded.")


def _doubts(run: RunFiles) -> Block:
    found = (*run.record.warnings, *(run.model.training.warnings if run.model else ()))
    nothing = "Validation found nothing." if run.is_recorded else "Not recorded."
    return Points(found) if found else Text(nothing)
