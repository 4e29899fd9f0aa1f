"""What threads share, put right in a process that is forked while one works on it; and work in a thread of its own."""

import os
import threading
from collections.abc import Callable
from weakref import WeakSet

from ltr.errors import LtrError
from ltr.logs import LOG

SHARED: "WeakSet[SharedByThreads]" = WeakSet()


class SharedByThreads:
    """What threads take turns at, by its lock. In a forked process a lock that was held is free again."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        SHARED.add(self)

    def start_anew(self) -> None:
        """Forget what the holder of the lock may have changed by half."""


def renew_after_fork() -> None:
    """Make the locks anew that somebody held, who can never release them here."""
    for shared in list(SHARED):
        if shared.lock.acquire(blocking=False):  # locked() does not yet tell of one taken just before
            shared.lock.release()
        else:
            shared.lock = threading.Lock()
            shared.start_anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=renew_after_fork)


class BackgroundWork(SharedByThreads):
    """Work for a thread of its own, which lives as long as there is something to do. A copy starts with nothing to do.

    The thread does not keep a program alive: what is left undone at its end must be found by who comes later.
    """

    def __init__(self, work: Callable[[], object]) -> None:
        super().__init__()
        self.work, self.is_wanted = work, False
        self.failure: Exception | None = None  # of the last work
        self.thread: threading.Thread | None = None

    def __reduce__(self) -> tuple[type["BackgroundWork"], tuple[Callable[[], object]]]:
        return BackgroundWork, (self.work,)

    def ask(self) -> None:
        """Have the work begun after this call; what is asked for while some waits to begin is done once."""
        with self.lock:
            self.is_wanted = True
            if self.thread is None or not self.thread.is_alive():  # a forked process has no thread of its parent
                self.thread = threading.Thread(target=self._work, name="ltr-refit", daemon=True)
                self.thread.start()

    def wait(self) -> None:
        """Return when nothing is left to do; raise what made the last work fail."""
        thread = self.thread
        if thread is not None:
            thread.join()
        if self.failure is not None:
            raise self.failure

    def _work(self) -> None:
        while True:
            with self.lock:
                if not self.is_wanted:
                    self.thread = None
                    return
                self.is_wanted = False
            try:
                self.work()
                self.failure = None
            except Exception as error:
                self.failure = error
                LOG.error(f"a refit in the background failed: {error}", exc_info=not isinstance(error, LtrError))
