"""Cells of text that a spreadsheet would run as a formula: marked by an apostrophe when written, unmarked when read."""

import re

# Wide signs too: spreadsheets take them for the narrow ones. A text that looks marked is marked once more, so that
# every text comes back as it was.
FORMULA = re.compile("'*[=+@＝＋－＠\t\r\n-]")


def marked(text: str) -> str:
    """Return the text as a cell that no spreadsheet runs.

    >>> marked("=1+1"), marked("-1.5"), marked("plain")
    ("'=1+1", "'-1.5", 'plain')
    """
    return f"'{text}" if FORMULA.match(text) else text


def unmarked(cell: str) -> str:
    """Return the text that was marked.

    >>> unmarked("'=1+1"), unmarked("'tis plain")
    ('=1+1', "'tis plain")
    """
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell
