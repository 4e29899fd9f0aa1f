"""ltr cache: the vectors kept on this machine between runs."""

from typing import Any

import typer

from ltr.cli.options import Shown
from ltr.cli.output import Format, aligned_lines, show

app = typer.Typer(help="The vectors kept on this machine between runs.", no_args_is_help=True, rich_markup_mode=None)


@app.command()
def info(shown: Shown = None) -> None:
    """Where it is, how much it holds."""
    from ltr.encoders.vector_cache import VectorCache
    from ltr.files.cache_directory import cache_directory

    held = VectorCache(cache_directory()).info()
    facts = {"path": held.path.as_posix(), "vectors": held.vectors, "bytes": held.size, "limit": held.limit}
    limit = f"{megabytes(held.limit)}; beyond it the vectors that were stored first go"
    show_facts(facts, [["vectors", f"{held.vectors:,}"], ["on disk", megabytes(held.size)], ["limit", limit]], shown)


@app.command()
def clear(shown: Shown = None) -> None:
    """Remove it; say how large it was."""
    from ltr.encoders.vector_cache import VectorCache
    from ltr.files.cache_directory import cache_directory

    cache = VectorCache(cache_directory())
    size = cache.clear()
    show_facts({"path": cache.path.as_posix(), "bytes": size}, [["removed", megabytes(size)]], shown)


def megabytes(size: int) -> str:
    """A number of bytes, for a person."""
    return f"{size / 1e6:,.1f} MB"


def show_facts(facts: dict[str, Any], rows: list[list[str]], shown: Format | None) -> None:
    """Facts about the cache; `rows` say them to a person, below the path."""
    lines = [["path", facts["path"]], *rows]
    show(shown, facts, facts.items(), lambda: aligned_lines(["", ""], lines, flexible=1, indent=""))
