"""CPU and memory of reading and writing JSON lines, beside the standard library.

Samples are lines of 264 bytes. Each case runs in a process of its own; rounds are interleaved and the ratios are taken
inside a round.
"""

import argparse
import json
import random
import statistics
import tempfile
import time
from pathlib import Path

import msgspec
import typer  # noqa: F401 - what every command loads is no part of the memory of reading

from benchmarks.resources import in_own_process, peak_mb
from subcommands import at_least

LINE_BYTES = 264
CASES = ("read_groups", "stdlib json", "encode_lines", "json.dumps")


def options(parser):
    """Options of the command line."""
    parser.add_argument("rows", nargs="?", type=at_least(1), default=1_000_000, help="samples (default: %(default)s)")
    parser.add_argument("rounds", nargs="?", type=at_least(1), default=3, help="(default: %(default)s)")
    parser.add_argument("--case", nargs=2, metavar=("CASE", "FILE"), help=argparse.SUPPRESS)


def main(*, rows, rounds, case):
    """Seconds and memory of each case, and the ratios."""
    if case:
        print(json.dumps(measure(case[0], Path(case[1]))))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "samples.jsonl"
        write_samples(path, rows)
        print(f"{rows:,} lines, {path.stat().st_size / rows:.0f} bytes a line, {rounds} rounds")
        figures = [{name: figures_of(name, path) for name in CASES} for _ in range(rounds)]
    for name in CASES:
        columns = zip(*(taken[name] for taken in figures), strict=True)
        seconds, above_bare, above_imports = map(statistics.median, columns)
        memory = f"{above_bare:5.0f} MB above bare python, {above_imports:5.0f} MB above its imports"
        print(f"{name:12} {seconds:5.2f} s CPU, {memory}")
    for ours, theirs in (CASES[:2], CASES[2:]):
        ratios = [taken[theirs][0] / taken[ours][0] for taken in figures]
        print(f"{theirs} / {ours}: {statistics.median(ratios):.2f} [{min(ratios):.2f} .. {max(ratios):.2f}]")
    return 0


def figures_of(case: str, path: Path) -> list[float]:
    """What a process of its own measures."""
    process = in_own_process("reading", "--case", case, path)
    process.check_returncode()
    return json.loads(process.stdout)


def measure(case: str, path: Path) -> tuple[float, float, float]:
    """CPU seconds, peak MB above the bare interpreter, peak MB above the interpreter with its imports."""
    if case == "read_groups":
        return read_case(path)
    return json_case(path) if case == "stdlib json" else write_case(case, path)


def read_case(path: Path) -> tuple[float, float, float]:
    """Samples into groups."""
    bare = peak_mb()
    from ltr.data.groups import read_groups

    imported = peak_mb()
    start = time.process_time()
    groups = read_groups(path)
    seconds = time.process_time() - start
    assert groups.offsets[-1] == len(groups.labels)
    return seconds, peak_mb() - bare, peak_mb() - imported


def json_case(path: Path) -> tuple[float, float, float]:
    """Samples into dictionaries."""
    bare = peak_mb()
    start = time.process_time()
    with path.open("rb") as file:
        samples = [json.loads(line) for line in file]
    seconds = time.process_time() - start
    assert samples
    return seconds, peak_mb() - bare, peak_mb() - bare


def write_case(case: str, path: Path) -> tuple[float, float, float]:
    """200,000 records of a query into lines."""
    from ltr.data.jsonlines import encode_lines
    from ltr.files.atomic_write import write_lines

    rows = [record(n) for n in range(200_000)]
    row_type = msgspec.defstruct("Row", [(name, type(value)) for name, value in rows[0].items()])
    structs = [row_type(**row) for row in rows]
    lines = encode_lines(structs) if case == "encode_lines" else (json.dumps(row).encode() for row in rows)
    before, start = peak_mb(), time.process_time()
    write_lines(path.with_suffix(".out"), lines)
    return time.process_time() - start, peak_mb() - before, peak_mb() - before


def write_samples(path: Path, rows: int) -> None:
    """Groups of ten candidates with four features; the query is as long as the line length allows."""
    generator = random.Random(0)
    tools = [f"tool_{n:04d}" for n in range(2000)]
    with path.open("w") as file:
        for group in range(rows // 10):
            key = {"trace_id": f"trace-{group // 3:06d}", "node_id": f"n{group % 3}"}
            ends = [
                {"tool": tool, "features": [generator.random() for _ in range(4)], "label": int(position == 0)}
                for position, tool in enumerate(generator.sample(tools, 10))
            ]
            room = LINE_BYTES - 1 - max(len(json.dumps(key | {"query": ""} | end)) for end in ends)
            query = " ".join(f"word{generator.randrange(500)}" for _ in range(20))[:room]
            file.writelines(json.dumps(key | {"query": query} | end).ljust(LINE_BYTES - 1) + "\n" for end in ends)


def record(n: int) -> dict[str, object]:
    """A line of per_query.jsonl."""
    return {
        "trace_id": f"t{n}",
        "node_id": "n1",
        "query": "what is the weather in Paris",
        "true_candidate": "get_weather",
        "predicted_candidate": "get_time",
        "top3_candidates": ["get_time", "get_weather", "get_place"],
        "top3_scores": [0.123456789 * n, 0.1, -0.5],
        "rank": 2,
        "is_top1_correct": False,
        "is_top3_correct": True,
    }
