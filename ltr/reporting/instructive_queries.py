"""The most instructive queries, each with what every feature adds to the scores of its candidates."""

import math

from ltr.errors import count
from ltr.evaluation.baselines import baseline_title
from ltr.reporting.number_formats import NONE
from ltr.reporting.page import Block, Folded, Section, Text
from ltr.reporting.table import Column, Kind, Table, TableRow
from ltr.results.queries import RESCUED, WRONG
from ltr.storage.evaluation_records import ExampleRecord
from ltr.storage.run_contents import RunContents

MOST_ROWS, MOST_COLUMNS = 8, 10
LONGEST_LINE = 160  # letters of a query in the line that opens it
OPEN = 1  # examples of each kind that are open from the start


def instructive_section(run: RunContents) -> Section:
    """Where the model is wrong and sure; then where it is right and the best baseline is not."""
    best = run.metrics.best_baseline
    title = NONE if best is None else baseline_title(best, run.metrics.best_feature)
    kinds = {
        WRONG: "Wrong with high confidence: the surest first.",
        RESCUED: f"Right where {title} is wrong: the surest first.",
    }
    blocks: list[Block] = []
    for kind, title in kinds.items():
        examples = [example for example in run.examples if example.kind == kind]
        if examples:
            blocks.append(Text(title))
            blocks += [_folded(example, is_open=place < OPEN) for place, example in enumerate(examples)]
    if blocks:
        blocks.append(
            Text(
                "A feature's part is what it adds to the score, less its mean over the query's candidates: "
                "what all of them share does not rank them."
            )
        )
    return Section("Instructive queries", blocks)


def _folded(example: ExampleRecord, *, is_open: bool) -> Folded:
    """One query, a long one cut in the line that opens it."""
    place = f"Right candidate at rank {example.rank} of {example.num_candidates}"
    blocks: list[Block] = [Text(f"{place}; trace {example.trace_id}, node {example.node_id}.")]
    summary = example.query
    if len(summary) > LONGEST_LINE:
        summary = f"{summary[:LONGEST_LINE]}…"
        blocks.insert(0, Text(example.query))
    return Folded(summary, (*blocks, parts_of_scores(example)), is_open)


def parts_of_scores(example: ExampleRecord) -> Table:
    """The candidates with what each feature adds, less its mean; features with little range together as others."""
    candidates = [
        candidate for candidate in example.candidates if len(candidate.contributions) == len(example.features)
    ]
    parts = list(zip(*(candidate.contributions for candidate in candidates), strict=True)) or [()] * len(
        example.features
    )
    ranges = [max(values, default=0.0) - min(values, default=0.0) for values in parts]
    widest = sorted(sorted(range(len(parts)), key=lambda place: -ranges[place])[:MOST_COLUMNS])
    number = max(len(candidates), 1)
    means = [math.fsum(values) / number for values in parts]
    mean_score = math.fsum(candidate.score for candidate in candidates) / number
    rows: list[TableRow] = []
    marked: set[int] = set()
    has_others = len(widest) < len(example.features)
    for place, candidate in enumerate(candidates):
        is_first_right = candidate.is_right and not any(other.is_right for other in candidates[:place])
        if place >= MOST_ROWS and not is_first_right and not candidate.is_chosen_by_baseline:
            continue
        if candidate.is_right:
            marked.add(len(rows))
        shown = [candidate.contributions[feature] - means[feature] for feature in widest]
        others = candidate.score - mean_score - math.fsum(shown)
        has_others = has_others or abs(others) >= 1e-6
        roles = (("right", candidate.is_right), ("first by baseline", candidate.is_chosen_by_baseline))
        role = ", ".join(name for name, is_so in roles if is_so)
        rows.append((candidate.candidate, str(candidate.place), role, candidate.probability, *shown, others))
    columns = [
        Column("candidate", "candidate"),
        Column("place", "place", Kind.WRITTEN),
        Column("role", "which is"),
        Column("probability", "probability", Kind.SHARE),
        *(Column(example.features[feature], example.features[feature], Kind.DIFFERENCE) for feature in widest),
        Column("others", "others", Kind.DIFFERENCE),
    ]
    width = len(columns) if has_others else len(columns) - 1
    caption = f"{count(len(rows), 'candidate')} of {example.num_candidates}"
    return Table(tuple(columns[:width]), tuple(row[:width] for row in rows), caption, marked=frozenset(marked))
