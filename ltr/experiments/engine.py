"""An ordered map over shards, here or in other processes. It knows nothing of ranking."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from ltr.errors import UsageError

Shard = TypeVar("Shard")
Result = TypeVar("Result")


def ordered_map(call: Callable[[Shard], Result], shards: Iterable[Shard], *, workers: int = 1) -> Iterator[Result]:
    """call(shard) for each shard, in the order of the shards, whatever the number of workers.

    The caller cuts the shards: their number never follows from the number of workers, so that sums
    over shards are the same everywhere. With workers, call and shards must be picklable, and at most
    two shards a worker are in flight.

    >>> list(ordered_map(str, [3, 1, 2]))
    ['3', '1', '2']
    """
    if not isinstance(workers, int) or isinstance(workers, bool) or workers < 1:
        raise UsageError(f"workers is {workers!r}; a whole number of at least 1 is needed")
    return map(call, shards) if workers == 1 else _process_map(call, shards, workers)


def _process_map(call: Callable[[Shard], Result], shards: Iterable[Shard], workers: int) -> Iterator[Result]:
    from concurrent.futures import Future, ProcessPoolExecutor
    from multiprocessing import get_context

    # spawn: a forked child inherits BLAS threads that no longer run, and hangs
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        in_flight: deque[Future[Result]] = deque()
        for shard in shards:
            in_flight.append(pool.submit(call, shard))
            if len(in_flight) >= 2 * workers:
                yield in_flight.popleft().result()
        while in_flight:
            yield in_flight.popleft().result()
