"""How numbers are written: on a terminal, which is narrow and plain, and on a page. Nothing else formats a number."""

from collections.abc import Callable, Sequence

NONE, NO_NUMBER = "–", "-"  # what stands for a missing number on a page, and on a terminal
MOST_NAMES = 5
LARGE = 1e6  # from here on digits behind the point say nothing


def share(value: float | None) -> str:
    """A number from 0 to 1, or near it; three digits.

    >>> share(0.72649), share(None)
    ('0.726', '–')
    """
    return NONE if value is None else f"{value:.3f}" if abs(value) < LARGE else f"{value:.4g}"


def percent(value: float | None) -> str:
    r"""A share of a hundred, its sign on the same line.

    >>> percent(0.72649), percent(None)
    ('72.6\xa0%', '–')
    """
    return NONE if value is None else f"{100 * value:.1f}\u00a0%"


def signed(value: float | None) -> str:
    """A difference, its minus as wide as a plus.

    >>> signed(0.2080), signed(-0.01), signed(None)
    ('+0.208', '−0.010', '–')
    """
    if value is None:
        return NONE
    return (f"{value:+.3f}" if abs(value) < LARGE else f"{value:+.4g}").replace("-", "−", 1 if value < 0 else 0)


def short(value: float | None) -> str:
    """Any number, four digits.

    >>> short(160.17112), short(0.000012345), short(4.0), short(395210.9), short(-0.25)
    ('160.2', '1.234e-05', '4', '395,211', '−0.25')
    """
    if value is None:
        return NONE
    written = f"{value:,.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"
    return written.replace("-", "−", 1) if written[0] == "-" else written


def span(low: float | None, high: float | None, written: Callable[[float | None], str] = share) -> str:
    """An interval on a page.

    >>> span(0.682, 0.768), span(-12.5, 8.0, short), span(None, None)
    ('[0.682, 0.768]', '[−12.5, 8]', '–')
    """
    if low is None or high is None:
        return NONE
    ends = (written(end) for end in (low, high))
    return f"[{', '.join(end.replace('-', '−', 1) if end[0] == '-' else end for end in ends)}]"


def tick(value: float) -> str:
    """A round number at the edge of a drawing.

    >>> tick(0.2), tick(-2000000.0), tick(1e-6)
    ('0.2', '−2e+06', '1e-06')
    """
    return f"{value:.4g}".replace("-", "−", 1) if value < 0 else f"{value:.4g}"


def fixed(value: float | None, digits: int = 3) -> str:
    """A number on a terminal: fixed digits, - for none.

    >>> fixed(0.76667), fixed(None)
    ('0.767', '-')
    """
    return NO_NUMBER if value is None else f"{value:.{digits}f}"


def without_zero(value: float) -> str:
    """A share on a terminal, without its 0.

    >>> without_zero(0.6904), without_zero(1.0), without_zero(-0.25)
    ('.690', '1.000', '-.250')
    """
    return f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 1 and abs(round(value, 3)) < 1 else f"{value:.3f}"


def between(low: float | None, high: float | None, written: Callable[[float], str] = without_zero) -> str:
    """An interval on a terminal; - of a single unit, which says nothing of others.

    >>> between(0.682, 1.0), between(-0.25, 1.0, "{:+.3f}".format), between(None, None)
    ('[.682, 1.000]', '[-0.250, +1.000]', '-')
    """
    return NO_NUMBER if low is None or high is None else f"[{written(low)}, {written(high)}]"


def weight(value: float) -> str:
    """A weight on a terminal: its sign, and three digits that say something.

    >>> weight(0.25), weight(-12.5), weight(0.00012345)
    ('+0.250', '-12.500', '+0.000123')
    """
    return f"{value:+.3f}" if value == 0 or 5e-4 <= abs(value) < LARGE else f"{value:+.3g}"


def p_value(value: float) -> str:
    """A p of a test, of which no test says that it is 0.

    >>> p_value(0.04214), p_value(0.00002)
    ('0.0421', '< 0.0001')
    """
    return f"{value:.4f}" if value >= 1e-4 else "< 0.0001"


def milliseconds(value: float) -> str:
    """Milliseconds on a terminal, in three digits that say something.

    >>> milliseconds(0.0123), milliseconds(12.345), milliseconds(1234.5)
    ('0.012', '12.3', '1,234')
    """
    return f"{value:.3f}" if value < 1 else f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def objective(value: float | None) -> str:
    """An objective on a terminal, however large or small.

    >>> objective(0.763021), objective(5.458e21), objective(1.2e-7), objective(None)
    ('0.76302', '5.458e+21', '1.2e-07', '–')
    """
    if value is None:
        return NONE
    return f"{value:.5f}" if value == 0 or 1e-3 <= abs(value) < LARGE else f"{value:.6g}"


def listed(names: Sequence[str], most: int = MOST_NAMES) -> str:
    """The first names, and how many more there are.

    >>> listed(["a", "b"]), listed(["a", "b", "c"], 1)
    ('a, b', 'a and 2 more')
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"
