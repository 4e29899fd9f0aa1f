"""Workers of a Ray cluster: Ray starts them, sends them what they need, and repeats what is lost with one.

The package ray is imported when this engine is opened, never before.
"""

import hashlib
import logging
import os
import platform
import socket
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

from ltr import __version__
from ltr.engine.calls import NO_MEMORY, CallResult, Surroundings, outcome_of
from ltr.engine.engine import Shared
from ltr.errors import DiskError, FileError, LtrError, LtrWarning, RunError, UsageError, count
from ltr.extras import install_line
from ltr.files import read_bytes
from ltr.logs import LOG

Item = TypeVar("Item")
Result = TypeVar("Result")
Value = TypeVar("Value")
AHEAD = 2  # results a worker that may wait to be asked for
RESTARTS = 10  # of a worker; the calls it had are repeated until one of its lives ends them
PATIENCE = 5.0  # seconds until a cluster answers
LONGEST_CAUSE = 200
LOCAL, AUTO = "local", "auto"
STORE_FULL = (
    "Ray's object store is full; start Ray with more --object-store-memory, or give smaller --shard-rows or "
    "fewer --workers"
)

SETTINGS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")  # what BLAS adds up depends on its threads
VALUES: dict[str, Any] = {}  # in a worker: the shared values that it has read, by the name of their reference


class OnRay:
    """Actors on the nodes of a cluster; without an address, on a cluster that Ray starts on this machine for us.

    `workers`: how many; None: one for each processor of the cluster. `code`: files of plug-ins, which all nodes see.
    """

    def __init__(self, workers: int | None = None, address: str | None = None, *, code: Sequence[str] = ()) -> None:
        self._ray: Any = _imported()
        self._is_ours = not self._ray.is_initialized()
        self._code = tuple(code)
        self._actors: list[Any] = []
        self._stored: weakref.WeakValueDictionary[str, _Stored[Any]] = weakref.WeakValueDictionary()
        try:
            if self._is_ours:
                _connect(self._ray, address or os.environ.get("RAY_ADDRESS") or LOCAL, workers)
            self._machines = self._nodes()
            self.kinds = tuple(sorted({machine.kind for machine in self._machines}))
            self._workers = workers or sum(int(node["Resources"].get("CPU", 0)) for node in self._alive())
            self._refuse_unusable()
        except BaseException:
            self.__exit__()
            raise

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """function(item) of each, in order."""
        calls = list(items)
        stored = self.shared(function)
        self._hire(len(calls))
        free = list(self._actors)
        running: dict[Any, tuple[int, Any]] = {}
        ready: dict[int, Any] = {}
        begun = first = 0
        while first < len(calls):
            while free and begun < min(len(calls), first + AHEAD * self._workers):
                actor = free.pop()
                running[actor.call.remote(stored, calls[begun], frozenset(self._stored))] = begun, actor
                begun += 1
            if first in ready:
                with _our_errors():
                    outcome = self._ray.get(ready.pop(first))
                yield outcome.told()
                first += 1
                continue
            for reference in self._ray.wait(list(running))[0]:
                place, actor = running.pop(reference)
                ready[place] = reference
                free.append(actor)

    def shared(self, value: Value) -> Shared[Value]:
        """The value, in the object store."""
        with _our_errors():
            reference = self._ray.put(value)
        self._stored[reference.hex()] = stored = _Stored(reference, value)
        return stored

    def _hire(self, most: int) -> None:
        """Actors for so many items; Ray starts one that is lost again, on any node, and repeats its call."""
        actor = self._ray.remote(_Worker).options(
            max_restarts=RESTARTS,
            max_task_retries=-1,
            scheduling_strategy="SPREAD",
            runtime_env={"env_vars": dict.fromkeys(SETTINGS, str(wanted_threads()))},
        )
        surroundings = Surroundings.here(self._code)
        while len(self._actors) < min(self._workers, most):
            self._actors.append(actor.remote(surroundings, code_version(), str(Path.cwd())))

    def _alive(self) -> list[Any]:
        return [node for node in self._ray.nodes() if node["Alive"]]

    def _nodes(self) -> "tuple[Machine, ...]":
        """Each node, as it describes itself."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        described = {}
        for node in self._alive():
            place = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            settings = {"env_vars": dict.fromkeys(SETTINGS, str(wanted_threads()))}
            describe = self._ray.remote(this_machine).options(
                num_cpus=0, scheduling_strategy=place, runtime_env=settings
            )
            described[node["NodeManagerAddress"]] = describe.remote(node["NodeManagerAddress"])
        machines = []
        for address, reference in described.items():
            try:
                machines.append(self._ray.get(reference))
            except self._ray.exceptions.RayError as error:
                raise UsageError(f"the node {address} cannot work for ltr: {_cause(error)}") from error
        return tuple(machines)

    def _refuse_unusable(self) -> None:
        """Raise where a node has another code of ltr, or none may work; say where nodes are of several kinds."""
        if not self._workers:
            raise UsageError("the Ray cluster has no processor to work on")
        for machine in self._machines:
            if machine.ltr != code_version():
                raise UsageError(_other_version(machine.address, machine.ltr, code_version()))
        listed = "; ".join(self.kinds)
        if len(self.kinds) > 1:
            text = f"the nodes are of {len(self.kinds)} kinds ({listed}): last digits depend on who does what"
            warnings.warn(text, LtrWarning, stacklevel=2)
        LOG.info(f"Ray: {count(len(self._machines), 'node')}, {count(self._workers, 'worker')}; {listed}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        for actor in self._actors:
            with suppress(Exception):  # it may have gone with its cluster
                self._ray.kill(actor)
        self._actors = []
        if self._is_ours:
            self._ray.shutdown()


@dataclass(frozen=True, slots=True, weakref_slot=True)
class _Stored(Generic[Value]):
    """A value here; for the workers, its reference."""

    reference: Any
    value: Value

    def __reduce__(self) -> tuple[Any, ...]:
        return _Received, (self.reference,)


@dataclass(frozen=True, slots=True)
class _Received:
    reference: Any

    @property
    def value(self) -> Any:
        name = self.reference.hex()
        if name not in VALUES:
            VALUES[name] = _imported().get(self.reference)
        return VALUES[name]


class _Worker:
    """What runs on a node."""

    def __init__(self, surroundings: Surroundings, version: str, directory: str) -> None:
        self._address: str = _imported().util.get_node_ip_address()
        self._error: LtrError | None = None
        with suppress(OSError):  # then only relative paths are missed, which is told of each
            os.chdir(directory)
        try:
            if version != code_version():
                raise UsageError(_other_version(self._address, code_version(), version))
            surroundings.enter()
        except LtrError as error:
            self._error = error

    def call(self, function: _Received, item: Any, live: frozenset[str]) -> CallResult:
        """What becomes of the item; values that are not live any more are dropped."""
        if self._error is not None:
            return CallResult(error=self._error)
        for name in VALUES.keys() - live:
            del VALUES[name]
        outcome = outcome_of(partial(_called, function), item)
        return replace(outcome, error=with_address(outcome.error, self._address))


def _called(function: _Received, item: Any) -> Any:
    return function.value(item)


def with_address(error: LtrError | None, address: str) -> LtrError | None:
    """The error, with the node where a file is missing, or the directory in which one is to be written."""
    if not isinstance(error, FileError | DiskError):
        return error
    path, problem = error.args
    needed = Path(path) if isinstance(error, FileError) else Path(path).parent
    where = f"(on the node {address}; all nodes must see the files)"
    return error if needed.exists() else type(error)(path, f"{problem} {where}")


def _other_version(address: str, there: str, here: str) -> str:
    return f"the node {address} has ltr {there}, this machine {here}: install the same on all nodes"


def _imported() -> Any:
    """The package ray, which tells nobody that it is used."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
        import ray.exceptions
        import ray.util
    except ImportError as error:
        raise UsageError(f"the engine ray needs the package ray: {install_line('ray')}") from error
    return ray


def _connect(ray: Any, address: str, workers: int | None) -> None:
    """Start Ray on this machine, or find the cluster at the address; its log is shown where ours is."""
    is_shown = LOG.isEnabledFor(logging.INFO)
    logging.getLogger("ray").setLevel(logging.INFO if is_shown else logging.ERROR)
    _keep_from_stdout(is_shown=is_shown)
    ours = {"num_cpus": workers, "include_dashboard": False} if address == LOCAL else {}
    if address not in (LOCAL, AUTO):
        refuse_silent(address)
    try:
        ray.init(address=address, log_to_driver=is_shown, configure_logging=is_shown, **ours)
    except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        what = "Ray cannot be started here" if address == LOCAL else f"no Ray cluster at {address}"
        raise UsageError(f"{what}: {_cause(error)}") from error


def _keep_from_stdout(*, is_shown: bool) -> None:
    """Show what Ray says of workers that are lost on stderr, or nowhere.

    It prints it on stdout, among our results, and has no public setting for it.
    """
    from ray._private import worker

    lines: Callable[..., None] | None = getattr(worker, "print_to_stdstream", None)
    if lines is not None:
        shown = (lambda data, **options: lines(data | {"is_err": True}, **options)) if is_shown else _nothing
        worker.print_to_stdstream = shown


def _nothing(data: object, **options: object) -> None:
    """Show nothing."""


def refuse_silent(address: str) -> None:
    """Raise where nothing answers at HOST:PORT; Ray itself would wait long."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise UsageError(f"the address {address!r} is not HOST:PORT, such as 10.0.0.1:6379, nor auto")
    try:
        socket.create_connection((host.strip("[]"), int(port)), PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise UsageError(f"no Ray cluster at {address}: {error}; `ray start --head` starts one") from error


@contextmanager
def _our_errors() -> Iterator[None]:
    """What Ray cannot do, in one line."""
    from ray import exceptions

    try:
        yield
    except (exceptions.ObjectStoreFullError, exceptions.OutOfDiskError) as error:
        raise RunError(STORE_FULL) from error
    except exceptions.OutOfMemoryError as error:
        raise RunError(NO_MEMORY) from error
    except exceptions.RayTaskError:  # a bug, with its traceback
        raise
    except exceptions.RayError as error:
        raise RunError(f"Ray gave a shard up: {_cause(error)}") from error


def _cause(error: BaseException) -> str:
    """The error in one short line."""
    return " ".join(str(error).split())[:LONGEST_CAUSE]


@dataclass(frozen=True, slots=True)
class Machine:
    """Where work is done: its address, the code of ltr that lies there, and what kind of machine it is."""

    address: str
    processor: str
    numpy: str
    threads: int
    ltr: str

    @property
    def kind(self) -> str:
        """What the last digits of a result depend on: machines of one kind write the same bytes."""
        return f"{self.processor}, numpy {self.numpy}, BLAS threads: {self.threads}"


def this_machine(address: str = "") -> Machine:
    """Return the machine of this process."""
    return Machine(address, processor(), version("numpy"), min(wanted_threads(), usable_processors()), code_version())


def wanted_threads() -> int:
    """Return how many threads BLAS is told to use: the first setting counts, as in OpenBLAS; else all processors."""
    settings = (os.environ.get(name, "") for name in SETTINGS)
    return next((int(text) for text in settings if text.isdecimal() and int(text) > 0), usable_processors())


def usable_processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor() -> str:
    """Return the name of the processor."""
    try:
        lines = read_bytes("/proc/cpuinfo").decode(errors="replace").splitlines()
    except FileError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine()


@cache
def code_version() -> str:
    """Return the version of ltr, with a digest of its code: a checkout may have any code under one version."""
    root = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py"), key=lambda path: path.relative_to(root).as_posix()):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return f"{__version__} (code {digest.hexdigest()[:12]})"
