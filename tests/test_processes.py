"""Processes that remember, and whose death costs one piece of work."""

import contextlib
import errno
import itertools
import multiprocessing
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from functools import partial
from multiprocessing import connection

import pytest

from ltr.engine import processes, run_each
from ltr.engine.calls import NO_MEMORY
from ltr.engine.processes import MARK, LostProcessError
from ltr.errors import EndedBySignal, RunError
from tests.left_processes import left_behind
from tests.made import ENVIRONMENT
from tests.shard_calls import hearing, noisy, remembering
from tests.warm import Warm


@pytest.fixture
def started_anew(monkeypatch):
    """Each process loads what it needs by itself, as for users."""
    monkeypatch.setattr(processes, "get_context", multiprocessing.get_context)


def done(shards, workers=2, **options):
    """Each result in the order of the shards."""
    found = dict(run_each(partial(remembering, **options), shards, [key for key, _ in shards], workers=workers))
    return [found[index] for index in range(len(shards))]


@pytest.mark.usefixtures("started_anew")
def test_each_shard_is_worked_on_once_in_other_processes():
    shards = [("a", 1), ("b", 2), ("a", 3), ("b", 4), ("c", 5)]
    found = done(shards)
    assert [number for _, number, _ in found] == [1, 2, 3, 4, 5]
    assert os.getpid() not in {process for process, _, _ in found}


def test_a_process_stays_with_its_key_while_there_is_work_for_it():
    found = done([(key, number) for number in range(6) for key in "ab"])
    for _, _, seen in found:
        assert len([*itertools.groupby(seen)]) == len(set(seen)), "it comes back to no key it has left"


def test_shards_of_one_key_are_shared_among_all():
    found = done([("a", number) for number in range(12)])
    assert len({process for process, _, _ in found}) == 2


@pytest.mark.usefixtures("started_anew")
def test_a_process_that_is_killed_costs_its_own_shard():
    found = done([("a", number) for number in range(6)], shard_that_kills=2)
    assert isinstance(found[2], RunError)
    assert str(found[2]) == "its process ended with -9: too little memory, or killed"
    assert [each[1] for each in found[:2] + found[3:]] == [0, 1, 3, 4, 5]


def test_a_process_that_was_told_to_end_is_no_question_of_memory():
    (found,) = dict(run_each(partial(hearing, signal.SIGTERM), ["a"], ["a"], workers=1)).values()
    assert str(found) == "its process ended with 143: a SIGTERM, perhaps of a plug-in"


def test_a_shard_that_cannot_be_sent_is_waited_for_by_nobody(monkeypatch):
    def fail(self, value):
        raise OSError(errno.EIO, "input/output error")

    monkeypatch.setattr(connection.Connection, "send", fail)
    ((place, found),) = run_each(noisy, ["x"], ["a"], workers=1)
    assert (place, type(found)) == (0, LostProcessError)


def pipes():
    """The descriptors of the pipes that this process was given: a plug-in can find them, too."""
    found = []
    for number in range(3, 64):
        with contextlib.suppress(OSError):  # not open
            found += [number] if stat.S_ISSOCK(os.fstat(number).st_mode) else []
    return found


def replaced(call):
    """In a process: what answers is replaced by the call on its pipe."""
    processes._answer = lambda pipe, answer: call(pipe)


def half_an_answer(pipe):
    """It dies in the middle."""
    os.write(pipe.fileno(), b"\0\0\1\0half")
    os._exit(0)


NONSENSE = {
    "text": lambda: os.write(pipes()[0], b"hello, this is no answer"),
    "a length of 2 GB": lambda: os.write(pipes()[0], b"\x7f\xff\xff\xff"),
    "a length beyond any memory": lambda: os.write(pipes()[0], b"\xff\xff\xff\xff" * 3),
    "one byte": lambda: os.write(pipes()[0], b"x"),
    "a pipe that is closed": lambda: [os.close(number) for number in pipes()],
    "another mark": lambda: replaced(lambda pipe: pipe.send_bytes(b"someone ans")),
    "half a mark": lambda: replaced(lambda pipe: pipe.send_bytes(MARK[:5])),
    "no pickle": lambda: replaced(lambda pipe: (pipe.send_bytes(MARK), pipe.send_bytes(b"\x80nonsense"))),
    "a part less": lambda: replaced(lambda pipe: (pipe.send_bytes(MARK), pipe.send((True,)))),
    "a number": lambda: replaced(lambda pipe: (pipe.send_bytes(MARK), pipe.send(7))),
    "half an answer": lambda: replaced(lambda pipe: (pipe.send_bytes(MARK), half_an_answer(pipe))),
    "an end without a word": lambda: os._exit(0),
}


def hostile(kind):
    """What is called on shards: after it the pipe holds no answer; the second shard is left alone."""

    def call(shard):
        if shard == "bad":
            NONSENSE[kind]()
        return shard

    return call


@pytest.mark.parametrize("kind", NONSENSE)
def test_an_answer_that_is_none_costs_its_own_shard_and_no_more(kind):
    found = dict(run_each(partial(hostile, kind), ["good", "bad", "good"], ["a", "a", "a"], workers=1))
    assert str(found.pop(1)).startswith("its process gave no answer that can be read")
    assert found == {0: "good", 2: "good"}


def unsendable():
    return lambda shard: threading.Lock()


def test_an_answer_that_cannot_be_sent_is_told_in_a_line():
    found = dict(run_each(unsendable, [1, 2], ["a", "b"], workers=1))
    assert [str(found[place]) for place in (0, 1)] == [
        "a worker's answer cannot be sent: cannot pickle '_thread.lock' object"
    ] * 2


class TooLarge:
    """What takes more memory to send than there is."""

    def __reduce__(self):
        raise MemoryError


def too_large():
    return lambda shard: TooLarge()


def test_an_answer_that_memory_does_not_hold_is_told_as_such():
    assert str(dict(run_each(too_large, [1], ["a"], workers=1))[0]) == NO_MEMORY


def unable():
    raise RunError("no plug-in")


def test_what_cannot_begin_is_an_error_of_every_shard():
    found = dict(run_each(unable, ["x", "y", "z"], ["a", "b", "a"], workers=2))
    assert [str(found[index]) for index in range(3)] == ["no plug-in"] * 3


@pytest.mark.usefixtures("started_anew")
def test_what_a_process_prints_is_no_result(capfd):
    assert list(run_each(noisy, ["noise"], ["a"], workers=1)) == [(0, None)]
    assert capfd.readouterr() == ("", "noise\n")


def test_a_bug_in_a_process_is_told_with_its_traceback():
    with pytest.raises(RuntimeError, match="ZeroDivisionError: a bug"):
        done([("a", -1), ("a", 2)])


ORPHANS = """
import os, sys, time
from ltr.engine.processes import run_each

def start():
    def call(shard):
        print(os.getpid(), file=sys.stderr, flush=True)
        time.sleep(60)
    return call

if __name__ == "__main__":
    list(run_each(start, [1, 2], ["a", "b"], workers=2))
"""


def test_no_process_outlives_the_one_that_started_it(tmp_path):
    assert left_behind(ORPHANS, tmp_path) == []


UNHEARD = """
from ltr.engine.processes import _serve

class Closed:
    "A pipe whose other end has gone when the result is ready."

    def recv(self):
        return ("a", 1)

    def send_bytes(self, content):
        raise BrokenPipeError

_serve(lambda: str, Closed(), 1.0)
"""


def test_a_process_ends_without_a_word_when_nobody_waits_for_its_result():
    options = {"env": ENVIRONMENT, "capture_output": True, "timeout": 60}
    done = subprocess.run([sys.executable, "-c", UNHEARD], check=False, **options)
    assert (done.returncode, done.stderr) == (0, b"")


SWALLOWED = """
import os, signal, sys, time
from ltr.engine.processes import _serve

def start():
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)
    except SystemExit:
        raise ImportError("no reason of ours")

_serve(start, None, 5.0)
"""


def test_a_process_that_is_told_to_end_while_a_library_is_imported_says_nothing():
    done = subprocess.run([sys.executable, "-c", SWALLOWED], env=ENVIRONMENT, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (143, b"", b"")


class Interrupted:
    """Stands in for a context: a signal comes while a process of its own starts."""

    Pipe = Warm.Pipe

    def __init__(self, number):
        self.number, self.started = number, []

    def Process(self, **options):  # noqa: N802 - the name that the context has
        process = Warm().Process(**options)

        def interrupted():
            os.kill(os.getpid(), self.number)
            time.sleep(0.05)
            del process.start  # it could not be sent
            process.start()
            self.started.append(process)

        process.start = interrupted
        return process


def end(number, frame):
    raise EndedBySignal(128 + number)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_process_that_starts_meanwhile(monkeypatch, number):
    context = Interrupted(number)
    monkeypatch.setattr(processes, "get_context", lambda _: context)
    before = signal.signal(number, end)
    try:
        with pytest.raises(EndedBySignal):
            list(run_each(noisy, ["a"], ["a"], workers=1))
    finally:
        signal.signal(number, before)
    assert [process.exitcode is None for process in context.started] == [False]
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def open_to_the_end(shard):
    """Fork a process that holds the pipe of its parent open, and die."""
    if os.fork() == 0:
        time.sleep(20)
        os._exit(0)
    os._exit(3)


def forking():
    return open_to_the_end


def test_a_process_that_dies_is_missed_although_one_that_it_forked_holds_its_pipe(monkeypatch):
    monkeypatch.setattr(processes, "GLANCE", 0.05)
    ((_, error),) = run_each(forking, ["a"], ["a"], workers=1)
    assert str(error) == "its process ended with 3: too little memory, or killed"


@pytest.mark.usefixtures("started_anew")
def test_a_process_hears_no_interrupt():
    assert dict(run_each(partial(hearing, signal.SIGINT), ["a"], ["a"], workers=1)) == {0: "a"}


def test_where_signals_cannot_be_blocked_processes_start_all_the_same(monkeypatch):
    monkeypatch.delattr(signal, "pthread_sigmask")  # as on Windows
    assert [number for _, number, _ in done([("a", 1), ("b", 2)])] == [1, 2]
