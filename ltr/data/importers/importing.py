"""Other people's formats become samples."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from ltr.data.importers.registry import IMPORTERS, converted, encoded
from ltr.errors import UsageError
from ltr.files.reading import AnyPath, expand
from ltr.files.writing import write_lines


def import_samples(
    format_name: str, files: Sequence[AnyPath], out: AnyPath, *, overwrite: bool = False
) -> tuple[int, tuple[str, ...]]:
    """How many samples of the files lie in `out` as JSONL, and what could not become one."""
    _ = IMPORTERS[format_name]  # an unknown format is told before anything else
    if not str(out).endswith((".jsonl", ".jsonl.gz", ".jsonl.zst")):
        raise UsageError(f"{out}: name an output that ends in .jsonl, .jsonl.gz or .jsonl.zst")
    if Path(out).exists() and not overwrite:
        raise UsageError(f"{out}: exists; add --overwrite, or name another file")
    imported, count = converted(format_name, expand(files)), 0

    def lines() -> Iterator[bytes]:
        nonlocal count
        for line in encoded(format_name, imported.lines):
            count += 1
            yield line

    write_lines(out, lines())
    return count, imported.notes
