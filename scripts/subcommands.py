"""How scripts/bench, scripts/study and scripts/stress run their parts: a module each, in a folder beside this file.

A part has `main(**options)`, which returns an exit code or None, and, where it takes any, `options(parser)`, which adds
them. Its docstring is its help, and the first line of it what the list of parts shows.
"""

import argparse
import ast
import importlib
import os
import sys
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent
ROOT = SCRIPTS.parent


def run(family, about, folder, parts):
    """Run the part that the command line names with the options that follow; without a name, list the parts."""
    name, *options = sys.argv[1:] or ["--help"]
    if name in ("-h", "--help"):
        print(listing(family, about, folder, parts))
        return 0
    if name not in parts:
        print(f"scripts/{family}: unknown part {name!r}; known: {', '.join(parts)}", file=sys.stderr)
        return 2
    module = load(f"{folder}.{name.replace('-', '_')}")
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(f"scripts/{family} {name}", description=module.__doc__, formatter_class=layout)
    getattr(module, "options", lambda parser: None)(parser)  # some parts have none
    return module.main(**vars(parser.parse_args(options)))


def listing(family, about, folder, parts):
    """What the family is for, and a line a part; read from the sources, so that nothing must be installed for it."""
    width = max(map(len, parts)) + 2
    lines = (f"  {part:{width}}{summary(folder, part)}" for part in parts)
    usage = f"usage: scripts/{family} PART [options]; scripts/{family} PART --help lists the options of a part"
    return "\n".join([usage, "", about.strip(), "", *lines])


def summary(folder, part):
    """The first line of a part's docstring."""
    source = (SCRIPTS / folder / f"{part.replace('-', '_')}.py").read_text(encoding="utf-8")
    return ast.get_docstring(ast.parse(source)).partition("\n")[0].rstrip(".")


def load(name):
    """The module, here or, where this Python lacks what it needs, in the project's own environment."""
    sys.path.insert(0, str(ROOT))  # ltr of this checkout
    try:
        return importlib.import_module(name)
    except ImportError as error:
        from environment import VENV, ready  # it loads hashlib, whose memory scripts/bench would count

        is_ours = (error.name or "").partition(".")[0] in ("ltr", "tests", name.partition(".")[0])
        if is_ours or sys.prefix.startswith(str(VENV)):  # another Python has the same mistake
            raise
        python = str(ready())
        os.execv(python, [python, *sys.argv])


def at_least(least):
    """The type of an option that is a whole number, not below `least`."""

    def number(text):
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"it is {value}; it must be at least {least}")
        return value

    number.__name__ = "whole number"  # argparse names the type of what it cannot read
    return number
