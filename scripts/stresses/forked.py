"""Commands of ltr in forks of this process, which has loaded all of ltr: a fraction of the time of new processes."""

import importlib
import os
import pkgutil
import sys
from pathlib import Path

FOUND_LATE = (
    *("scipy.optimize", "scipy.sparse.linalg", "scipy.special", "jinja2", "yaml", "rich.table", "rich.progress"),
    *("typer._adapters", "pydantic.dataclasses", "zoneinfo", "glob", "email.parser", "encodings.cp437"),
    *("encodings.unicode_escape", "encodings.utf_32_le", "multiprocessing.resource_tracker"),
)


def preload():
    """Load whatever a command may load, with the settings that the command line makes before."""
    from ltr.cli import ONE_THREAD

    for library in ONE_THREAD:
        os.environ.setdefault(library, "1")
    import ltr

    names = [module.name for module in pkgutil.walk_packages(ltr.__path__, "ltr.")]
    for name in (*names, *FOUND_LATE):
        try:
            importlib.import_module(name)
        except ImportError:  # of an extra that is not installed
            continue


def call(words):
    """The exit code of the command in this process, which must end afterwards; what it prints goes nowhere."""
    with Path(os.devnull).open("w") as nowhere:
        sys.stdout = sys.stderr = nowhere
        try:
            return call_as_it_is(words)
        finally:
            sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__


def call_as_it_is(words):
    """The exit code of the command in this process, which must end afterwards."""
    from ltr.cli import main as command

    sys.argv = ["ltr", *map(str, words)]
    try:
        command()
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else 1
    return 0
