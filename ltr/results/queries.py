"""Single queries of a ranking: the record of each, those that teach most taken apart, and their texts as hashes."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from ltr.arrays import LARGEST, BoolArray, FloatArray, IntArray
from ltr.evaluation import MRR, TOP1, TOP3, Probability, Ranking, candidate_probabilities, order
from ltr.records.metrics import RESCUED, WRONG, CandidateRecord, ExampleRecord, ExplainedRecord, QueryRecord
from ltr.serving import Router
from ltr.training import softmax

if TYPE_CHECKING:
    from ltr.results.evaluated import Evaluated

LISTED = 3  # candidates of a query that its record names
MOST_EACH = 10  # queries of each kind
MOST_EXPLAINED = 3  # of shards that are not kept in memory
MOST_CANDIDATES = 20  # of a query: the first, the right one, and the one that the best baseline chooses
MOST_FEATURES = 24  # of a query: those that differ most between its candidates
LONGEST_QUERY, LONGEST_NAME = 2000, 200
LONGEST_SHOWN = 60  # characters of a query in a warning


def query_records(
    evaluated: "Evaluated", router: Router | None = None, *, explain: bool = False
) -> Iterator[QueryRecord]:
    """Return one record a query of a shard, in the order of the groups."""
    shard, evaluation, scores = evaluated.whole, evaluated.evaluation, evaluated.ranking.scores
    candidates, starts = shard.groups.candidates, shard.groups.offsets.tolist()
    listed = order(shard.ranking, evaluation.rules.ties)
    true_rows, probabilities = best_relevant(evaluated, listed).tolist(), _probabilities(evaluated)
    for group, true_row in enumerate(true_rows):
        rows = listed[starts[group] : starts[group + 1]]
        first = rows[:LISTED][~np.isneginf(scores[rows[:LISTED]])]
        names = [candidates.name_texts[code] for code in candidates.names[first].tolist()]
        is_ranked = true_row >= 0 and not np.isneginf(scores[true_row])
        rank = int(evaluation.rank[group])
        values = {name: float(column[group]) for name, column in evaluation.values.items()}
        metrics = {name: None if np.isnan(value) else value for name, value in values.items()}
        record = QueryRecord(
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
            none=None if shard.none_probability is None else float(shard.none_probability[group]),
            abstains=None if shard.abstains is None else bool(shard.abstains[group]),
            metrics=metrics,
        )
        if explain and router:
            sides = {"predicted": int(rows[0]), "true": true_row}
            added = {
                side: None if row < 0 else router.named_contributions(shard.phi[row]) for side, row in sides.items()
            }
            record = ExplainedRecord(**msgspec.structs.asdict(record), contributions=added)
        yield record


def _probabilities(evaluated: "Evaluated") -> FloatArray:
    """Return the probability of each row, by the rule of the evaluation."""
    ranking, meaning = evaluated.ranking, evaluated.evaluation.rules.probability
    if meaning is Probability.SOFTMAX:
        return softmax(np.maximum(ranking.scores, -LARGEST), ranking.offsets)
    probabilities = np.zeros(len(ranking.scores))
    is_counted, none_right = np.ones(len(ranking.offsets) - 1, dtype=np.bool_), np.zeros(len(ranking.scores), np.bool_)
    listed = candidate_probabilities(ranking, none_right, is_counted, 1.0, meaning)
    probabilities[ranking.is_listed] = listed.probability
    return probabilities


def best_relevant(evaluated: "Evaluated", listed: IntArray) -> IntArray:
    """Return the row of each query's first listed relevant candidate; -1 without one."""
    offsets = evaluated.groups.offsets
    rows = np.full(len(offsets) - 1, -1, dtype=np.int64)
    is_relevant: BoolArray = evaluated.groups.labels[listed] >= evaluated.evaluation.rules.rel_threshold
    queries = np.repeat(np.arange(len(rows)), np.diff(offsets))[is_relevant]
    with_one, first = np.unique(queries, return_index=True)
    rows[with_one] = listed[is_relevant][first]
    return rows


@dataclass(frozen=True, slots=True)
class Side:
    """One of two candidates that are compared."""

    role: str
    candidate: str
    contributions: dict[str, float]  # of each feature to the score


@dataclass(frozen=True, slots=True)
class Explanation:
    """A query, the two candidates that explain it, and where the right one stood."""

    query: str
    sides: tuple[Side, Side]
    rank: int
    num_candidates: int
    probability: float  # of the right candidate


@dataclass(frozen=True, slots=True)
class Explained:
    """How many queries went wrong, or were rescued, and those of them that are told first, by their urgency."""

    number: int
    first: tuple[tuple[float, Explanation], ...]

    def __add__(self, more: "Explained") -> "Explained":
        both = sorted((*self.first, *more.first), key=lambda pair: pair[0])
        return Explained(self.number + more.number, tuple(both[:MOST_EXPLAINED]))


def wrong(evaluated: "Evaluated", router: Router, most: int = MOST_EXPLAINED) -> Explained:
    """Count the queries that went wrong; those with the least trust in what is right stand beside what came first."""
    if evaluated.ranked is None:
        return evaluated.explained[WRONG]
    firsts = _firsts(evaluated, evaluated.ranking)
    return _explained(evaluated, router, evaluated.evaluation.rank > 1, ("first", firsts), most=most, sign=1)


def rescued(evaluated: "Evaluated", router: Router, most: int = MOST_EXPLAINED) -> Explained:
    """Count the queries that are right where the best baseline is wrong; the surest stand beside its choice."""
    if evaluated.ranked is None:
        return evaluated.explained[RESCUED]
    compared = evaluated.ranked.compared
    if compared is None:
        return Explained(0, ())
    firsts = _firsts(evaluated, compared)
    return _explained(evaluated, router, _is_rescued(evaluated), ("baseline", firsts), most=most, sign=-1)


def _firsts(evaluated: "Evaluated", ranking: Ranking) -> IntArray:
    """Return the row that stands first in each group."""
    firsts: IntArray = order(ranking, evaluated.evaluation.rules.ties)[evaluated.groups.offsets[:-1]]
    return firsts


def _is_rescued(evaluated: "Evaluated") -> BoolArray:
    """Return whether each query is right, and the best baseline is wrong there."""
    by_baseline = evaluated.baselines[evaluated.best_baseline or ""].values[TOP1]
    is_so: BoolArray = (evaluated.evaluation.rank == 1) & (by_baseline == 0)
    return is_so


def _explained(
    evaluated: "Evaluated", router: Router, chosen: BoolArray, other: tuple[str, IntArray], *, most: int, sign: int
) -> Explained:
    """Explain chosen queries: the right candidate beside another; the least probable first, with sign -1 the most."""
    role, other_rows = other
    shard, evaluation = evaluated.whole, evaluated.evaluation
    candidates = shard.groups.candidates
    right_rows = best_relevant(evaluated, order(shard.ranking, evaluation.rules.ties))
    probability = softmax(shard.ranking.scores, shard.groups.offsets)[right_rows]
    groups = sorted(np.flatnonzero(chosen).tolist(), key=lambda group: sign * float(probability[group]))

    def side(role: str, row: int) -> Side:
        contributions = router.named_contributions(shard.phi[row]) if row >= 0 else {}
        return Side(role, candidates.text(row), contributions)

    first = tuple(
        Explanation(
            candidates.query_texts[candidates.queries[group]],
            (side(role, int(other_rows[group])), side("right", int(right_rows[group]))),
            int(evaluation.rank[group]),
            int(evaluation.num_candidates[group]),
            float(probability[group]),
        )
        for group in groups[:most]
    )
    return Explained(len(groups), tuple((sign * one.probability, one) for one in first))


@dataclass(frozen=True, slots=True)
class Examples:
    """The queries of each kind that teach most about a model, so few of them that a run stays small whatever its data.

    Of a sum they are those with the most probable first candidate, the earlier of equals.
    """

    records: tuple[ExampleRecord, ...] = ()

    def __add__(self, more: "Examples") -> "Examples":
        kinds: dict[str, list[ExampleRecord]] = {}
        for example in (*self.records, *more.records):
            kinds.setdefault(example.kind, []).append(example)
        return Examples(
            tuple(example for of_kind in kinds.values() for example in sorted(of_kind, key=_doubt)[:MOST_EACH])
        )


def _doubt(example: ExampleRecord) -> float:
    return -max(candidate.probability for candidate in example.candidates if candidate.place == 1)


def examples(evaluated: "Evaluated", router: Router) -> Examples:
    """Return wrong queries with the most probable first candidate; then right ones that the best baseline gets wrong.

    Each has its candidates, with what every feature adds to them.
    """
    if evaluated.ranked is None:
        return evaluated.examples
    listed = order(evaluated.ranking, evaluated.evaluation.rules.ties)
    starts, compared = evaluated.groups.offsets[:-1], evaluated.whole.compared
    firsts = listed[starts]
    by_best = None if compared is None else _firsts(evaluated, compared)
    probability = softmax(evaluated.ranking.scores, evaluated.groups.offsets)
    kinds = {WRONG: (evaluated.evaluation.rank > 1) & ~_is_right(evaluated, firsts)}
    if by_best is not None:
        kinds[RESCUED] = _is_rescued(evaluated)
    right = best_relevant(evaluated, listed)
    chosen = [(kind, group) for kind, of in kinds.items() for group in surest(of, probability[firsts])[:MOST_EACH]]
    marks = [[int(right[group]), *([] if by_best is None else [int(by_best[group])])] for _, group in chosen]
    taken = zip(chosen, marks, strict=True)
    return Examples(
        tuple(_example(evaluated, router, *of, marked, listed=listed, probability=probability) for of, marked in taken)
    )


def surest(chosen: BoolArray, probability: FloatArray) -> list[int]:
    """Return the chosen queries, the greatest probability of what came first before the others.

    >>> surest(np.array([True, False, True]), np.array([0.5, 0.9, 0.8]))
    [2, 0]
    """
    return sorted(np.flatnonzero(chosen).tolist(), key=lambda group: -float(probability[group]))


def _is_right(evaluated: "Evaluated", rows: IntArray) -> BoolArray:
    is_right: BoolArray = evaluated.groups.labels[rows] >= evaluated.evaluation.rules.rel_threshold
    return is_right


def _example(
    evaluated: "Evaluated",
    router: Router,
    kind: str,
    group: int,
    marked: Sequence[int],
    *,
    listed: IntArray,
    probability: FloatArray,
) -> ExampleRecord:
    """Take one query apart: what it asks, where the right candidate stands, its candidates from the first."""
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
                candidate=candidates.text(row)[:LONGEST_NAME],
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
    """Return the columns whose values differ most between the rows, in their order.

    >>> most_different(np.array([[0.0, 1.0], [2.0, 1.0]]))
    [0, 1]
    """
    ranges = np.ptp(parts, axis=0).tolist()
    return sorted(sorted(range(len(ranges)), key=lambda column: -ranges[column])[:MOST_FEATURES])


def digest_of(text: str) -> str:
    """Return what stands for a text: equal texts have equal hashes, so queries can still be matched.

    >>> digest_of("weather in Paris?")
    'text:35c3c89a21312dc9'
    """
    return f"text:{hashlib.blake2b(text.encode(), digest_size=8).hexdigest()}"


def hash_texts(warnings: Iterable[str], texts: Iterable[str]) -> list[str]:
    """Return the warnings with a hash in the place of each of the texts that one of them quotes."""
    changed = list(warnings)
    for text in texts:
        quoted, digest = repr(text[:LONGEST_SHOWN]), repr(digest_of(text))
        changed = [warning.replace(quoted, digest) for warning in changed]
    return changed
