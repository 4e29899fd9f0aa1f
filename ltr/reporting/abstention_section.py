"""Abstaining in words and as a drawing: the rule, what it promises and what not, and risk against coverage."""

from collections.abc import Iterator

from ltr.errors import count
from ltr.evaluation.abstention_measures import AbstentionMeasures
from ltr.reporting.charts import Words, curve, thinned
from ltr.reporting.number_formats import share, span
from ltr.reporting.page import Block, Section, Text
from ltr.reporting.table import Column, Kind, Table
from ltr.storage.abstain_rule import RISK, AbstainRule, promise
from ltr.storage.run_contents import RunContents

LISTED = 20  # thresholds of the table


NOT_KEPT = "the promise of abstaining is not kept"


def broken_promise(of: AbstentionMeasures | None) -> Iterator[str]:
    """That more was answered wrongly than is promised, where the interval leaves no doubt."""
    if of is not None and of.is_broken:
        risk = f"{share(of.risk)} {span(of.risk_low, of.risk_high)}"
        yield f"{NOT_KEPT}: {risk} of all queries were answered wrongly, and at most {share(of.promised)} was promised"


def rule_texts(rule: AbstainRule, measured: AbstentionMeasures | None) -> Iterator[str]:
    """How the threshold was chosen, and what it promises, a sentence each; the promise beside what was measured."""
    of = f"{count(rule.traces, 'calibration trace')}, {count(rule.queries, 'query', 'queries')}"
    if rule.threshold is None:
        yield f"abstains always: too few traces for {rule.rule} {rule.level:g} ({of}); none of the thresholds has it"
        return
    yield f"abstains unless the first choice is more probable than {share(rule.threshold)} ({of})"
    if rule.rule == RISK:
        is_broken = measured is not None and measured.is_broken
        yield f"{'not kept here: ' if is_broken else ''}{promise(rule.level)}"
    error = (
        "" if rule.error is None else f", of the answered {share(rule.error)} (upper limit {share(rule.error_limit)})"
    )
    answered = f"answered {share(rule.coverage)}, wrongly {share(rule.risk)} of all{error}"
    temperature = "1, as no other helps in folds" if rule.temperature == 1 else f"{rule.temperature:.3g}"
    yield f"on the calibration data: {answered}; temperature {temperature}"


def measured_texts(of: AbstentionMeasures, rule: AbstainRule | None) -> Iterator[str]:
    """Both shares with their intervals by trace, and why what the rule claims may not apply."""
    yield f"answered: {share(of.coverage)} of {count(of.queries, 'query', 'queries')}"
    ends = "" if of.risk_low is None else f" {span(of.risk_low, of.risk_high)}"
    yield f"of all queries answered wrongly: {share(of.risk)}{ends} (mean over {count(of.traces, 'trace')})"
    if of.error is not None:
        ends = "" if of.error_low is None else f" {span(of.error_low, of.error_high)}"
        limit = f"upper limit {share(of.error_limit)}, of one query a trace"
        yield f"of the answered wrong, which nothing is promised of: {share(of.error)}{ends} ({limit})"
    for why in of.not_promised:
        yield f"{rule.claim if rule else 'the promise'} does not apply here: {why}"


def abstaining_section(run: RunContents) -> list[Section]:
    """Abstaining on a page, where the model does."""
    if run.model is None or run.model.abstain is None:
        return []
    rule = run.model.abstain
    texts: list[Block] = [Text(_sentence(text)) for text in rule_texts(rule, run.metrics.abstention)]
    if run.metrics.abstention is not None:
        texts += [Text(_sentence(text)) for text in measured_texts(run.metrics.abstention, rule)]
    drawn = run.curves.get("risk_coverage", {})
    names = ("coverage", "risk", "error", "threshold")
    rows = list(zip(*(drawn.get(name, []) for name in names), strict=False))
    heads = (
        Column("coverage", "answered", Kind.SHARE),
        Column("risk", "of all answered wrongly", Kind.SHARE),
        Column("error", "of the answered wrong", Kind.SHARE),
        Column("threshold", "threshold", Kind.SHARE),
    )
    words = Words(
        "Risk against coverage",
        "The share of all queries that is answered wrongly, over the share that is answered, as the threshold falls"
        + ("; the broken line is the risk that was asked for." if rule.rule == RISK else "."),
        Table(heads, tuple(thinned(rows, LISTED)), "Thresholds of the confidence"),
    )
    points = [(coverage, risk) for coverage, risk, *_ in rows[::-1]]
    figure = curve(words, points, ("answered", "risk"), level=rule.level if rule.rule == RISK else None)
    return [Section("Abstaining", (*([figure] if figure else []), *texts))]


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
