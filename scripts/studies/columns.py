"""Feature columns beside plain loops, and whether labels of a trace reach its own training columns."""

import gzip
import json
import math
import tempfile
from itertools import groupby
from pathlib import Path

import numpy as np

from ltr import read_groups
from ltr.features.crossfit import fit_features
from ltr.features.fitted_features import FittedFeatures
from ltr.features.presets import SPECIFICATION
from ltr.features.registry import FeatureConfig


def options(parser):
    """Options of the command line."""
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")


def main(*, folders):
    """The differences, a folder at a time."""
    for folder in folders:
        path = folder / "train.jsonl.gz"
        print(folder)
        with gzip.open(path, "rt", encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        check_formulas(path, lines)
        with tempfile.TemporaryDirectory() as scratch:
            check_leaks(lines, Path(scratch, "samples.jsonl"))
    return 0


def tool_coop(line, group):
    """1, 0.7 or 0.3 by what of the name the query holds."""
    query, name = line["query"].lower(), line["tool"].lower()
    if name in query:
        return 1.0
    return 0.7 if any(part and part in query for part in name.split("_")) else 0.3


def graph_coop(line, group):
    """How the size of the graph fits the length of the query."""
    n = len(line["tree"]["nodes"])
    short = len(line["query"].split()) < 5
    return 0.2 + 0.8 * (1 / (1 + math.log(1 + n)) if short else min(1, math.log(1 + n) / 5))


def graph_struct(line, group):
    """Density, and unlikeness in size to the others of the group."""
    n, m = len(line["tree"]["nodes"]), len(line["tree"]["edges"])
    others = [len(other["tree"]["nodes"]) for other in group if other is not line]
    mean = sum(others) / len(others) if others else 0
    unlike = min(1, abs(n - mean) / max(mean, 1) / 2) if others else 0.5
    return 0.6 * (min(1, m / n) if n else 0) + 0.4 * unlike


LOOPS = {"tool.coop": tool_coop, "graph.coop": graph_coop, "graph.struct": graph_struct}


def check_formulas(path, lines):
    """The largest difference of each column to its loop."""
    candidates = read_groups(str(path)).candidates
    groups = [list(group) for _, group in groupby(lines, key=lambda line: (line["trace_id"], line["node_id"]))]
    for name, loop in LOOPS.items():
        if name.startswith(candidates.kind):
            values = FittedFeatures(candidates.kind, (FeatureConfig(name),), (None,), None)(candidates)[:, 0]
            by_hand = np.array([loop(line, group) for group in groups for line in group])
            largest = np.abs(values - by_hand).max()
            print(f"  {name:14} {len(by_hand):,} rows, largest difference to the loop {largest:.1e}")


def check_leaks(lines, path):
    """Flip every label of one trace: its own training columns must stay."""
    trace, phi = lines[0]["trace_id"], []
    for flip in (False, True):
        changed = [
            {**line, "label": 1 - line["label"]} if flip and line["trace_id"] == trace else line for line in lines
        ]
        path.write_text("".join(json.dumps(line) + "\n" for line in changed), encoding="utf-8")
        groups = read_groups(str(path))
        configs = [FeatureConfig(name) for name in SPECIFICATION[groups.candidates.kind]]
        phi.append(fit_features(configs, groups, "hash")[1])
    own = np.array([line["trace_id"] == trace for line in lines])
    moved = np.abs(phi[0] - phi[1])
    print(f"  labels of {trace} flipped: its {own.sum()} rows move by {moved[own].max():.1e}, ", end="")
    print(f"the others by up to {moved[~own].max():.1e}")
