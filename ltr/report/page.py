"""What is shown of a result: blocks as plain values, and their one renderer for HTML, Markdown and a terminal each."""

import base64
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from ltr.report.table import Table
from ltr.report.words import in_html, in_markdown, shortened, visible

if TYPE_CHECKING:
    from jinja2 import Environment

PAGE, STYLE = "page.html.j2", "style.css"


@dataclass(frozen=True, slots=True)
class Points:
    """A list of sentences."""

    kind: ClassVar[str] = "points"
    items: tuple[str, ...]


class Mark(NamedTuple):
    """One element of a drawing."""

    tag: str
    attributes: dict[str, str | float]
    text: str = ""
    tip: str = ""  # shown under a pointer, read aloud by a reader of the drawing


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing with its description, and the numbers it draws as a table; blank until a chart draws it."""

    kind: ClassVar[str] = "figure"
    title: str
    description: str
    table: Table
    marks: tuple[Mark, ...] = ()
    width: int = 0
    height: int = 0


@dataclass(frozen=True, slots=True)
class Code:
    """A text whose blanks and lines count."""

    kind: ClassVar[str] = "code"
    caption: str
    text: str


@dataclass(frozen=True, slots=True)
class Folded:
    """Blocks behind a line that opens them."""

    kind: ClassVar[str] = "folded"
    summary: str
    blocks: "tuple[Block, ...]"
    is_open: bool = False


Block = str | Points | Table | Figure | Code | Folded  # a text is a paragraph
Blocks = Iterable[Block | None]  # of a section; what is None or empty is left out


class Fact(NamedTuple):
    """One of the few numbers that stand at the top of a page."""

    label: str
    value: str
    note: str


class Page:
    """A whole page: blocks under the titles of its sections, of which those without any are left out."""

    def __init__(
        self, title: str, subtitle: str, sections: Mapping[str, Blocks], made: str = "", facts: Sequence[Fact] = ()
    ) -> None:
        filled = {name: [block for block in blocks if block] for name, blocks in sections.items()}
        self.title, self.subtitle, self.facts = title, subtitle, facts
        self.sections: Mapping[str, Sequence[Block]] = {name: blocks for name, blocks in filled.items() if blocks}
        self.made = made  # when and by what; "" on the page of a run, whose bytes follow from its input

    def html(self) -> str:
        """Return the page as one document without a script; it may load nothing, and no style but its own."""
        from markupsafe import Markup

        style = template_text(STYLE)
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
        return str(environment().get_template(PAGE).render(page=self, style=Markup(style), policy=policy))

    def markdown(self) -> str:
        """Return texts, points and tables of the page as Markdown, in which nothing of the data marks anything up."""
        lines = [f"# {in_markdown(self.title)}", "", in_markdown(self.subtitle)]
        for title, blocks in self.sections.items():
            lines += ["", f"## {in_markdown(title)}"]
            for block in blocks:
                match block:
                    case str():
                        lines += ["", in_markdown(block)]
                    case Points(items):
                        lines += ["", *(f"- {in_markdown(item)}" for item in items)]
                    case Table():
                        lines += ["", *block.markdown()]
        return "\n".join(lines) + "\n"


@cache
def environment() -> "Environment":
    """Return the templates of this package; they escape every text."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    return Environment(
        autoescape=True, undefined=StrictUndefined, loader=FunctionLoader(template_text), finalize=in_html
    )


def template_text(name: str) -> str:
    """Return a file of the templates."""
    return files("ltr.report").joinpath("templates", name).read_bytes().decode()


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a terminal: one that stands whole, one cut to the width, or one that goes on below itself."""

    text: str = ""
    fit: Literal["whole", "cut", "wrapped"] = "whole"
    is_bold: bool = False


# A text is wrapped; a function of the width returns lines as they stand.
TerminalBlock = str | Line | Table | Callable[[int], Iterable[Line | Table]]


class Shown(NamedTuple):
    """A result as a command shows it: a document as JSON, rows as TSV, or blocks to read."""

    document: object
    rows: Iterable[Sequence[object]]
    blocks: Iterable[TerminalBlock]


def lines(blocks: Iterable[TerminalBlock], width: int, bold: Callable[[str], str] = str) -> list[str]:
    """Return the blocks as lines of a terminal, in which no text of the data is obeyed.

    >>> lines(["so many words", Line("so many words", "cut"), ""], 10)
    ['so many', '  words', 'so many w…']
    """
    shown: list[str] = []
    for block in blocks:
        match block:
            case str():
                shown += wrapped(block, width)
            case Table():
                shown += block.lines(width, bold)
            case Line(text, fit, is_bold):
                text = visible(text)
                parts = wrapped(text, width) if fit == "wrapped" else [shortened(text, width) if fit == "cut" else text]
                shown += map(bold, parts) if is_bold else parts
            case _:
                shown += lines(block(width), width, bold)
    return shown


def wrapped(text: str, width: int) -> list[str]:
    """Return the text in lines of the width, the second and later ones indented; words stay whole."""
    import textwrap

    return textwrap.wrap(visible(text), width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
