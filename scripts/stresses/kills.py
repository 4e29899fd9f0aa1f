"""Kill writing commands at random moments, resume each, and compare every byte with one that was not killed.

A kill counts when it lands while the command runs; the seed draws its moment. --resume goes on where there is one
(train, run, bench); what has none is started again: an update learns anew from outcomes that it wrote. `batch` has 24
runs on our own data. Of a bench the times are left out, and of an update the model and the outcomes are compared.
Ends with 1 when any byte differs.
"""

import contextlib
import json
import os
import random
import shutil
import signal
import time
from pathlib import Path

import numpy as np

from ltr.journal import JournalFile
from stresses.attacks import Cases, Figure, clean, command, files_without_times, finished, must, scratch
from subcommands import ROOT, at_least
from tests.made import tool_rows, written

BENCH_TIMES = ("bench.json", "latency.tsv", "cost.tsv", "report.html")
BATCH = {  # name: kind and features
    "tools": ("tool", "tool.rel, tool.hist, tool.coop, tool.struct"),
    "texts": ("tool", "tool.words, tool.clause"),
    "teams": ("graph", "graph.rel, graph.hist, graph.coop, graph.struct"),
    "cover": ("graph", "graph.rel, graph.size"),
}
COLUMNS = "featurize samples.jsonl --recommended --encoder hash -o"
COMMANDS = {  # name: its result, its words, and what is added when it goes on
    "train": ("run", "train ready.jsonl -o run --epochs 300 --set train.learning_rate=0.001", "--resume"),
    "featurize": ("x.npz", f"{COLUMNS} x.npz", ""),
    "featurize DIR/": ("columns", f"{COLUMNS} columns/ --shard-rows 150 --workers 2", ""),
    "train DIR/": ("of-parts", "train ../parts -o of-parts --trainer newton", ""),
    "run": ("runs", "run sweep.yaml -o runs --jobs 2", "--resume"),
    "batch": ("runs", f"run {' '.join(f'{name}.yaml' for name in BATCH)} -o runs --jobs 2", "--resume"),
    "bench": ("bench", "bench bench.yaml -o bench", "--resume"),
    "import": ("x.jsonl", "import log.jsonl -o x.jsonl", ""),
    "update": ("model", "update model outcomes.jsonl", ""),
}


def options(parser):
    """Options of the command line."""
    parser.add_argument("number", nargs="?", type=at_least(1), default=20, help="kills a command (default: 20)")
    parser.add_argument("--commands", nargs="+", choices=COMMANDS, default=list(COMMANDS), help="these only")
    parser.add_argument("--seed", type=at_least(0), default=0, help="of the moments (default: %(default)s)")


def main(*, number, commands, seed):
    """A line a command."""
    cases = Cases("kills", f"--seed {seed}")
    with scratch():
        prepare()
        kills = [(each,) for each in range(number)]
        tried, wrong = cases.all_attacked({name: (kills, Killed(name, seed).problems) for name in commands})
    text = f"{tried - wrong} of {tried} kills that landed while the command ran ended in the same bytes"
    return Figure(text, is_good=not wrong, seconds=cases.seconds)


def prepare():
    """Write what the commands read into the working directory."""
    write_ready("ready.jsonl")
    written("samples.jsonl", tool_rows(range(60)))
    names = ["get_weather", "get_map", "get_mail", "get_news"]
    asked = ({"query": f"where is {n}?", "offered": names, "right": names[n % 4]} for n in range(500))
    written("outcomes.jsonl", asked)
    written("log.jsonl", map(exchange, range(1500)))
    Path("sweep.yaml").write_text(
        "name: one\nencoder: hash\ndata: {train: samples.jsonl}\n"
        "train: {epochs: 40}\nsweep: {train.l2: [0.1, 0.01, 0.001]}\n"
    )
    Path("bench.yaml").write_text("rerankers: [random, bm25, hash]\ndata: {samples: samples.jsonl}\ntimed: 5\n")
    for name, (kind, features) in BATCH.items():
        home = ROOT / "data" / f"{kind}s"
        texts = f", tools: {home}/tools.json" if kind == "tool" else ""
        Path(f"{name}.yaml").write_text(
            f"name: {name}\nencoder: hash\nfeatures: [{features}]\n"
            f"data: {{train: {home}/train.jsonl.gz, test: {home}/test.jsonl.gz{texts}}}\n"
            "train: {standardize: true}\nsweep: {train.l2: [0.0001, 0.001, 0.003, 0.01, 0.03, 0.1]}\n"
        )
    must("train samples.jsonl -o trained --encoder hash")
    must("featurize samples.jsonl -o parts/ --encoder hash --shard-rows 50")


def write_ready(path):
    """Write groups of ready numbers, one right candidate each."""
    rng, rows = np.random.default_rng(0), []
    for group in range(240):
        right, ids = rng.integers(12), {"trace_id": f"t{group // 3}", "node_id": f"n{group % 3}", "query": f"q{group}"}
        for place, numbers in enumerate(rng.normal(size=(12, 4)).tolist()):
            rows.append(ids | {"tool": f"a{place}", "features": numbers, "label": int(place == right)})
    written(path, rows)


def exchange(number):
    """Return an answer of a model with two tools on the table, as a log of chats holds it."""
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

    def problems(self, number):
        """Kill it once, go on, and say what is wrong. The first kill is preceded by runs that are not killed."""
        if self.expected is None:
            self.measure()
        draw = random.Random(f"{self.seed} {self.name} {number}")
        with self.folder():
            for _ in range(50):
                child = command(self.words)
                time.sleep(draw.uniform(0.02, 1.0) * self.seconds)
                os.kill(child, signal.SIGKILL)
                if finished(child) == -signal.SIGKILL:
                    break
                self.clear()  # it had ended before
            else:
                raise RuntimeError(f"{self.name}: no kill lands while it runs")
            home = Path(self.out)
            is_there = home.is_file() or (home.is_dir() and any(home.iterdir()))  # an empty one holds the name
            is_done = is_there and self.name != "update" and not self.flags
            again = [*self.words, *self.flags]
            if code := 0 if is_done else finished(command(again)):
                return [f"exit {code} when it goes on"]
            return [] if self.found() == self.expected else ["OTHER BYTES"]

    def measure(self):
        """Run it twice: what is written, which must be the same, and the time of the quicker."""
        found, times = [], []
        for _ in range(2):
            with self.folder():
                begin = time.monotonic()
                must(self.words)
                times.append(time.monotonic() - begin)
                found.append(self.found())
        if found[0] != found[1]:
            raise RuntimeError(f"{self.name} writes other bytes the second time")
        self.expected, self.seconds = found[0], min(times)

    @contextlib.contextmanager
    def folder(self):
        """Work in a folder with the inputs that has the same path each time: paths stand in configs."""
        home = Path.cwd() / "work"
        home.mkdir()
        for path in Path.cwd().glob("*.*"):
            (home / path.name).symlink_to(path)
        try:
            with contextlib.chdir(home):
                self.clear()
                yield
        finally:
            clean(home)

    def clear(self):
        """Let nothing of the command lie there."""
        clean(Path(self.out))
        if self.name == "update":
            shutil.copytree(Path("..") / "trained", self.out)

    def found(self):
        """Return what the command wrote."""
        home = Path(self.out)
        if self.name == "update":
            rows = [json.loads(line) for line in JournalFile(home / "outcomes.journal").read().contents]
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
