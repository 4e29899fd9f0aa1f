"""How numbers are written on a page."""

from collections.abc import Sequence

NONE = "–"
MOST_NAMES = 5


def share(value: float | None) -> str:
    """A number from 0 to 1, or near it; three digits.

    >>> share(0.72649), share(None)
    ('0.726', '–')
    """
    return NONE if value is None else f"{value:.3f}" if abs(value) < 1e6 else f"{value:.4g}"


def percent(value: float | None) -> str:
    r"""A share of a hundred, its sign on the same line.

    >>> percent(0.72649), percent(None)
    ('72.6\xa0%', '–')
    """
    return NONE if value is None else f"{100 * value:.1f}\u00a0%"


def listed(names: Sequence[str], most: int = MOST_NAMES) -> str:
    """The first names, and how many more there are.

    >>> listed(["a", "b"]), listed(["a", "b", "c"], 1)
    ('a, b', 'a and 2 more')
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def signed(value: float | None) -> str:
    """A difference.

    >>> signed(0.2080), signed(-0.01)
    ('+0.208', '−0.010')
    """
    return NONE if value is None else plain(f"{value:+.3f}" if abs(value) < 1e6 else f"{value:+.4g}")


def short(value: float | None) -> str:
    """Any number, four digits.

    >>> short(160.17112), short(0.000012345), short(4.0), short(395210.9)
    ('160.2', '1.234e-05', '4', '395,211')
    """
    if value is None:
        return NONE
    return plain(f"{value:,.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}")


def span(low: float | None, high: float | None) -> str:
    """An interval.

    >>> span(0.682, 0.768)
    '[0.682, 0.768]'
    """
    return NONE if low is None or high is None else f"[{plain(share(low))}, {plain(share(high))}]"


def count(number: int, noun: str, plural: str = "") -> str:
    """A number of things.

    >>> count(1, "query", "queries"), count(1135, "query", "queries")
    ('1 query', '1,135 queries')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def plain(text: str) -> str:
    """The text with a minus that is as wide as a plus."""
    return text.replace("-", "−") if text[:1] == "-" else text
