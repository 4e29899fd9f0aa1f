"""The files beside the runs of a batch: leaderboard.json, .tsv, .md and the page."""

import msgspec

from ltr.files.atomic_write import write_bytes, write_text
from ltr.files.filesystem_operations import make_directory
from ltr.files.output_replacement import new_files
from ltr.files.path_arguments import AnyPath
from ltr.reporting.batch_page import batch_view
from ltr.reporting.escaping import in_markdown
from ltr.reporting.leaderboard_table import leaderboard_table, verdict
from ltr.reporting.lines import tsv_line
from ltr.reporting.page import page_html
from ltr.reporting.table import markdown_lines, tsv_rows
from ltr.results.leaderboard import JSON, MARKDOWN, TSV, Leaderboard
from ltr.storage.run_directory import REPORT


def write_leaderboard(root: AnyPath, board: Leaderboard) -> None:
    """leaderboard.json, .tsv and .md, and the page of the runs in root."""
    with new_files(make_directory(root) / JSON) as new:
        write_bytes(new / JSON, msgspec.json.format(msgspec.json.encode(board), indent=2) + b"\n")
        lines = map(tsv_line, tsv_rows(leaderboard_table(board, board.rows)))
        write_text(new / TSV, "".join(f"{line}\n" for line in lines))
        write_text(new / MARKDOWN, "\n".join(leaderboard_markdown(board)) + "\n")
        write_text(new / REPORT, page_html(batch_view(root, board)))


def leaderboard_markdown(board: Leaderboard) -> list[str]:
    """The leaderboard as lines of Markdown."""
    complete = [row for row in board.rows if row.error is None]
    failed = [
        f"- {in_markdown(row.run)} failed: {in_markdown(row.error)}" for row in board.rows if row.error is not None
    ]
    table = markdown_lines(leaderboard_table(board, complete))
    return [
        f"# By {in_markdown(board.metric)}",
        "",
        *table,
        "",
        *([in_markdown(verdict(board))] if len(complete) > 1 else []),
        *(["", *failed] if failed else []),
    ]
