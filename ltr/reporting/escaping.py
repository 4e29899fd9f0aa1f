"""Texts of data, made safe to show: on a terminal, in HTML, in Markdown."""

import re

HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}  # control, format (bidi, zero width), surrogates, separators
MARKS = re.compile(r"[\\`*_{}\[\]|~]|^[-+#=]")  # html is escaped before
NUMBERED = re.compile(r"^(\d+)([.)])(?=\s|$)")
LINKS = {"://": "&#58;//", "www.": "www&#46;", "@": "&#64;"}  # what some readers of Markdown turn into links


def visible(text: str) -> str:
    r"""The text with every character that a terminal would obey, or hide, written out.

    >>> visible("a\x1b[31mb\u202e")
    'a\\x1b[31mb\\u202e'
    """
    if text.isprintable():
        return text
    import unicodedata  # few texts need it, and every command writes texts

    return "".join(
        character.encode("unicode_escape", "surrogatepass").decode("ascii")
        if unicodedata.category(character) in HIDDEN
        else character
        for character in text
    )


def in_html(value: object) -> object:
    r"""A text with every character that hides, or turns the direction of others, as its code; line ends stay.

    Markup is left to the templates, which escape all of it.

    >>> in_html("a\u202eb\n")
    'aU+202Eb\n'
    """
    if type(value) is not str or value.isprintable():
        return value
    import unicodedata

    return "".join(
        f"U+{ord(character):04X}"
        if character not in "\n\t" and unicodedata.category(character) in HIDDEN
        else character
        for character in value
    )


def in_markdown(text: str) -> str:
    r"""The text on one line, and nothing in it marks anything up.

    >>> in_markdown("a*b <i>\n"), in_markdown("- 1@b"), in_markdown("1. a"), in_markdown("0.7")
    ('a\\*b &lt;i&gt;', '\\- 1&#64;b', '1\\. a', '0.7')
    """
    import html  # only pages and Markdown need it

    escaped = MARKS.sub(r"\\\g<0>", html.escape(" ".join(str(in_html(text)).split()), quote=False))
    for mark, written in LINKS.items():
        escaped = escaped.replace(mark, written)
    return NUMBERED.sub(r"\1\\\2", escaped)
