"""What follows from the numbers of a run, in sentences."""

from collections.abc import Iterator
from pathlib import Path

from ltr.errors import count
from ltr.evaluation.baselines import baseline_title
from ltr.evaluation.metrics.ranking_measures import TOP1
from ltr.reporting.abstention_section import broken_promise
from ltr.reporting.metric_tables import interval_of
from ltr.reporting.number_formats import listed, percent, share, short, signed, span
from ltr.reporting.ranks_and_calibration_section import reliability_error
from ltr.results.record import leads
from ltr.storage.evaluation_records import MetricsRecord
from ltr.storage.run_contents import RunContents
from ltr.storage.training_record import TrainingRecord
from ltr.storage.update_state import has_outcomes

FEWEST = 20  # traces or queries, fewer of which make an interval that promises too much
OFF = 0.05  # a calibration error from which probabilities are not to be taken at their word


def conclusions(run: RunContents) -> tuple[str, ...]:
    """How good the run is, better than what, why, and what to check."""
    training = run.model.training if run.model else None
    counts = run.metrics.counts
    is_enough = counts.interval_num_units >= FEWEST
    broken = [f"{text[0].upper()}{text[1:]}." for text in broken_promise(run.metrics.abstention)]
    sentences = [*broken, *_quality(run.metrics)]
    if doubt := doubt_text(run.metrics):
        sentences.append(f"{doubt[0].upper()}{doubt[1:]}.")
    elif is_enough:
        sentences += lead_sentences(run.metrics)
    sentences += [*_outcomes(run), *(_training(training) if training else ())]
    error = reliability_error(run)
    if is_enough and error is not None:
        is_off = error >= OFF
        trust = "rank by it, do not bet on it" if is_off else "it can be taken at its word"
        sentences.append(f"The probability of its first choice is off by {share(error)} on average: {trust}.")
    if warnings := len(run.record.warnings) + (len(training.warnings) if training else 0):
        sentences.append(f"Validation and diagnosis found {count(warnings, 'thing')} to look at, listed below.")
    return tuple(sentences)


def doubt_text(record: MetricsRecord) -> str:
    """That too little was measured for an interval; empty where there is enough, or nothing at all."""
    if record.counts.interval_num_units >= FEWEST or not record.counts.num_queries:
        return ""
    promise = "; the intervals promise too much" if record.counts.interval_num_units > 1 else ""
    return f"too little was measured to be sure: {units_text(record)}{promise}"


def units_text(record: MetricsRecord) -> str:
    """What the intervals resample, and how many of them."""
    is_trace = record.rules.interval_unit == "trace"
    return count(record.counts.interval_num_units, *(("trace", "traces") if is_trace else ("query", "queries")))


def _quality(record: MetricsRecord) -> Iterator[str]:
    """How often the first candidate is right."""
    queries = record.counts.num_queries
    if not queries:
        yield "No query has a right candidate: there is nothing to measure."
        return
    low, high = interval_of(record, TOP1)
    interval = f" (95 % interval: {percent(low)} to {percent(high)})" if low is not None else ""
    seen = " These are the training queries: new ones may fare worse." if record.rules.split == "train" else ""
    on = count(queries, "query", "queries")
    yield f"The first candidate is right for {percent(record.metrics.get(TOP1))} of {on}{interval}.{seen}"


def lead_sentences(record: MetricsRecord, name: str = "It") -> Iterator[str]:
    """Whether the model beats the best baseline and the best single column; nothing where no interval says so."""
    for baseline, lead in leads(record).items():
        if lead.low is not None and lead.high is not None:
            is_it = "better" if lead.low > 0 else "worse" if lead.high < 0 else "not shown to be better"
            than = baseline_title(baseline, record.best_feature)
            yield f"{name} is {is_it} than {than}: {signed(lead.mean)} top-1, 95 % {span(lead.low, lead.high)}."


def _outcomes(run: RunContents) -> Iterator[str]:
    """That the model has learned since it was trained, where it has."""
    if has_outcomes(Path(run.path)):
        yield "It has learned from outcomes since: weights and figures here are those of training, not those in use."


def _training(training: TrainingRecord) -> Iterator[str]:
    """How far the weights are from the best there are, what they rest on, and which may as well be 0."""
    if training.escape:
        yield "The loss has no optimum: it falls for ever in one direction; set an l2 above 0."
    elif training.optimum == "found":
        yield f"The weights are the exact optimum of the objective, {short(training.objective)}."
    elif training.optimum:
        bound = "" if training.gap_bound is None else f", at most {short(training.gap_bound)} above it"
        above = f", {short(training.gap)} above the optimum"
        gap = f", not proved to be the optimum{bound}" if training.gap is None else above
        yield f"Training stopped at an objective of {short(training.objective)}{gap}."
    losses = {name: weight.loss_without for name, weight in training.weights.items() if weight.loss_without is not None}
    unsure = [
        name
        for name, weight in training.weights.items()
        if weight.low is not None and weight.high is not None and weight.low <= 0 <= weight.high
    ]
    if losses:
        most = max(losses, key=lambda name: losses[name])
        doubt = f" Not significantly different from 0: {listed(unsure)}." if unsure else ""
        yield f"Most depends on {most}: without it the objective rises by {short(losses[most])}.{doubt}"
