"""Let 16 processes write outcomes of one run while others refit it, kill them at random, and count what is left.

Ends with 1 when an outcome is lost that a process was told of, when one stands there twice, when a reader meets a half
state, or when the last refit is not that of the same outcomes at once in another order. Then a router answers queries
at a steady rate, first alone, then while it learns and refits in the background; a call that fails ends with 1, too.
"""

import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import ltr
from ltr import train
from ltr.files.journal import append_line, read_journal
from stresses.cases import Figure
from subcommands import ROOT, at_least

WRITER = """
import os, sys
sys.path.insert(0, sys.argv[1])
import ltr
router = ltr.load(sys.argv[2])
names = sorted(router.tools)[:6]
for number in range(10**9):
    name = f"{sys.argv[3]}-{os.getpid()}-{number}"
    router.learn({"query": name, "offered": names, "right": names[number % 6]})
    os.write(1, f"{name}\\n".encode())
"""
REFIT = """
import sys
sys.path.insert(0, sys.argv[1])
import ltr
while True:
    ltr.update(sys.argv[2])
"""


def options(parser):
    """Options of the command line."""
    parser.add_argument("--seconds", type=at_least(5), default=60, help="of writing (default: %(default)s)")
    parser.add_argument("--rate", type=at_least(1), default=100, help="queries a second (default: %(default)s)")
    parser.add_argument("--writers", type=at_least(1), default=16, help="at once (default: %(default)s)")


def main(*, seconds, writers, rate):
    """What was written, killed and found."""
    generator, kills = random.Random(0), [0, 0]
    with tempfile.TemporaryDirectory() as folder:
        run, told = Path(folder) / "run", Path(folder) / "told"
        train(ROOT / "data/tools/train.jsonl.gz", out=run, recommended=True, encoder="hash", choose=[])
        shutil.copytree(run, Path(folder) / "other")

        def start(place):
            code = REFIT if place >= writers else WRITER
            with told.with_name(f"told-{place}").open("ab") as out:
                command = [sys.executable, "-c", code, str(ROOT), str(run), str(place)]
                return subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)

        processes = [start(place) for place in range(writers + 2)]
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(generator.uniform(0.05, 1.0))
            place = generator.randrange(writers + 2)
            processes[place].send_signal(signal.SIGKILL)
            processes[place].wait()
            kills[place >= writers] += 1
            processes[place] = start(place)
            ltr.load(run).rank("what is there?")
        for process in processes:
            process.kill()
            process.wait()
        files = list(Path(folder).glob("told-*"))
        names = [name for path in files for name in path.read_text().split("\n")[:-1]]
        lines = read_journal(run / "outcomes.journal")
        rows = [row for line in lines.contents for row in json.loads(line)["outcomes"]]
        written = [row["query"] for row in rows]
        lost, twice = set(names) - set(written), len(written) - len(set(written))
        text = (
            f"{kills[0]} writers and {kills[1]} processes that refit were killed; {len(names):,} outcomes confirmed, "
        )
        text += f"{len(written):,} in the journal, lost: {len(lost)}, twice: {twice}, "
        text += f"damaged lines: {lines.damaged + lines.is_cut}"
        total = ltr.update(run).update.total
        shuffled = [
            row
            for line in generator.sample(lines.contents, len(lines.contents))
            for row in json.loads(line)["outcomes"]
        ]
        append_line(Path(folder) / "other" / "outcomes.journal", json.dumps({"outcomes": shuffled}).encode())
        ltr.update(Path(folder) / "other")
        difference = np.abs(ltr.load(run).w - ltr.load(Path(folder) / "other").w).max()
        print(f"refit in pieces beside all at once, shuffled: {difference:.1e}")
        answered = [answering(Path(folder) / "other", seconds / 2, rate, is_learning=some) for some in (False, True)]
    alone, learning = answered
    text += (
        f"; {rate} queries a second: p95 {alone.p95:.1f} ms, {learning.p95:.1f} while {learning.learned} outcomes and"
    )
    text += f" {learning.refits} refits came, {alone.failed + learning.failed} of {alone.calls + learning.calls} failed"
    is_good = not lost and not twice and total == len(written) and difference <= 1e-8
    return Figure(text, is_good=is_good and not alone.failed + learning.failed)


@dataclass(frozen=True)
class Answered:
    """How a router answered."""

    calls: int
    failed: int
    p95: float  # ms from the moment at which a query was due
    learned: int
    refits: int


def answering(run, seconds, rate, *, is_learning):
    """Ask a router so many queries a second, each when it is due, whether or not the ones before are answered."""
    router, names = ltr.load(run), sorted(ltr.load(run).tools)
    latencies, failures, models, learned, is_over = [], [], {id(router.features.states[0])}, 0, threading.Event()
    router.rank("what is there?")

    def ask(number, due):
        try:
            router.rank(f"what is {names[number % len(names)]} number {number}?", k=5)
        except Exception as error:
            failures.append(error)
        latencies.append(1000 * (time.perf_counter() - due))

    def learn():
        nonlocal learned
        while not is_over.wait(0.5):
            router.learn({"query": f"outcome {learned}", "offered": names[:6], "right": names[learned % 6]})
            models.add(id(router.features.states[0]))
            learned += 1

    learner = threading.Thread(target=learn)
    if is_learning:
        learner.start()
    start = time.perf_counter()
    with ThreadPoolExecutor(4) as pool:
        for number in range(int(seconds * rate)):
            due = start + number / rate
            time.sleep(max(due - time.perf_counter(), 0))
            pool.submit(ask, number, due)
    is_over.set()
    if is_learning:
        learner.join()
        router.wait()
    return Answered(len(latencies), len(failures), float(np.quantile(latencies, 0.95)), learned, len(models) - 1)
