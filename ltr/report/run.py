"""One run: its page, the card of its model, and what a terminal says of a training and of an evaluation."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ltr.errors import count
from ltr.leaderboard import Entry, leaderboard
from ltr.records.abstain import broken_promise
from ltr.records.metrics import MetricsRecord, ToolRecord
from ltr.records.training import TrainingRecord
from ltr.report.answers import (
    ANSWERS,
    abstaining_texts,
    none_learned,
    none_texts,
    reliability_error,
    rescued_blocks,
    rule_texts,
    tool_blocks,
    wrong_blocks,
)
from ltr.report.batch import standings
from ltr.report.flat import flat, flat_tools
from ltr.report.metrics import (
    FEWEST,
    TITLES,
    breakdown_blocks,
    doubt_text,
    gain_blocks,
    headline_blocks,
    interval_of,
    lead_sentences,
    lead_title,
    measured_blocks,
    metrics_section,
    quality_text,
    queries_text,
)
from ltr.report.page import Block, Blocks, Code, Fact, Line, Page, Points, Shown, TerminalBlock
from ltr.report.table import Bounds, Column, Kind, Table
from ltr.report.training import (
    alternative_blocks,
    choice_headline,
    fold_texts,
    learning_section,
    trust_texts,
    weight_blocks,
    weight_or_curve,
    weights_section,
)
from ltr.report.words import listed, sentence, share, short, signed, span
from ltr.runs import RunContents, RunDirectory

if TYPE_CHECKING:
    from ltr.flow import RunResult
    from ltr.results import Evaluated
    from ltr.serving import Router

MOST_CODE = 20_000
OFF = 0.05  # a calibration error from which probabilities are not to be taken at their word
SPLITS = {"test": "test data", "train": "training data", "given": "samples given"}
USE = {
    "tool": "Ranks the tools that an agent may call for a query, by a sum of what each feature below adds.",
    "graph": "Ranks teams of agents that may answer a query, by a sum of what each feature below adds.",
}
NEVER_NONE = "It ranks the candidates it gets, and does not say that none of them fits."
LIMITS = (
    "Its numbers hold for queries and candidates like those it was measured on.",
    "Features of history know what was right in the training data, and repeat its mistakes.",
)

HEADLINE = (
    Column("label", "metric"),
    Column("value", "value", Kind.WRITTEN),
    Column("note", "interval", Kind.WRITTEN),
)
FILES = (Column("path", "file"), Column("bytes", "bytes", Kind.COUNT), Column("sha256", "sha256"))


def _measured_on(record: MetricsRecord) -> str:
    split = record.rules.split
    return f"measured on {queries_text(record.counts.num_queries)}, {SPLITS.get(split, f'{split} data')}"


def facts(record: MetricsRecord) -> tuple[Fact, ...]:
    """Return the headline, and the leads over the best baseline and the best single column, with their intervals."""
    shown = [(title, share(record.metrics.get(name)), interval_of(record, name)) for name, title in TITLES.items()]
    for name, lead in record.leads.items():
        shown.append((lead_title(name, record), signed(lead.mean), Bounds(lead.low, lead.high)))
    return tuple(Fact(title, value, "" if None in ends else f"95 % {span(*ends)}") for title, value, ends in shown)


# What follows from the numbers.


def conclusions(run: RunContents) -> Iterator[str]:
    """Say how good the run is, better than what, why, and what to check."""
    training, record = run.model.training if run.model else None, run.metrics
    is_enough = record.counts.interval_num_units >= FEWEST
    yield from map(sentence, broken_promise(record.abstention))
    yield quality_text(record)
    if doubt := doubt_text(record):
        yield sentence(doubt)
    elif is_enough:
        yield from lead_sentences(record)
    if RunDirectory(Path(run.path)).has_outcomes:
        yield "It has learned from outcomes since: weights and figures here are those of training, not those in use."
    yield from _training(training) if training else ()
    error = reliability_error(run)
    if is_enough and error is not None:
        trust = "rank by it, do not bet on it" if error >= OFF else "it can be taken at its word"
        yield f"The probability of its first choice is off by {share(error)} on average: {trust}."
    if warnings := warnings_of(run):
        yield f"Validation and diagnosis found {count(len(warnings), 'thing')} to look at, listed below."


def _training(training: TrainingRecord) -> Iterator[str]:
    """Say how far the weights are from the best there are, what they rest on, and which may as well be 0."""
    if training.escape:
        yield "The loss has no optimum: it falls for ever in one direction; set an l2 above 0."
    elif training.optimum == "found":
        yield f"The weights are the exact optimum of the objective, {short(training.objective)}."
    elif training.optimum:
        bound = "" if training.gap_bound is None else f", at most {short(training.gap_bound)} above it"
        above = f", {short(training.gap)} above the optimum"
        gap = f", not proved to be the optimum{bound}" if training.gap is None else above
        yield f"Training stopped at an objective of {short(training.objective)}{gap}."
    losses = {name: of.loss_without for name, of in training.weights.items() if of.loss_without is not None}
    ends = {name: (of.low, of.high) for name, of in training.weights.items()}
    unsure = [name for name, (low, high) in ends.items() if low is not None and high is not None and low <= 0 <= high]
    if losses:
        most = max(losses, key=lambda name: losses[name])
        doubt = f" Not significantly different from 0: {listed(unsure)}." if unsure else ""
        yield f"Most depends on {most}: without it the objective rises by {short(losses[most])}.{doubt}"


# Sections of the page and of the card.


def warnings_of(run: RunContents) -> tuple[str, ...]:
    """Return what validation and diagnosis warn of."""
    return (*run.record.warnings, *(run.model.training.warnings if run.model else ()))


def _findings(run: RunContents, nothing: str) -> Iterator[Block]:
    if warnings := warnings_of(run):
        yield Points(warnings)
    elif run.is_recorded:
        yield nothing


def _config(run: RunContents) -> Iterator[Block]:
    if run.config:
        yield Code("config.yaml: everything that was decided", run.config[:MOST_CODE])
    if len(run.config) > MOST_CODE:
        yield "The rest is in config.yaml."


def _provenance(run: RunContents) -> Iterator[Block]:
    """Yield what went in, and with what it was computed."""
    if run.record.inputs:
        yield Table.of(FILES, run.record.inputs, "Files that were read")
    rules, task, encoder = run.metrics.rules, run.record.task, run.model.encoder if run.model else None
    decided: dict[str, object] = {
        "seed": run.record.seed if run.is_recorded else None,
        "encoder": f"{encoder.name}, revision {encoder.revision}" if encoder else "",
        "model": run.model.checksum if run.model else None,
        "fingerprint": rules.fingerprint,
        "version of the metrics": rules.metrics_version,
    }
    decided |= {f"version of {name}": value for name, value in (task.versions if task else {}).items()}
    decided |= {f"machine: {name}": value for name, value in run.record.machine.items()}
    decided |= {f"time: {name}": f"{short(value)} s" for name, value in run.record.timings.items()}
    rows = ((name, str(value)) for name, value in decided.items() if value not in (None, ""))
    yield Table.pairs(("what", "value"), rows, "What decided the result")


def _use(run: RunContents) -> Iterator[Block]:
    """Yield what the model is for, whether it says none of these or abstains, and what limits it."""
    model = run.model
    none = none_learned(model.none) if model and model.none else NEVER_NONE
    abstaining = rule_texts(model.abstain, run.metrics.abstention) if model and model.abstain else ()
    yield USE.get(model.kind if model else "", "Ranks candidates.")
    yield Points((none, *map(sentence, abstaining), *LIMITS))


def _model(run: RunContents) -> Iterator[Block]:
    """Yield the weights, and how they were learned."""
    if (model := run.model) is None:
        yield "No model is stored here."
        return
    training, encoder = model.training, f", encoder {model.encoder.name}" if model.encoder else ""
    columns = (
        Column("feature", "feature", value=str),
        Column("weight", "weight", Kind.WEIGHT, value=lambda name: weight_or_curve(training, name)),
        Column("loss_without", "loss without", Kind.LOSS, value=lambda name: training.weights[name].loss_without),
    )
    trainer = f"trainer {model.trainer.trainer}, l2 {model.trainer.penalty:g}"
    features = f"{count(len(model.features), 'feature')}{encoder}"
    yield Table.of(columns, training.weights)
    yield f"{features}; {trainer}, {count(training.groups, 'group')}; seed {run.record.seed}; {model.checksum}."


def _data(run: RunContents) -> Iterator[Block]:
    files = tuple(f"{file.path}, {file.bytes:,} bytes, sha256 {file.sha256}" for file in run.record.inputs)
    yield Points(files) if files else "Not recorded."


Sections = Mapping[str, Callable[[RunContents], Blocks]]

# The sections of the page, in order; one without blocks is left out.
PAGE: Sections = {
    "Conclusions": lambda run: [Points(tuple(conclusions(run)))],
    "Metrics": lambda run: metrics_section(run.metrics, "the model" if run.model else "the ranking"),
    "Learning": lambda run: learning_section(run.model, run.history) if run.model else (),
    "Weights": lambda run: weights_section(run.model.training) if run.model else (),
    **ANSWERS,
    "What validation found": lambda run: _findings(
        run, "Nothing: no leak, no overlap, no weight that cannot be read was found."
    ),
    "Config": _config,
    "Provenance": _provenance,
}
# The sections of the card.
CARD: Sections = {
    "Use": _use,
    "Quality": lambda run: (Table.of(HEADLINE, facts(run.metrics)), Points(tuple(conclusions(run)))),
    "Model": _model,
    "Data": _data,
    "What to check": lambda run: [*_findings(run, "Validation found nothing.")] or ["Not recorded."],
}


def run_page(run: RunContents, made: str = "") -> str:
    """Return the page of a run, or of an evaluation, as HTML; same input, same bytes."""
    what = f"Ranks {run.model.kind}s" if run.model else "Ranked queries"
    sections = {title: blocks(run) for title, blocks in PAGE.items()}
    return Page(run.name, f"{what}; {_measured_on(run.metrics)}.", sections, made, facts(run.metrics)).html()


def card(run: RunContents) -> str:
    """Return the card of the run's model as Markdown: use, quality, what it learned from, what to check."""
    sections = {title: blocks(run) for title, blocks in CARD.items()}
    return Page(run.name, sentence(_measured_on(run.metrics)), sections).markdown()


# On a terminal.


def shown_run(
    home: Path, record: MetricsRecord, result: "RunResult | None", seconds: float, *, is_plain: bool, is_long: bool
) -> Shown:
    """Return a training: few lines, or all that is known of it; of a run that was left as it is, its standing.

    `is_plain`: nothing was recommended.
    """
    fields = flat(record)
    if result is None:
        blocks = standings(leaderboard([Entry(home.as_posix(), home, {})], home))
    else:
        blocks = _long(home, result, seconds) if is_long else _brief(home, result, seconds, is_plain=is_plain)
    return Shown({**fields, "run": str(home)}, fields.items(), blocks)


def _brief(home: Path, result: "RunResult", seconds: float, *, is_plain: bool) -> Iterator[TerminalBlock]:
    """Yield the quality of a run beside its baselines, where the run is stored, and the next command."""
    record, training, router = result.measured.record, result.router.training, result.router
    place, notes = home.as_posix(), len(training.warnings)
    with_notes = f" and {count(notes, 'note')}" if notes else ""
    can_rank = router.kind == "tool" and router.features is not None
    command = f'ltr rank {place} "your query"' if can_rank else f"ltr evaluate {place} SAMPLES"
    yield from headline_blocks(record)
    yield choice_headline(training.choice) if training.choice else ""
    yield from [text for text in gain_blocks(record) if text] or [doubt_text(record)]
    yield from fold_texts(result.measured, result.config.data.split)
    yield from abstaining_texts(router.abstain, record.abstention)
    yield from breakdown_blocks(record)
    yield f"stored in {place}/ ({seconds:.1f} s); weights{with_notes}: report.html, or -v"
    yield f"next: {command}{'; better: train with --recommended' if is_plain else ''}"


def _long(home: Path, result: "RunResult", seconds: float) -> Iterator[TerminalBlock]:
    """Yield how good a run is, what it weighs, how far to trust it, where it is."""
    training = result.router.training
    yield from _measured(result.measured, result.router, "trained")
    yield from (Line(), *weight_blocks(training), Line(), *alternative_blocks(training))
    yield from trust_texts(result)
    yield Line(f"kept in {home.as_posix()}/ ({seconds:.1f} s)")


def _measured(measured: "Evaluated", router: "Router | None", own: str) -> Iterator[TerminalBlock]:
    yield from measured_blocks(measured, own)
    yield from none_texts(measured.record.none)
    yield from breakdown_blocks(measured.record)
    yield from abstaining_texts(router.abstain if router else None, measured.record.abstention)
    yield from gain_blocks(measured.record, is_long=True)


def shown_evaluation(
    measured: "Evaluated", router: "Router | None", tools: Iterable[ToolRecord] = (), *, explain: bool = False
) -> Shown:
    """Return the metrics, and tools if there are any; on a terminal the queries that were explained as well."""
    tools = list(tools)
    fields = flat(measured.record) | flat_tools(tools)

    def blocks() -> Iterator[TerminalBlock]:
        yield from _measured(measured, router, "the model" if router else "the run")
        yield from tool_blocks(tools) if tools else ()
        if explain and router:
            yield from (*rescued_blocks(measured, router), *wrong_blocks(measured, router))

    return Shown(fields, fields.items(), blocks())
