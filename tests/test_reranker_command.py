"""A program as a reranker: it answers in time and in shape, or is one clear error and ended."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from ltr.catalogues import ToolText
from ltr.errors import EndedBySignal, RunError, UsageError
from ltr.rerankers.program import Program
from ltr.rerankers.protocol import Documents, RerankerChoice, Setting
from ltr.samples import Candidates
from tests.left_processes import is_alive

TEXTS = ("a", "bb", "ccc")
DOCUMENTS = Documents(
    Candidates.of_tools("", {f"tool{place}": ToolText(text) for place, text in enumerate(TEXTS)}), TEXTS
)
SETTING = Setting(collection=DOCUMENTS, allow_command=True)
READ = "import json, os, sys, time\nfor line in sys.stdin:\n    asked = json.loads(line)\n    "
GOOD = 'print(json.dumps({"id": asked["id"], "scores": [len(text) for text in asked["documents"]]}), flush=True)'


def program(code, timeout=20.0):
    """A program of this Python."""
    return RerankerChoice("command", {"arguments": [sys.executable, "-c", code], "timeout": timeout}).opened(SETTING)


@pytest.fixture
def running():
    """Programs that are ended after the test."""
    made = []

    def start(code, timeout=20.0):
        made.append(program(code, timeout))
        return made[-1]

    yield start
    for each in made:
        each.close()


def test_a_program_answers_every_query_and_sees_the_query(running):
    opened = running(READ + 'print(json.dumps({"id": asked["id"], "scores": [len(asked["query"])] * 3}), flush=True)')
    assert [opened(query, DOCUMENTS) for query in ("x", "xyz", "…")] == [[1.0] * 3, [3.0] * 3, [1.0] * 3]


def test_nothing_is_started_before_the_first_query_and_all_ends_with_close():
    opened = program(READ + GOOD)
    assert "_process" not in vars(opened)
    assert opened("q", DOCUMENTS) == [1, 2, 3]
    process = opened._process
    opened.close()
    assert process.returncode == 0  # its stdin ended, and so did it


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_signal_while_a_program_starts_leaves_no_program(monkeypatch, running):
    started = []

    class Interrupted(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            started.append(self.pid)
            os.kill(os.getpid(), signal.SIGTERM)

    def ended(number, _):
        raise EndedBySignal(128 + number)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    monkeypatch.setattr("ltr.rerankers.program.ENDING", 0.05)
    before = signal.signal(signal.SIGTERM, ended)
    opened = running("import time; time.sleep(600)")
    try:
        with pytest.raises(EndedBySignal):
            opened("q", DOCUMENTS)
    finally:
        signal.signal(signal.SIGTERM, before)
    opened.close()
    assert not is_alive(started[0])


def test_arguments_of_any_length_and_any_patience_will_do(running):
    long = running(READ + GOOD + "\n" + "# no name of a file" * 1000, timeout=1e300)
    assert (long.revision, long("q", DOCUMENTS)) != ("", [1, 2, 3])


BAD = {
    "print('hello', flush=True)": 'answered what is not {"id": 1, "scores": [numbers]}: JSON is malformed',
    "print('[1, 2, 3]', flush=True)": "Expected `object`, got `array`",
    """print('{"id": 1, "scores": [1, 2]}', flush=True)""": "gave 2 scores for 3 documents",
    """print('{"id": 1, "scores": [1, 2, 3, 4]}', flush=True)""": "gave 4 scores for 3 documents",
    """print('{"id": 1, "scores": [1, NaN, 3]}', flush=True)""": "JSON is malformed",
    """print('{"id": 1, "scores": [1, null, 3]}', flush=True)""": "Expected `float`, got `null`",
    """print('{"id": 1, "scores": ["1", "2", "3"]}', flush=True)""": "Expected `float`, got `str`",
    """print('{"id": 7, "scores": [1, 2, 3]}', flush=True)""": "answered question 7; question 1 was asked",
    """print('{"scores": [1, 2, 3]}', flush=True)""": "missing required field `id`",
    "print(flush=True)": "Input data was truncated",
    "print('[' * 100000, flush=True)": 'answered what is not {"id": 1',
    "sys.stdout.buffer.write(b'\\xff\\xfe\\n'); sys.stdout.flush()": 'answered what is not {"id": 1',
    "sys.exit(3)": "ended with exit code 3 before it answered",
    "os.kill(os.getpid(), 9)": "ended with exit code -9 before it answered",
    "raise ValueError('no such model')": "it said: Traceback",
    "sys.stderr.write('x' * (4 << 20)); sys.exit(1)": "ended with exit code 1 before it answered; it said: xxx",
    "sys.stdout.write('x' * (17 << 20)); sys.stdout.flush()": "an answer is longer than 16 MB",
}


@pytest.mark.parametrize("line", BAD)
def test_whatever_a_program_does_wrong_is_one_clear_error_and_ends_it(line, running):
    opened = running(READ + line)
    with pytest.raises(RunError) as caught:
        opened("q", DOCUMENTS)
    said = str(caught.value)
    assert BAD[line] in said
    assert "\n" not in said
    assert len(said) < 1000
    assert "_process" not in vars(opened)


def test_a_flood_on_stderr_holds_nothing_up(running):
    opened = running(READ + "sys.stderr.write('x' * (8 << 20)); sys.stderr.flush(); " + GOOD)
    assert opened("q", DOCUMENTS) == [1, 2, 3]
    assert len(opened._stderr) <= 1000


@pytest.mark.parametrize(
    "code, timeout",
    [
        ("import time; time.sleep(60)", 0.1),
        (READ + "time.sleep(60)", 0.1),
        ("import signal, time\nsignal.signal(15, 1)\ntime.sleep(60)", 0.5),  # until it ignores the signal
    ],
)
def test_a_program_that_hangs_is_ended_when_its_time_is_over(code, timeout, running):
    opened = running(code, timeout=timeout)
    with pytest.raises(RunError, match=rf"no answer in {timeout} s"):
        opened("q", DOCUMENTS)


def test_a_program_that_does_not_read_cannot_hold_us(running):
    opened = running("import time; time.sleep(60)", timeout=0.15)
    with pytest.raises(RunError, match="no answer"):
        opened("x" * (4 << 20), DOCUMENTS)


def test_a_program_that_closes_its_stdout_is_an_error(running, monkeypatch):
    monkeypatch.setattr("ltr.rerankers.program.ENDING", 0.05)
    opened = running("import os, time; os.close(1); time.sleep(60)")
    with pytest.raises(RunError, match="closed its stdout before it answered"):
        opened("q", DOCUMENTS)


def test_an_answer_that_nobody_asked_for_is_not_taken_for_the_next(running):
    opened = running(READ + GOOD + "\n    " + GOOD)
    assert opened("q", DOCUMENTS) == [1, 2, 3]
    with pytest.raises(RunError, match="answered question 1; question 2 was asked"):
        opened("q", DOCUMENTS)


def is_at_work(state):
    """Whether the process that a file of /proc tells of has not ended."""
    try:
        return state.read_text().split()[2] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="no process groups")
def test_what_a_program_starts_ends_with_it(running, tmp_path):
    mark = tmp_path / "pid"
    started = "import subprocess, time\np = subprocess.Popen(['sleep', '60'])\n"
    code = started + f"open({str(mark)!r}, 'w').write(str(p.pid))\ntime.sleep(60)"
    with pytest.raises(RunError, match="no answer"):
        running(code, timeout=1.0)("q", DOCUMENTS)  # until it has started another
    state = Path(f"/proc/{mark.read_text()}/stat")
    deadline = time.monotonic() + 20
    while is_at_work(state) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_at_work(state)


def test_no_shell_reads_the_arguments(running, tmp_path):
    canary = tmp_path / "canary"
    opened = Program((sys.executable, "-c", READ + GOOD, f"; touch {canary}", f"$(touch {canary})"), 20.0)
    assert opened("q", DOCUMENTS) == [1, 2, 3]
    opened.close()
    assert not canary.exists()


def test_a_program_that_is_not_there_is_one_error():
    opened = RerankerChoice("command", {"arguments": ["./no-such-program"]}).opened(SETTING)
    with pytest.raises(RunError, match=r"\./no-such-program: cannot be started: .*No such file"):
        opened("q", DOCUMENTS)


def test_nothing_runs_unless_it_is_allowed():
    choice, careful = RerankerChoice("command", {"arguments": [sys.executable]}), replace(SETTING, allow_command=False)
    assert "--allow-command" in choice.absent(careful)
    with pytest.raises(UsageError, match="--allow-command lets it"):
        choice.opened(careful)


@pytest.mark.parametrize("options", [{}, {"arguments": []}, {"arguments": [" "]}])
def test_a_command_without_a_program_is_refused(options):
    with pytest.raises(UsageError, match="needs the option arguments"):
        RerankerChoice("command", options).opened(SETTING)


def test_the_revision_follows_the_files_among_the_arguments(tmp_path):
    script = tmp_path / "rank.py"
    revisions = []
    for content in ("1", "2", "1"):
        script.write_text(content)
        revisions.append(Program((sys.executable, str(script)), 1.0).revision)
    assert revisions[0] == revisions[2] != revisions[1]


def test_scores_beyond_all_numbers_are_refused_by_the_contract(running):
    from ltr.rerankers.protocol import checked_scores

    opened = running(READ + """print('{"id": 1, "scores": [1, 1e999, 3]}', flush=True)""")
    with pytest.raises(RunError):
        checked_scores("command", opened, "q", DOCUMENTS)
