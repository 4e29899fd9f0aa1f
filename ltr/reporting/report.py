"""Pages that hold all they show: of a run, of several, of a batch, of a bench; and the card of a model."""

from collections.abc import Sequence
from pathlib import Path

from ltr.errors import UsageError
from ltr.files.reading import AnyPath
from ltr.files.writing import write_text
from ltr.reporting.batches import LEADERBOARD, batch_view
from ltr.reporting.benches import bench_view
from ltr.reporting.blocks import Page
from ltr.reporting.cards import card
from ltr.reporting.comparing import comparison_view
from ltr.reporting.pages import page_html
from ltr.reporting.reading import read_run
from ltr.reporting.runs import run_view
from ltr.storage.bench_record import BENCH, BenchRecord, read_bench
from ltr.storage.records import RunRecord

MARKDOWN = (".md", ".markdown")


def run_page(directory: AnyPath, known: RunRecord) -> str:
    """The page of a run that lies there all but its record, which will say what is known; same input, same bytes."""
    return page_html(run_view(read_run(directory, known)))


def batch_page(root: AnyPath) -> str:
    """The page of the batch whose leaderboard lies there; same input, same bytes."""
    return page_html(batch_view(root))


def bench_page(bench: BenchRecord) -> str:
    """The page of the bench; same record, same bytes."""
    return page_html(bench_view(bench))


def write_report(directories: Sequence[AnyPath], out: AnyPath, *, seed: int = 0, made: str = "") -> None:
    """The page of the directories, or for one run and a name that ends in .md the card of its model."""
    write_text(out, report_of(directories, is_card=Path(out).suffix.lower() in MARKDOWN, seed=seed, made=made))


def report_of(directories: Sequence[AnyPath], *, is_card: bool = False, seed: int = 0, made: str = "") -> str:
    """One page: of a run, of several compared, of a batch, of a bench.

    `seed`: of the tests that compare several runs. `made`: when, and by what.
    """
    if not directories:
        raise UsageError("name a run, a batch or a bench to report on")
    several = [each for each in directories if Path(each, BENCH).exists() or Path(each, LEADERBOARD).exists()]
    if is_card and (several or len(directories) > 1):
        raise UsageError("a card is of one run; name one, or an output that ends in .html")
    if several and len(directories) > 1:
        raise UsageError(f"{several[0]}: a batch or a bench has a page of its own; name it alone")
    return card(read_run(directories[0])) if is_card else page_html(_view(directories, seed, made))


def _view(directories: Sequence[AnyPath], seed: int, made: str) -> Page:
    first = Path(directories[0])
    if (first / BENCH).exists():
        return bench_view(read_bench(first), made)
    if (first / LEADERBOARD).exists():
        return batch_view(first, made)
    if len(directories) == 1:
        return run_view(read_run(first), made)
    return comparison_view([read_run(each) for each in directories], seed, made)
