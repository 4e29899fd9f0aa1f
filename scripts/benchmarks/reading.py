"""CPU and memory of reading samples, TREC runs and logs, and of writing, beside the standard library and others.

Samples are lines of 264 bytes. A TREC run has 1,000 documents a topic, sorted by topic and shuffled, with ids as in
news collections; ours also counts lines, hashes the file and refuses documents that stand twice. Logs are the examples
of the tests, each copy with ids of its own. Each case runs in a process of its own; rounds are interleaved and the
ratios are taken inside a round.
"""

import argparse
import json
import random
import re
import statistics
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from processes import in_own_process, memory_mb
from subcommands import at_least

LINE_BYTES = 264
TOPIC = 1000  # documents
IDS = re.compile(r'"(?:\w*(?:[iI]d|trace)|user)": "([^"]+)"')
HEXADECIMAL = re.compile(r"[0-9a-f]{16,}")


def options(parser):
    """Options of the command line."""
    parser.add_argument("rows", nargs="?", type=at_least(1000), default=1_000_000, help="lines (default: %(default)s)")
    parser.add_argument("rounds", nargs="?", type=at_least(1), default=3, help="(default: %(default)s)")
    parser.add_argument("--files", nargs="+", metavar="NAME", help="of samples, written, trec, shuffled, importers")
    parser.add_argument("--case", nargs=2, metavar=("CASE", "FILE"), help=argparse.SUPPRESS)


def main(*, rows, rounds, files, case):
    """Seconds, memory and rates of each case, and how long the others take as often as ours."""
    if case:
        print(json.dumps(measured(case[0], Path(case[1]))))
        return
    for name in files or FILES:
        write, cases = FILES[name]
        cases = cases or tuple(f"import {each}" for each in importers())
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "file")
            if write:
                write(path, rows)
            print(f"{name}: {rows:,} lines, {rounds} rounds")
            show(cases, [{each: figures_of(each, path, rows) for each in cases} for _ in range(rounds)])


def figures_of(case, path, rows):
    """Return what a process of its own measures; None where the reader is not installed."""
    package = case.partition(" ")[0]
    if package in ("pytrec_eval", "pandas") and not find_spec(package):
        return None
    if package == "import":  # one file for each
        write_log(path, rows, importers()[case.partition(" ")[2]])
    return json.loads(in_own_process("reading", "--case", case, path)) | {"MB": path.stat().st_size / 1e6}


def show(cases, figures):
    """Print a line a case; those of a file are compared with the first."""
    for case in cases:
        if figures[0][case] is None:
            print(f"  {case:22} not installed")
            continue
        seconds, memory, above, number, size = (
            statistics.median(taken[case][key] for taken in figures)
            for key in ("seconds", "peak_mb", "above_mb", "number", "MB")
        )
        line = f"  {case:22} {seconds:6.2f} s CPU, {size / seconds:6.1f} MB/s; {memory:5.0f} MB above bare python, "
        line += f"{above:5.0f} above imports; {number:,.0f} read"
        if case != cases[0] and not case.startswith("import "):
            ratios = [taken[case]["seconds"] / taken[cases[0]]["seconds"] for taken in figures]
            line += f"; / {cases[0]}: {statistics.median(ratios):.2f} [{min(ratios):.2f} .. {max(ratios):.2f}]"
        print(line, flush=True)


def measured(case, path):
    """Return CPU seconds, peak MB above the bare interpreter and above its imports, and how much was read."""
    bare = memory_mb("VmHWM")
    read = CASES.get(case) or importing(case.partition(" ")[2])
    read(None)  # imports
    imported, begin = memory_mb("VmHWM"), time.process_time()
    number = read(path)
    seconds, peak = time.process_time() - begin, memory_mb("VmHWM")
    return {"seconds": seconds, "peak_mb": peak - bare, "above_mb": peak - imported, "number": number}


def read_samples(path):
    """Read samples into groups."""
    from ltr import rank, read_groups  # noqa: F401 - numpy as well

    return path and len(read_groups(path).labels)


def read_json(path):
    """Read samples into dictionaries."""
    if path:
        with path.open("rb") as file:
            return len([json.loads(line) for line in file])
    return None


def read_trec(path):
    """Read a TREC run with ltr."""
    from ltr.importers.trec import RUN, read_entries

    return path and len(read_entries(path, RUN).values)


def parse_trec(path):
    """Read a TREC run with the parser of pytrec_eval-terrier."""
    import pytrec_eval

    if path:
        with path.open() as file:
            return sum(map(len, pytrec_eval.parse_run(file).values()))
    return None


def frame_of_trec(path):
    """Read a TREC run with pandas, at any white space."""
    import pandas

    names = ["topic", "q0", "doc", "rank", "score", "tag"]
    return path and len(pandas.read_csv(path, sep=r"\s+", names=names, dtype={"topic": str, "doc": str}))


def write_structs(path):
    """Write 200,000 records of a query with ltr."""
    import msgspec

    from ltr.files import write_lines
    from ltr.jsonl import encode_lines

    rows = [record(n) for n in range(200_000 if path else 1)]
    row_type = msgspec.defstruct("Row", [(name, type(value)) for name, value in rows[0].items()])
    if path:
        write_lines(path, encode_lines([row_type(**row) for row in rows]))
    return len(rows)


def write_json(path):
    """Write the same with the standard library."""
    rows = [record(n) for n in range(200_000 if path else 1)]
    if path:
        path.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    return len(rows)


def importing(name):
    """Return a reader of the format."""

    def read(path):
        from ltr import import_samples

        return path and import_samples(name, [path], path.with_suffix(".jsonl"), overwrite=True).groups

    return read


def write_samples(path, rows):
    """Write groups of ten candidates with four features; the query is as long as the line length allows."""
    draw, tools = random.Random(0), [f"tool_{n:04d}" for n in range(2000)]
    with path.open("w") as file:
        for group in range(rows // 10):
            key = {"trace_id": f"trace-{group // 3:06d}", "node_id": f"n{group % 3}"}
            ends = [
                {"tool": tool, "features": [draw.random() for _ in range(4)], "label": int(position == 0)}
                for position, tool in enumerate(draw.sample(tools, 10))
            ]
            room = LINE_BYTES - 1 - max(len(json.dumps(key | {"query": ""} | end)) for end in ends)
            query = " ".join(f"word{draw.randrange(500)}" for _ in range(20))[:room]
            file.writelines(json.dumps(key | {"query": query} | end).ljust(LINE_BYTES - 1) + "\n" for end in ends)


def write_run(path, rows, *, is_shuffled=False):
    """Write a TREC run."""
    draw, written = random.Random(0), []
    for topic in range(301, 301 + max(rows // TOPIC, 1)):
        documents = draw.sample(range(10**7), TOPIC)
        scores = sorted((draw.gauss(10, 3) for _ in range(TOPIC)), reverse=True)
        for rank, (doc, score) in enumerate(zip(documents, scores, strict=True), start=1):
            written.append(f"{topic} Q0 FBIS{doc % 9}-{doc} {rank} {score:.6f} run\n")
    if is_shuffled:
        draw.shuffle(written)
    path.write_text("".join(written))


def importers():
    """Return the examples of each format."""
    from tests import test_import_fuzz, test_import_mutations

    documents = test_import_fuzz.GOOD | test_import_mutations.JSON
    return {name: each if isinstance(each, list) else [each] for name, each in documents.items()}


def write_log(path, rows, documents):
    """Write so many lines of copies of the documents, each copy with other ids."""
    texts = [json.dumps(each) for each in documents]
    ids = sorted({each for text in texts for each in IDS.findall(text)}, key=len, reverse=True)
    pattern = re.compile("|".join(f'"{re.escape(each)}"' for each in ids) or "(?!)")

    def renamed(match, copy):
        name = match[0][1:-1]
        return f'"{name[:-8]}{copy:08x}"' if HEXADECIMAL.fullmatch(name) else f'"{name}-{copy}"'

    with path.open("w") as file:
        for copy in range(-(-rows // len(texts))):
            file.writelines(pattern.sub(lambda match, copy=copy: renamed(match, copy), text) + "\n" for text in texts)


def record(n):
    """Return a line of per_query.jsonl."""
    ids = {"trace_id": f"t{n}", "node_id": "n1", "query": "what is the weather in Paris"}
    first = {"true_candidate": "get_weather", "predicted_candidate": "get_time", "rank": 2}
    top3 = {"top3_candidates": ["get_time", "get_weather", "get_place"], "top3_scores": [0.123456789 * n, 0.1, -0.5]}
    return ids | first | top3 | {"is_top1_correct": False, "is_top3_correct": True}


CASES = {
    "ltr samples": read_samples,
    "stdlib json": read_json,
    "ltr lines": write_structs,
    "json.dumps": write_json,
    "ltr trec": read_trec,
    "pytrec_eval": parse_trec,
    "pandas": frame_of_trec,
}
TREC = ("ltr trec", "pytrec_eval", "pandas")
FILES = {  # how each is written, and what reads it; the importers write their own
    "samples": (write_samples, ("ltr samples", "stdlib json")),
    "written": (lambda path, rows: path.touch(), ("ltr lines", "json.dumps")),
    "trec": (write_run, TREC),
    "shuffled": (lambda path, rows: write_run(path, rows, is_shuffled=True), TREC),
    "importers": (None, ()),
}
