"""A page: sections of texts, tables and drawings as plain values; and what becomes of them in HTML and in Markdown."""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from ltr.reporting.escaping import in_html, in_markdown
from ltr.reporting.table import Kind, Medium, Table, markdown_lines, written_cells

if TYPE_CHECKING:
    from jinja2 import Environment

PAGE, STYLE = "page.html.j2", "style.css"


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph."""

    kind: ClassVar[str] = "text"
    text: str


@dataclass(frozen=True, slots=True)
class Points:
    """A list of sentences."""

    kind: ClassVar[str] = "points"
    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """One element of a drawing."""

    tag: str
    attributes: dict[str, str | float]
    text: str = ""
    tip: str = ""  # shown under a pointer, read aloud by a reader of the drawing


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing with its description, and the numbers it draws as a table."""

    kind: ClassVar[str] = "figure"
    title: str
    description: str
    table: Table
    marks: tuple[Mark, ...]
    width: int
    height: int


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


Block = Text | Points | Table | Figure | Code | Folded


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands under it."""

    title: str
    blocks: Sequence[Block]


class Fact(NamedTuple):
    """One of the few numbers that stand at the top of a page."""

    label: str
    value: str
    note: str


@dataclass(frozen=True, slots=True)
class Page:
    """A whole page; sections without blocks are left out."""

    title: str
    subtitle: str
    sections: Sequence[Section]
    made: str = ""  # when and by what it was written; "" on the page of a run, whose bytes follow from its input
    facts: Sequence[Fact] = ()


class PageTable(NamedTuple):
    """A table as the template writes it."""

    is_left: list[bool]  # of each column: texts, and what names the rows; numbers stand to the right
    named_by: int  # the column that names the rows
    heads: list[str]
    rows: list[list[str]]


def page_html(page: Page) -> str:
    """The page as one document without a script; it may load nothing, and no style but its own."""
    from markupsafe import Markup

    style = template_text(STYLE)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    sections = [section for section in page.sections if section.blocks]
    text: str = (
        environment().get_template(PAGE).render(page=page, sections=sections, style=Markup(style), policy=policy)
    )
    return text


@cache
def environment() -> "Environment":
    """The templates of this package; they escape every text."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    made = Environment(
        autoescape=True, undefined=StrictUndefined, loader=FunctionLoader(template_text), finalize=in_html
    )
    made.filters["page_table"] = page_table
    return made


def template_text(name: str) -> str:
    """A file of the templates."""
    return files("ltr.reporting").joinpath("templates", name).read_bytes().decode()


def page_table(table: Table) -> PageTable:
    """The table as it is written in HTML."""
    is_text = [column.kind is Kind.TEXT for column in table.columns if Medium.PAGE in column.media]
    named_by = is_text.index(True) if True in is_text else 0
    heads, *rows = written_cells(table, Medium.PAGE)
    return PageTable([*is_text[:named_by], True, *is_text[named_by + 1 :]], named_by, heads, rows)


def page_markdown(page: Page) -> str:
    """The texts, points and tables of the page as Markdown, in which nothing of the data marks anything up."""
    lines = [f"# {in_markdown(page.title)}", "", in_markdown(page.subtitle)]
    for section in page.sections:
        lines += ["", f"## {in_markdown(section.title)}"]
        for block in section.blocks:
            if isinstance(block, Text):
                lines += ["", in_markdown(block.text)]
            elif isinstance(block, Points):
                lines += ["", *(f"- {in_markdown(item)}" for item in block.items)]
            elif isinstance(block, Table):
                lines += ["", *markdown_lines(block)]
    return "\n".join(lines) + "\n"
