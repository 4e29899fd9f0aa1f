"""From numbers to places on a drawing, and the round numbers that stand along its edge."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

LARGEST, SMALLEST = 1e12, 1e-12  # what lies beyond is not drawn; the table has it
TICKS = 5


@dataclass(frozen=True, slots=True)
class Scale:
    """A straight line from numbers to places, or from their logarithms."""

    low: float
    high: float
    first: float
    last: float
    is_log: bool = False

    def __call__(self, value: float) -> float:
        """The place of the value; what lies outside stands at the edge."""
        low, high, value = (math.log10(each) if self.is_log else each for each in (self.low, self.high, value))
        share = (value - low) / (high - low)
        return round(self.first + min(max(share, 0.0), 1.0) * (self.last - self.first), 1)

    @property
    def ticks(self) -> list[float]:
        """Round numbers from low to high.

        >>> Scale(0.0, 1.0, 0, 100).ticks
        [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
        """
        return _decades(self.low, self.high) if self.is_log else _round_numbers(self.low, self.high)


def linear(values: Iterable[float | None], first: float, last: float, *, zero: bool = False) -> Scale:
    """A scale that holds the values, its ends round; with zero, that number too."""
    held = [*drawable(values), *([0.0] if zero else [])] or [0.0, 1.0]
    low, high = min(held), max(held)
    if high - low < max(SMALLEST, 1e-9 * abs(high)):
        low, high = low - max(abs(low), 1.0) / 2, high + max(abs(high), 1.0) / 2
    step = _step(low, high)
    return Scale(math.floor(low / step) * step, math.ceil(high / step) * step, first, last)


def logarithmic(values: Iterable[float | None], first: float, last: float) -> Scale:
    """A scale of powers of ten that holds the values, all above 0."""
    held = [value for value in drawable(values) if value > SMALLEST] or [1.0]
    low, high = math.floor(math.log10(min(held))), math.ceil(math.log10(max(held)))
    return Scale(10.0**low, 10.0 ** max(high, low + 1), first, last, is_log=True)


def drawable(values: Iterable[float | None]) -> list[float]:
    """The values that can be drawn.

    >>> drawable([1.0, None, 1e300, float("nan")])
    [1.0]
    """
    return [value for value in values if value is not None and abs(value) <= LARGEST]


def are_drawable(values: Sequence[float | None]) -> bool:
    """Whether each of them can be drawn."""
    return len(drawable(values)) == len(values)


def tick_text(value: float) -> str:
    """A number at the edge.

    >>> tick_text(0.2), tick_text(-2000000.0), tick_text(1e-6)
    ('0.2', '−2e+06', '1e-06')
    """
    return f"{value:.4g}".replace("-", "−", 1) if value < 0 else f"{value:.4g}"


def _step(low: float, high: float) -> float:
    """The round step that goes about TICKS times into the span: 1, 2 or 5 times a power of ten."""
    rough = (high - low) / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    return power * next(factor for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))


def _round_numbers(low: float, high: float) -> list[float]:
    step = _step(low, high)
    digits = max(0, -math.floor(math.log10(step)))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(number * step, digits) + 0.0 for number in range(first, last + 1)]


def _decades(low: float, high: float) -> list[float]:
    first, last = round(math.log10(low)), round(math.log10(high))
    return [10.0**power for power in range(first, last + 1, max(1, (last - first) // TICKS))]
