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
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import numpy as np

from processes import LTR, spent
from subcommands import at_least

TOOLS, CANDIDATES, GROUPS = 2_000, 10, 3  # tools in all, candidates of a group, groups of a trace
VERBS, WORDS = 40, 400
PAUSE, TICKS = 0.2, os.sysconf("SC_CLK_TCK")  # seconds between two looks at Ray's processes; of CPU time
AT_ONCE = 10_000  # groups that are drawn together
NAMES = [f"verb{tool % VERBS}_thing{tool // VERBS}" for tool in range(TOOLS)]
TEXTS = [
    f"it can verb{tool % VERBS} any thing{tool // VERBS} of {(tool % VERBS * 7 + tool // VERBS) % 97} people"
    for tool in range(TOOLS)
]
COMMANDS = {  # the arguments of each
    "validate": "validate {samples} --format tsv {rows}",
    "featurize": "featurize {samples} -o {columns} {wanted} --overwrite -q {rows}",
    "train": "train {columns} -o {run} --trainer newton --set train.l2=0.001 --overwrite -q",
    "evaluate": "evaluate {run} {columns} -o {run}-measured --overwrite -q",
    "rank": "rank {run} --samples {columns}",
}
ALONE = ("rank",)  # takes no workers


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
    parser.add_argument("--json", dest="out", type=Path, metavar="FILE", help="also write the figures there")


def main(*, sizes, interleaved, encoder, features, only, workers, ray, shard_rows, folder, out):
    """One line a command and size."""
    home, figures = folder or Path(tempfile.mkdtemp(prefix="ltr-scale-")), []
    wanted = f"--encoder {encoder} {f'--features {features}' if features else '--recommended'}"
    engines = [f"--workers {number}" for number in workers]
    engines += [f"--engine ray --workers {number}" for number in workers * ray]
    try:
        home.mkdir(parents=True, exist_ok=True)
        for size in sizes:
            samples = home / f"{'interleaved' if interleaved else 'together'}-{size}.jsonl"
            if not samples.exists():
                write_samples(samples, size // CANDIDATES, is_interleaved=interleaved)
            paths = {"samples": samples, "columns": f"{home / samples.stem}-{encoder}/", "wanted": wanted}
            paths |= {"run": home / f"{samples.stem}-{encoder}-run", "rows": f"--shard-rows {shard_rows}"}
            paths |= {} if shard_rows else {"rows": ""}
            length = samples.stat().st_size
            print(f"{size:,} candidates in {size // CANDIDATES:,} groups, {length >> 20:,} MB", flush=True)
            for name, line in COMMANDS.items():
                for who in () if only and name not in only else [""] if name in ALONE else engines:
                    shutil.rmtree(home / "cache", ignore_errors=True)  # no command finds vectors of another
                    figure = measured(f"{line.format(**paths)} {who}".split(), home)
                    setting = {"command": name, "candidates": size, "interleaved": interleaved, "engine": who}
                    figures.append(setting | figure)
                    show(f"{name} {who}", size, figure)
    finally:
        if folder is None:
            shutil.rmtree(home, ignore_errors=True)
    if out:
        out.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return int(any(figure["code"] for figure in figures))


def measured(words, home):
    """Return what a command used; of Ray the CPU seconds of all its processes."""
    on_ray = {}

    def look(process):
        on_ray.update(cpu_below(process.pid))
        time.sleep(PAUSE)

    used = spent(*LTR, *words, meanwhile=look if "ray" in words else None, LTR_CACHE_DIR=str(home / "cache"))
    return asdict(used) | {"cpu": max(used.cpu, sum(on_ray.values()))}


def cpu_below(process):
    """Return the CPU seconds of each process below that one: nobody who waits for it learns those of Ray's."""
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


def show(name, size, used):
    """Print the figures of a command, in a line; beside its peak stands what is promised."""
    bound, rate = 700 + 100 * size / CANDIDATES / 2**20, size / used["cpu"]
    text = f"  {name:26} {used['seconds']:8.1f} s wall {used['cpu']:8.1f} s CPU, {rate:,.0f} candidates a CPU second; "
    text += f"peak {used['peak_mb']:6,.0f} MB (bound {bound:,.0f} and the states)"
    print(text + (f"; exit {used['code']}: {used['stderr'][-200:]}" if used["code"] else ""), flush=True)


def write_samples(path, groups, *, is_interleaved):
    """Write samples, a line each; the same groups in either order, each drawn from its own number."""
    order = np.arange(groups)
    if is_interleaved:
        order = np.concatenate([order[node::GROUPS] for node in range(GROUPS)])
    temporary = path.with_suffix(".part")
    with temporary.open("w", encoding="utf-8", buffering=1 << 20) as file:
        for first in range(0, groups, AT_ONCE):
            file.writelines(lines_of(order[first : first + AT_ONCE]))
    temporary.rename(path)


def lines_of(numbers):
    """Yield the lines of some groups."""
    step = 1 + 2 * draws(numbers, 1, TOOLS // 2, salt=7)  # odd: no tool comes twice
    offered = (draws(numbers, 1, TOOLS, salt=5) + np.arange(CANDIDATES) * step) % TOOLS
    popular = draws(numbers, 1, 100, salt=11)[:, 0]
    right = np.where(popular < 70, offered.argmin(axis=1), draws(numbers, 1, CANDIDATES, salt=13)[:, 0])
    drawn = numbers, draws(numbers, 4, WORDS, salt=1), offered, right, draws(numbers, 2, 10, salt=17)
    for number, said, listed, place, (verb, thing) in zip(*(each.tolist() for each in drawn), strict=True):
        tool = listed[place]
        about = f"verb{tool % VERBS if verb < 7 else verb} thing{tool // VERBS if thing < 7 else thing}"
        query = f"please {about} " + " ".join(f"word{word}" for word in said)
        head = f'{{"trace_id":"t{number // GROUPS}","node_id":"n{number % GROUPS}","query":"{query}","tool":"'
        for position, each in enumerate(listed):
            text = f'{NAMES[each]}","tool_description":"{TEXTS[each]}"'
            yield f'{head}{text},"label":{int(position == place)}}}\n'


def draws(numbers, columns, below, *, salt):
    """Return whole numbers below a bound, a row for each group: they follow from its number alone."""
    keys = numbers.astype(np.uint64)[:, None] * np.uint64(1 << 16) + np.arange(columns, dtype=np.uint64) * np.uint64(64)
    mixed = keys + np.uint64(salt) * np.uint64(0x5EED)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return ((mixed ^ (mixed >> np.uint64(31))) % np.uint64(below)).astype(np.int64)
