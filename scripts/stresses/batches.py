"""Kill a batch of 24 runs at random moments, resume it, and compare every byte with one that was not killed.

Also the time of --jobs 2 beside --jobs 1, and of a rerun of 20 complete runs. Ends with 1 when any byte differs.
"""

import os
import random
import tempfile
import time
from pathlib import Path

from stresses.cases import Figure
from stresses.killing import files_without_times, kill_after, start
from subcommands import ROOT, at_least

CONFIGS = {  # name: kind and features
    "tools": ("tool", "tool.rel, tool.hist, tool.coop, tool.struct"),
    "tools-texts": ("tool", "tool.words, tool.clause"),
    "teams": ("graph", "graph.rel, graph.hist, graph.coop, graph.struct"),
    "teams-cover": ("graph", "graph.rel, graph.size"),
}
L2S = ("0.0001", "0.001", "0.003", "0.01", "0.03", "0.1")


def options(parser):
    """Options of the command line."""
    parser.add_argument("number", nargs="?", type=at_least(1), default=10, help="of kills (default: %(default)s)")


def main(*, number):
    """A line a kill."""
    with tempfile.TemporaryDirectory() as folder:
        write_configs(Path(folder))
        roots = {jobs: Path(folder) / f"jobs-{jobs}" / "runs" for jobs in (1, 2)}  # as deep: paths stand in the configs
        seconds = {jobs: seconds_of(root, "--jobs", jobs) for jobs, root in roots.items()}
        expected = files_without_times(roots[1])
        is_same = files_without_times(roots[2]) == expected
        runs = len(list(roots[1].glob("*/run.json")))
        times = (f"--jobs {jobs} {wall:.2f} s ({cpu:.2f} s of processors)" for jobs, (wall, cpu) in seconds.items())
        print(f"{runs} runs, {len(expected)} files: {', '.join(times)}", flush=True)
        print(f"--jobs 2 wrote {'the same bytes' if is_same else 'OTHER BYTES'}")
        wall, cpu = min(seconds_of(roots[1], "--resume", l2s=L2S[:5]) for _ in range(3))
        print(f"rerun of {5 * len(CONFIGS)} complete runs: {wall:.2f} s ({cpu:.2f} s of processors)", flush=True)
        generator, failures = random.Random(0), 0
        for kill in range(number):
            root, jobs = Path(folder) / f"killed-{kill}" / "runs", 1 + kill % 2
            moment = generator.uniform(0.1, 1.0) * seconds[jobs][0]
            kill_after(moment, batch(root, "--jobs", jobs))
            complete, begun = (len(list(root.glob(f"*/{name}"))) for name in ("run.json", "checkpoints"))
            resumed = batch(root, "--resume", "--jobs", jobs)
            is_good = resumed.wait() == 0 and files_without_times(root) == expected
            failures += not is_good
            state = f"{complete:2} runs complete, {begun} with a checkpoint"
            result = "same" if is_good else "OTHER"
            print(f"kill {kill + 1:2} after {moment:5.2f} s, --jobs {jobs}: {state}; then {result}", flush=True)
    text = f"{number - failures} of {number} ended in the same bytes"
    return Figure(text, is_good=not failures and is_same)


def write_configs(folder):
    """The four configs, on our own data."""
    for name, (kind, features) in CONFIGS.items():
        home = ROOT / "data" / f"{kind}s"
        texts = f"  tools: {home}/tools.json\n" if kind == "tool" else ""
        data = f"data:\n  train: {home}/train.jsonl.gz\n  test: {home}/test.jsonl.gz\n{texts}"
        text = f"name: {name}\nencoder: hash\nfeatures: [{features}]\n{data}"
        (folder / f"{name}.yaml").write_text(f"{text}train: {{trainer: descent, standardize: true}}\n")


def batch(root, *flags, l2s=L2S):
    """The batch as a process, of four configs and as many runs of each as there are penalties."""
    configs = (root.parents[1] / f"{name}.yaml" for name in CONFIGS)
    return start("run", *configs, "-o", root, "--set", f"sweep.train.l2=[{', '.join(l2s)}]", *flags)


def seconds_of(root, *flags, **options):
    """How long the batch takes, which must succeed, on the wall and of the processors."""
    begin, before = time.monotonic(), os.times()
    code = batch(root, *flags, **options).wait()
    if code:
        raise RuntimeError(f"a batch that is not killed ends with {code}: run ltr run by hand")
    after = os.times()
    cpu = sum(getattr(after, name) - getattr(before, name) for name in ("children_user", "children_system"))
    return time.monotonic() - begin, cpu
