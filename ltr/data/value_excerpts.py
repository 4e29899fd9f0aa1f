"""Values and keys as messages show them."""

import json
import re

LONGEST_EXCERPT = 60
PLAIN_NAME = re.compile(r"[\w-]{1,40}")


def key_text(key: str) -> str:
    """A key as a path shows it: itself when it is a plain word, else its excerpt.

    >>> key_text("query"), key_text("two words")
    ('query', "'two words'")
    """
    return key if PLAIN_NAME.fullmatch(key) else excerpt(key)


def excerpt(value: object) -> str:
    r"""A value as a message shows it: one line, printable, short.

    >>> excerpt("two\nlines"), excerpt(True), excerpt([1.0, float("nan")])
    ("'two\\nlines'", 'true', '[1.0, NaN]')
    >>> excerpt(object())
    'an object of the type object'
    """
    try:
        text = repr(value[:LONGEST_EXCERPT]) if isinstance(value, str) else json.dumps(value)
    except RecursionError:
        return "a value nested too deep"
    except (TypeError, ValueError):  # no value of JSON
        return f"an object of the type {type(value).__name__}"
    return text if len(text) <= LONGEST_EXCERPT else f"{text[: LONGEST_EXCERPT - 3]}..."
