"""Work that a thread does in the background: never twice at once, and once more where it was asked for meanwhile."""

import threading
from collections.abc import Callable

from ltr.errors import LtrError
from ltr.logs import LOG
from ltr.serving.shared_by_threads import SharedByThreads


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
