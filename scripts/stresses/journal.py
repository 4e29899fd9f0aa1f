"""Let 16 processes write outcomes of one run while others fold them in, kill them at random, and count what is left.

Ends with 1 when an outcome is lost that a process was told of, when one stands there twice, or when the weights after
a replay of the whole journal are not those of the same outcomes at once in another order.
"""

import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import ltr
from ltr.experiments.single_run import train
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
    router.update(name, names, right=names[number % 6])
    os.write(1, f"{name}\\n".encode())
"""
FOLDER = """
import sys
sys.path.insert(0, sys.argv[1])
import ltr
from ltr.errors import RunError
while True:
    try:
        ltr.load(sys.argv[2]).compact()
    except RunError:  # another process folds
        pass
"""


def options(parser):
    """Options of the command line."""
    parser.add_argument("--seconds", type=at_least(5), default=60, help="of writing (default: %(default)s)")
    parser.add_argument("--writers", type=at_least(1), default=16, help="at once (default: %(default)s)")


def main(*, seconds, writers):
    """What was written, killed and found."""
    generator, kills = random.Random(0), [0, 0]
    with tempfile.TemporaryDirectory() as folder:
        run, told = Path(folder) / "run", Path(folder) / "told"
        train(ROOT / "data/tools/train.jsonl.gz", out=run, recommended=True, encoder="hash")

        def start(place):
            code = FOLDER if place >= writers else WRITER
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
        for process in processes:
            process.kill()
            process.wait()
        files = list(Path(folder).glob("told-*"))
        names = [name for path in files for name in path.read_text().split("\n")[:-1]]
        lines = read_journal(run / "outcomes.journal")
        rows = [row for line in lines.contents for row in json.loads(line)["outcomes"]]
        written = [row["query"] for row in rows]
        lost, twice = set(names) - set(written), len(written) - len(set(written))
        text = f"{kills[0]} writers and {kills[1]} processes that fold were killed; {len(names):,} outcomes confirmed, "
        text += f"{len(written):,} in the journal, lost: {len(lost)}, twice: {twice}, "
        text += f"damaged lines: {lines.damaged + lines.is_cut}"
        is_whole, folded = ltr.load(run), "compacted.npz"
        update = is_whole.update_many([])
        print(f"the run has {update.total:,} outcomes, {update.folded:,} folded in")
        w = is_whole.w.copy()
        (run / folded).unlink(missing_ok=True)
        replayed = ltr.load(run).w
        order = generator.sample(lines.contents, len(lines.contents))
        (run / "outcomes.journal").unlink()
        at_once = of_lines(run, order)
        difference, moved = np.abs(replayed - at_once).max(), np.abs(w - replayed).max()
        print(f"replayed whole beside all at once, shuffled: {difference:.1e}; folded beside replayed: {moved:.1e}")
    is_good = not lost and not twice and update.total == len(written) and difference <= 1e-8
    return Figure(text, is_good=is_good)


def of_lines(run, lines):
    """The weights after the lines, written as a journal at once."""
    model = json.loads(lines[0])["model"]
    rows = [row for line in lines for row in json.loads(line)["outcomes"]]
    append_line(run / "outcomes.journal", json.dumps({"model": model, "outcomes": rows}).encode())
    return ltr.load(run).w
