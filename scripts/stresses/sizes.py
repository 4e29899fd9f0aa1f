"""Peak memory at millions of candidates, of a group of a million, of a line of a gigabyte, and over 100,000 tools.

Each is a command of ltr in a process of its own, on a file that is made for it. Ends with 1 where a command fails that
should not, where the long line takes more than 300 MB to refuse, or ranking over 100,000 tools more than 500 MB.
"""

import json
from pathlib import Path

import numpy as np

from ltr.files.reading import zstd_module
from processes import LTR, spent
from stresses.attacks import Cases, Figure, scratch
from subcommands import at_least
from tests.made import tool_rows, written

PER_GROUP, AT_ONCE = 10, 20_000
LONGEST_MB, TOOLS_MB = 300, 500


def options(parser):
    """Options of the command line."""
    text = "of candidates, in groups of ten (default: 1 5 20)"
    parser.add_argument("millions", nargs="*", type=at_least(1), default=[1, 5, 20], help=text)


def main(*, millions):
    """A line a size."""
    sizes = [("candidates", number) for number in millions] + [("a group", 1), ("a line", 1 << 30), ("tools", 100_000)]
    with scratch(is_loaded=False):
        return counted("sizes", sizes, lambda kind, size: SIZES[kind](size))


def counted(part, cases, work):
    """Return the figure of cases, each of which is a text and whether it is good."""
    kept, texts, wrong = Cases(part), [], 0
    for _, (text, is_good) in kept.outcomes(cases, work):
        texts.append(text if is_good else f"{text} (wrong)")
        wrong += not is_good
        print(texts[-1], flush=True)
    return Figure("; ".join(texts), is_good=not wrong, seconds=kept.seconds)


def shown(title, used, *, code=0, most_mb=None, says=""):
    """Return the text of a command and whether it ended as it should, within its memory."""
    if used.code != code or says not in used.stderr:
        return f"{title}: exit {used.code}: {used.stderr[-200:]}", False
    is_small = most_mb is None or used.peak_mb < most_mb
    return f"{title} {used.peak_mb:,.0f} MB, {used.seconds:,.0f} s", is_small


def candidates(millions):
    """Train on so many ready rows."""
    samples = ready(groups=millions * 1_000_000 // PER_GROUP, size=PER_GROUP)
    used = spent(*LTR, "train", samples, "-o", f"of-{millions}-million", "--trainer", "newton", "-q")
    text, is_good = shown(f"{millions} million candidates", used)
    return f"{text} ({samples.stat().st_size >> 20:,} MB of .zst)", is_good


def one_group(_):
    """Train on a group of a million, which is one line, and small ones."""
    samples = ready(groups=1, size=1_000_000, more=200)
    used = spent(*LTR, "train", samples, "-o", "one", "--trainer", "newton", "-q", LTR_LARGEST_LINE="128")
    return shown("a group of a million", used)


def long_line(size):
    """Refuse a line of that many bytes."""
    with Path("long.jsonl").open("wb") as file:
        file.write(b'{"trace_id": "')
        file.truncate(size)  # a hole: it takes no room on the disk
    used = spent(*LTR, "train", "long.jsonl", "-o", "none", "-q")
    return shown("a line of 1 GB, refused:", used, code=3, most_mb=LONGEST_MB, says="longer than 64 MiB")


def many_tools(number):
    """Rank over so many tools."""
    train = written("t.jsonl", tool_rows(range(40)))
    spent(*LTR, "train", train, "-o", "router", "--recommended", "--encoder", "hash", "-q")
    tools = ({"name": f"get_{n}", "description": f"gives the {n % 977} of place {n % 991}"} for n in range(number))
    used = spent(*LTR, "rank", "router", "the 5 of place 7", "--tools", written("tools.jsonl", tools))
    return shown(f"ranking over {number:,} tools", used, most_mb=TOOLS_MB)


SIZES = {"candidates": candidates, "a group": one_group, "a line": long_line, "tools": many_tools}


def ready(*, groups, size, more=0):
    """Write ready samples: groups of one size, and more of ten."""
    rng, path = np.random.default_rng(0), Path("ready.jsonl.zst")

    def line(number, size):
        phi, right = rng.normal(size=(size, 4)).round(3).tolist(), int(rng.integers(size))
        rows = [{"tool": f"a{place}", "features": row, "label": int(place == right)} for place, row in enumerate(phi)]
        return json.dumps({"trace_id": f"t{number // 3}", "node_id": number, "query": "q", "candidates": rows}) + "\n"

    with zstd_module().open(path, "wb") as file:
        for first in range(0, groups, AT_ONCE):
            file.write("".join(line(n, size) for n in range(first, min(groups, first + AT_ONCE))).encode())
        file.write("".join(line(groups + n, PER_GROUP) for n in range(more)).encode())
    return path
