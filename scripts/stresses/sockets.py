"""Every command, and the processes it starts, with each use of a network address noted: there must be none.

Ends with 1 when any command opened, bound or looked up an address other than a file's.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from stresses.cases import Cases, Figure
from stresses.faults import COMMANDS, prepare
from subcommands import ROOT

NOTED = """
import os, socket, sys
def note(event, arguments):
    is_file = event == "socket.__new__" and arguments[1] == socket.AF_UNIX
    if event.startswith("socket.") and not is_file and event not in ("socket.gethostname",):
        with open(os.environ["LTR_STRESS_NOTES"], "a") as file:
            file.write(f"{event} {arguments[1:]}\\n")
sys.addaudithook(note)
"""
MORE = (
    "train s.jsonl -o by-name --features tool.rel --folds 3 --test .2",
    "train s.jsonl -o recommended --recommended --encoder hash",
    "run c.yaml -o two --jobs 2 --set sweep.train.l2=[0.1,0.01]",
    "rank model weather",
    "rank model --samples s.jsonl --explain",
    "validate s.jsonl",
    "validate model",
    "compare model model",
    "list features",
    "list encoders",
    "list rerankers",
    "config show c.yaml",
    "config schema",
    "cache info",
    "cache clear",
    "env",
    "--help",
    "--version",
    "train s.jsonl -o x --encoder minilm",
    "mcp nothing",
)


def options(parser):
    """There are none."""


def main():
    """A line a command that used a network address."""
    cases, wrong = Cases("sockets", ""), 0
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("hooks").mkdir()
        Path("hooks", "sitecustomize.py").write_text(NOTED)
        notes = Path("notes").absolute()
        hooks = f"{Path('hooks').absolute()}{os.pathsep}{ROOT}"
        changed = {"PYTHONPATH": hooks, "LTR_STRESS_NOTES": str(notes), "LTR_CACHE_DIR": str(Path("cache").absolute())}
        control = "import socket; socket.socket()"
        subprocess.run([sys.executable, "-c", control], env=os.environ | changed, check=True)
        if not notes.exists():
            return "the control opened a socket, and it was not noted"
        prepare("new", range(8))
        commands = [words for _, words in COMMANDS.values()] + list(MORE)

        def noted(words):
            notes.unlink(missing_ok=True)
            words = words.replace("served", "model").split()
            command = [sys.executable, "-m", "ltr", *words]
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL}
            code = subprocess.run(command, cwd="new", env=os.environ | changed, check=False, **quiet).returncode
            return code, notes.read_text().splitlines() if notes.exists() else []

        for (words,), (code, found) in cases.outcomes([(words,) for words in commands], noted):
            wrong += bool(found) or code not in (0, 2, 3)
            if found or code not in (0, 2, 3):
                print(f"{words}: exit {code}, {found[:3]}", flush=True)
    text = f"{len(commands)} commands and the processes they start, {wrong} used a network address"
    return Figure(text, is_good=not wrong, seconds=cases.seconds)
