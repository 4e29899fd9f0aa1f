"""Every command, and the processes it starts, with each use of a network address noted: there must be none.

Ends with 1 when any command opened, bound or looked up an address other than a file's.
"""

import os
import subprocess
import sys
from pathlib import Path

from processes import QUIET, environment, run
from stresses.attacks import Cases, Figure, scratch
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
    *("rank model weather", "rank model --samples s.jsonl --explain", "validate s.jsonl", "validate model"),
    *("compare model model", "list features", "list encoders", "list rerankers", "config show c.yaml", "config schema"),
    *("cache info", "cache clear", "env", "--help", "--version", "train s.jsonl -o x --encoder minilm", "mcp nothing"),
)


def main():
    """The commands that used a network address."""
    cases = Cases("sockets")
    with scratch() as folder:
        Path("hooks").mkdir()
        Path("hooks", "sitecustomize.py").write_text(NOTED)
        notes = folder / "notes"
        hooked = environment(PYTHONPATH=f"{folder / 'hooks'}{os.pathsep}{ROOT}", LTR_STRESS_NOTES=str(notes))
        subprocess.run([sys.executable, "-c", "import socket; socket.socket()"], env=hooked, check=True)
        if not notes.exists():
            return "the control opened a socket, and it was not noted"
        prepare("new", range(8))

        def noted(words):
            notes.unlink(missing_ok=True)
            words = words.replace("served", "model").split()
            code = run(*words, cwd="new", env=hooked, capture_output=False, **QUIET).returncode
            found = notes.read_text().splitlines() if notes.exists() else []
            return [f"exit {code}, {found[:3]}"] if found or code not in (0, 2, 3) else []

        every = [words for _, words in COMMANDS.values()] + list(MORE)
        tried, wrong = cases.attacked("commands", [(words,) for words in every], noted)
    text = f"{tried} commands and the processes they start, {wrong} used a network address"
    return Figure(text, is_good=not wrong, seconds=cases.seconds)
