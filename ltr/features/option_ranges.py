"""The ranges in which an option of a feature or a reranker may lie."""

from collections.abc import Callable
from typing import Annotated

RANGES: dict[str, Callable[[float], bool]] = {
    "above 0": lambda value: value > 0,
    "of 0 or more": lambda value: value >= 0,
    "from 0 to 1": lambda value: 0 <= value <= 1,
}
Positive = Annotated[float, "above 0"]
NotNegative = Annotated[float, "of 0 or more"]
Rate = Annotated[float, "from 0 to 1"]
