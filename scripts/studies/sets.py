"""Sets of data that studies read: a folder with train.jsonl.gz and test.jsonl.gz, and tools.json for a catalogue."""

import numpy as np

from ltr.data.catalogues.tools import read_tools
from ltr.data.groups import read_groups, select
from ltr.experiments.negative_sampling import draw_negatives


def samples(folder, encoder):
    """The training and the test groups; where they name right tools alone, with all others of the catalogue."""
    tools = read_tools(folder / "tools.json") if (folder / "tools.json").exists() else None
    sides = [read_groups(str(folder / f"{split}.jsonl.gz"), tools=tools) for split in ("train", "test")]
    if tools and all(side.labels.all() for side in sides):
        sides = [draw_negatives(side, tools, "catalogue", encoder=encoder, seed=0) for side in sides]
    return sides


def few_traces(groups, number, draw):
    """The groups of so many traces, drawn at random by the number of the draw."""
    drawn = np.random.default_rng(draw).permutation(len(groups.candidates.trace_ids))[:number]
    return select(groups, np.flatnonzero(np.isin(groups.candidates.traces, drawn)))
