"""The card of a model: what it is for, what it learned from, how good it is, what to check; in Markdown."""

from ltr.errors import count
from ltr.reporting.abstention_section import rule_texts
from ltr.reporting.conclusions import conclusions
from ltr.reporting.none_of_these_section import none_learned
from ltr.reporting.page import Block, Page, Points, Section, Text, page_markdown
from ltr.reporting.run_page import facts, measured_on
from ltr.reporting.table import Column, Kind, Table
from ltr.reporting.weights_and_curves import weight_or_curve
from ltr.storage.model_file import ModelRecord
from ltr.storage.run_contents import RunContents

USE = {
    "tool": "Ranks the tools that an agent may call for a query, by a sum of what each feature below adds.",
    "graph": "Ranks teams of agents that may answer a query, by a sum of what each feature below adds.",
}
LIMITS = (
    "Its numbers hold for queries and candidates like those it was measured on.",
    "Features of history know what was right in the training data, and repeat its mistakes.",
)


def card(run: RunContents) -> str:
    """The card of the run's model."""
    headline = (
        Column("metric", "metric"),
        Column("value", "value", Kind.WRITTEN),
        Column("interval", "interval", Kind.WRITTEN),
    )
    files = tuple(f"{file.path}, {file.bytes:,} bytes, sha256 {file.sha256}" for file in run.record.inputs)
    warnings = (*run.record.warnings, *(run.model.training.warnings if run.model else ()))
    nothing = "Validation found nothing." if run.is_recorded else "Not recorded."
    use = USE.get(run.model.kind if run.model else "", "Ranks candidates.")
    model = _model(run.model, run.record.seed) if run.model else (Text("No model is stored here."),)
    sections = [
        Section("Use", (Text(use), Points((none_limit(run), *abstaining_limits(run), *LIMITS)))),
        Section("Quality", (Table(headline, facts(run.metrics)), Points(conclusions(run)))),
        Section("Model", model),
        Section("Data", (Points(files) if files else Text("Not recorded."),)),
        Section("What to check", (Points(warnings) if warnings else Text(nothing),)),
    ]
    return page_markdown(Page(run.name, f"Measured on {measured_on(run.metrics)}.", sections))


def abstaining_limits(run: RunContents) -> tuple[str, ...]:
    """When the model abstains, and what that promises."""
    rule = run.model.abstain if run.model else None
    texts = () if rule is None else rule_texts(rule, run.metrics.abstention)
    return tuple(f"{text[0].upper()}{text[1:]}." for text in texts)


def none_limit(run: RunContents) -> str:
    """Whether the model says that none of the candidates fits, and for which share."""
    none = run.model.none if run.model else None
    return none_learned(none) if none else "It ranks the candidates it gets, and does not say that none of them fits."


def _model(model: ModelRecord, seed: int) -> tuple[Block, ...]:
    """The weights, and how they were learned."""
    training = model.training
    columns = (
        Column("feature", "feature"),
        Column("weight", "weight", Kind.WEIGHT),
        Column("loss_without", "loss without", Kind.LOSS),
    )
    rows = tuple(
        (name, weight_or_curve(training, name), record.loss_without) for name, record in training.weights.items()
    )
    encoder = f", encoder {model.encoder.name}" if model.encoder else ""
    trainer = f"trainer {model.trainer.trainer}, l2 {model.trainer.penalty:g}"
    features = f"{count(len(model.features), 'feature')}{encoder}"
    return (
        Table(columns, rows),
        Text(f"{features}; {trainer}, {count(training.groups, 'group')}; seed {seed}; {model.checksum}."),
    )
