"""Blocks become HTML. Every text is untrusted: templates escape all of it, and a page forbids what it does not need."""

import base64
import hashlib
import re
import unicodedata
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ltr.reporting.blocks import Page

if TYPE_CHECKING:
    from jinja2 import Environment

HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}  # control, format (bidi, zero width), surrogates, separators
PAGE, CARD, STYLE = "page.html.j2", "card.md.j2", "style.css"
MARKS = re.compile(r"[\\`*_{}\[\]|~]|^[-+#=]")  # html is escaped before
NUMBERED = re.compile(r"^(\d+)([.)])(?=\s|$)")
LINKS = {"://": "&#58;//", "www.": "www&#46;", "@": "&#64;"}  # what some readers of Markdown turn into links


def page_html(page: Page) -> str:
    """The page as one document without a script; it may load nothing, and no style but its own."""
    from markupsafe import Markup

    style = template_text(STYLE)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    text: str = environment(in_html).get_template(PAGE).render(page=page, style=Markup(style), policy=policy)
    return text


def card_text(page: Page) -> str:
    """The page as Markdown in which every text stands as it is."""
    text: str = environment(in_markdown).get_template(CARD).render(page=page)
    return text


@cache
def environment(shown: Callable[[Any], Any]) -> "Environment":
    """The templates of this package, escaping whatever they are given; shown: what is written for a value."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    return Environment(autoescape=True, undefined=StrictUndefined, loader=FunctionLoader(template_text), finalize=shown)


def template_text(name: str) -> str:
    """A file of the templates."""
    return files("ltr.reporting").joinpath("templates", name).read_bytes().decode()


def in_html(value: Any) -> Any:
    """What is written for a value: a text with what would act on its readers unseen written out."""
    return visible(value) if type(value) is str else value


def in_markdown(value: Any) -> Any:
    r"""The same on one line, and nothing in it marks anything up.

    >>> in_markdown("a*b <i>\n"), in_markdown("- 1@b"), in_markdown("1. a"), in_markdown("0.7")
    (Markup('a\\*b &lt;i&gt;'), Markup('\\- 1&#64;b'), Markup('1\\. a'), Markup('0.7'))
    """
    from markupsafe import Markup, escape

    if type(value) is not str:
        return value
    text = MARKS.sub(r"\\\g<0>", str(escape(" ".join(visible(value).split()))))
    for mark, written in LINKS.items():
        text = text.replace(mark, written)
    return Markup(NUMBERED.sub(r"\1\\\2", text))


def visible(text: str) -> str:
    r"""The text with every character that hides, or turns the direction of others, written out; line ends stay.

    >>> visible("a\u202eb\n")
    'aU+202Eb\n'
    """
    if text.isprintable():
        return text
    return "".join(each if _is_shown(each) else f"U+{ord(each):04X}" for each in text)


def _is_shown(character: str) -> bool:
    return character in "\n\t" or unicodedata.category(character) not in HIDDEN
