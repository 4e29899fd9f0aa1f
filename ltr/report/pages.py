"""Blocks become HTML. Every text is untrusted: the templates escape all of it, and the page forbids what it does not need."""

import base64
import hashlib
import unicodedata
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ltr.report.blocks import Page

if TYPE_CHECKING:
    from jinja2 import Environment

HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}  # control, format (bidi, zero width), surrogates, separators
TEMPLATES = ("page.html.j2", "card.md.j2")


def page_html(page: Page) -> str:
    """The page as one document without a script; it may load nothing, and no style but its own."""
    style = template_text("style.css")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    from markupsafe import Markup

    text: str = environment().get_template(TEMPLATES[0]).render(page=page, style=Markup(style), policy=policy)  # noqa: S704
    return text


@cache
def environment() -> "Environment":
    """The templates of this package, escaping whatever they are given."""
    from jinja2 import DictLoader, Environment, StrictUndefined

    loader = DictLoader({name: template_text(name) for name in TEMPLATES})
    return Environment(autoescape=True, undefined=StrictUndefined, loader=loader, finalize=shown, trim_blocks=False)


def template_text(name: str) -> str:
    """A file of the templates."""
    return files("ltr.report").joinpath("templates", name).read_text(encoding="utf-8")


def shown(value: Any) -> Any:
    """What is written for a value: a text with what would act on its readers unseen written out."""
    return visible(value) if type(value) is str else value


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
