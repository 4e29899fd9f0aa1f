"""Stdin and stdout: as a wire for messages, which nothing else reads from or prints on, and without a reader."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, TextIO

from ltr.errors import UsageError


@contextmanager
def wire() -> Iterator[tuple[BinaryIO, Callable[[bytes], None]]]:
    """Yield stdin and a writer to stdout for messages alone: others read nothing meanwhile, and print to stderr."""
    try:
        source, target = os.dup(0), os.dup(1)
    except OSError as error:
        raise UsageError("stdin or stdout is closed; a client of MCP talks over both") from error
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # stderr is closed
        os.dup2(nothing, 1)
    os.close(nothing)

    def write(content: bytes) -> None:  # without a buffer, which would be flushed, and waited for, once more at the end
        while content:
            content = content[os.write(target, content) :]

    try:
        with open(source, "rb", closefd=False) as messages:
            yield messages, write
    finally:
        os.dup2(source, 0)
        os.dup2(target, 1)
        os.close(source)
        os.close(target)


def silence(stream: TextIO) -> None:
    """Send what the stream still buffers, and what follows, to nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
