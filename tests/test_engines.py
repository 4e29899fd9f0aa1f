"""An ordered map over shards: the same results here and in processes, and nothing that outlives it."""

import os
import signal
import socket
import subprocess
import sys
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from ltr.engine import IN_PROCESS, open_engine, processes
from ltr.engine.engine import InProcess
from ltr.engine.processes import Local
from ltr.engine.ray import code_version, refuse_silent, this_machine, with_address
from ltr.errors import DiskError, FileError, LtrWarning, RunError, SampleError, UsageError
from ltr.extras import install_line
from ltr.logs import LOG
from tests.left_processes import left_behind
from tests.made import ENVIRONMENT, EngineConfig, tool_rows, written
from tests.warm import command


@pytest.fixture(params=["in process", "in two processes"])
def engine(request):
    return IN_PROCESS if request.param == "in process" else request.getfixturevalue("two")


def slow_at_first(number):
    time.sleep(0.05 if number == 0 else 0)
    return number * number


def test_results_come_in_the_order_of_the_items(engine):
    assert list(engine.map(slow_at_first, range(9))) == [number * number for number in range(9)]
    assert list(engine.map(slow_at_first, [])) == []


def test_more_workers_than_items_are_not_started():
    with Local(40) as engine:
        assert list(engine.map(slow_at_first, range(3))) == [0, 1, 4]


def mean_with(vector, number):
    return vector.value.mean() + number


def test_a_shared_value_is_the_same_everywhere(engine):
    vector = engine.shared(np.arange(1e5))
    assert list(engine.map(partial(mean_with, vector), [1, 2, 3])) == [np.arange(1e5).mean() + n for n in (1, 2, 3)]
    assert vector.value[7] == 7


def identity(value, number):
    return os.getpid(), id(value.value)


def test_a_worker_gets_a_shared_value_once(two):
    value = two.shared({"array": np.arange(1000)})
    first = [*two.map(partial(identity, value), range(6)), *two.map(partial(identity, value), range(6))]
    assert len(set(first)) <= 2, "one object a process, in both maps"


def warm(number):
    return os.getpid()


def test_the_processes_stay_from_map_to_map_and_are_no_more_than_the_workers(two):
    processes = {*two.map(warm, range(8)), *two.map(warm, range(8))}
    assert os.getpid() not in processes
    assert len(processes) <= 2


def refused(number):
    if number == 2:
        raise SampleError("log.jsonl", 4, "label", "'x' is no number")
    return number


def test_an_error_of_ours_comes_back_as_it_was_raised_and_in_its_place(engine):
    results = engine.map(refused, range(5))
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(SampleError, match=r"^log.jsonl:4: label: 'x' is no number$"):
        next(results)
    del results
    assert list(engine.map(slow_at_first, [3])) == [9], "the engine goes on after it"


def bug(number):
    return 1 / number


def test_a_bug_in_a_worker_is_told_with_its_traceback(two):
    with pytest.raises(RuntimeError, match="ZeroDivisionError: division by zero"):
        list(two.map(bug, [0]))


def no_memory(number):
    raise MemoryError


def test_a_worker_without_memory_says_what_helps(two):
    with pytest.raises(RunError, match="try fewer --workers"):
        list(two.map(no_memory, [0]))


def told(number):
    if number % 2:
        warnings.warn(f"shard {number} is odd", LtrWarning, stacklevel=1)
    LOG.info(f"shard {number}")
    return number


@pytest.mark.parametrize("opened", [InProcess, partial(Local, 2)])
def test_warnings_and_log_come_from_all_workers_in_order(opened, caplog):
    with caplog.at_level("INFO", "ltr"), opened() as engine, pytest.warns(LtrWarning) as warned:
        assert list(engine.map(told, range(4))) == [0, 1, 2, 3]
    assert [str(warning.message) for warning in warned] == ["shard 1 is odd", "shard 3 is odd"]
    assert caplog.messages == [f"shard {number}" for number in range(4)]


def killed_once(mark, number):
    if number == 3 and not Path(mark).exists():
        Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_a_shard_whose_worker_is_killed_goes_to_another(two, tmp_path):
    with pytest.warns(LtrWarning, match="a worker was lost; its shard is worked on again"):
        assert list(two.map(partial(killed_once, str(tmp_path / "mark")), range(6))) == list(range(6))


def killed(number):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.filterwarnings("ignore:a worker was lost")
def test_a_shard_that_kills_every_worker_is_an_error(two):
    with pytest.raises(RunError, match=r"lost twice at the same shard: its process ended with -9.* fewer --workers"):
        list(two.map(killed, [1]))
    assert list(two.map(slow_at_first, [2])) == [4]


def begun(directory, number):
    (Path(directory) / str(number)).touch()
    return number


def test_no_more_than_a_few_results_wait(two, tmp_path):
    results = two.map(partial(begun, str(tmp_path)), range(100))
    assert next(results) == 0
    time.sleep(0.05)
    assert len(list(tmp_path.iterdir())) <= 6
    assert list(results) == list(range(1, 100))


def warm_after_a_while(number):
    time.sleep(0.02)
    return os.getpid()


def test_a_map_that_is_left_early_costs_no_process(two):
    processes = {*two.map(warm_after_a_while, range(8))}
    next(two.map(warm_after_a_while, range(8)))
    assert {*two.map(warm, range(8))} <= processes


def test_two_maps_at_a_time_keep_their_order(engine):
    first, second = engine.map(slow_at_first, range(9)), engine.map(warm_after_a_while, range(9))
    assert [number for number, _ in zip(first, second, strict=True)] == [number * number for number in range(9)]


PLUGIN = """
import ltr

@ltr.measure("always@k", "one")
def always(blocks, k):
    return blocks.sizes * 0.0 + 1
"""


def summary(number):
    from ltr.evaluation import named

    return named("always@1").name


def test_workers_know_the_plugins_of_the_files_that_they_are_given(tmp_path):
    (tmp_path / "mine.py").write_text(PLUGIN)
    with Local(1, code=(str(tmp_path / "mine.py"),)) as engine:
        assert list(engine.map(summary, [0])) == ["always@1"]
    with Local(1, code=(str(tmp_path / "gone.py"),)) as engine, pytest.raises(UsageError, match="gone.py: no such"):
        list(engine.map(summary, [0]))


def number_of_values(number):
    return len(processes.VALUES)


def test_a_worker_drops_what_nobody_holds_any_more():
    with Local(1) as engine:
        first, second = engine.shared("a"), engine.shared("b")
        assert list(engine.map(number_of_values, [0])) == [3], "with the function"
        del first
        assert list(engine.map(number_of_values, [0])) == [2]
        assert second.value == "b"


INTERRUPTED = """
import os, sys, time
from ltr.engine.processes import Local

def asleep(number):
    print(os.getpid(), file=sys.stderr, flush=True)
    time.sleep(60)

if __name__ == "__main__":
    with Local(2) as engine:
        list(engine.map(asleep, range(2)))
"""


def test_no_worker_outlives_the_process_that_started_it(tmp_path):
    assert left_behind(INTERRUPTED, tmp_path) == []


def test_a_config_says_who_works():
    assert open_engine(EngineConfig()) is open_engine(EngineConfig(workers=1)) is IN_PROCESS
    assert isinstance(open_engine(EngineConfig(workers=2)), Local)
    with pytest.raises(ValueError, match="workers is 0"):
        EngineConfig(workers=0)
    with pytest.raises(UsageError, match="address '10.0.0.1:6379' is that of a Ray cluster: it needs --engine ray"):
        open_engine(EngineConfig(address="10.0.0.1:6379"))


def test_the_default_engine_starts_nothing():
    assert list(IN_PROCESS.map(warm, [0])) == [os.getpid()]


NO_RAY = (
    "import sys; sys.modules['ray'] = None; from ltr.engine import EngineConfig; from ltr.engine import open_engine; "
)


def test_without_the_package_ray_the_engine_says_what_to_install():
    expected = UsageError(f"the engine ray needs the package ray: {install_line('ray')}")
    script = NO_RAY + "\ntry: open_engine(EngineConfig(name='ray'))\nexcept Exception as error: print(repr(error))"
    done = subprocess.run([sys.executable, "-c", script], env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert done.stdout == f"{expected!r}\n"


WITHOUT_RAY = """
import sys

assert "ray" not in sys.modules

class Tripwire:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "ray":
            raise ImportError("ray is loaded")

sys.meta_path.insert(0, Tripwire())
"""


def test_no_command_loads_ray_unless_it_is_asked_for(tmp_path):
    written(tmp_path / "samples.jsonl", tool_rows(range(25)))
    (tmp_path / "tripwire.py").write_text(WITHOUT_RAY)
    commands = (
        "featurize samples.jsonl -o columns/ --features tool.hist,tool.coop --encoder hash -q --shard-rows 60",
        "train columns/ -o run --trainer newton --set train.l2=0.01 -q --format json",
        "evaluate run columns/ -q -o measured --format json",
        "validate columns/ --format json",
        "featurize samples.jsonl -o refused/ --features tool.hist --encoder hash -q --engine ray",
    )
    done = [command(*words.split(), "--code", "tripwire.py", cwd=tmp_path) for words in commands]
    assert [each.returncode for each in done] == [0, 0, 0, 0, 2], [each.stderr for each in done]
    assert b"the engine ray needs the package ray" in done[-1].stderr
    assert not (tmp_path / "refused").exists()


@pytest.mark.parametrize("address, problem", [("nowhere", "is not HOST:PORT"), ("localhost:x", "is not HOST:PORT")])
def test_an_address_that_is_none_is_refused(address, problem):
    with pytest.raises(UsageError, match=problem):
        refuse_silent(address)


def test_a_cluster_that_does_not_answer_is_told_at_once(monkeypatch):
    def refused(place, timeout):
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(socket, "create_connection", refused)
    with pytest.raises(UsageError, match=r"^no Ray cluster at 10.0.0.1:6379: .*Connection refused; `ray start --head`"):
        refuse_silent("10.0.0.1:6379")


def test_a_file_that_a_node_lacks_is_told_with_the_address_of_the_node(tmp_path):
    missing = FileError(str(tmp_path / "part-00000.npz"), "no such file")
    assert str(with_address(missing, "10.0.0.2")).endswith(
        "part-00000.npz: no such file (on the node 10.0.0.2; all nodes must see the files)"
    )
    unwritable = DiskError(str(tmp_path / "tmp" / "learned-00000.npz"), "no such directory")
    assert "no such directory (on the node 10.0.0.2; all" in str(with_address(unwritable, "10.0.0.2"))
    full = DiskError(str(tmp_path / "learned-00000.npz"), "no space left on device")
    assert with_address(full, "10.0.0.2") is full
    (tmp_path / "part-00000.npz").touch()
    assert with_address(missing, "10.0.0.2") is missing, "it is there, and has another fault"


def test_the_kind_of_a_machine_is_its_processor_numpy_and_threads(monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    machine = this_machine("10.0.0.2")
    assert machine.kind == f"{machine.processor}, numpy {np.__version__}, BLAS threads: 1"
    assert machine.processor
    assert machine.ltr == code_version()
