"""The clauses of queries, and the best value among the clauses of a query."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ltr.arrays import FloatArray, IntArray, Ragged, offsets_of
from ltr.data.candidates import Candidates
from ltr.data.integer_codes import Codes
from ltr.features.feature_context import Context


@dataclass(frozen=True, slots=True)
class Clauses:
    """The clauses of each query, behind the query itself; each distinct text once."""

    texts: tuple[str, ...]
    of_query: Ragged  # of each query codes into the texts

    def without_queries(self) -> "Clauses":
        """The clauses alone; a query of one clause is that clause."""
        lengths = self.of_query.lengths
        is_clause = np.ones(len(self.of_query.codes), dtype=bool)
        is_clause[self.of_query.starts[:-1][lengths > 1]] = False
        starts = offsets_of(np.where(lengths > 1, lengths - 1, lengths))
        return Clauses(self.texts, Ragged(starts, self.of_query.codes[is_clause]))

    def queries_alone(self) -> "Clauses":
        """The queries without their clauses."""
        starts = self.of_query.starts
        return Clauses(self.texts, Ragged(np.arange(len(starts)), self.of_query.codes[starts[:-1]]))

    def best(self, queries: IntArray, value: Callable[[IntArray, IntArray], FloatArray]) -> tuple[FloatArray, IntArray]:
        """The largest value among the clauses of each of the queries, and the code of the first clause that has it.

        `value` gets the codes of many clauses at once, and the place of the query of each.
        """
        clauses = self.of_query.take(queries)
        if not len(queries):
            return np.empty(0), clauses.codes
        values = value(clauses.codes, clauses.owners)
        starts = clauses.starts[:-1]
        largest = np.maximum.reduceat(values, starts)
        is_largest = values == np.repeat(largest, clauses.lengths)
        first = np.minimum.reduceat(np.where(is_largest, np.arange(len(values)), len(values)), starts)
        return largest, clauses.codes[first]


def query_clauses(candidates: Candidates, context: Context) -> Clauses:
    """The clauses of the candidates' queries."""
    texts = Codes()
    codes: list[int] = []
    lengths = []
    for query in candidates.query_texts:
        clauses = context.lexicon.clauses(query)
        listed = [query, *clauses] if len(clauses) > 1 else [query]
        codes += [texts[text] for text in listed]
        lengths.append(len(listed))
    return Clauses(tuple(texts), Ragged(offsets_of(lengths), np.array(codes, dtype=np.int64)))
