"""Wall, CPU and peak memory of whole commands at sizes that memory does not hold.

Samples are drawn for each size, ten candidates a group and three groups a trace, and written to --folder, where a
second call finds them. Each command runs in a process of its own, as a user starts it; peak memory is that of its
largest process. --interleaved writes the same groups so that no two of a trace stand together.

featurize writes a directory of columns, on which train (newton), evaluate and rank work. --workers 1 2 repeats the
commands that take workers with each number, beside the first; --ray with Ray on this machine as well. Ray's processes
are asked for their CPU while they live, so that the last .2 s of each are missing. A rate is of CPU seconds.
"""

import json
import os
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from subcommands import at_least

TOOLS, CANDIDATES, GROUPS = 2_000, 10, 3  # tools in all, candidates of a group, groups of a trace
VERBS, THINGS, WORDS = 40, 50, 400
PAUSE, TICKS = 0.2, os.sysconf("SC_CLK_TCK")  # seconds between two looks at Ray's processes; of CPU time
AT_ONCE = 10_000  # groups that are drawn together
SEED = np.uint64(0x5EED)
COMMANDS = ("validate", "featurize", "train", "evaluate", "rank")
WORKING = ("validate", "featurize", "train", "evaluate")  # that take workers


def options(parser):
    """Options of the command line."""
    parser.add_argument("sizes", nargs="*", type=at_least(30), default=[200_000], metavar="CANDIDATES")
    parser.add_argument("--interleaved", action="store_true", help="traces are spread over the file")
    parser.add_argument("--encoder", default="hash", help="(default: %(default)s)")
    parser.add_argument("--features", metavar="A,B", help="columns; without it, the recommended ones")
    parser.add_argument("--only", choices=COMMANDS, action="append", help="these commands alone")
    parser.add_argument("--workers", nargs="+", type=at_least(1), default=[1], metavar="N", help="(default: 1)")
    parser.add_argument("--ray", action="store_true", help="repeat what takes workers with Ray, too")
    parser.add_argument("--shard-rows", type=at_least(1), help="as the commands take it")
    parser.add_argument("--folder", type=Path, help="where samples and results stay; without it, they go")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")


def main(*, sizes, interleaved, encoder, features, only, workers, ray, shard_rows, folder, json):
    """One line a command and size."""
    home = folder or Path(tempfile.mkdtemp(prefix="ltr-scale-"))
    figures, wanted = [], ["--encoder", encoder, *(["--features", features] if features else ["--recommended"])]
    try:
        home.mkdir(parents=True, exist_ok=True)
        for size in sizes:
            samples = home / f"{'interleaved' if interleaved else 'together'}-{size}.jsonl"
            if not samples.exists():
                write_samples(samples, size // CANDIDATES, interleaved=interleaved)
            length = samples.stat().st_size
            print(f"{size:,} candidates in {size // CANDIDATES:,} groups, {length >> 20:,} MB", flush=True)
            for name in [name for name in COMMANDS if name in (only or COMMANDS)]:
                for who in [{"workers": number} for number in workers] + [{"ray": number} for number in workers * ray]:
                    if name not in WORKING and who != {"workers": workers[0]}:
                        continue
                    shutil.rmtree(home / "cache", ignore_errors=True)  # no command finds vectors of another
                    words = [*arguments(name, samples, home, wanted, shard_rows), *engine(name, who)]
                    figure = measured(words, LTR_CACHE_DIR=str(home / "cache"))
                    setting = {"command": name, "candidates": size, "interleaved": interleaved, **who}
                    figures.append(setting | figure)
                    show(f"{name} {engine_text(name, who)}", size, **figure)
    finally:
        if folder is None:
            shutil.rmtree(home, ignore_errors=True)
    if json:
        write_json(json, figures)
    return 0 if all(figure["exit"] == 0 for figure in figures) else 1


def arguments(name, samples, home, wanted, shard_rows):
    """The arguments of a command of ltr."""
    rows = [] if shard_rows is None else ["--shard-rows", str(shard_rows)]
    columns, run = f"{home / samples.stem}-{wanted[1]}/", str(home / f"{samples.stem}-{wanted[1]}-run")
    match name:
        case "validate":
            return [name, str(samples), *rows, "--format", "tsv"]
        case "featurize":
            return [name, str(samples), "-o", columns, *wanted, "--overwrite", "-q", *rows]
        case "train":
            return [name, columns, "-o", run, "--trainer", "newton", "--set", "train.l2=0.001", "--overwrite", "-q"]
        case "evaluate":
            return [name, run, columns, "-o", f"{run}-measured", "--overwrite", "-q"]
    return [name, run, "--samples", columns]


def engine(name, who):
    """The arguments that say who works."""
    if name not in WORKING:
        return []
    return ["--engine", "ray", "--workers", str(who["ray"])] if "ray" in who else ["--workers", str(who["workers"])]


def engine_text(name, who):
    """Who works, in a word."""
    if name not in WORKING:
        return ""
    return f"ray {who['ray']}" if "ray" in who else f"by {who['workers']}"


def measured(arguments, **environment):
    """Exit code, wall and CPU seconds, and the peak memory of the largest process, of a command."""
    start = time.perf_counter()
    child = os.posix_spawn(
        sys.executable,
        [sys.executable, "-m", "ltr", *arguments],
        os.environ | environment,
        file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)],
    )
    on_ray, ended = {}, 0
    while not ended:
        if "ray" in arguments:
            on_ray |= cpu_below(child)
            time.sleep(PAUSE)
        ended, status, usage = os.wait4(child, os.WNOHANG if "ray" in arguments else 0)
    return {
        "exit": os.waitstatus_to_exitcode(status),
        "wall_s": time.perf_counter() - start,
        "cpu_s": usage.ru_utime + usage.ru_stime + sum(on_ray.values()),
        "peak_mb": usage.ru_maxrss / 1024,
    }


def cpu_below(process):
    """CPU seconds of each process below that one, by number: nobody who waits for it learns those of Ray's."""
    parents, seconds = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_bytes().rpartition(b")")[2].split()
            number = int(path.parent.name)
            parents[number], seconds[number] = int(fields[1]), (int(fields[11]) + int(fields[12])) / TICKS
    below, level = {}, {process}
    while level := {number for number, parent in parents.items() if parent in level}:
        below |= {number: seconds[number] for number in level}
    return below


def show(name, size, *, exit, wall_s, cpu_s, peak_mb):
    """The figures of a command, in a line; the bound is that of the issue."""
    bound = 700 + 100 * size / CANDIDATES / 2**20
    rate = f"{size / cpu_s:,.0f} candidates a CPU second"
    print(
        f"  {name:16} {wall_s:8.1f} s wall {cpu_s:8.1f} s CPU, {rate}; peak {peak_mb:6,.0f} MB "
        f"(bound {bound:,.0f} and the states){'' if exit == 0 else f'; exit {exit}'}",
        flush=True,
    )


def write_json(path, figures):
    """The figures, as a list."""
    path.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


@dataclass(frozen=True)
class Names:
    """What tools are called, and their texts."""

    names: list
    texts: list

    @classmethod
    def made(cls):
        """Each tool has a verb and a thing; queries name them."""
        pairs = [(tool % VERBS, tool // VERBS) for tool in range(TOOLS)]
        return cls(
            [f"verb{verb}_thing{thing}" for verb, thing in pairs],
            [f"it can verb{verb} any thing{thing} of {(verb * 7 + thing) % 97} people" for verb, thing in pairs],
        )


def write_samples(path, groups, *, interleaved):
    """Samples a line each; the same groups in either order, each drawn from its own number."""
    tools, order = Names.made(), np.arange(groups)
    if interleaved:
        order = np.concatenate([order[node::GROUPS] for node in range(GROUPS)])
    temporary = path.with_suffix(".part")
    with temporary.open("w", encoding="utf-8", buffering=1 << 20) as file:
        for first in range(0, groups, AT_ONCE):
            file.writelines(lines_of(order[first : first + AT_ONCE], tools))
    temporary.rename(path)


def lines_of(numbers, tools):
    """The lines of some groups."""
    words = draws(numbers, 4, WORDS)
    step = 1 + 2 * draws(numbers, 1, TOOLS // 2, salt=7)  # odd: no tool comes twice
    offered = (draws(numbers, 1, TOOLS, salt=5) + np.arange(CANDIDATES) * step) % TOOLS
    popular = draws(numbers, 1, 100, salt=11)[:, 0]
    right = np.where(popular < 70, offered.argmin(axis=1), draws(numbers, 1, CANDIDATES, salt=13)[:, 0])
    clear = draws(numbers, 2, 10, salt=17)
    for number, said, listed, place, (verb, thing) in zip(
        numbers.tolist(), words.tolist(), offered.tolist(), right.tolist(), clear.tolist(), strict=True
    ):
        tool = listed[place]
        about = f"verb{tool % VERBS if verb < 7 else verb} thing{tool // VERBS if thing < 7 else thing}"
        query = f"please {about} " + " ".join(f"word{word}" for word in said)
        head = f'{{"trace_id":"t{number // GROUPS}","node_id":"n{number % GROUPS}","query":"{query}","tool":"'
        for position, each in enumerate(listed):
            text = f'{tools.names[each]}","tool_description":"{tools.texts[each]}"'
            yield f'{head}{text},"label":{int(position == place)}}}\n'


def draws(numbers, columns, below, salt=1):
    """Whole numbers below a bound, a row for each group: they follow from its number alone."""
    keys = numbers.astype(np.uint64)[:, None] * np.uint64(1 << 16) + np.arange(columns, dtype=np.uint64) * np.uint64(64)
    mixed = keys + np.uint64(salt) * SEED
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return ((mixed ^ (mixed >> np.uint64(31))) % np.uint64(below)).astype(np.int64)
