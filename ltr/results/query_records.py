"""What an evaluated ranking says query by query: what was right, what was ranked first, where the right one stood."""

from collections.abc import Iterator

import msgspec
import numpy as np

from ltr.arrays import LARGEST, FloatArray, IntArray
from ltr.evaluation.metrics.candidate_probabilities import Probability, candidate_probabilities
from ltr.evaluation.metrics.ranking_measures import MRR, TOP1, TOP3
from ltr.evaluation.ranking import order
from ltr.results.evaluated_ranking import EvaluatedRanking, best_relevant
from ltr.serving.router import Router
from ltr.storage.evaluation_records import ExplainedRecord, QueryRecord
from ltr.training.softmax import softmax

LISTED = 3  # candidates of a query that its record names


def query_records(
    evaluated: EvaluatedRanking, router: Router | None = None, *, explain: bool = False
) -> Iterator[QueryRecord]:
    """One record a query, in the order of the groups."""
    listed = order(evaluated.ranking, evaluated.evaluation.rules.ties)
    true_rows = best_relevant(evaluated, listed)
    probabilities = _probabilities(evaluated)
    starts = evaluated.groups.offsets.tolist()
    for group in range(len(starts) - 1):
        rows, true_row = listed[starts[group] : starts[group + 1]], int(true_rows[group])
        record = _query_record(evaluated, group, rows, true_row, probabilities=probabilities)
        if explain and router:
            sides = {"predicted": int(rows[0]), "true": true_row}
            added = {
                side: None if row < 0 else router.named_contributions(evaluated.phi[row]) for side, row in sides.items()
            }
            record = ExplainedRecord(**msgspec.structs.asdict(record), contributions=added)
        yield record


def _probabilities(evaluated: EvaluatedRanking) -> FloatArray:
    """The probability of each row, by the rule of the evaluation."""
    ranking, meaning = evaluated.ranking, evaluated.evaluation.rules.probability
    if meaning is Probability.SOFTMAX:
        return softmax(np.maximum(ranking.scores, -LARGEST), ranking.offsets)
    probabilities = np.zeros(len(ranking.scores))
    is_counted, none_right = np.ones(len(ranking.offsets) - 1, dtype=np.bool_), np.zeros(len(ranking.scores), np.bool_)
    listed = candidate_probabilities(ranking, none_right, is_counted, 1.0, meaning)
    probabilities[ranking.is_listed] = listed.probability
    return probabilities


def _query_record(
    evaluated: EvaluatedRanking, group: int, rows: IntArray, true_row: int, *, probabilities: FloatArray
) -> QueryRecord:
    candidates, evaluation, scores = evaluated.groups.candidates, evaluated.evaluation, evaluated.ranking.scores
    first = rows[:LISTED][~np.isneginf(scores[rows[:LISTED]])]
    names = [candidates.name_texts[code] for code in candidates.names[first].tolist()]
    is_ranked = true_row >= 0 and not np.isneginf(scores[true_row])
    rank = int(evaluation.rank[group])
    values = {name: float(column[group]) for name, column in evaluation.values.items()}
    metrics = {name: None if np.isnan(value) else value for name, value in values.items()}
    return QueryRecord(
        trace_id=candidates.trace_ids[candidates.traces[group]],
        node_id=candidates.node_ids[group],
        query=candidates.query_texts[candidates.queries[group]],
        true_candidate=None if true_row < 0 else candidates.name_texts[candidates.names[true_row]],
        predicted_candidate=names[0] if names else None,
        top3_candidates=names,
        top3_scores=scores[first].tolist(),
        rank=rank or None,
        is_top1_correct=rank == 1,
        is_top3_correct=1 <= rank <= LISTED,
        top1=metrics.pop(TOP1),
        top3=metrics.pop(TOP3),
        reciprocal_rank=metrics.pop(MRR),
        tied=int(evaluation.tied[group]),
        num_candidates=int(evaluation.num_candidates[group]),
        num_positives=int(evaluation.num_positives[group]),
        probability=float(probabilities[true_row]) if is_ranked else None,
        none=None if evaluated.none_probability is None else float(evaluated.none_probability[group]),
        abstains=None if evaluated.abstains is None else bool(evaluated.abstains[group]),
        metrics=metrics,
    )
