"""What people read of a result: tables, pages, cards and the lines of a terminal, from fields declared once."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ltr.report.files import shown_result as shown_result
    from ltr.report.files import write_report as write_report
    from ltr.report.files import write_standings as write_standings
    from ltr.report.metrics import ways as ways
    from ltr.report.page import Line as Line
    from ltr.report.page import Shown as Shown
    from ltr.report.page import lines as lines
    from ltr.report.run import run_page as run_page
    from ltr.report.run import shown_evaluation as shown_evaluation
    from ltr.report.run import shown_run as shown_run
    from ltr.report.table import Column as Column
    from ltr.report.table import Kind as Kind
    from ltr.report.table import Table as Table
    from ltr.report.table import tsv_line as tsv_line
    from ltr.report.words import visible as visible
else:
    from ltr.lazy import attach

    __getattr__, __dir__, __all__ = attach(__name__)
