"""None of these: how probable it is that nothing offered is right, and the share of the probability that it takes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from ltr.arrays import FloatArray
from ltr.data.candidates import Candidates
from ltr.features.registry import FEATURES
from ltr.features.tokenization import TOKEN
from ltr.steps.step import Ranked, Step
from ltr.storage.model_file import StoredModel
from ltr.training.none_logit import NoneLogit


@dataclass(frozen=True, slots=True)
class NoneOfThese(Step):
    """P(none) of each query; its candidates share the rest."""

    title: ClassVar[str] = "none"
    logit: NoneLogit

    @classmethod
    def of(cls, model: StoredModel) -> Self | None:
        """Return the step of a model that learned P(none)."""
        return None if model.none is None else cls(model.none)

    def apply(self, ranked: Ranked) -> Ranked:
        """Return the ranking with P(none), and its candidates with what that leaves."""
        p = none_probabilities(self.logit, ranked.names, ranked.candidates, ranked.phi, ranked.scores)
        return replace(ranked, left=1 - p, said={**ranked.said, "none": p.tolist()})

    def of_nothing(self) -> Mapping[str, Any]:
        """Return that none is right, for sure."""
        return {"none": 1.0}


def none_probabilities(
    logit: NoneLogit, names: Sequence[str], candidates: Candidates, phi: FloatArray, scores: FloatArray
) -> FloatArray:
    """Return P(none) of each query."""
    relevance = relevance_of(names, phi, logit.relevance)
    return logit.probabilities(scores, candidates.offsets, relevance, word_counts(candidates))


def relevance_column(names: Sequence[str]) -> str:
    """Return the first of the columns whose family is relevance; "" without one.

    >>> relevance_column(("tool.lift", "tool.proto", "tool.rel"))
    'tool.proto'
    """
    return next((name for name in names if name in FEATURES and FEATURES[name].family == "rel"), "")


def relevance_of(names: Sequence[str], phi: FloatArray, column: str) -> FloatArray:
    """Return the column of that name; 0 without one."""
    return phi[:, list(names).index(column)] if column else np.zeros(len(phi))


def word_counts(candidates: Candidates) -> FloatArray:
    """Count the words of the query of each group."""
    counts = np.array([word_count(text) for text in candidates.query_texts], dtype=np.float64)
    return counts[candidates.queries]


def word_count(query: str) -> int:
    """Count the words of a query.

    >>> word_count("rain, in Paris?")
    3
    """
    return len(TOKEN.findall(query))
