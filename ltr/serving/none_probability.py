"""How probable it is that no tool fits a query."""

from collections.abc import Sequence

from ltr.arrays import FloatArray
from ltr.data.candidates import Candidates
from ltr.serving.none_logit_inputs import relevance_of, word_counts
from ltr.training.none_logit import NoneLogit


def none_probabilities(
    none: NoneLogit, names: Sequence[str], candidates: Candidates, phi: FloatArray, scores: FloatArray
) -> FloatArray:
    """P(none) of each group."""
    relevance = relevance_of(names, phi, none.relevance)
    return none.probabilities(scores, candidates.offsets, relevance, word_counts(candidates))
