"""What the columns of tables hold: intervals, guesses, and how the values of each kind are written."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ltr.reporting.number_formats import between, milliseconds, p_value, share, short, signed, span, weight


class Bounds(NamedTuple):
    """The two ends of an interval; None where a single unit has none."""

    low: float | None
    high: float | None


class Guess(NamedTuple):
    """A number that rests on too little."""

    value: float


@dataclass(frozen=True, slots=True)
class Kind:
    """What a column holds: how its values are written on a terminal, and on a page."""

    on_terminal: Callable[[Any], str]
    on_page: Callable[[Any], str]
    is_text: bool = False
    is_interval: bool = False  # of Bounds: two cells in a file


TEXT = Kind(str, str, is_text=True)
WRITTEN = Kind(str, str)  # what was written before: a number among numbers of other kinds, to the right
COUNT = Kind("{:,}".format, "{:,}".format)
SHARE = Kind("{:.3f}".format, share)
DIFFERENCE = Kind("{:+.3f}".format, signed)
EFFECT = Kind("{:+.2f}".format, signed)
PROBABILITY = Kind(p_value, p_value)  # of a test
SCORE = Kind("{:.3f}".format, short)
AMOUNT = Kind("{:.4g}".format, short)
LOSS = Kind("{:.4f}".format, short)
Z = Kind("{:.1f}".format, short)
WEIGHT = Kind(weight, short)
MILLISECONDS = Kind(milliseconds, short)
ROUNDED = Kind("{:,.0f}".format, "{:,.0f}".format)
BALANCE = Kind("{:,.4g}".format, short)
PRICE = Kind("{:.6f}".format, short)
INTERVAL = Kind(lambda ends: between(ends.low, ends.high), lambda ends: span(ends.low, ends.high), is_interval=True)
WEIGHT_INTERVAL = Kind(
    lambda ends: between(ends.low, ends.high, weight),
    lambda ends: span(ends.low, ends.high, short),
    is_interval=True,
)
AMOUNT_INTERVAL = Kind(
    lambda ends: between(ends.low, ends.high, AMOUNT.on_terminal),
    lambda ends: span(ends.low, ends.high, short),
    is_interval=True,
)
