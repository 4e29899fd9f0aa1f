"""What becomes of output whose reader has gone."""

import os
from typing import TextIO


def silence(stream: TextIO) -> None:
    """Send what the stream still buffers, and what follows, to nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
