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
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import ltr
from ltr.journal import JournalFile
from processes import environment
from stresses.attacks import Figure, scratch
from subcommands import ROOT, at_least

WRITER = """
import os, sys, ltr
router = ltr.load("run")
names = sorted(router.tools)[:6]
for number in range(10**9):
    name = f"{sys.argv[1]}-{os.getpid()}-{number}"
    router.learn({"query": name, "offered": names, "right": names[number % 6]})
    os.write(1, f"{name}\\n".encode())
"""
REFIT = """
import ltr
while True:
    ltr.update("run")
"""
REFITS = 2  # processes that refit


def options(parser):
    """Options of the command line."""
    parser.add_argument("--seconds", type=at_least(5), default=60, help="of writing (default: %(default)s)")
    parser.add_argument("--rate", type=at_least(1), default=100, help="queries a second (default: %(default)s)")
    parser.add_argument("--writers", type=at_least(1), default=16, help="at once (default: %(default)s)")


def main(*, seconds, writers, rate):
    """What was written, killed and found."""
    draw = random.Random(0)
    with scratch(is_loaded=False):
        ltr.train(ROOT / "data/tools/train.jsonl.gz", out="run", recommended=True, encoder="hash", choose=[])
        shutil.copytree("run", "other")
        killed = written_and_killed(draw, seconds, writers)
        told = [name for path in Path().glob("told-*") for name in path.read_text().split("\n")[:-1]]
        lines = JournalFile("run/outcomes.journal").read()
        written = [row["query"] for line in lines.contents for row in json.loads(line)["outcomes"]]
        lost, twice = set(told) - set(written), len(written) - len(set(written))
        text = (
            f"{killed[0]} writers and {killed[1]} processes that refit were killed; {len(told):,} outcomes confirmed, "
        )
        text += f"{len(written):,} in the journal, lost: {len(lost)}, twice: {twice}, "
        text += f"damaged lines: {lines.damaged + lines.is_cut}"
        total = ltr.update("run").update.total
        mixed = draw.sample(lines.contents, len(lines.contents))
        shuffled = [row for line in mixed for row in json.loads(line)["outcomes"]]
        JournalFile("other/outcomes.journal").append(json.dumps({"outcomes": shuffled}).encode())
        ltr.update("other")
        difference = np.abs(ltr.load("run").w - ltr.load("other").w).max()
        print(f"refit in pieces beside all at once, shuffled: {difference:.1e}")
        alone, learning = (answering("other", seconds / 2, rate, is_learning=each) for each in (False, True))
    failed, calls = (alone[key] + learning[key] for key in ("failed", "calls"))
    text += f"; {rate} queries a second: p95 {alone['p95']:.1f} ms, {learning['p95']:.1f} while {learning['learned']} "
    text += f"outcomes and {learning['refits']} refits came, {failed} of {calls} failed"
    is_good = not lost and not twice and total == len(written) and difference <= 1e-8
    return Figure(text, is_good=is_good and not failed)


def written_and_killed(draw, seconds, writers):
    """Let the processes work, kill one after the other and start it again; return the kills of either kind."""
    kills = [0, 0]

    def start(place):
        code = REFIT if place >= writers else WRITER
        with Path(f"told-{place}").open("ab") as out:
            command, quiet = [sys.executable, "-c", code, str(place)], {"stderr": subprocess.DEVNULL}
            return subprocess.Popen(command, stdout=out, env=environment(), **quiet)

    processes = list(map(start, range(writers + REFITS)))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(draw.uniform(0.05, 1.0))
        place = draw.randrange(writers + REFITS)
        processes[place].send_signal(signal.SIGKILL)
        processes[place].wait()
        kills[place >= writers] += 1
        processes[place] = start(place)
        ltr.load("run").rank("what is there?")
    for process in processes:
        process.kill()
        process.wait()
    return kills


def answering(run, seconds, rate, *, is_learning):
    """Ask a router so many queries a second, each when it is due, whether or not the ones before are answered."""
    router = ltr.load(run)
    names = sorted(router.tools)
    latencies, failures, models, learned, is_over = [], [], {id(router.features.states[0])}, [], threading.Event()
    router.rank("what is there?")

    def ask(number, due):
        try:
            router.rank(f"what is {names[number % len(names)]} number {number}?", k=5)
        except Exception as error:
            failures.append(error)
        latencies.append(1000 * (time.perf_counter() - due))

    def learn():
        while is_learning and not is_over.wait(0.5):
            number = len(learned)
            router.learn({"query": f"outcome {number}", "offered": names[:6], "right": names[number % 6]})
            models.add(id(router.features.states[0]))
            learned.append(number)

    learner = threading.Thread(target=learn)
    learner.start()
    begin = time.perf_counter()
    with ThreadPoolExecutor(4) as pool:
        for number in range(int(seconds * rate)):
            due = begin + number / rate
            time.sleep(max(due - time.perf_counter(), 0))
            pool.submit(ask, number, due)
    is_over.set()
    learner.join()
    router.wait()
    p95 = float(np.quantile(latencies, 0.95))
    counts = {"calls": len(latencies), "failed": len(failures), "learned": len(learned), "refits": len(models) - 1}
    return counts | {"p95": p95}  # ms from the moment at which a query was due
