"""Results as a command shows them, as files, and as pages: of a run, of several, of a batch, of a bench; the card."""

from collections.abc import Sequence
from pathlib import Path

from ltr.comparison import Comparison
from ltr.errors import UsageError
from ltr.files import new_files, put_back, write_file
from ltr.leaderboard import JSON, Leaderboard, read_leaderboard
from ltr.paths import AnyPath
from ltr.records.bench import BENCH, BenchRecord, read_bench
from ltr.report.batch import batch_page, shown_board, write_board
from ltr.report.bench import bench_page, shown_bench, write_bench
from ltr.report.comparison import comparison_page, shown_comparison
from ltr.report.page import Shown
from ltr.report.run import card, run_page
from ltr.runs import RunContents

MARKDOWN = (".md", ".markdown")


def shown_result(result: Leaderboard | BenchRecord | Comparison) -> Shown:
    """Return the runs of a batch, rerankers or runs beside each other, as a command shows them."""
    if isinstance(result, Leaderboard):
        return shown_board(result)
    return shown_bench(result) if isinstance(result, BenchRecord) else shown_comparison(result)


def write_standings(home: AnyPath, result: Leaderboard | BenchRecord) -> None:
    """Write a leaderboard, or the tables of a bench, and the page of either into home."""
    if isinstance(result, Leaderboard):
        write_board(home, result)
    else:
        write_bench(Path(home), result)


def write_report(directories: Sequence[AnyPath], out: AnyPath, *, seed: int = 0, made: str = "") -> None:
    """Write the page of the directories, or for one run and a name that ends in .md the card of its model."""
    text = report_of(directories, is_card=Path(out).suffix.lower() in MARKDOWN, seed=seed, made=made)
    with new_files(out) as new:
        write_file(new / Path(out).name, text)


def report_of(directories: Sequence[AnyPath], *, is_card: bool = False, seed: int = 0, made: str = "") -> str:
    """Return one page: of a run, of several compared, of a batch, of a bench.

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
    first = Path(directories[0])
    if (first / BENCH).exists():
        return bench_page(read_bench(first), made)
    if (first / JSON).exists():
        return batch_page(first, read_leaderboard(first), made)
    if len(directories) == 1:
        return card(RunContents.read(first)) if is_card else run_page(RunContents.read(first), made)
    return comparison_page([RunContents.read(directory) for directory in directories], seed, made)
