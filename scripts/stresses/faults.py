"""Fail, and kill, every writing command at each call that changes the disk, fresh and with --overwrite.

After a failed write, fsync, rename or mkdir a command must end with 74, and leave what was there and nothing else.
After a kill the earlier or the later result must be there as soon as a command opens it, and the next --overwrite must
leave nothing behind. The seed draws the error of each call. A line a command; ends with 1 when any was wrong.
"""

import contextlib
import json
import os
import random
import shutil
import sys
import tempfile
from pathlib import Path

from subcommands import at_least
from tests.faults import CODES, FaultyDisk, contents, in_fork

COMMANDS = {  # name: what other commands open of its result, and its words
    "train": (["out"], "train s.jsonl -o out --encoder hash"),
    "run": (["runs/one", "runs/leaderboard.json"], "run c.yaml -o runs"),
    "evaluate": (["out"], "evaluate model s.jsonl -o out"),
    "bench": (["out"], "bench b.yaml -o out"),
    "featurize": (["x.jsonl"], "featurize s.jsonl -o x.jsonl --encoder hash"),
    "featurize npz": (["x.npz"], "featurize s.jsonl -o x.npz --encoder hash"),
    "report": (["page.html"], "report model -o page.html"),
    "init": (["new/ltr.yaml"], "init new"),
    "init from": (["router"], "init router --from s.jsonl --encoder hash"),
    "import": (["x.jsonl"], "import letor l.txt -o x.jsonl"),
    "export": (["x.run"], "export trec model -o x.run"),
}


def options(parser):
    """Options of the command line."""
    parser.add_argument("commands", nargs="*", help=f"of {', '.join(COMMANDS)} (default: all)")
    parser.add_argument("--seed", type=at_least(0), default=0, help="of the errors (default: %(default)s)")
    parser.add_argument("--every", type=at_least(1), default=1, help="try every n-th call (default: %(default)s)")


def main(*, commands, seed, every):
    """A line a command."""
    generator, wrong = random.Random(seed), 0
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        os.environ["LTR_CACHE_DIR"] = str(Path(folder, "cache"))
        prepare()
        for name in commands or COMMANDS:
            outputs, words = COMMANDS[name]
            for flags in ([], ["--overwrite"]):
                tried, problems = try_all(Path("here"), outputs, [*words.split(), *flags], generator, every)
                wrong += len(problems)
                title = f"{name} {' '.join(flags)}".strip()
                print(f"{title:24} {tried} faults, {len(problems)} wrong", *problems[:5], sep="\n    ", flush=True)
    return int(wrong > 0)


def prepare():
    """What the commands read."""
    from tests.made import tool_rows

    lines = [json.dumps(row) for row in tool_rows(range(8))]
    Path("s.jsonl").write_text("\n".join(lines) + "\n")
    Path("l.txt").write_text("1 qid:1 1:0.5 2:1\n0 qid:1 1:0.1 2:0\n")
    Path("c.yaml").write_text("name: one\nencoder: hash\ndata: {train: s.jsonl}\n")
    Path("b.yaml").write_text("rerankers: [random, bm25]\ndata: {samples: s.jsonl}\n")
    if call(["train", "s.jsonl", "-o", "model", "--encoder", "hash"]):
        raise RuntimeError("ltr train fails without a fault: run it by hand")


def call(words):
    """The exit code of the command in this process; what it prints goes nowhere."""
    from ltr.cli import main as command

    sys.argv = ["ltr", *words]
    with Path(os.devnull).open("w") as nowhere:
        sys.stdout = sys.stderr = nowhere
        try:
            command()
        except SystemExit as done:
            return done.code if isinstance(done.code, int) else 1
        finally:
            sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
    return 0


def try_all(home, outputs, words, generator, every):
    """How many faults were tried, and what was wrong after them."""
    earlier = {}
    if "--overwrite" in words:
        fresh(home, {})
        in_fork(lambda: in_folder(home, words))
        earlier = results(home)
    problems, tried = [], 0
    for fault_at in range(1, 10_000, every):
        ends = []
        for code in (generator.choice(CODES), None):
            fresh(home, earlier)
            end = in_fork(lambda code=code, at=fault_at: faulty(home, words, at, code))
            if end != 200:  # the fault was reached
                tried += 1
                what = "a kill" if code is None else os.strerror(code)
                found = after_kill(home, outputs, words, earlier) if code is None else after_error(home, end, earlier)
                problems += [f"call {fault_at}, {what}: {problem}" for problem in found]
            ends.append(end)
        if set(ends) == {200}:
            return tried, problems
    return tried, problems


def faulty(home, words, fault_at, code):
    """The exit code under the fault; 200 when the command ended before it."""
    with FaultyDisk(fault_at, code) as disk:
        end = in_folder(home, words)
    return 200 if disk.calls < fault_at else end


def in_folder(home, words):
    """The command, called in the folder."""
    os.chdir(home)
    return call(words)


def fresh(home, earlier):
    """The folder with the inputs and the earlier results."""
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    for path in ("s.jsonl", "l.txt", "c.yaml", "b.yaml"):
        shutil.copy(path, home)
    shutil.copytree("model", home / "model")
    for name, content in earlier.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            path.mkdir(exist_ok=True)
        else:
            path.write_bytes(content)


def results(home):
    """What lies in the folder beside the inputs."""
    inputs = ("s.jsonl", "l.txt", "c.yaml", "b.yaml", "model")
    return {name: content for name, content in contents(home).items() if name.split("/")[0] not in inputs}


def after_error(home, end, earlier):
    """What is wrong after an error: a call whose failure does not matter may end in the result."""
    found = {name: content for name, content in results(home).items() if "checkpoints" not in name.split("/")}
    if end == 0:
        return [] if not hidden(found) else [f"exit 0, and left {hidden(found)}"]
    problems = [] if end == 74 else [f"exit {end}"]
    lost = [name for name, content in earlier.items() if found.get(name, 0) != content]
    is_later = len(found) and not hidden(found) and set(found) >= set(earlier)  # the last fsync failed
    left = set(found) - set(earlier)
    if (lost or left) and not is_later:
        problems.append(f"lost {sorted(lost)[:3]}, left {sorted(left)[:3]}")
    return problems


def after_kill(home, outputs, words, earlier):
    """What is wrong after a kill: when the result is opened, and when the command is repeated."""
    from ltr.files.restoring import put_back

    for output in outputs:
        put_back(home / output)
    found = {name: content for name, content in results(home).items() if not hidden([name])}
    lost = [name for name in earlier if "checkpoints" not in name and name not in found]
    problems = [f"lost {lost[:3]}"] if lost else []
    again = words if "--overwrite" in words else [*words, "--overwrite"]
    end = in_fork(lambda: in_folder(home, again))
    left = [name for name in results(home) if hidden([name]) or "checkpoints" in name.split("/")]
    return problems + ([f"then exit {end}"] if end else []) + ([f"then left {left[:3]}"] if left else [])


def hidden(names):
    """The names with a part that begins with a dot."""
    return [name for name in names if any(part.startswith(".") for part in name.split("/"))]
