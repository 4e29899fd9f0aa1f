"""Another catalogue than that of training: it is ranked as without training, by the texts of its tools."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Self

from ltr.catalogues import ToolCatalogue
from ltr.errors import count
from ltr.features import NEWCOMERS, FittedFeatures
from ltr.hashes import are_marked
from ltr.runs import StoredModel
from ltr.steps.step import Instead, Step

FOREIGN = 0.1  # a catalogue is another one that has less of the tools that were right in training, or of its own


@dataclass(frozen=True, slots=True, eq=False, repr=False)  # it holds all that was learned
class Foreign(Step):
    """Weights that need no training, where the run learned of newcomers and knows hardly a tool of the catalogue.

    What was learned of some tools says little about all others; beside a few known ones it is no measure, either.
    """

    features: FittedFeatures
    answers: Collection[str]  # short hashes of the tools that were right in training

    @classmethod
    def of(cls, model: StoredModel) -> Self | None:
        """Return the step of a model that learned of newcomers."""
        if model.features is None or not set(NEWCOMERS) <= set(model.names):
            return None
        return cls(model.features, model.training.answers)

    def instead(self, tools: ToolCatalogue) -> Instead | None:
        """Return the weights that ship, for another catalogue."""
        known = int(are_marked(tuple(tools), self.answers).sum())
        if known >= FOREIGN * min(len(tools), len(self.answers)):
            return None
        from ltr.features import ZeroShotWeights  # which most routers do without

        number = count(len(tools), "tool")
        why = f"{known:,} of {number} of the catalogue were right in training: it is ranked as without training"
        return Instead(ZeroShotWeights.of(self.features.encoder.name), why)
