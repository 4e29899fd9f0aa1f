"""Plug-ins from outside: modules that installed packages announce as entry points, and files named by `--code`.

Importing such a module registers what it defines. The entry points of the groups ltr.features, ltr.encoders,
ltr.metrics, ltr.trainers, ltr.rerankers, ltr.importers and ltr.exporters name modules; a group is imported when the
registry that it belongs to is first used.
"""

import inspect
import os
import re
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ltr import __version__
from ltr.errors import EndedBySignal, LtrError, LtrWarning, RunError, UsageError

VARIABLE = "LTR_LOAD_PLUGINS"  # unset: every package; empty: none; names with commas: these packages
LONGEST_CAUSE = 200
OF_THE_USER = (EndedBySignal, KeyboardInterrupt)  # what ends the work though no plug-in failed
NO_FAILURE = (LtrError, MemoryError, *OF_THE_USER)


@dataclass(frozen=True, slots=True)
class Source:
    """Where a plug-in comes from: ltr itself, an installed package, or a file with the digest of its content."""

    name: str
    version: str = ""
    is_installed: bool = False

    def __str__(self) -> str:
        return f"{self.name} {self.version}".rstrip()


OURS = Source("ltr", __version__)
_loading: ContextVar[Source | None] = ContextVar("loading", default=None)
_files: list[str] = []  # of the plug-ins that were loaded


def source_of(plugin: object) -> Source:
    """Where a function or a class comes from: ltr for those that ltr defines, else the module being loaded."""
    module = getattr(plugin, "__module__", None) or "python"
    if module.partition(".")[0] == OURS.name:
        return OURS
    return _loading.get() or Source(module)


def summary_of(plugin: object) -> str:
    """The first line of the plug-in's own docstring; "" without one, even where a base class has one.

    >>> summary_of(len), summary_of(lambda: None)
    ('Return the number of items in a container.', '')
    """
    while isinstance(plugin, partial):
        plugin = plugin.func
    described = plugin if inspect.isroutine(plugin) or inspect.isclass(plugin) else type(plugin)
    return inspect.cleandoc(described.__doc__ or "").partition("\n")[0]


def refuse_plugin(problem: str) -> None:
    """Raise the problem; only warn where it lies in an installed package, which the user did not ask for."""
    source = _loading.get()
    if source is None or not source.is_installed:
        raise UsageError(problem)
    warnings.warn(f"{problem}; the first is kept", LtrWarning, stacklevel=3)


def load_installed(group: str) -> None:
    """Import what the installed packages announce under the group; one that cannot be loaded only warns."""
    from importlib.metadata import entry_points

    chosen = os.environ.get(VARIABLE)
    if chosen is not None and not chosen.strip():
        return
    allowed = {_normal(name) for name in chosen.split(",")} if chosen else set()
    sources = []
    for point in entry_points(group=group):
        name, version = (point.dist.name, point.dist.version) if point.dist else ("", "")
        sources.append((Source(name or "a package without a name", version or "", is_installed=True), point))
    for source, point in sorted(sources, key=lambda pair: (pair[0].name, pair[1].name)):
        if allowed and _normal(source.name) not in allowed:
            continue
        try:
            with _registering(source):
                point.load()
            _files.append(getattr(sys.modules[point.module], "__file__", None) or point.module)
        except OF_THE_USER:
            raise
        except BaseException as error:  # any failure of a module from outside
            problem = f"the plug-in {point.value} of {source} cannot be loaded: {_cause(error)}"
            warnings.warn(problem, LtrWarning, stacklevel=2)


def load_code(path: str) -> None:
    """Run a Python file that registers plug-ins; any failure in it is an error."""
    import hashlib
    from importlib.machinery import SourceFileLoader
    from types import ModuleType

    if not Path(path).is_file():
        raise UsageError(f"{path}: no such file; a Python file that registers plug-ins is needed")
    module = ModuleType("ltr_code_" + re.sub(r"\W", "_", Path(path).stem))
    module.__file__ = path
    sys.modules[module.__name__] = module  # dataclasses look for it there
    _files.append(path)
    try:
        digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()[:12]
        with _registering(Source(path, f"sha256:{digest}")):
            SourceFileLoader(module.__name__, path).exec_module(module)
    except OF_THE_USER:
        raise
    except BaseException as error:
        del sys.modules[module.__name__]
        raise UsageError(f"{path}{_line(error, path)}: cannot be loaded: {_cause(error)}") from error


@contextmanager
def plugin_errors(what: str, function: object, source: Source) -> Iterator[None]:
    """Turn an exception of a plug-in from outside into one line that names the plug-in; `_contained` says more.

    Exceptions of ltr's own functions pass unchanged.
    """
    if source == OURS:
        yield
        return
    try:
        with _contained(source):
            yield
    except NO_FAILURE:
        raise
    except BaseException as error:
        path = _file(function) or str(source)
        raise RunError(f"{path}{_line(error, path)}: {what} failed: {_cause(error)}") from error


@contextmanager
def unforeseen_errors() -> Iterator[None]:
    """Turn what a plug-in raises where nobody guards it, such as in an attribute, into one line that names its file."""
    try:
        yield
    except NO_FAILURE:
        raise
    except BaseException as error:
        for path in _files:
            if line := _line(error, path):
                raise RunError(f"{path}{line}: the plug-in failed: {_cause(error)}") from error
        raise


def bad_result(function: object, problem: str) -> RunError:
    """The error for a result of a plug-in that cannot be used; it names the file or module of one from outside."""
    return RunError(f"{origin_prefix(function)}{problem}")


def origin_prefix(function: object) -> str:
    """`FILE: ` or `MODULE: ` of a plug-in from outside, for the start of an error; "" for ltr's own."""
    source = source_of(function)
    return "" if source == OURS else f"{_file(function) or source}: "


def _file(plugin: object) -> str:
    """The file of a function, or of the `__call__` of an object; "" where it is not known."""
    plugin = inspect.unwrap(plugin) if callable(plugin) else plugin
    function = plugin if hasattr(plugin, "__code__") else vars(type(plugin)).get("__call__")
    return str(getattr(getattr(function, "__code__", None), "co_filename", ""))


@contextmanager
def _registering(source: Source) -> Iterator[None]:
    """Plug-ins registered inside have this source."""
    token = _loading.set(source)
    try:
        with _contained(source):
            yield
    finally:
        _loading.reset(token)


class _Output:
    """Standard output, which is stderr as long as a plug-in works in any thread: the last that ends puts it back."""

    def __init__(self) -> None:
        self.lock, self.plugins, self.before = threading.Lock(), 0, sys.stdout

    @contextmanager
    def redirected(self) -> Iterator[None]:
        with self.lock:
            if not self.plugins:
                self.before, sys.stdout = sys.stdout, sys.stderr
            self.plugins += 1
        try:
            yield
        finally:
            with self.lock:
                self.plugins -= 1
                if not self.plugins:
                    sys.stdout = self.before


_OUTPUT = _Output()
if hasattr(os, "register_at_fork"):  # a thread of the parent that held the lock is not there to release it
    os.register_at_fork(after_in_child=lambda: setattr(_OUTPUT, "lock", threading.Lock()))


@contextmanager
def _contained(source: Source) -> Iterator[None]:
    """Send the output of a plug-in to stderr, and undo what it does to the process around it, with a warning.

    Relative paths of the user name what they did before, and our own code has the stack that it needs.
    """
    limit, directory = sys.getrecursionlimit(), _working_directory()
    try:
        with _OUTPUT.redirected():
            yield
    finally:
        changes = []
        if (lowered := sys.getrecursionlimit()) < limit:
            sys.setrecursionlimit(limit)
            changes.append(f"lowered the recursion limit to {lowered:,}")
        if directory not in ("", _working_directory()):
            os.chdir(directory)
            changes.append("changed the working directory")
        for change in changes:
            warnings.warn(f"{source.name}: the plug-in {change}, which was undone", LtrWarning, stacklevel=2)


def _working_directory() -> str:
    """The directory that relative paths start from; "" where it was removed."""
    try:
        return os.getcwd()  # noqa: PTH109 - a Path costs more than the call, and nobody looks inside
    except FileNotFoundError:
        return ""


def _normal(name: str) -> str:
    """A package's name as the index compares it.

    >>> _normal(" My_Package.x")
    'my-package-x'
    """
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def _cause(error: BaseException) -> str:
    """The error in one line."""
    message = " ".join(str(error).split())
    return (message if isinstance(error, UsageError) else f"{type(error).__name__}: {message}")[:LONGEST_CAUSE]


def _line(error: BaseException, path: str) -> str:
    """`:LINE` where the file itself was last at work."""
    if isinstance(error, SyntaxError) and error.filename == path:
        return f":{error.lineno}"
    import traceback

    numbers = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return f":{numbers[-1]}" if numbers else ""
