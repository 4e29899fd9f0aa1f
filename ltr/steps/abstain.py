"""Abstaining: a query is not answered where its first choice is not probable enough."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from ltr.steps.step import Ranked, Step
from ltr.storage.abstain_rule import AbstainRule
from ltr.storage.model_file import StoredModel


@dataclass(frozen=True, slots=True)
class Abstain(Step):
    """Probabilities at the temperature of the rule, and whether the first choice is above its threshold."""

    title: ClassVar[str] = "abstaining"
    rule: AbstainRule

    @classmethod
    def of(cls, model: StoredModel) -> Self | None:
        """Return the step of a model with a rule."""
        return None if model.abstain is None else cls(model.abstain)

    @property
    def claim(self) -> str:
        """What the rule says of answers like those that it was calibrated on."""
        return f"{self.rule.claim} of abstaining"

    def apply(self, ranked: Ranked) -> Ranked:
        """Return the ranking with other probabilities, and with the queries that are not answered."""
        at_temperature = replace(ranked, temperature=self.rule.temperature)
        sure = at_temperature.probabilities()[ranked.first]
        return replace(at_temperature, said={**ranked.said, "abstains": self.rule.abstains(sure).tolist()})

    def of_nothing(self) -> Mapping[str, Any]:
        """Return that nothing is answered."""
        return {"abstains": True}
