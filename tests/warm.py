"""Workers that are forked from one process, which has loaded what they need: else each would load it anew."""

import os
from multiprocessing import get_context

LOADED = ["ltr.benchmark.running", "ltr.experiments.batch", "ltr.experiments.shard_run", "ltr.features.registry"]


class Warm:
    """Stands in for the context `spawn`."""

    def __init__(self):
        self._context = get_context("forkserver")
        self._context.set_forkserver_preload(LOADED)
        self.Pipe = self._context.Pipe

    def Process(self, *, target, args, daemon):  # noqa: N802 - the name that the context has
        """A process that finds the environment of now, not the one in which the first was made."""
        return self._context.Process(target=_as_here, args=(dict(os.environ), target, args), daemon=daemon)


def _as_here(environment, target, args):
    os.environ.clear()
    os.environ.update(environment)
    target(*args)
