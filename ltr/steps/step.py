"""What a step is, and the ranking that one step after the other adds to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.data.candidates import Candidates
from ltr.data.catalogues.tools import ToolCatalogue
from ltr.storage.model_file import StoredModel
from ltr.training.softmax import softmax


@dataclass(frozen=True, slots=True)
class Ranked:
    """Candidates as a model ranks them, and what steps say of each query."""

    names: tuple[str, ...]  # of the columns
    candidates: Candidates
    phi: FloatArray
    scores: FloatArray  # (rows,)
    order: IntArray  # the rows of each query, best first
    temperature: float = 1.0  # that scores are divided by, for probabilities
    left: FloatArray | None = None  # (queries,) the probability that the candidates of a query share; None: 1
    said: Mapping[str, list[Any]] = field(default_factory=dict)  # by field of `Answer`, a value for each query

    @property
    def first(self) -> IntArray:
        """The row that stands first in each query."""
        return self.order[self.candidates.offsets[:-1]]

    def probabilities(self) -> FloatArray:
        """Return the softmax of the scores of each query, of what is left to its candidates."""
        offsets = self.candidates.offsets
        shares = softmax(self.scores / self.temperature, offsets)
        return shares if self.left is None else shares * np.repeat(self.left, np.diff(offsets))


@dataclass(frozen=True, slots=True)
class Instead:
    """Weights of columns that need no training, by which a catalogue is ranked instead, and why."""

    weights: Mapping[str, float]
    why: str


class Step:
    """An idea that a model may do without. What a step does not override changes nothing."""

    __slots__ = ()
    title: ClassVar[str] = ""  # of what is lost where the model does not rank

    @property
    def claim(self) -> str:
        """What the step says of answers, as long as they come from the ranking that it was calibrated on."""
        return ""

    @classmethod
    def of(cls, model: StoredModel) -> Self | None:
        """Return the step of a model; None where the model does without."""
        raise NotImplementedError

    def apply(self, ranked: Ranked) -> Ranked:
        """Return the ranking with what the step changes or says."""
        return ranked

    def of_nothing(self) -> Mapping[str, Any]:
        """Return what the step says, by field of `Answer`, where nothing is offered."""
        return {}

    def instead(self, tools: ToolCatalogue) -> Instead | None:
        """Return what ranks the catalogue instead of the model; None where the model does."""
