"""The queries that teach most about a model, each with its candidates and what every feature adds to them."""

from collections.abc import Iterator, Sequence

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray
from ltr.data.candidates import candidate_text
from ltr.evaluation.ranking import order
from ltr.results.evaluated_ranking import EvaluatedRanking, best_relevant
from ltr.results.explanations import is_rescued
from ltr.serving.router import Router
from ltr.storage.evaluation_records import CandidateRecord, ExampleRecord
from ltr.training.softmax import softmax

WRONG, RESCUED = "wrong", "rescued"
MOST_EACH = 10  # queries of each kind
MOST_CANDIDATES = 20  # of a query: the first, the right one, and the one that the best baseline chooses
MOST_FEATURES = 24  # of a query: those that differ most between its candidates
LONGEST_QUERY, LONGEST_NAME = 2000, 200


def examples(evaluated: EvaluatedRanking, router: Router) -> Iterator[ExampleRecord]:
    """Wrong queries with the most probable first candidate; then right ones that the best baseline gets wrong.

    Bounded in number and length, so that a run stays small whatever its data.
    """
    listed = order(evaluated.ranking, evaluated.evaluation.rules.ties)
    starts, compared = evaluated.groups.offsets[:-1], evaluated.compared
    firsts = listed[starts]
    by_best = None if compared is None else order(compared, evaluated.evaluation.rules.ties)[starts]
    probability = softmax(evaluated.ranking.scores, evaluated.groups.offsets)
    kinds = {WRONG: (evaluated.evaluation.rank > 1) & ~_is_right(evaluated, firsts)}
    if by_best is not None:
        kinds[RESCUED] = is_rescued(evaluated)
    right = best_relevant(evaluated, listed)
    for kind, chosen in kinds.items():
        for group in surest(chosen, probability[firsts])[:MOST_EACH]:
            marked = [int(right[group]), *([] if by_best is None else [int(by_best[group])])]
            yield _example(evaluated, router, kind, group, marked, listed=listed, probability=probability)


def surest(chosen: BoolArray, probability: FloatArray) -> list[int]:
    """The chosen queries, the greatest probability of what came first before the others.

    >>> surest(np.array([True, False, True]), np.array([0.5, 0.9, 0.8]))
    [2, 0]
    """
    return sorted(np.flatnonzero(chosen).tolist(), key=lambda group: -float(probability[group]))


def _is_right(evaluated: EvaluatedRanking, rows: IntArray) -> BoolArray:
    is_right: BoolArray = evaluated.groups.labels[rows] >= evaluated.evaluation.rules.rel_threshold
    return is_right


def _example(
    evaluated: EvaluatedRanking,
    router: Router,
    kind: str,
    group: int,
    marked: Sequence[int],
    *,
    listed: IntArray,
    probability: FloatArray,
) -> ExampleRecord:
    """One query: what it asks, where the right candidate stands, its candidates from the first."""
    candidates, offsets = evaluated.groups.candidates, evaluated.groups.offsets
    rows = listed[offsets[group] : offsets[group + 1]]
    place_of = {row: place for place, row in enumerate(rows.tolist(), start=1)}
    shown = [row for row in place_of if row in marked or place_of[row] <= MOST_CANDIDATES - len(marked)]
    parts = router.contributions(evaluated.phi[rows])
    columns = most_different(parts)
    return ExampleRecord(
        kind=kind,
        trace_id=candidates.trace_ids[candidates.traces[group]][:LONGEST_NAME],
        node_id=candidates.node_ids[group][:LONGEST_NAME],
        query=candidates.query_texts[candidates.queries[group]][:LONGEST_QUERY],
        rank=int(evaluated.evaluation.rank[group]),
        num_candidates=len(rows),
        features=[router.names[column] for column in columns],
        candidates=[
            CandidateRecord(
                candidate=candidate_text(candidates, row)[:LONGEST_NAME],
                label=float(evaluated.groups.labels[row]),
                is_right=bool(_is_right(evaluated, np.array([row]))[0]),
                probability=float(probability[row]),
                score=float(evaluated.ranking.scores[row]),
                place=place_of[row],
                is_chosen_by_baseline=len(marked) > 1 and row == marked[1],
                contributions=parts[place_of[row] - 1][columns].tolist(),
            )
            for row in shown
        ],
    )


def most_different(parts: FloatArray) -> list[int]:
    """The columns whose values differ most between the rows, in their order.

    >>> most_different(np.array([[0.0, 1.0], [2.0, 1.0]]))
    [0, 1]
    """
    ranges = np.ptp(parts, axis=0).tolist()
    return sorted(sorted(range(len(ranges)), key=lambda column: -ranges[column])[:MOST_FEATURES])
