"""What -v shows: the log of ltr, one line on stderr for each message."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from ltr.cli.output import note
from ltr.logs import LOG
from ltr.reporting.escaping import visible


class NoteHandler(logging.Handler):
    """Writes messages as notes, with control characters escaped."""

    def emit(self, record: logging.LogRecord) -> None:
        """One line on stderr."""
        note(visible(record.getMessage()))


@contextmanager
def shown_on_stderr() -> Iterator[None]:
    """Show the log on stderr while the block runs; afterwards the logger is as it was."""
    handler, level = NoteHandler(), LOG.level
    LOG.addHandler(handler)
    LOG.setLevel(logging.INFO)
    try:
        yield
    finally:
        LOG.removeHandler(handler)
        LOG.setLevel(level)
