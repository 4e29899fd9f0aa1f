"""Pages of what is stored: of a run, of several, of a batch, of a bench; and the card of a model."""

from collections.abc import Sequence
from pathlib import Path

from ltr.errors import UsageError
from ltr.files.atomic_write import write_text
from ltr.files.crash_recovery import put_back
from ltr.files.output_replacement import new_files
from ltr.files.path_arguments import AnyPath
from ltr.reporting.batch_page import batch_view
from ltr.reporting.bench_page import bench_view
from ltr.reporting.comparison_page import comparison_view
from ltr.reporting.model_card import card
from ltr.reporting.page import Page, page_html
from ltr.reporting.run_page import run_view
from ltr.results.leaderboard import JSON, read_leaderboard
from ltr.storage.bench_record import BENCH, read_bench
from ltr.storage.run_contents import read_run

MARKDOWN = (".md", ".markdown")


def write_report(directories: Sequence[AnyPath], out: AnyPath, *, seed: int = 0, made: str = "") -> None:
    """The page of the directories, or for one run and a name that ends in .md the card of its model."""
    text = report_of(directories, is_card=Path(out).suffix.lower() in MARKDOWN, seed=seed, made=made)
    with new_files(out) as new:
        write_text(new / Path(out).name, text)


def report_of(directories: Sequence[AnyPath], *, is_card: bool = False, seed: int = 0, made: str = "") -> str:
    """One page: of a run, of several compared, of a batch, of a bench.

    `seed`: of the tests that compare several runs. `made`: when, and by what.
    """
    for directory in directories:
        put_back(Path(put_back(directory), JSON))
    if not directories:
        raise UsageError("name a run, a batch or a bench to report on")
    with_own_page = [
        directory for directory in directories if Path(directory, BENCH).exists() or Path(directory, JSON).exists()
    ]
    if is_card and (with_own_page or len(directories) > 1):
        raise UsageError("a card is of one run; name one, or an output that ends in .html")
    if with_own_page and len(directories) > 1:
        raise UsageError(f"{with_own_page[0]}: a batch or a bench has a page of its own; name it alone")
    return card(read_run(directories[0])) if is_card else page_html(_view(directories, seed, made))


def _view(directories: Sequence[AnyPath], seed: int, made: str) -> Page:
    first = Path(directories[0])
    if (first / BENCH).exists():
        return bench_view(read_bench(first), made)
    if (first / JSON).exists():
        return batch_view(first, read_leaderboard(first), made)
    if len(directories) == 1:
        return run_view(read_run(first), made)
    return comparison_view([read_run(directory) for directory in directories], seed, made)
