"""Kill writing commands at random moments, resume each, and compare every byte with one that was not killed.

A kill counts when it lands while the command runs; the seed draws its moment. --resume goes on where there is one
(train, run, bench); what has none is started again: an update learns anew from outcomes that it wrote. Of a bench
the times are left out, and of an update the model and the outcomes are compared. Ends with 1 when any byte differs.
"""

import contextlib
import json
import os
import random
import shutil
import signal
import tempfile
import time
from pathlib import Path

import numpy as np

from ltr.files.journal import read_journal
from stresses.cases import Cases, Figure
from stresses.forked import call, preload
from stresses.killing import files_without_times
from subcommands import at_least
from tests.made import tool_rows, written

GROUPS, SIZE = 240, 12
BENCH_TIMES = ("bench.json", "latency.tsv", "cost.tsv", "report.html")
COMMANDS = {  # name: its result, its words, and what is added when it goes on
    "train": ("run", "train ready.jsonl -o run --epochs 300 --set train.learning_rate=0.001", "--resume"),
    "featurize": ("x.npz", "featurize samples.jsonl -o x.npz --recommended --encoder hash", ""),
    "featurize DIR/": (
        "columns",
        "featurize samples.jsonl -o columns/ --recommended --encoder hash --shard-rows 150 --workers 2",
        "",
    ),
    "train DIR/": ("of-parts", "train ../parts -o of-parts --trainer newton", ""),
    "run": ("runs", "run sweep.yaml -o runs --jobs 2", "--resume"),
    "bench": ("bench", "bench bench.yaml -o bench", "--resume"),
    "import": ("x.jsonl", "import log.jsonl -o x.jsonl", ""),
    "update": ("model", "update model outcomes.jsonl", ""),
}
MADE = (
    "train samples.jsonl -o trained --encoder hash",
    "featurize samples.jsonl -o parts/ --encoder hash --shard-rows 50",
)


def options(parser):
    """Options of the command line."""
    parser.add_argument(
        "number", nargs="?", type=at_least(1), default=20, help="kills a command (default: %(default)s)"
    )
    parser.add_argument("--commands", nargs="+", choices=COMMANDS, default=list(COMMANDS), help="these only")
    parser.add_argument("--seed", type=at_least(0), default=0, help="of the moments (default: %(default)s)")


def main(*, number, commands, seed):
    """A line a command."""
    preload()
    cases, same, total = Cases("kills", f"--seed {seed}"), 0, number * len(commands)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        os.environ["LTR_CACHE_DIR"] = str(Path(folder, "cache"))
        prepare()
        for name in commands:
            killed = Killed(name, seed)
            outcomes = [outcome for _, outcome in cases.outcomes([(name, n) for n in range(number)], killed.outcome)]
            good = sum(outcome == "same" for outcome in outcomes)
            same += good
            others = sorted({outcome for outcome in outcomes if outcome != "same"})
            print(f"{name:10} {good} of {number} ended in the same bytes", *others[:5], sep="\n    ", flush=True)
    text = f"{same} of {total} kills that landed while the command ran ended in the same bytes"
    return Figure(text, is_good=same == total, seconds=cases.seconds)


def prepare():
    """What the commands read, in the working directory."""
    write_samples("ready.jsonl")
    written("samples.jsonl", tool_rows(range(60)))
    written("outcomes.jsonl", (outcome(number) for number in range(500)))
    written("log.jsonl", (exchange(number) for number in range(1500)))
    Path("sweep.yaml").write_text(
        "name: one\nencoder: hash\ndata: {train: samples.jsonl}\n"
        "train: {epochs: 40}\nsweep: {train.l2: [0.1, 0.01, 0.001]}\n"
    )
    Path("bench.yaml").write_text("rerankers: [random, bm25, hash]\ndata: {samples: samples.jsonl}\ntimed: 5\n")
    for words in MADE:
        if finished(fork(words.split())):
            raise RuntimeError(f"ltr {words} fails: run it by hand")


def write_samples(path):
    """Groups of ready numbers, one right candidate each."""
    rng = np.random.default_rng(0)
    with Path(path).open("w") as file:
        for group in range(GROUPS):
            right = rng.integers(SIZE)
            for position, x in enumerate(rng.normal(size=(SIZE, 4)).tolist()):
                ids = f'"trace_id": "t{group // 3}", "node_id": "n{group % 3}"'
                names = f'"query": "q{group}", "tool": "a{position}"'
                file.write(f'{{{ids}, {names}, "features": {x}, "label": {int(position == right)}}}\n')


def outcome(number):
    """What became of a query."""
    names = ["get_weather", "get_map", "get_mail", "get_news"]
    return {"query": f"what is the map of {number}?", "offered": names, "right": names[number % 4]}


def exchange(number):
    """An answer of a model with two tools on the table, as a log of chats holds it."""
    tools = [{"type": "function", "function": {"name": name, "description": name}} for name in ("mail", "map")]
    called = {"id": "1", "type": "function", "function": {"name": ("mail", "map")[number % 2], "arguments": "{}"}}
    messages = [{"role": "user", "content": f"question {number}"}, {"role": "assistant", "tool_calls": [called]}]
    return {"messages": messages, "tools": tools}


class Killed:
    """A command, what it writes when it is not killed, and how long that takes."""

    def __init__(self, name, seed):
        (self.out, words, flags), self.name, self.seed = COMMANDS[name], name, seed
        self.words, self.flags = words.split(), flags.split()
        self.expected, self.seconds = None, 0.0

    def outcome(self, _, number):
        """What came of it: "same", or what is wrong. The first kill is preceded by runs that are not killed."""
        if self.expected is None:
            self.measure()
        generator, tries = random.Random(f"{self.seed} {self.name} {number}"), 0
        with self.folder(number):
            while True:
                child = fork(self.words)
                time.sleep(generator.uniform(0.02, 1.0) * self.seconds)
                os.kill(child, signal.SIGKILL)
                if finished(child) == -signal.SIGKILL:
                    break
                tries += 1  # it had ended before
                if tries > 50:
                    raise RuntimeError(f"{self.name}: no kill lands while it runs")
                self.clear()
            return self.resumed()

    def measure(self):
        """Run it twice: what is written, which must be the same, and the time of the quicker."""
        self.expected, times = [], []
        for number in "ab":
            with self.folder(number):
                begin = time.monotonic()
                if code := finished(fork(self.words)):
                    raise RuntimeError(f"{self.name} ends with {code} when it is not killed: run it by hand")
                times.append(time.monotonic() - begin)
                self.expected.append(self.found())
        if self.expected[0] != self.expected[1]:
            raise RuntimeError(f"{self.name} writes other bytes the second time")
        self.expected, self.seconds = self.expected[0], min(times)

    @contextlib.contextmanager
    def folder(self, number):
        """A folder with the inputs, of a name as long as any other: paths stand in configs."""
        with tempfile.TemporaryDirectory(prefix="kill-", dir=Path.cwd()) as made:
            home = Path(made).parent / "work"  # the same path each time
            home.mkdir()
            for path in Path(made).parent.glob("*.*"):
                (home / path.name).symlink_to(path)
            try:
                with contextlib.chdir(home):
                    self.clear()
                    yield
            finally:
                clean(home)

    def clear(self):
        """Nothing of the command lies there."""
        clean(Path(self.out))
        if self.name == "update":
            shutil.copytree(Path("..") / "trained", self.out)

    def resumed(self):
        """What is there after the command went on."""
        home = Path(self.out)
        is_there = home.is_file() or (home.is_dir() and any(home.iterdir()))  # an empty one holds the name
        is_done = is_there and self.name != "update" and not self.flags
        if code := 0 if is_done else finished(fork([*self.words, *self.flags])):
            return f"it went on and ended with {code}"
        return "same" if self.found() == self.expected else "OTHER BYTES"

    def found(self):
        """What the command wrote."""
        home = Path(self.out)
        if self.name == "update":
            rows = [json.loads(line) for line in read_journal(home / "outcomes.journal").contents]
            updated = home / "updated" / "model.json"
            return updated.read_bytes() if updated.exists() else b"", rows
        if home.is_file():
            return {path.name: path.read_bytes() for path in Path().glob(f"{home.stem}.*")}
        files = files_without_times(home)
        if self.name == "bench":
            rows = map(json.loads, files.pop("per_query.jsonl").splitlines())
            files = {name: content for name, content in files.items() if name not in BENCH_TIMES}
            files = {name: content for name, content in files.items() if not name.startswith("measured")}
            files["rows"] = [{key: value for key, value in row.items() if key != "latency_ms"} for row in rows]
        return files


def fork(words):
    """The process of the command."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        code = call(words)
    finally:
        os._exit(code)


def finished(child):
    """Its exit code, negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def clean(path):
    """Remove the file or directory, if it is there; a worker of a killed batch may still write for a moment."""
    for _ in range(50):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
        if not path.exists():
            return
        time.sleep(0.1)
