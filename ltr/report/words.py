"""How texts and numbers are written: on a terminal, which is narrow and obeys control characters, and on a page.

Nothing else escapes a text or formats a number. Every command writes texts, so this file loads nothing heavy.
"""

import re
from collections.abc import Callable, Sequence

NONE, NO_NUMBER = "–", "-"  # what stands for a missing number on a page, and on a terminal
LARGE = 1e6  # from here on digits behind the point say nothing
HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}  # control, format (bidi, zero width), surrogates, separators
MARKS = re.compile(r"[\\`*_{}\[\]|~]|^[-+#=]")  # html is escaped before
NUMBERED = re.compile(r"^(\d+)([.)])(?=\s|$)")
LINKS = {"://": "&#58;//", "www.": "www&#46;", "@": "&#64;"}  # what some readers of Markdown turn into links


def visible(text: str) -> str:
    r"""Return the text with every character that a terminal would obey, or hide, written out.

    >>> visible("a\x1b[31mb\u202e")
    'a\\x1b[31mb\\u202e'
    """
    return _without_hidden(text, lambda character: character.encode("unicode_escape", "surrogatepass").decode("ascii"))


def in_html(value: object) -> object:
    r"""Return a text with every character that hides, or turns the direction of others, as its code; line ends stay.

    Markup is left to the templates, which escape all of it.

    >>> in_html("a\u202eb\n")
    'aU+202Eb\n'
    """
    if type(value) is not str:
        return value
    return _without_hidden(value, lambda character: character if character in "\n\t" else f"U+{ord(character):04X}")


def in_markdown(text: str) -> str:
    r"""Return the text on one line, in which nothing marks anything up.

    >>> in_markdown("a*b <i>\n"), in_markdown("- 1@b"), in_markdown("1. a"), in_markdown("0.7")
    ('a\\*b &lt;i&gt;', '\\- 1&#64;b', '1\\. a', '0.7')
    """
    import html  # only pages and Markdown need it

    escaped = MARKS.sub(r"\\\g<0>", html.escape(" ".join(str(in_html(text)).split()), quote=False))
    for mark, written in LINKS.items():
        escaped = escaped.replace(mark, written)
    return NUMBERED.sub(r"\1\\\2", escaped)


def _without_hidden(text: str, written: Callable[[str], str]) -> str:
    if text.isprintable():
        return text
    import unicodedata  # few texts need it

    return "".join(written(each) if unicodedata.category(each) in HIDDEN else each for each in text)


def width_of(text: str) -> int:
    """Return the columns a terminal needs for the text: two for wide characters, none for combining ones."""
    if text.isascii():
        return len(text)
    import unicodedata

    wide = {"W": 2, "F": 2}
    return sum(0 if unicodedata.combining(each) else wide.get(unicodedata.east_asian_width(each), 1) for each in text)


def shortened(text: str, columns: int) -> str:
    """Return the text, cut to the columns with an ellipsis.

    >>> shortened("weather in Paris", 9)
    'weather …'
    """
    if width_of(text) <= columns:
        return text
    beginning, used = "", 0
    for character in text:
        used += width_of(character)
        if used > columns - 1:
            break
        beginning += character
    return f"{beginning}…"


def listed(names: Sequence[str], most: int = 5) -> str:
    """Return the first names, and how many more there are.

    >>> listed(["a", "b"]), listed(["a", "b", "c"], 1)
    ('a, b', 'a and 2 more')
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def sentence(text: str) -> str:
    """Return the text as a sentence: a capital first, a full stop last.

    >>> sentence("ties: rule worst")
    'Ties: rule worst.'
    """
    return f"{text[0].upper()}{text[1:]}."


def share(value: float | None) -> str:
    """Write a number from 0 to 1, or near it, in three digits."""
    return NONE if value is None else f"{value:.3f}" if abs(value) < LARGE else f"{value:.4g}"


def percent(value: float | None) -> str:
    """Write a share of a hundred, its sign on the same line."""
    return NONE if value is None else f"{100 * value:.1f}\u00a0%"


def signed(value: float | None) -> str:
    """Write a difference, its minus as wide as a plus."""
    if value is None:
        return NONE
    written = f"{value:+.3f}" if abs(value) < LARGE else f"{value:+.4g}"
    return _wide_minus(written) if value < 0 else written


def short(value: float | None) -> str:
    """Write any number in four digits."""
    return NONE if value is None else _wide_minus(f"{value:,.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}")


def tick(value: float) -> str:
    """Write a round number at the edge of a drawing."""
    return _wide_minus(f"{value:.4g}")


def span(low: float | None, high: float | None, written: Callable[[float | None], str] = share) -> str:
    """Write an interval on a page."""
    return NONE if low is None or high is None else f"[{_wide_minus(written(low))}, {_wide_minus(written(high))}]"


def _wide_minus(written: str) -> str:
    return f"−{written[1:]}" if written[0] == "-" else written


def fixed(value: float | None) -> str:
    """Write a number in three digits on a terminal."""
    return NO_NUMBER if value is None else f"{value:.3f}"


def without_zero(value: float) -> str:
    """Write a share without its 0."""
    return f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 1 and abs(round(value, 3)) < 1 else f"{value:.3f}"


def between(low: float | None, high: float | None, written: Callable[[float], str] = without_zero) -> str:
    """Write an interval on a terminal; - of a single unit, which says nothing of others."""
    return NO_NUMBER if low is None or high is None else f"[{written(low)}, {written(high)}]"


def weight(value: float) -> str:
    """Write a weight: its sign, and three digits that say something."""
    return f"{value:+.3f}" if value == 0 or 5e-4 <= abs(value) < LARGE else f"{value:+.3g}"


def milliseconds(value: float) -> str:
    """Write milliseconds in three digits that say something."""
    return f"{value:.3f}" if value < 1 else f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def objective(value: float | None) -> str:
    """Write an objective, however large or small."""
    if value is None:
        return NONE
    return f"{value:.5f}" if value == 0 or 1e-3 <= abs(value) < LARGE else f"{value:.6g}"


def p_value(value: float) -> str:
    """Write a p of a test, of which no test says that it is 0."""
    return f"{value:.4f}" if value >= 1e-4 else "< 0.0001"
