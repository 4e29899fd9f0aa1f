"""Functions and class bodies of ltr that a command enters, and how deep it stands above numpy.

Both are calls to Python: a class body runs once, when its module is imported. Lambdas and comprehensions do not count.
The depth is that of the deepest stack of functions between a command's function, which does not count, and numpy.
Without a COMMAND it is a training on the tools of this checkout, with the four features of the specification, and the
ranking of a query by that run.
"""

import argparse
import json
import runpy
import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import FrameType

import numpy as np

from benchmarks.resources import in_own_process
from subcommands import ROOT

SAMPLES = ROOT / "data" / "tools" / "train.jsonl.gz"
PACKAGE = f"{ROOT / 'ltr'}/"
IS_FUNCTION = 0x1  # the flag of code objects that says that locals are optimised, which a class body's are not


def options(parser):
    """Options of the command line."""
    parser.add_argument("--list", action="store_true", help="also name each function and class, by file")
    parser.add_argument(
        "command", nargs=argparse.REMAINDER, metavar="COMMAND", help="a command of ltr, such as: rank RUN QUERY"
    )


def main(*, list, command):
    """The counts of the command, or of a training and a query; each in a process of its own."""
    if command[:1] == ["--"]:  # the process itself
        print(json.dumps(counted(command[1:])), file=sys.stderr)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        run = str(Path(folder, "run"))
        ours = (["train", str(SAMPLES), "--encoder", "hash", "-o", run], ["rank", run, "will it rain"])
        for words in [command] if command else ours:
            process = in_own_process("calls", "--", *words)
            process.check_returncode()
            show(words[0], json.loads(process.stderr.splitlines()[-1]), every=list)
    return 0


def show(command, figures, *, every):
    """A line of the command, one of its deepest stack, and where asked for everything it entered."""
    functions, bodies, deepest = figures["functions"], figures["bodies"], figures["deepest"]
    entered = functions + bodies
    files = len({place.partition(" ")[0] for place in entered})
    kinds = f"{len(functions)} functions and {len(bodies)} class bodies"
    print(f"ltr {command}: {len(entered)} = {kinds}, in {files} files")
    print(f"  numpy at most {len(deepest)} functions below the command's: {' > '.join(deepest)}")
    if every:
        by_package = Counter(place.partition("/")[0] for place in entered)
        print(f"  {', '.join(f'{package} {number}' for package, number in by_package.most_common())}")
        print(*(f"  {place}" for place in sorted(entered)), sep="\n")


def counted(words):
    """What a command enters, `FILE NAME` each, and its deepest stack above numpy; the command must succeed."""
    functions: dict[str, None] = {}
    bodies: dict[str, None] = {}
    deepest: list[str] = []

    def watch(frame, event, argument):
        nonlocal deepest
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE) and not code.co_name.startswith("<"):
            kind = functions if code.co_flags & IS_FUNCTION else bodies
            kind[f"{code.co_filename.removeprefix(PACKAGE)} {code.co_qualname}:{code.co_firstlineno}"] = None
        caller = frame if event == "c_call" and is_numpy(argument) else frame.f_back if event == "call" else None
        if caller is None or (event == "call" and "/numpy/" not in code.co_filename):
            return
        stack = below_command(caller)
        deepest = max(deepest, stack, key=len)

    sys.argv = ["ltr", *words]
    sys.setprofile(watch)
    try:
        runpy.run_module("ltr", run_name="__main__")
    except SystemExit as ended:
        if ended.code:
            raise
    finally:
        sys.setprofile(None)
    return {"functions": [*functions], "bodies": [*bodies], "deepest": deepest}


def below_command(frame: FrameType | None) -> list[str]:
    """The functions of ltr from below the command's to the frame; none outside a command, or while modules load."""
    names: list[str] = []
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(PACKAGE):
            if code.co_name == "<module>":
                return []
            if not code.co_name.startswith("<"):
                names.append(code.co_qualname)
        elif "/typer/" in code.co_filename:  # it called the command's function
            return names[-2::-1]
        frame = frame.f_back
    return []


def is_numpy(function):
    """Whether a function of C is one of numpy's, or a method of its arrays."""
    owner = getattr(function, "__self__", None)
    return str(getattr(function, "__module__", "")).startswith("numpy") or isinstance(owner, np.ndarray | np.generic)
