"""What makes tests quick, and the only helper that knows the inside of ltr: without it they test the same, slower.

Processes are forked from one that has loaded what they need: else each would load it anew.
"""

import gc
import os
import signal
import sys
import tempfile
from multiprocessing import get_context
from multiprocessing.forkserver import _forkserver as server
from pathlib import Path
from subprocess import CompletedProcess

from ltr.cli.commands import CommandTable
from ltr.engine import processes
from tests.made import ENVIRONMENT

LOADED = [
    *("ltr.rerankers.bench", "ltr.experiments.batch", "ltr.experiments.featurize", "ltr.features.history"),
    *("ltr.cli.learn", "ltr.cli.measure", "ltr.cli.serve", "ltr.cli.data", "ltr.cli.start"),
    *("jinja2", "numpy.ma", "pydantic.dataclasses", "scipy.optimize", "typer._adapters"),  # what those load late
]
BUILT = {}  # the commands of ltr, which each run in this process would build anew
CONTEXT = get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.warm", *LOADED])


def build_once(monkeypatch):
    """Let the command line keep what Typer makes of its commands."""
    monkeypatch.setattr(CommandTable, "__init__", lambda table: setattr(table, "_built", BUILT))


class Warm:
    """Stands in for the context `spawn`."""

    Pipe = CONTEXT.Pipe

    def __init__(self, streams=()):
        self._streams = streams

    def Process(self, *, target, args, daemon):  # noqa: N802 - the name that the context has
        """A process that finds the environment of now, not the one in which the first was made."""
        return CONTEXT.Process(target=_here, args=(dict(os.environ), self._streams, target, args), daemon=daemon)


def _here(environment, streams, target, args):
    gc.freeze()
    os.environ.clear()
    os.environ.update(environment)
    for place, stream in enumerate(streams):
        os.dup2(os.open(stream, os.O_RDWR | os.O_APPEND), place)
    target(*args)


def command(*arguments, cwd, environment=ENVIRONMENT, given=b"", out=None):
    """ltr in a process of its own, as `process` of tests/made.py starts it, but for Python itself and its modules."""
    return Started(*arguments, cwd=cwd, environment=environment, given=given, out=out).ended()


class Started:
    """The same, while it is at work: several can be. What it says is in the file `out`, where one is given."""

    def __init__(self, *arguments, cwd, environment=ENVIRONMENT, given=b"", out=None):
        self._words = list(map(str, arguments))
        self._folder = tempfile.TemporaryDirectory()
        self._streams = [Path(self._folder.name, name) for name in ("in", "out", "err")]
        for stream, content in zip(self._streams, (given, b"", b""), strict=True):
            stream.write_bytes(content)
        streams = [self._streams[0], out or self._streams[1], self._streams[2]]
        server.ensure_running()
        args = (self._words, cwd, streams, server._forkserver_address)
        self._process = CONTEXT.Process(target=_here, args=(environment, streams, _ltr, args))
        self._process.start()

    def send_signal(self, number):
        """As that of subprocess.Popen."""
        os.kill(self._process.pid, number)

    def ended(self):
        """Its exit code and what it wrote, once it has ended."""
        with self._folder:
            self._process.join(600)
            self._process.kill()
            self._process.join()
            out, err = (stream.read_bytes() for stream in self._streams[1:])
            return CompletedProcess(self._words, self._process.exitcode, out, err)


def _ltr(words, cwd, streams, address):
    sys.stdin = open(0, encoding="utf-8")  # noqa: SIM115 - multiprocessing closed it
    os.chdir(cwd)
    sys.argv = ["ltr", *words]
    if hasattr(signal, "pthread_sigmask"):  # the process that it is forked from may hear no Ctrl-C
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    from ltr.cli import main

    # its workers come from where it comes from
    server._forkserver_address, server.ensure_running = address, lambda: None
    processes.get_context = lambda _: Warm(streams)
    main()
