"""Plug-ins from outside: modules that installed packages announce as entry points, and files named by `--code`.

Importing such a module registers what it defines. The entry points of the groups ltr.features, ltr.encoders,
ltr.metrics, ltr.trainers, ltr.rerankers and ltr.importers name modules; a group is imported when the registry it
belongs to is first used.
"""

import inspect
import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ltr import __version__
from ltr.errors import LtrError, LtrWarning, RunError, UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

VARIABLE = "LTR_LOAD_PLUGINS"  # unset: every package; empty: none; names with commas: these packages
LONGEST_CAUSE = 200


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


def source_of(plugin: object) -> Source:
    """Where a function or a class comes from; it is ltr's own, whoever made ltr import it, when ltr defines it."""
    module = getattr(plugin, "__module__", None) or "python"
    if module.partition(".")[0] == OURS.name:
        return OURS
    return _loading.get() or Source(module)


def summary_of(plugin: object) -> str:
    """The first line of the plug-in's own docstring; "" without one, whatever its base classes say of themselves.

    >>> summary_of(len), summary_of(lambda: None)
    ('Return the number of items in a container.', '')
    """
    while isinstance(plugin, partial):
        plugin = plugin.func
    described = plugin if inspect.isroutine(plugin) or inspect.isclass(plugin) else type(plugin)
    return inspect.cleandoc(described.__doc__ or "").partition("\n")[0]


def refuse(problem: str) -> None:
    """Raise; or only warn, where an installed package is at fault and the user has not asked for it."""
    source = _loading.get()
    if source is None or not source.is_installed:
        raise UsageError(problem)
    warnings.warn(f"{problem}; the first is kept", LtrWarning, stacklevel=3)


def load_installed(group: str) -> None:
    """Import what the installed packages announce under the group; what fails costs a warning and nothing else."""
    from importlib.metadata import entry_points

    chosen = os.environ.get(VARIABLE)
    if chosen is not None and not chosen.strip():
        return
    allowed = {_normal(name) for name in chosen.split(",")} if chosen else set()
    for source, point in sorted(
        ((_distribution(point), point) for point in entry_points(group=group)),
        key=lambda each: (each[0].name, each[1].name),
    ):
        if not allowed or _normal(source.name) in allowed:
            _load(source, point)


def _load(source: Source, point: "EntryPoint") -> None:
    try:
        with _registering(source):
            point.load()
    except (Exception, SystemExit) as error:  # any failure of a stranger's module
        problem = f"the plug-in {point.value} of {source} cannot be loaded: {_cause(error)}"
        warnings.warn(problem, LtrWarning, stacklevel=2)


def load_code(path: str) -> None:
    """Run a Python file that registers plug-ins; whatever goes wrong in it is an error."""
    from importlib.machinery import SourceFileLoader
    from types import ModuleType

    if not Path(path).is_file():
        raise UsageError(f"{path}: no such file; a Python file that registers plug-ins is needed")
    module = ModuleType("ltr_code_" + re.sub(r"\W", "_", Path(path).stem))
    module.__file__ = path
    sys.modules[module.__name__] = module  # dataclasses look for it there
    try:
        with _registering(Source(path, _digest(path))):
            SourceFileLoader(module.__name__, path).exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[module.__name__]
        raise UsageError(f"{path}{_line(error, path)}: cannot be loaded: {_cause(error)}") from error


@contextmanager
def blamed(what: str, function: object, source: Source) -> Iterator[None]:
    """What a stranger's function raises inside becomes one line that names it, and what it prints goes to stderr.

    ltr's own failures stay as they are.
    """
    if source == OURS:
        yield
        return
    try:
        with redirect_stdout(sys.stderr):
            yield
    except (LtrError, MemoryError):
        raise
    except Exception as error:
        path = _file(function) or str(source)
        raise RunError(f"{path}{_line(error, path)}: {what} failed: {_cause(error)}") from error


def unfit(function: object, problem: str) -> RunError:
    """The error for what a function gave; it names the file, or the module, of a stranger's."""
    return RunError(f"{told_of(function)}{problem}")


def told_of(function: object) -> str:
    """Where an error about a stranger's function begins: its file, or its module; nothing of ltr's own."""
    source = source_of(function)
    return "" if source == OURS else f"{_file(function) or source}: "


def _file(plugin: object) -> str:
    """The file of a function, or of what an object does when it is called; "" where nothing tells."""
    function = plugin if hasattr(plugin, "__code__") else vars(type(plugin)).get("__call__")
    return str(getattr(getattr(function, "__code__", None), "co_filename", ""))


@contextmanager
def _registering(source: Source) -> Iterator[None]:
    """What is registered inside comes from the source, and what is printed goes to stderr."""
    token = _loading.set(source)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _loading.reset(token)


def _distribution(point: "EntryPoint") -> Source:
    name, version = (point.dist.name, point.dist.version) if point.dist else ("", "")
    return Source(name or "a package without a name", version or "", is_installed=True)


def _normal(name: str) -> str:
    """A package's name as the index compares it.

    >>> _normal(" My_Package.x")
    'my-package-x'
    """
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def _cause(error: BaseException) -> str:
    """The error in one line."""
    said = " ".join(str(error).split())
    return (said if isinstance(error, UsageError) else f"{type(error).__name__}: {said}")[:LONGEST_CAUSE]


def _line(error: BaseException, path: str) -> str:
    """`:LINE` where the file itself was last at work."""
    if isinstance(error, SyntaxError):
        return f":{error.lineno}"
    import traceback

    numbers = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename.endswith(path)]
    return f":{numbers[-1]}" if numbers else ""


def _digest(path: str) -> str:
    import hashlib

    return f"sha256:{hashlib.sha256(Path(path).read_bytes()).hexdigest()[:12]}"
