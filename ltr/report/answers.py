"""What a model answers, beyond metrics: ranks, probabilities, none of these, abstaining, tokens, tools, examples."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from ltr.errors import count
from ltr.evaluation import AbstentionMeasures, Baseline, NoneMeasures
from ltr.records.abstain import RISK, AbstainRule, promise
from ltr.records.metrics import RESCUED, WRONG, ExampleRecord, MistakeRecord, ToolRecord
from ltr.report.charts import PlotPoint, columns, curve, diagonal, thinned
from ltr.report.metrics import queries_text, rest
from ltr.report.page import Block, Blocks, Figure, Folded, Line, TerminalBlock
from ltr.report.table import SHORTEST_CELL, Column, Kind, Table, TableRow
from ltr.report.words import NONE, fixed, sentence, share, shortened, span, visible, width_of
from ltr.training import NoneLogit

if TYPE_CHECKING:
    from ltr.results import Evaluated, Explanation
    from ltr.runs import RunContents
    from ltr.serving import Router

LAST_RANK = 10  # ranks beyond it share a column
MOST_THRESHOLDS = 20  # of the table of abstaining
MOST_TOOLS, MOST_TOOLS_OF_TERMINAL, MOST_PAIRS = 50, 20, 10
MOST_CANDIDATES, MOST_PARTS = 8, 10  # of an instructive query
LONGEST_LINE = 160  # letters of a query in the line that opens it
OPEN = 1  # examples of each kind that are open from the start
EXPLAINED = 3  # wrong queries on a terminal
PROOFS = {"found": "the optimum is proved", "not_reached": "the optimum was not reached"}


# Ranks, and whether the first choice is as often right as its probability says.

BINS = (
    Column("bin", "probability", value="{0.low:g} to {0.high:g}".format),
    Column("probability", "mean", Kind.SHARE),
    Column("right", "share right", Kind.SHARE),
    Column("queries", "queries", Kind.ROUNDED),
)


class Bin(NamedTuple):
    """Queries whose first choice has a probability between two numbers."""

    low: float
    high: float
    probability: float  # their mean
    right: float  # the share of them where it is right
    queries: float


def bins(run: "RunContents") -> list[Bin]:
    """Return the bins of the reliability curve of the first choice."""
    drawn = run.curves.get("reliability_first", {})
    names = ("from", "to", "probability", "right", "count")
    return [Bin(*values) for values in zip(*(drawn.get(name, []) for name in names), strict=False)]


def reliability_error(run: "RunContents") -> float | None:
    """Return ece_first: sum n |p - share right| / sum n over the bins; None without queries."""
    import numpy as np

    from ltr.evaluation import calibration_error_of_bins

    parts = [(part.queries, part.probability, part.right) for part in bins(run)]
    return calibration_error_of_bins(*np.array(parts, dtype=np.float64).reshape(-1, 3).T)


def calibration_section(run: "RunContents") -> Iterator[Block | None]:
    """Yield the histogram of ranks, the reliability curve, and its mean error."""
    yield from (ranks(run), reliability(run))
    if (error := reliability_error(run)) is not None:
        yield f"Calibration error of the first choice (mean distance from the line, by queries): {share(error)}."


def ranks(run: "RunContents") -> Figure | None:
    """Draw the histogram of the ranks of the best right candidates."""
    last = f"{LAST_RANK + 1}+"
    counted = Counter(
        "none" if not query.rank else str(query.rank) if 1 <= query.rank <= LAST_RANK else last for query in run.queries
    )
    labels = [*map(str, range(1, LAST_RANK + 1)), last, "none"]
    labels = labels[: max((labels.index(label) for label in counted), default=-1) + 1]
    heads = Column("rank", "rank"), Column("queries", "queries", Kind.COUNT), Column("share", "share", Kind.SHARE)
    rows = tuple((label, counted[label], counted[label] / sum(counted.values())) for label in labels)
    what = "How many queries have their best right candidate at each rank; none: no candidate is right."
    table = Table(heads, rows, "Queries by the rank of the best right candidate")
    drawn = [(label, counted[label], f"rank {label}: {queries_text(counted[label])}") for label in labels]
    return columns(Figure("Rank of the right candidate", what, table), drawn, ("rank", "queries"))


def reliability(run: "RunContents") -> Figure | None:
    """Draw how often the first choice is right over its mean probability."""
    parts, points = bins(run), []
    for part in parts:
        tip = f"mean probability {share(part.probability)}, right {share(part.right)}, "
        tip += queries_text(round(part.queries))
        points.append(PlotPoint("", part.probability, part.right, is_marked=True, tip=tip))
    blank = Figure(
        "Probability and truth of the first choice",
        "Queries in ten bins of their first choice's probability: how often it is right over its mean probability. "
        "On the broken line it is right as often as it says; below it the model is too sure.",
        Table.of(BINS, parts, "Queries by the probability of their first choice"),
    )
    return diagonal(blank, points, ("mean probability", "share right"))


# None of these.


def none_texts(none: NoneMeasures | None) -> Iterator[str]:
    """Say how well none of these was found, where a model says it."""
    if none is None:
        return
    what = "queries for which none is right" if none.learned_from == "log" else "copies without their right candidates"
    found = "" if none.found is None else f", found {share(none.found)}"
    wrongly = "" if none.said_wrongly is None else f", said wrongly of {share(none.said_wrongly)} of the others"
    yield f"none: {none.none_queries:,} {what}{found}{wrongly}"
    error = f"calibration error {share(none.calibration_error)}"
    yield (
        f"P(none) is for a share of {share(none.for_share)}; here it is {share(none.share)}, "
        f"mean P(none) {share(none.mean_probability)}, {error}"
    )


def none_learned(none: NoneLogit) -> str:
    """Say how b was learned, and for which share P(none) is."""
    of = "the log" if none.source == "log" else f"{none.source}, copies without their right candidates"
    queries = f"{queries_text(none.groups)}, {none.none_groups:,} of them of none"
    return (
        f"P(none) is for a share of {share(none.share)} of queries for which none is right (in training "
        f"{share(none.trained_share)}). It was learned from {of}: {queries}, l2 {none.l2:g}; "
        f"{PROOFS.get(none.optimum, none.optimum)}, gap at most {none.gap_bound:.1e}."
    )


def none_section(run: "RunContents") -> Iterator[Block]:
    """Yield how well none is found and the logit that says it, where the model has one."""
    none = run.model.none if run.model else None
    if none is None:
        return
    yield from (f"{text}." for text in none_texts(run.metrics.none))
    names = [*NoneLogit.INPUTS]
    names[NoneLogit.INPUTS.index(NoneLogit.RELEVANCE)] = (
        f"{NoneLogit.RELEVANCE} ({none.relevance})" if none.relevance else f"{NoneLogit.RELEVANCE}: no such column"
    )
    errors = none.standard_errors or (None,) * len(names)
    heads = Column("input", "input"), Column("b", "b", Kind.WEIGHT), Column("error", "standard error", Kind.WEIGHT)
    yield Table(heads, tuple(zip(names, none.b, errors, strict=True)), "The logit of none")
    yield none_learned(none)
    yield f"No standard errors: {none.no_errors}." if none.no_errors else "Standard errors are by trace, given w."


# Abstaining.

THRESHOLDS = (
    Column("coverage", "answered", Kind.SHARE),
    Column("risk", "of all answered wrongly", Kind.SHARE),
    Column("error", "of the answered wrong", Kind.SHARE),
    Column("threshold", "threshold", Kind.SHARE),
)


def abstaining_texts(rule: AbstainRule | None, of: AbstentionMeasures | None) -> Iterator[str]:
    """Say how the threshold was chosen and what it promises, and what abstaining did to the queries."""
    yield from rule_texts(rule, of) if rule else ()
    if of is None:
        return
    yield f"answered: {share(of.coverage)} of {queries_text(of.queries)}"
    ends = "" if of.risk_low is None else f" {span(of.risk_low, of.risk_high)}"
    yield f"of all queries answered wrongly: {share(of.risk)}{ends} (mean over {count(of.traces, 'trace')})"
    if of.error is not None:
        ends = "" if of.error_low is None else f" {span(of.error_low, of.error_high)}"
        limit = f"upper limit {share(of.error_limit)}, of one query a trace"
        yield f"of the answered wrong, which nothing is promised of: {share(of.error)}{ends} ({limit})"
    for why in of.not_promised:
        yield f"{rule.claim if rule else 'the promise'} does not apply here: {why}"


def rule_texts(rule: AbstainRule, measured: AbstentionMeasures | None) -> Iterator[str]:
    """Say how the threshold was chosen, and what it promises; the promise beside what was measured."""
    of = f"{count(rule.traces, 'calibration trace')}, {queries_text(rule.queries)}"
    if rule.threshold is None:
        yield f"abstains always: too few traces for {rule.rule} {rule.level:g} ({of}); none of the thresholds has it"
        return
    yield f"abstains unless the first choice is more probable than {share(rule.threshold)} ({of})"
    if rule.rule == RISK:
        yield f"{'not kept here: ' if measured and measured.is_broken else ''}{promise(rule.level)}"
    limit = f"upper limit {share(rule.error_limit)}"
    error = "" if rule.error is None else f", of the answered {share(rule.error)} ({limit})"
    answered = f"answered {share(rule.coverage)}, wrongly {share(rule.risk)} of all{error}"
    temperature = "1, as no other helps in folds" if rule.temperature == 1 else f"{rule.temperature:.3g}"
    yield f"on the calibration data: {answered}; temperature {temperature}"


def abstaining_section(run: "RunContents") -> Iterator[Block | None]:
    """Yield risk against coverage, and what is promised, where the model abstains."""
    rule = run.model.abstain if run.model else None
    if rule is None:
        return
    drawn = run.curves.get("risk_coverage", {})
    rows = list(zip(*(drawn.get(head.key, []) for head in THRESHOLDS), strict=False))
    asked = "; the broken line is the risk that was asked for" if rule.rule == RISK else ""
    what = "The share of all queries that is answered wrongly, over the share that is answered, as the threshold falls"
    table = Table(THRESHOLDS, tuple(thinned(rows, MOST_THRESHOLDS)), "Thresholds of the confidence")
    points = [(coverage, risk) for coverage, risk, *_ in rows[::-1]]
    level = rule.level if rule.rule == RISK else None
    yield curve(Figure("Risk against coverage", f"{what}{asked}.", table), points, ("answered", "risk"), level=level)
    yield from map(sentence, abstaining_texts(rule, run.metrics.abstention))


# What a router saves of a prompt.

SAVED = (
    Column("k", "first k", Kind.COUNT),
    Column("right", "right tool there", Kind.SHARE),
    Column("tokens", "tokens", Kind.ROUNDED),
    Column("saved", "tokens saved", Kind.SHARE),
)


def prompt_section(run: "RunContents") -> Iterator[Block]:
    """Yield tokens saved beside the share of queries whose right tool is still there, where tools were ranked."""
    from ltr.results import PromptSums

    drawn = run.curves.get(PromptSums.CURVE, {})
    rows = list(zip(*(drawn.get(name, []) for name in ("k", "right_there", "tokens")), strict=False))
    if not rows or not rows[-1][2]:
        return
    whole, catalogue = rows[-1][2], run.metrics.counts.catalogue_tools
    of = "of the list of each query" if catalogue is None else f"of all {catalogue:,} tools of the catalogue"
    numbers = tuple((int(k), right, tokens, 1 - tokens / whole) for k, right, tokens in rows)
    table = Table(SAVED, numbers, "The first k tools in the prompt")
    yield f"A prompt with the first k tools {of}, best first. {PromptSums.RULE}; the schema of a tool takes more."
    blank = Figure("The right tool is still there", "Share of queries over the share of tokens that is saved.", table)
    points = [(saved, right) for _, right, _, saved in numbers]
    yield curve(blank, points, ("tokens saved (share)", "queries (share)")) or table


# Tool by tool.


def _mistakes(tool: ToolRecord) -> str | None:
    return ", ".join(f"{mistake.tool} {mistake.count:,}" for mistake in tool.mistaken_for) or None


def _found(tool: ToolRecord) -> float | None:
    return tool.found / tool.right if tool.right else None


TOOLS = (
    Column("tool", "tool"),
    Column("right", "right", Kind.COUNT),
    Column("found", "found", Kind.COUNT),
    Column("share", "share found", Kind.SHARE, brief="share", value=_found),
    Column("wrongly_first", "wrongly first", Kind.COUNT, brief="wrong"),
    Column("mistaken_for", "mistaken for", value=_mistakes),
)
PAIRS = (
    Column("right", "right tool", value=itemgetter(0)),
    Column("first", "stood first", value=lambda pair: pair[1].tool),
    Column("count", "queries", Kind.COUNT, value=lambda pair: pair[1].count),
    Column("query", "for example", value=lambda pair: pair[1].query),
)


def confused_pairs(tools: Iterable[ToolRecord], most: int) -> list[tuple[str, MistakeRecord]]:
    """The right tool and what it was mistaken for, the most frequent pairs.

    >>> often = ToolRecord("a", 3, 1, 1, 0, [MistakeRecord("b", 2, "q")])
    >>> [(tool, mistake.tool, mistake.count) for tool, mistake in confused_pairs([often], 10)]
    [('a', 'b', 2)]
    """
    pairs = [(record.tool, mistake) for record in tools for mistake in record.mistaken_for]
    return sorted(pairs, key=lambda pair: (-pair[1].count, pair[0], pair[1].tool))[:most]


def _tools_table(tools: Sequence[ToolRecord], most: int) -> Table:
    """Return so many tools, those that are most often right."""
    return Table.of(TOOLS, tools[:most], "Tools by how often they were right", layout="folded")


def _pairs_table(tools: Sequence[ToolRecord]) -> Table | None:
    """Return the most confused pairs, each with a query that shows it."""
    pairs = confused_pairs(tools, MOST_PAIRS)
    return Table.of(PAIRS, pairs, "The most confused pairs", layout="folded") if pairs else None


def tools_section(run: "RunContents") -> Iterator[Block | None]:
    """Yield the pairs that are confused, then the tools."""
    yield _pairs_table(run.tools)
    yield _tools_table(run.tools, MOST_TOOLS) if run.tools else None
    yield rest(len(run.tools), MOST_TOOLS, " in by_tool.jsonl")


def tool_blocks(tools: Sequence[ToolRecord]) -> Iterator[TerminalBlock]:
    """Yield the tools that are most often right, and the pairs that are most often confused."""
    yield from (Line(), _tools_table(tools, MOST_TOOLS_OF_TERMINAL))
    yield rest(len(tools), MOST_TOOLS_OF_TERMINAL, ": --format json shows all")
    if pairs := _pairs_table(tools):
        yield from (Line(), pairs)


# Queries, each with what every feature adds to the scores of its candidates.


def instructive_section(run: "RunContents") -> Iterator[Block]:
    """Yield where the model is wrong and sure; then where it is right and the best baseline is not."""
    best = run.metrics.best_baseline
    beaten = NONE if best is None else Baseline.title(best, run.metrics.best_feature)
    for kind, title in (
        (WRONG, "Wrong with high confidence: the surest first."),
        (RESCUED, f"Right where {beaten} is wrong: the surest first."),
    ):
        examples = [example for example in run.examples if example.kind == kind]
        if examples:
            yield title
        yield from (_folded(example, is_open=place < OPEN) for place, example in enumerate(examples))
    if any(example.kind in (WRONG, RESCUED) for example in run.examples):
        yield (
            "A feature's part is what it adds to the score, less its mean over the query's candidates: "
            "what all of them share does not rank them."
        )


def _folded(example: ExampleRecord, *, is_open: bool) -> Folded:
    """Return one query, a long one cut in the line that opens it."""
    place, summary = f"Right candidate at rank {example.rank} of {example.num_candidates}", example.query
    texts = [f"{place}; trace {example.trace_id}, node {example.node_id}."]
    if len(summary) > LONGEST_LINE:
        texts, summary = [summary, *texts], f"{summary[:LONGEST_LINE]}…"
    return Folded(summary, (*texts, parts_of_scores(example)), is_open)


def parts_of_scores(example: ExampleRecord) -> Table:
    """Return candidates with what each feature adds, less its mean; features with little range together as others."""
    names = example.features
    candidates = [each for each in example.candidates if len(each.contributions) == len(names)]
    parts = list(zip(*(each.contributions for each in candidates), strict=True)) or [()] * len(names)
    ranges = [max(values, default=0.0) - min(values, default=0.0) for values in parts]
    widest = sorted(sorted(range(len(parts)), key=lambda place: -ranges[place])[:MOST_PARTS])
    number = max(len(candidates), 1)
    means = [math.fsum(values) / number for values in parts]
    mean_score = math.fsum(each.score for each in candidates) / number
    rows: list[TableRow] = []
    marked: set[int] = set()
    has_others = len(widest) < len(names)
    for place, candidate in enumerate(candidates):
        is_first_right = candidate.is_right and not any(other.is_right for other in candidates[:place])
        if place >= MOST_CANDIDATES and not is_first_right and not candidate.is_chosen_by_baseline:
            continue
        if candidate.is_right:
            marked.add(len(rows))
        shown = [candidate.contributions[feature] - means[feature] for feature in widest]
        others = candidate.score - mean_score - math.fsum(shown)
        has_others = has_others or abs(others) >= 1e-6
        roles = (("right", candidate.is_right), ("first by baseline", candidate.is_chosen_by_baseline))
        role = ", ".join(name for name, is_so in roles if is_so)
        rows.append((candidate.candidate, str(candidate.place), role, candidate.probability, *shown, others))
    heads = [
        Column("candidate", "candidate"),
        Column("place", "place", Kind.WRITTEN),
        Column("role", "which is"),
        Column("probability", "probability", Kind.SHARE),
        *(Column(names[feature], names[feature], Kind.DIFFERENCE) for feature in widest),
        Column("others", "others", Kind.DIFFERENCE),
    ]
    width = len(heads) if has_others else len(heads) - 1
    caption = f"{count(len(rows), 'candidate')} of {example.num_candidates}"
    return Table(tuple(heads[:width]), tuple(row[:width] for row in rows), caption, marked=frozenset(marked))


def rescued_blocks(measured: "Evaluated", router: "Router") -> Iterator[TerminalBlock]:
    """Yield the surest query that is right where the best baseline is wrong."""
    from ltr.results import rescued

    explained = rescued(measured, router)
    if explained.number:
        alone = Baseline.title(measured.best_baseline or "", measured.best_feature)
        title = f"{queries_text(explained.number)} right where {alone} is wrong, such as:"
        yield from _explained(title, explained.first[:1])


def wrong_blocks(measured: "Evaluated", router: "Router") -> Iterator[TerminalBlock]:
    """Yield the queries that went wrong with the least trust in the right candidate."""
    from ltr.results import wrong

    explained = wrong(measured, router)
    if not explained.number:
        with_right = " with a right candidate" if measured.evaluation.num_no_relevant else ""
        yield from (Line(), Line(f"no query{with_right} went wrong"))
        return
    title = f"{queries_text(explained.number)} went wrong; where the right candidate is least probable:"
    yield from _explained(title, explained.first[:EXPLAINED])


def _explained(title: str, first: "Sequence[tuple[float, Explanation]]") -> Iterator[TerminalBlock]:
    """Yield what each feature added to the first and to the right candidate of each query."""
    yield from (Line(), Line(title, is_bold=True))
    for _, explanation in first:
        yield from (Line(), Line(f'"{explanation.query}"', "cut"), partial(_sides, explanation))


def _sides(explanation: "Explanation", width: int) -> Iterator[Line | Table]:
    """Yield both candidates, and the parts of their scores; where the right one stood gets a line where it must."""
    first, right = explanation.sides
    rows: list[TableRow] = [
        (name, part, right.contributions[name], right.contributions[name] - part)
        for name, part in first.contributions.items()
    ]
    ours, theirs = (sum(side.contributions.values()) for side in (first, right))
    rows.append(("score", ours, theirs, theirs - ours))
    titles, edge = (first.role, "right", "difference"), max(len(first.role), len("right"))
    heads = Column("feature", ""), *(Column(title, title, Kind.DIFFERENCE) for title in titles)
    stood = (
        f", at rank {explanation.rank} of {explanation.num_candidates}, probability {fixed(explanation.probability)}"
    )
    named = f"  {'right':>{edge}}: {visible(right.candidate)}"
    yield Line(f"  {first.role:>{edge}}: {first.candidate}", "cut")
    if width - width_of(stood) >= edge + SHORTEST_CELL:
        yield Line(shortened(named, width - width_of(stood)) + stood)
        yield Table(heads, tuple(rows), indent="  ")
    else:
        yield from (Line(named, "cut"), Line(f"  {stood[2:]}"), Table(heads, tuple(rows)))


ANSWERS: Mapping[str, Callable[["RunContents"], Blocks]] = {  # sections of the page of a run
    "Ranks and probabilities": calibration_section,
    "None of these": none_section,
    "Abstaining": abstaining_section,
    "Tokens saved": prompt_section,
    "Tool by tool": tools_section,
    "Instructive queries": instructive_section,
}
