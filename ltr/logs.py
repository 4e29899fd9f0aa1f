"""The log of ltr: files read, the encoder in use, the time of each stage. Shown only where a handler is added."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LOG = logging.getLogger("ltr")


@contextmanager
def stage(name: str, clock: Callable[[], float] = time.perf_counter) -> Iterator[None]:
    """Log the time of the block: `training took 2.500 s`. Above a function, as `@stage(name)`, that of each call."""
    start = clock()
    yield
    LOG.info(f"{name} took {clock() - start:.3f} s")
