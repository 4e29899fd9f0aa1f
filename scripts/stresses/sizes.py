"""Peak memory at millions of candidates, of a group of a million, of a line of a gigabyte, and over 100,000 tools.

Each is a command of ltr in a process of its own, on a file that is made for it. Ends with 1 where a command fails that
should not, where the long line takes more than 300 MB to refuse, or ranking over 100,000 tools more than 500 MB.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from ltr.files.reading import zstd_module
from stresses.cases import Cases, Figure
from subcommands import ROOT, at_least
from tests.made import tool_rows, written

PER_GROUP, FEATURES, AT_ONCE = 10, 4, 20_000
LONGEST_MB, TOOLS_MB = 300, 500
WATCHED = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""  # in a small process: the peak of a new one begins with the memory of the one that starts it


def options(parser):
    """Options of the command line."""
    text = "of candidates, in groups of ten (default: 1 5 20)"
    parser.add_argument("millions", nargs="*", type=at_least(1), default=[1, 5, 20], help=text)


def main(*, millions):
    """A line a size."""
    cases, texts, wrong = Cases("sizes", ""), [], 0
    each = [("candidates", number) for number in millions] + [("a group", 1), ("a line", 1 << 30), ("tools", 100_000)]
    with tempfile.TemporaryDirectory() as folder:
        for case, (text, is_good) in cases.outcomes(each, lambda kind, size: SIZES[kind](Path(folder), size)):
            texts.append(text)
            wrong += not is_good
            print(f"{' '.join(map(str, case))}: {text}", flush=True)
    return Figure("; ".join(texts), is_good=not wrong, seconds=cases.seconds)


def candidates(home, millions):
    """Training on so many ready rows."""
    samples = ready(home, groups=millions * 1_000_000 // PER_GROUP, size=PER_GROUP)
    run = home / f"of-{millions}-million"
    code, peak, seconds, message = measured(home, "train", samples, "-o", run, "--trainer", "newton", "-q")
    size = samples.stat().st_size
    samples.unlink()
    text = f"{millions} million candidates {peak:,.0f} MB, {seconds:,.0f} s ({size >> 20:,} MB of .zst)"
    return text if code == 0 else f"exit {code}: {message[-200:]}", code == 0


def one_group(home, _):
    """Training on a group of a million, which is one line, and small ones."""
    samples = ready(home, groups=1, size=1_000_000, more=200)
    words, longer = ("train", samples, "-o", home / "one", "--trainer", "newton", "-q"), {"LTR_LARGEST_LINE": "128"}
    code, peak, seconds, message = measured(home, *words, environment=longer)
    samples.unlink()
    text = f"a group of a million {peak:,.0f} MB, {seconds:,.0f} s"
    return text if code == 0 else f"exit {code}: {message[-200:]}", code == 0


def long_line(home, size):
    """A line of that many bytes, which is refused."""
    path = home / "long.jsonl"
    with path.open("wb") as file:
        file.write(b'{"trace_id": "')
        file.truncate(size)  # a hole: it takes no room on the disk
    code, peak, seconds, message = measured(home, "train", path, "-o", home / "none", "-q")
    is_good = code == 3 and "longer than 64 MiB" in message and peak < LONGEST_MB
    return f"a line of 1 GB refused at {peak:,.0f} MB, {seconds:,.1f} s, exit {code}", is_good


def many_tools(home, number):
    """Ranking over so many tools."""
    train = written(home / "t.jsonl", tool_rows(range(40)))
    code, *_, message = measured(
        home, "train", train, "-o", home / "router", "--recommended", "--encoder", "hash", "-q"
    )
    if code:
        return f"exit {code}: {message[-200:]}", False
    tools = ({"name": f"get_{n}", "description": f"gives the {n % 977} of place {n % 991}"} for n in range(number))
    catalogue = written(home / "tools.jsonl", tools)
    code, peak, seconds, message = measured(home, "rank", home / "router", "the 5 of place 7", "--tools", catalogue)
    text = f"ranking over {number:,} tools {peak:,.0f} MB, {seconds:,.0f} s"
    return text if code == 0 else f"exit {code}: {message[-200:]}", code == 0 and peak < TOOLS_MB


SIZES = {"candidates": candidates, "a group": one_group, "a line": long_line, "tools": many_tools}


def ready(home, *, groups, size, more=0):
    """A file of ready samples: groups of one size, and more of ten."""
    rng, path = np.random.default_rng(0), home / "ready.jsonl.zst"
    with zstd_module().open(path, "wb") as file:
        for first in range(0, groups, AT_ONCE):
            file.write("".join(line(rng, n, size) for n in range(first, min(groups, first + AT_ONCE))).encode())
        file.write("".join(line(rng, groups + n, PER_GROUP) for n in range(more)).encode())
    return path


def line(rng, number, size):
    """A group as a line."""
    phi, right = rng.normal(size=(size, FEATURES)).round(3).tolist(), int(rng.integers(size))
    rows = [{"tool": f"a{place}", "features": row, "label": int(place == right)} for place, row in enumerate(phi)]
    return json.dumps({"trace_id": f"t{number // 3}", "node_id": number, "query": "q", "candidates": rows}) + "\n"


def measured(home, *words, environment=None):
    """Exit code, peak memory in MB, seconds, and stderr of a command."""
    command = [sys.executable, "-c", WATCHED, sys.executable, "-m", "ltr", *map(str, words)]
    environment, begin = os.environ | {"PYTHONPATH": str(ROOT)} | (environment or {}), time.monotonic()
    done = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, check=True)
    code, peak = map(int, done.stdout.split())
    return code, peak / 1024, time.monotonic() - begin, done.stderr.strip()
