"""What the logit of none of these reads: the relevance of the tools, and how many words a query has."""

from collections.abc import Sequence

import numpy as np

from ltr.arrays import FloatArray
from ltr.data.candidates import Candidates
from ltr.features.registry import FEATURES
from ltr.features.tokenization import TOKEN


def relevance_column(names: Sequence[str]) -> str:
    """The first of the columns whose family is relevance; "" without one.

    >>> relevance_column(("tool.lift", "tool.proto", "tool.rel"))
    'tool.proto'
    """
    return next((name for name in names if name in FEATURES and FEATURES[name].family == "rel"), "")


def relevance_of(names: Sequence[str], phi: FloatArray, column: str) -> FloatArray:
    """The column of that name; 0 without one."""
    return phi[:, list(names).index(column)] if column else np.zeros(len(phi))


def word_counts(candidates: Candidates) -> FloatArray:
    """The words of the query of each group."""
    counts = np.array([word_count(text) for text in candidates.query_texts], dtype=np.float64)
    return counts[candidates.queries]


def word_count(query: str) -> int:
    """The words of a query.

    >>> word_count("rain, in Paris?")
    3
    """
    return len(TOKEN.findall(query))
