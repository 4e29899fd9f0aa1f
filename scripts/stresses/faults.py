"""Fail, and kill, every writing command at each call that changes the disk, fresh and over an earlier result.

After a failed write, fsync, rename or mkdir a command must end with 74, and leave what was there and nothing else.
After a kill the earlier or the later result must be there as soon as a command opens it, whole, and the same command
again must leave nothing behind. The earlier result is of other inputs, so that a mixture of both is seen. The seed
draws the error of each call. A line a command; ends with 1 when any was wrong.
"""

import contextlib
import json
import os
import random
import shutil
from pathlib import Path

from ltr.files import put_back
from stresses.attacks import WITH_TIMES, Cases, Figure, call, must, scratch
from subcommands import at_least
from tests.faults import CODES, FaultyDisk, contents, in_fork
from tests.made import tool_rows, written

COMMANDS = {  # name: what other commands open of its result, and its words
    "train": (["out"], "train s.jsonl -o out --encoder hash"),
    "run": (["runs/one", "runs/leaderboard.json"], "run c.yaml -o runs"),
    "evaluate": (["out"], "evaluate model s.jsonl -o out"),
    "bench": (["out"], "bench b.yaml -o out"),
    "featurize": (["x.jsonl"], "featurize s.jsonl -o x.jsonl --encoder hash"),
    "featurize npz": (["x.npz"], "featurize s.jsonl -o x.npz --encoder hash"),
    "featurize DIR/": (["parts"], "featurize s.jsonl -o parts/ --encoder hash --shard-rows 20"),
    "train DIR/": (["out"], "train columns -o out --trainer newton"),
    "evaluate DIR/": (["out"], "evaluate by-parts columns -o out"),
    "report": (["page.html"], "report model -o page.html"),
    "report card": (["card.md"], "report model -o card.md"),
    "init": (["new/ltr.yaml"], "init new"),
    "init from": (["router"], "init router --from s.jsonl --encoder hash"),
    "import": (["x.jsonl"], "import letor l.txt -o x.jsonl"),
    "export trec": (["x.run"], "export trec model -o x.run"),
    "export letor": (["x.txt"], "export letor phi.npz -o x.txt"),
    "export csv": (["x.csv"], "export csv s.jsonl -o x.csv"),
    "pack": (["packed"], "pack model -o packed"),
    "pack zip": (["packed.zip"], "pack model -o packed.zip"),
    "update": (["served"], "update served o.jsonl"),
}
INPUTS = ("s.jsonl", "l.txt", "c.yaml", "b.yaml", "o.jsonl", "phi.npz", "model", "columns", "by-parts")
SERVED = "served"  # the run that update changes
JOURNAL = "outcomes.journal"  # it is only appended to: what stood there stays, and a line that was cut off may follow
DONE = 200  # the exit code of a command that ended before the fault


def options(parser):
    """Options of the command line."""
    parser.add_argument("commands", nargs="*", help=f"of {', '.join(COMMANDS)} (default: all)")
    parser.add_argument("--seed", type=at_least(0), default=0, help="of the errors (default: %(default)s)")
    parser.add_argument("--every", type=at_least(1), default=1, help="try every n-th call (default: %(default)s)")
    parser.add_argument("--sampled", nargs="+", default=[], metavar="NAME:N", help="of these every N-th call")


def main(*, commands, seed, every, sampled=()):
    """A line a command."""
    cases, steps = Cases("faults", f"--seed {seed}"), dict.fromkeys(commands or COMMANDS, every)
    steps |= {name: int(step) for name, _, step in (each.rpartition(":") for each in sampled)}
    with scratch():
        prepare_both()
        tried, wrong = cases.all_attacked(
            {
                f"{name}{' over an earlier one' * is_again}": (
                    ((fault_at,) for fault_at in range(1, 10_000, step)),
                    at_call(name, seed, is_again=is_again),
                )
                for name, step in steps.items()
                for is_again in (False, True)
            }
        )
    skipping = {step: [name for name in steps if steps[name] == step] for step in sorted({*steps.values()} - {1})}
    said = "".join(f"; 1 call in {step} of {', '.join(names)}" for step, names in skipping.items())
    text = f"{tried:,} faults in {2 * len(steps)} commands, {wrong} wrong{said}"
    return Figure(text, is_good=not wrong, seconds=cases.seconds)


def at_call(name, seed, *, is_again):
    """Return the attack of one call of a command, whose results without a fault are made at the first."""
    trials = []

    def attack(fault_at):
        if not trials:
            trials.append(Trial(name, is_again=is_again))
        return trials[0].faults(fault_at, random.Random(f"{seed} {name} {fault_at}").choice(CODES))

    return attack


def prepare_both():
    """Make the inputs of earlier results and of later ones."""
    for home, traces in ("old", range(8, 16)), ("new", range(8)):
        prepare(home, traces)


def prepare(home, traces):
    """Make what the commands read, of these traces."""
    Path(home).mkdir()
    with contextlib.chdir(home):
        rows = list(tool_rows(traces))
        written("s.jsonl", rows)
        Path("l.txt").write_text(f"1 qid:{traces[0]} 1:0.5 2:1\n0 qid:{traces[0]} 1:0.1 2:0\n")
        Path("c.yaml").write_text("name: one\nencoder: hash\ndata: {train: s.jsonl}\n")
        Path("b.yaml").write_text("rerankers: [random, bm25]\ndata: {samples: s.jsonl}\n")
        names = sorted({row["tool"] for row in rows})[:3]
        written("o.jsonl", [{"query": f"q{traces[0]}", "offered": names, "right": names[0]}])
        must(
            "train s.jsonl -o model --encoder hash",
            "featurize s.jsonl -o phi.npz --encoder hash",
            "featurize s.jsonl -o columns/ --encoder hash --shard-rows 20",
            "train columns -o by-parts --trainer newton",
        )


class Trial:
    """A command that is tried with every fault, in a folder of its own."""

    def __init__(self, name, *, is_again, home=Path("here")):
        self.outputs, words = COMMANDS[name]
        self.words, self.is_again, self.home = words.split(), is_again, home
        self.served = self.words[0] == "update"
        self.earlier = {}
        if self.served:
            model = contents(Path("old/model"))
            self.earlier = {SERVED: None} | {f"{SERVED}/{path}": content for path, content in model.items()}
        first = self.earlier
        if is_again:
            self.earlier = self.whole("old", first)
            self.words = self.words if self.served else [*self.words, "--overwrite"]
        self.later = [self.whole("new", self.earlier) for _ in range(2)]

    def whole(self, inputs, earlier):
        """Return what lies there after the command without a fault."""
        self.fresh(inputs, earlier)
        if code := in_fork(lambda: self.run(self.words)):
            raise RuntimeError(f"ltr {' '.join(self.words)} ends with {code} without a fault: run it by hand")
        return self.results()

    def fresh(self, inputs, earlier):
        """Fill the folder with the inputs and the earlier results."""
        shutil.rmtree(self.home, ignore_errors=True)
        shutil.copytree(inputs, self.home)
        for name, content in earlier.items():
            path = self.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.mkdir(exist_ok=True) if content is None else path.write_bytes(content)

    def run(self, words):
        """Call the command in the folder."""
        os.chdir(self.home)
        return call(words)

    def results(self):
        """Return what lies in the folder beside the inputs."""
        found = contents(self.home)
        return {name: content for name, content in found.items() if name.split("/")[0] not in INPUTS}

    def faults(self, fault_at, error):
        """Return how many faults were tried at that call, an error and a kill, and what was wrong after them."""
        problems, tried = [], 0
        for code in error, None:
            self.fresh("new", self.earlier)
            end = in_fork(lambda code=code: self.faulty(fault_at, code))
            if end == DONE:
                continue
            tried += 1
            what = "a kill" if code is None else os.strerror(code)
            found = self.after_kill() if code is None else self.after_error(end)
            problems += [f"{what}: {problem}" for problem in found]
        return tried, problems

    def faulty(self, fault_at, code):
        """Return the exit code under the fault."""
        with FaultyDisk(fault_at, code) as disk:
            end = self.run(self.words)
        return DONE if disk.calls < fault_at else end

    def after_error(self, end):
        """Return what is wrong after an error: a call whose failure does not matter may end in the result."""
        problems = [f"exit {end}, and left {self.hidden()[:3]}"] if self.hidden() else []
        problems += [] if end in (0, 74) else [f"exit {end}"]
        bad = [(output, kind) for output, kind in self.kinds() if kind == "a mixture" or (end == 0 and kind != "later")]
        return problems + [f"{output}: exit {end}, and {kind}" for output, kind in bad]

    def after_kill(self):
        """Return what is wrong after a kill: when the result is opened, and when the command is repeated."""
        for output in self.outputs:
            put_back(self.home / output)
        problems = [f"{output}: {kind}" for output, kind in self.kinds() if kind == "a mixture"]
        again = self.words if self.served or self.is_again else [*self.words, "--overwrite"]
        end = in_fork(lambda: self.run(again))
        left = [*self.hidden(), *(name for name in self.results() if "checkpoints" in name.split("/"))]
        return problems + ([f"then exit {end}"] if end else []) + ([f"then left {left[:3]}"] if left else [])

    def hidden(self):
        """Return the names with a part that begins with a dot."""
        return [name for name in self.results() if any(part.startswith(".") for part in name.split("/"))]

    def kinds(self):
        """Yield each output, and whether what lies there is all of the earlier, all of the later, or a mixture.

        Checkpoints stay after a failure, as --resume reads them. A whole leaderboard that says which run failed is of
        the last batch, whatever came of it.
        """
        hidden = self.hidden()
        found = {name: content for name, content in self.results().items() if name not in hidden}
        found = {name: content for name, content in found.items() if "checkpoints" not in name.split("/")}
        for output in self.outputs:
            start = output.partition("/")[0] if output.startswith("new") else output.partition(".")[0]
            mine, earlier, later, repeated = (
                {name: content for name, content in each.items() if name.startswith(start) and content is not None}
                for each in (found, self.earlier, *self.later)
            )
            stable = {name for name, content in later.items() if repeated.get(name) == content and not has_times(name)}
            if set(mine) == set(later) and all(mine[name] == later[name] for name in stable):
                yield output, "later"
            elif self.holds(mine, earlier):
                yield output, "earlier"
            else:
                yield output, "of the failed run" if says_failed(mine.get(output)) else "a mixture"

    def holds(self, found, earlier):
        """Return whether all that was there is there; a journal may have grown, and be learned from anew."""
        if not self.served:
            return found == earlier
        return all(
            name in found and ("updated/" in name or found[name] == content or is_grown(name, found[name], content))
            for name, content in earlier.items()
        )


def is_grown(name, found, content):
    """Return whether it is a journal that begins as before."""
    return name.endswith(JOURNAL) and found.startswith(content)


def says_failed(content):
    """Return whether it is a whole leaderboard that says which run failed."""
    try:
        return content is not None and json.loads(content)["rows"][0]["status"] == "failed"
    except (ValueError, KeyError, TypeError):
        return False


def has_times(name):
    """Return whether the file holds times of day, which may be equal by chance."""
    return name.rpartition("/")[2] in (*WITH_TIMES, "bench.json") or name.endswith((".html", ".md"))
