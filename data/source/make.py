"""Write the data sets of this project from their hand-written source.

The same bytes on every run; what they hold and how they are made stands in data/README.md.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from data.source import chat_log, team_set, tool_set
from ltr.files import write_file, write_lines

Sample = dict[str, Any]

QUERIES = {"train": 900, "test": 350}  # of each kind, at least
STARTER = {"train": 150, "test": 60}  # the first of the tool queries, shipped inside the package
FIRST_TRACE = {"train": 1, "test": 1001}
CONVERSATIONS = 200  # of the chat log


def write_data(folder: Path, queries: int | None = None) -> None:
    """Write samples and catalogues of each kind, the chat log, and the small set inside the package.

    `queries` is how many of each side, at least; fewer begin with the same.
    """
    tools, graphs, log = (folder / "data" / name for name in ("tools", "graphs", "log"))
    starter = folder / "ltr" / "experiments" / "starter" / "data"
    for directory in (tools, graphs, log, starter):
        directory.mkdir(parents=True, exist_ok=True)
    for directory in (tools, starter):
        write_catalogue(directory / "tools.json", tool_set.catalogue())
    write_catalogue(graphs / "agents.json", team_set.catalogue())
    for side, first in FIRST_TRACE.items():
        wanted = queries or QUERIES[side]
        samples = list(tool_set.samples(side, first, max(wanted, STARTER[side])))
        write_samples(tools / f"{side}.jsonl.gz", samples)
        write_samples(starter / f"{side}.jsonl.gz", of_whole_traces(samples, STARTER[side]))
        write_samples(graphs / f"{side}.jsonl.gz", team_set.samples(side, first, wanted))
    write_samples(log / "chats.jsonl.gz", chat_log.lines(CONVERSATIONS))


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
    write_file(path, json.dumps(catalogue, indent=1) + "\n")


def write_samples(path: Path, samples: Iterable[Sample]) -> None:
    """Write samples, or the lines of a log, as lines of JSON."""
    write_lines(path, (json.dumps(sample).encode() for sample in samples))
