"""What threads share, put right in a process that is forked while one of them works on it: that thread is not there."""

import os
import threading
from weakref import WeakSet

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
