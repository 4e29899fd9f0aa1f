"""Write the data sets of this project from their hand-written source.

It lies in studies/data_source. The same bytes on every run; what they hold and how they are made stands in
data/README.md.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from ltr.files.atomic_write import write_lines, write_text
from ltr.files.filesystem_operations import make_directory
from studies.data_source import chat_log, team_set, tool_set
from subcommands import ROOT, at_least

Sample = dict[str, Any]

QUERIES = {"train": 900, "test": 350}  # of each kind, at least
STARTER = {"train": 150, "test": 60}  # the first of the tool queries, shipped inside the package
FIRST_TRACE = {"train": 1, "test": 1001}
CONVERSATIONS = 200  # of the chat log


def options(parser):
    """Options of the command line."""
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT, help="to write under (default: this checkout)")
    parser.add_argument(
        "--queries", type=at_least(20), help=f"of each side, at least; fewer begin with the same (default: {QUERIES})"
    )


def main(*, folder, queries=None):
    """Write samples and catalogues of each kind, the chat log, and the small set inside the package."""
    tools, graphs = make_directory(folder / "data" / "tools"), make_directory(folder / "data" / "graphs")
    starter = make_directory(folder / "ltr" / "experiments" / "starter" / "data")
    for directory in (tools, starter):
        write_catalogue(directory / "tools.json", tool_set.catalogue())
    write_catalogue(graphs / "agents.json", team_set.catalogue())
    for side, first in FIRST_TRACE.items():
        wanted = queries or QUERIES[side]
        samples = list(tool_set.samples(side, first, max(wanted, STARTER[side])))
        write_samples(tools / f"{side}.jsonl.gz", samples)
        write_samples(starter / f"{side}.jsonl.gz", of_whole_traces(samples, STARTER[side]))
        write_samples(graphs / f"{side}.jsonl.gz", team_set.samples(side, first, wanted))
    write_samples(make_directory(folder / "data" / "log") / "chats.jsonl.gz", chat_log.lines(CONVERSATIONS))
    return 0


def of_whole_traces(samples: Iterable[Sample], queries: int) -> Iterator[Sample]:
    """The first traces, until they hold that many queries."""
    seen = set()
    for trace, rows in groupby(samples, key=itemgetter("trace_id")):
        if len(seen) >= queries:
            return
        for row in rows:
            seen.add((trace, row["node_id"]))
            yield row


def write_catalogue(path: Path, catalogue: dict[str, Any]) -> None:
    """Write a catalogue as JSON."""
    write_text(path, json.dumps(catalogue, indent=1) + "\n")


def write_samples(path: Path, samples: Iterable[Sample]) -> None:
    """Write samples, or the lines of a log, as lines of JSON."""
    write_lines(path, (json.dumps(sample).encode() for sample in samples))
