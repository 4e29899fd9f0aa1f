"""A little of each part, before a change is kept: two minutes on two idle cores. It needs the package mcp.

Signals to trainings are not among them: what they promise within two seconds, a busy machine may not keep.
"""

import importlib
import sys
import time
from importlib.util import find_spec

from environment import VENV, ready
from stresses.attacks import Figure
from subcommands import load

PARTS = {
    "mutations": {"kinds": [], "share": 0.0, "seed": 1},
    "faults": {"commands": ["train", "evaluate", "featurize", "init", "export trec", "update"], "seed": 2, "every": 9},
    "kills": {"number": 1, "commands": ["train", "featurize", "run", "import", "update"], "seed": 3},
    "terminal": {"count": 3},
    "paths": {"count": 3},
    "concurrency": {"rounds": 2, "pairs": 1},
    "determinism": {"number": 1, "variants": 1, "seed": 4},
    "limits": {},
    "client": {"number": 100, "seed": 5},
}


def main():
    """The figure of each part."""
    if find_spec("mcp") is None and sys.prefix.startswith(str(VENV)):
        ready("mcp")
        importlib.invalidate_caches()
    wrong, begin = [], time.monotonic()
    for name, values in PARTS.items():
        start = time.monotonic()
        outcome = load(f"stresses.{name}").main(**values)
        if isinstance(outcome, str):  # what it needs is not installed
            outcome = Figure(outcome, is_good=False)
        print(f"-- {name}: {outcome.text} ({time.monotonic() - start:.0f} s)", flush=True)
        wrong += [] if outcome.is_good else [name]
    text = f"{len(PARTS)} parts, wrong: {', '.join(wrong) or 'none'}"
    return Figure(text, is_good=not wrong, seconds=time.monotonic() - begin)
