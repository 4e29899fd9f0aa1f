"""Lines of TSV."""

from collections.abc import Sequence

from ltr.reporting.escaping import visible


def tsv_line(row: Sequence[object]) -> str:
    r"""The values between tabs, nothing for None; what would end a cell, or move a terminal, is written out.

    >>> tsv_line(["a\tb", None, 0.5])
    'a\\tb\t\t0.5'
    """
    return "\t".join("" if value is None else visible(str(value)) for value in row)
