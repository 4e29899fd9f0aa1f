"""A little of each part, before a change is kept: less than 90 seconds on two idle cores.

Signals are not among them: what they promise within two seconds, a busy machine may not keep.
"""

import time

from stresses.cases import Figure
from subcommands import load

PARTS = {
    "mutations": {"kinds": [], "share": 0.0, "seed": 1},
    "faults": {"commands": ["train", "evaluate", "featurize", "init", "export trec", "update"], "seed": 2, "every": 9},
    "kills": {"number": 1, "commands": ["train", "featurize", "run", "import", "update"], "seed": 3},
    "terminal": {"count": 3},
    "paths": {"count": 3},
    "concurrency": {"rounds": 2, "pairs": 1},
    "determinism": {"number": 1, "variants": 1, "seed": 4},
}


def options(parser):
    """There are none."""


def main():
    """The figure of each part."""
    wrong, begin = [], time.monotonic()
    for name, values in PARTS.items():
        start = time.monotonic()
        outcome = load(f"stresses.{name}").main(**values)
        print(f"-- {name}: {outcome.text} ({time.monotonic() - start:.0f} s)", flush=True)
        wrong += [] if outcome.is_good else [name]
    text = f"{len(PARTS)} parts, wrong: {', '.join(wrong) or 'none'}"
    return Figure(text, is_good=not wrong, seconds=time.monotonic() - begin)
