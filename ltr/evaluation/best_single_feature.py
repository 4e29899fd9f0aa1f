"""The column that ranks best alone."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BestFeature:
    """The column that ranks the training groups best by itself; sign -1: its smallest value comes first."""

    name: str
    sign: int
