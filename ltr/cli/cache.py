"""ltr cache: the vectors kept on this machine between runs."""

from typing import TYPE_CHECKING, Any

import typer

from ltr.cli.options import Shown
from ltr.cli.output import Format, aligned_lines, chosen_format, show_json, show_tsv

if TYPE_CHECKING:
    from ltr.encoders.vector_cache import CacheInfo

app = typer.Typer(help="The vectors kept on this machine between runs.", no_args_is_help=True, rich_markup_mode=None)


@app.command()
def info(shown: Shown = None) -> None:
    """Where it is, how much it holds."""
    from ltr.encoders.vector_cache import VectorCache
    from ltr.files.cache_directory import cache_directory

    show_cache(VectorCache(cache_directory()).info(), shown)


@app.command()
def clear(shown: Shown = None) -> None:
    """Remove it; say what it held."""
    from ltr.encoders.vector_cache import VectorCache
    from ltr.files.cache_directory import cache_directory

    show_cache(VectorCache(cache_directory()).clear(), shown)


def show_cache(held: "CacheInfo", shown: Format | None) -> None:
    """What the cache holds."""
    facts: dict[str, Any] = {
        "path": held.path.as_posix(),
        "vectors": held.vectors,
        "bytes": held.size,
        "limit": held.limit,
    }
    match chosen_format(shown):
        case Format.JSON:
            show_json(facts)
        case Format.TSV:
            show_tsv(facts.items())
        case Format.HUMAN:
            rows = [["path", facts["path"]], ["vectors", f"{held.vectors:,}"], ["on disk", f"{held.size / 1e6:.1f} MB"]]
            rows.append(["limit", f"{held.limit / 1e6:,.1f} MB; beyond it the vectors that were stored first go"])
            print("\n".join(aligned_lines(["", ""], rows, flexible=1, indent="")))
