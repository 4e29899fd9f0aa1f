"""Processes that are forked from one that has loaded what they need: else each would load it anew."""

import gc
import os
import sys
import tempfile
from multiprocessing import get_context
from pathlib import Path
from subprocess import CompletedProcess

from tests.made import ENVIRONMENT

LOADED = [
    *(
        "ltr.benchmark.running",
        "ltr.experiments.batch",
        "ltr.experiments.shard_run",
        "ltr.experiments.featurize_shards",
    ),
    *(
        "ltr.features.success_rates",
        "ltr.cli.train",
        "ltr.cli.evaluate",
        "ltr.cli.rank",
        "ltr.cli.run",
        "ltr.cli.import_export",
    ),
    *("jinja2", "numpy.ma", "pydantic.dataclasses", "scipy.optimize", "typer._adapters"),  # what those load late
]
CONTEXT = get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.warm", *LOADED])


class Warm:
    """Stands in for the context `spawn`."""

    Pipe = CONTEXT.Pipe

    def Process(self, *, target, args, daemon):  # noqa: N802 - the name that the context has
        """A process that finds the environment of now, not the one in which the first was made."""
        return CONTEXT.Process(target=_here, args=(dict(os.environ), target, args), daemon=daemon)


def _here(environment, target, args):
    gc.freeze()
    os.environ.clear()
    os.environ.update(environment)
    target(*args)


def command(*arguments, cwd, environment=ENVIRONMENT, given=b""):
    """ltr in a process of its own, as `process` of tests/made.py starts it, but for Python itself and its modules."""
    return _forked(_ltr, list(map(str, arguments)), cwd, environment, given)


def _forked(work, words, cwd, environment, given):
    with tempfile.TemporaryDirectory() as folder:
        streams = [Path(folder, name) for name in ("in", "out", "err")]
        for stream, content in zip(streams, (given, b"", b""), strict=True):
            stream.write_bytes(content)
        args = (environment, _with_streams, (work, words, cwd, streams))
        started = CONTEXT.Process(target=_here, args=args)
        started.start()
        started.join(600)
        started.kill()
        started.join()
        return CompletedProcess(words, started.exitcode, streams[1].read_bytes(), streams[2].read_bytes())


def _with_streams(work, words, cwd, streams):
    for place, stream in enumerate(streams):
        os.dup2(os.open(stream, os.O_RDWR), place)
    sys.stdin = open(0, encoding="utf-8")  # noqa: SIM115 - multiprocessing closed it
    os.chdir(cwd)
    work(words)


def _ltr(words):
    sys.argv = ["ltr", *words]
    from ltr.cli import main

    main()
