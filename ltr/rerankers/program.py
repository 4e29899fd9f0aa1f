"""Any program as a reranker: a line of JSON in, a line of JSON out."""

import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import IO

import msgspec

from ltr.errors import RunError, UsageError
from ltr.files import ContentDigest
from ltr.registry import Positive
from ltr.rerankers.protocol import Documents, Reranker, Setting, reranker
from ltr.signals import deferring

LONGEST_ANSWER = 16 << 20
LONGEST_WAIT = 1e6  # seconds; no clock holds every number
LONGEST_COMPLAINT = 200  # characters of its stderr in a message
ENDING = 2.0  # seconds a program has to end by itself; less than a process of a bench has itself


def not_allowed(argument: str, setting: Setting) -> str:
    """Return why no program may run."""
    return "" if setting.allow_command else "it runs a program of yours; add --allow-command to let it"


@reranker("command", absent=not_allowed)
def command_reranker(setting: Setting, *, arguments: tuple[str, ...] = (), timeout: Positive = 60.0) -> Reranker:
    """A program that reads {"id", "query", "documents"} and writes {"id", "scores"}, a line each; no shell.

    It is started at the first query and serves them all, one after the other; `timeout` is in seconds, for each.
    """
    if not setting.allow_command:
        raise UsageError("the reranker command runs a program; --allow-command lets it")
    if not arguments or not arguments[0].strip():
        raise UsageError("the reranker command needs the option arguments: a list of the program and its arguments")
    return Program(arguments, timeout)


class _Answer(msgspec.Struct):
    id: int
    scores: list[float]


class Program:
    """A program that is started at the first query. Whatever it does wrong is one RunError, and ends it."""

    def __init__(self, arguments: Sequence[str], timeout: float) -> None:
        self.arguments, self.timeout = tuple(arguments), min(timeout, LONGEST_WAIT)
        self._count = 0
        self._answers: queue.Queue[bytes] = queue.Queue(maxsize=1)  # who talks unasked waits, and fills no memory
        self._questions: queue.Queue[bytes] = queue.Queue()
        self._stderr = b""
        self._threads: list[threading.Thread] = []

    @property
    def revision(self) -> str:
        """Digests of the files among the arguments; other files that the program reads are not part of it."""
        digests = []
        for argument in self.arguments:
            with suppress(OSError):  # code, say, which is too long for a name
                if Path(argument).is_file():
                    digests.append(ContentDigest.of(argument).sha256[:16])
        return " ".join(digests)

    def __call__(self, query: str, documents: Documents) -> list[float]:
        """Return the scores that the program answers with."""
        self._count += 1
        question = {"id": self._count, "query": query, "documents": documents.texts}
        _ = self._process  # started before the question is put
        self._questions.put(msgspec.json.encode(question) + b"\n")
        try:
            return self._checked(self._answers.get(timeout=self.timeout), len(documents))
        except queue.Empty:
            raise self._failed(f"no answer in {self.timeout:g} s") from None

    def close(self) -> None:
        """End the program, and whatever it started, kindly first."""
        process = self.__dict__.pop("_process", None)
        if process is None:
            return
        self._questions.put(b"")
        with suppress(subprocess.TimeoutExpired):
            process.wait(ENDING)
        self._end(process)

    def _checked(self, line: bytes, documents: int) -> list[float]:
        if not line:
            with suppress(subprocess.TimeoutExpired):
                raise self._failed(f"ended with exit code {self._process.wait(ENDING)} before it answered")
            raise self._failed("closed its stdout before it answered")
        if not line.endswith(b"\n"):
            raise self._failed(f"an answer is longer than {LONGEST_ANSWER >> 20} MB, or its line does not end")
        try:
            answer = msgspec.json.decode(line, type=_Answer)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise self._failed(f'answered what is not {{"id": {self._count}, "scores": [numbers]}}: {error}') from error
        if answer.id != self._count:
            raise self._failed(f"answered question {answer.id}; question {self._count} was asked")
        if len(answer.scores) != documents:
            raise self._failed(f"gave {len(answer.scores)} scores for {documents} documents")
        return answer.scores

    def _failed(self, problem: str) -> RunError:
        process = self.__dict__.pop("_process", None)
        if process is not None:
            self._end(process)
        complaint = " ".join(self._stderr.decode(errors="replace").split())[-LONGEST_COMPLAINT:]
        return RunError(f"{self.arguments[0]}: {problem}" + (f"; it said: {complaint}" if complaint else ""))

    @cached_property
    def _process(self) -> "subprocess.Popen[bytes]":
        """The running program. A signal that ends this process waits until `close` knows what to end."""
        process: subprocess.Popen[bytes] = deferring(self._started)()
        return process

    def _started(self) -> "subprocess.Popen[bytes]":
        pipe = subprocess.PIPE
        try:
            # a session of its own: what the program starts can be ended with it
            process = subprocess.Popen(self.arguments, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True)
        except (OSError, ValueError) as error:
            raise RunError(f"{self.arguments[0]}: cannot be started: {error}") from error
        self.__dict__["_process"] = process
        for work, stream in (
            (self._write_questions, process.stdin),
            (self._read_answers, process.stdout),
            (self._read_stderr, process.stderr),
        ):
            self._threads.append(threading.Thread(target=work, args=(stream,), daemon=True))
            self._threads[-1].start()
        return process

    def _end(self, process: "subprocess.Popen[bytes]") -> None:
        """Kill the program and all of its session, and let the threads close the pipes."""
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (OSError, AttributeError):  # gone already; or no groups on this system
            process.kill()
        process.wait()
        self._questions.put(b"")
        deadline = time.monotonic() + ENDING  # one that left the session may hold a pipe open
        while any(thread.is_alive() for thread in self._threads) and time.monotonic() < deadline:
            with suppress(queue.Empty):
                self._answers.get(timeout=0.01)

    def _write_questions(self, stdin: IO[bytes]) -> None:
        """Write the questions: in a thread, as a program that does not read would block for ever."""
        with suppress(OSError), stdin:  # it has ended, or closed its stdin: the missing answer says so
            while question := self._questions.get():
                stdin.write(question)
                stdin.flush()

    def _read_answers(self, stdout: IO[bytes]) -> None:
        with stdout:
            while line := stdout.readline(LONGEST_ANSWER):
                self._answers.put(line)
        self._answers.put(b"")

    def _read_stderr(self, stderr: IO[bytes]) -> None:
        """Keep the end of what it writes, however much that is."""
        with stderr:
            while block := stderr.read1(1 << 16):  # type: ignore[attr-defined]
                self._stderr = (self._stderr + block)[-4 * LONGEST_COMPLAINT :]
