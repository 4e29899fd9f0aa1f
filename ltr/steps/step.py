"""What a step is, and the ranking that one step after the other adds to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.catalogues import ToolCatalogue
from ltr.runs import StoredModel
from ltr.samples import Candidates
from ltr.sums import AddsUp
from ltr.training import softmax

if TYPE_CHECKING:
    from ltr.engine import Engine
    from ltr.evaluation import Curve
    from ltr.samples import Groups, Shards


class Ranks(Protocol):
    """What a step asks of a router."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        ...

    def phi(self, candidates: Candidates) -> FloatArray:
        """Return the columns of candidates."""
        ...

    def scores(self, phi: FloatArray) -> FloatArray:
        """Return the score of each row."""
        ...

    def ranked(self, candidates: Candidates, phi: FloatArray, scores: FloatArray | None = None) -> "Ranked":
        """Return the candidates as they are ranked by columns, or by scores of them."""
        ...

    def first_choices(self, candidates: Candidates) -> tuple[IntArray, FloatArray]:
        """Return the row that stands first in each group, and its probability."""
        ...


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


class Told(AddsUp):
    """What a step says of the queries of a shard; that of several shards adds up."""

    __slots__ = ()

    def curves(self) -> "Mapping[str, Curve]":
        """Return the curves that follow."""
        return {}


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

    def before(self, shards: "Shards", seed: int, engine: "Engine") -> Any:
        """Return what is to be known of all shards before one is measured."""

    def told(
        self, model: Ranks, groups: "Groups", ranked: tuple[FloatArray, FloatArray], rel_threshold: float, before: Any
    ) -> tuple[Told | None, Mapping[str, Any]]:
        """Return what the step says of groups that were ranked by columns and scores, and a number for each query.

        None where there is nothing to add up; the numbers by field of `results.evaluated.Ranked`.
        """
        return None, {}

    def measured(self, of: Any, queries: tuple[int, int], *, is_moved: bool, seed: int) -> Mapping[str, Any]:
        """Return how good what it said is, by field of the record of an evaluation.

        `queries`: for how many none is right, and how many others; `is_moved`: outcomes have moved the weights.
        """
        return {}
