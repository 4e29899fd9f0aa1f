"""A process that is forked while a thread of it ranks or learns: the child ranks and learns like any other."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.made import tool_rows, written

ROOT = Path(__file__).parent.parent
ENCODER = """
import os
import signal
import sys
import threading
import time
from itertools import count

import numpy as np

import ltr
from ltr.encoders import Dense

PARENT, at_work, go_on = os.getpid(), threading.Event(), threading.Event()
WORDS, waits_in = ("map", "mail"), None


def wait(place):
    if place == waits_in and os.getpid() == PARENT:
        at_work.set()
        go_on.wait(60)


@ltr.encoder("letters")
class Letters:
    name, revision, state = "letters", "1", {"size": 26}

    @classmethod
    def is_installed(cls):
        return True

    @classmethod
    def fitted(cls, texts):
        return cls()

    @classmethod
    def restored(cls, state):
        wait("restored")
        return cls()

    def identity(self, role):
        return ("letters", "1")

    def encode(self, texts, role):
        wait(role)
        rows = [[text.lower().count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts]
        return Dense(np.array(rows, dtype=float).reshape(-1, 26)).unit()


def child(work):
    \"\"\"What a forked process of its own ends with; -14 where it hangs.\"\"\"
    pid = os.fork()
    if not pid:
        signal.alarm(30)
        code = 1
        try:
            code = 0 if work() else 3
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def offered(number):
    return [{"name": f"get_{word}_{number}", "description": f"gives the {word} of {number}"} for word in WORDS]


def names(router, number=0):
    return [choice.candidate for choice in router.rank("what is the mail?", offered(number))]


def learned(router):
    outcome = {"query": f"mail {time.monotonic_ns()}?", "offered": ["get_mail", "get_map"], "right": "get_mail"}
    return router.learn(outcome).outcomes == 1


router = ltr.load(sys.argv[1])
"""
LOADED = "router = ltr.load(sys.argv[1])"
ONE = """
def work():
    if sys.argv[2] == "update":
        learned(router)
    else:
        router.rank("what is the map?", offered(1))


expected, before = names(router), learned(router) if sys.argv[2] == "update" else None
waits_in = {"update": "query"}.get(sys.argv[2], sys.argv[2])
thread = threading.Thread(target=work)
thread.start()
assert at_work.wait(60)
code = child(lambda: names(router) == expected and names(router, 1) and learned(router))
print(code, file=sys.__stdout__)  # sys.stdout is stderr as long as a plug-in works
go_on.set()
thread.join()
"""
MANY = """
numbers, is_over, expected = count(), threading.Event(), names(router)


def work():
    while not is_over.is_set():
        names(router, next(numbers))
        names(router)


threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
codes = {child(lambda: names(router) == expected and len(names(router, -1)) == 2) for _ in range(24)}
print(codes, file=sys.__stdout__)
is_over.set()
for thread in threads:
    thread.join()
"""

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


def printed(code, home, *words):
    """What a program over the run in the directory prints on stdout, and on stderr."""
    command = [sys.executable, "-c", code, str(home / "run"), *words]
    environment = os.environ | {"LTR_CACHE_DIR": str(home / "cache")}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    return done.stdout, done.stderr


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The directory of a router of ten tools."""
    home = tmp_path_factory.mktemp("forks")
    samples = written(home / "s.jsonl", tool_rows(range(12)))
    train = f"ltr.train({str(samples)!r}, out=sys.argv[1], encoder='letters', features=['tool.proto', 'tool.lift'])"
    assert printed(ENCODER.replace(LOADED, train), home) == ("", "")
    return home / "run"


@pytest.mark.parametrize("place", ["query", "document", "update"])
def test_a_child_ranks_and_learns_while_a_thread_of_its_parent_holds_the_locks(trained, tmp_path, place):
    shutil.copytree(trained, tmp_path / "run")
    assert printed(ENCODER + ONE, tmp_path, place) == ("0\n", "")


def test_of_24_children_forked_while_threads_rank_none_hangs(trained, tmp_path):
    shutil.copytree(trained, tmp_path / "run")
    assert printed(ENCODER + MANY, tmp_path) == ("{0}\n", "")
