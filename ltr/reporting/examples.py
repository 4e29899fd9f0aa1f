"""The most instructive queries, each taken apart."""

import math

from ltr.reporting.blocks import Block, Folded, Section, Table, Text
from ltr.reporting.figures import count, share, signed
from ltr.reporting.reading import RunFiles
from ltr.results.examples import RESCUED, WRONG
from ltr.storage.records import CandidateRecord, ExampleRecord

MOST_ROWS, MOST_COLUMNS = 8, 10
LONGEST_LINE = 160  # letters of a query in the line that opens it
OPEN = 1  # examples of each kind that are open from the start


def example_section(run: RunFiles) -> Section:
    """Where the model is wrong and sure; then where it is right and the best single feature is not."""
    best = run.metrics.get("best_feature")
    kinds = {
        WRONG: "Wrong with high confidence: the surest first.",
        RESCUED: f"Right where the best single feature, {best}, is wrong: the surest first.",
    }
    blocks: list[Text | Folded] = []
    for kind, title in kinds.items():
        found = [each for each in run.examples if each.kind == kind]
        if found:
            blocks.append(Text(title))
            blocks += [_folded(each, is_open=place < OPEN) for place, each in enumerate(found)]
    if blocks:
        blocks.append(
            Text(
                "A feature's part is what it adds to the score, less its mean over the query's candidates: "
                "what all of them share says nothing."
            )
        )
    return Section("Instructive queries", tuple(blocks))


def _folded(example: ExampleRecord, *, is_open: bool) -> Folded:
    place = f"Right candidate at rank {example.rank} of {example.num_candidates}"
    stood = f"{place}; trace {example.trace_id}, node {example.node_id}."
    query, whole = example.query, list[Block]()
    if len(query) > LONGEST_LINE:
        query, whole = f"{query[:LONGEST_LINE]}…", [Text(query)]
    return Folded(query, (*whole, Text(stood), _table(example)), is_open)


def _table(example: ExampleRecord) -> Table:
    """The candidates with what each feature adds, and the rest of the features together."""
    shown = [each for each in example.candidates if len(each.contributions) == len(example.features)]
    rows = _rows(shown)
    told = _told(example, shown)
    means = [_mean([each.contributions[place] for each in shown]) for place in range(len(example.features))]
    mean = _mean([each.score for each in shown])
    lines = []
    for each in rows:
        parts = [each.contributions[place] - means[place] for place in told]
        rest = each.score - mean - math.fsum(parts)
        others = [] if len(told) == len(example.features) and abs(rest) < 1e-6 else [signed(rest)]
        lines.append(
            (each.candidate, str(each.place), _said(each), share(each.probability), *map(signed, parts), *others)
        )
    width = max(map(len, lines), default=4)
    heads = ("candidate", "place", "which is", "probability", *(example.features[place] for place in told), "others")[
        :width
    ]
    full = tuple((*line, *[""] * (width - len(line))) for line in lines)
    marked = frozenset(place for place, each in enumerate(rows) if each.is_right)
    caption = f"{count(len(rows), 'candidate')} of {example.num_candidates}"
    return Table(caption, heads, full, words=frozenset({0, 2}), marked=marked)


def _rows(candidates: list[CandidateRecord]) -> list[CandidateRecord]:
    """The first candidates, and those that must be seen."""
    return [
        each
        for place, each in enumerate(candidates)
        if place < MOST_ROWS
        or (each.is_right and not any(other.is_right for other in candidates[:place]))
        or each.is_chosen_by_best_feature
    ]


def _told(example: ExampleRecord, candidates: list[CandidateRecord]) -> list[int]:
    """The features that tell these candidates apart most, in their order."""

    def spread(place: int) -> float:
        values = [each.contributions[place] for each in candidates]
        return max(values, default=0.0) - min(values, default=0.0)

    places = sorted(range(len(example.features)), key=lambda place: -spread(place))[:MOST_COLUMNS]
    return sorted(places)


def _said(candidate: CandidateRecord) -> str:
    told = ["right"] if candidate.is_right else []
    return ", ".join([*told, *(["first by best feature"] if candidate.is_chosen_by_best_feature else [])])


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0
