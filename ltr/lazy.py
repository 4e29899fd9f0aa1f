"""Packages whose names are loaded when somebody uses them: an import costs nothing before.

A package says what it offers once, in its `__init__`, in the words that a type checker reads:

    if TYPE_CHECKING:
        from ltr.engine.processes import run_each as run_each
    else:
        __getattr__, __dir__, __all__ = attach(__name__)
"""

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def offered(package: str) -> dict[str, str]:
    """Return the module of each name that an imported package offers.

    >>> import ltr.engine
    >>> offered("ltr.engine")["run_each"]
    'ltr.engine.processes'
    """
    with open(str(sys.modules[package].__file__), encoding="utf-8") as init:  # noqa: PTH123 - pathlib would be loaded
        lines = [line.split() for line in init if line.startswith("    from ")]
    return {words[3]: words[1] for words in lines if words[4:] == ["as", words[3]]}


def attach(package: str, *own: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package; `own` are the names that its `__init__` defines."""
    homes = offered(package)
    names = sorted([*homes, *own])

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return load, lambda: names, names
