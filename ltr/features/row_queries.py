"""The query of each row, and the queries as texts for an encoder."""

from dataclasses import dataclass

from ltr.arrays import IntArray, lengths_of
from ltr.data.candidates import Candidates


@dataclass(frozen=True, slots=True)
class RowTexts:
    """Distinct texts, and which of them each row has."""

    texts: tuple[str, ...]
    codes: IntArray  # (rows,) into the texts


def row_queries(candidates: Candidates) -> IntArray:
    """The query of each row."""
    return candidates.queries.repeat(lengths_of(candidates.offsets))


def query_texts(candidates: Candidates, context: object) -> RowTexts:
    """The queries of the rows: texts for an encoder."""
    return RowTexts(candidates.query_texts, row_queries(candidates))
