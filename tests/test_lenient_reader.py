"""The lenient reader against the strict one: it finds an error in a file exactly where the strict one refuses it."""

import json
import random

import pytest

from ltr.audit.audit import audit_samples
from ltr.data.groups import read_groups
from ltr.errors import DataError
from tests.builders import graph_lines, tool_lines

READY = [{**line, "features": [float(n % 3), 1.0]} for n, line in enumerate(tool_lines(traces=3))]
BASES = [list(tool_lines(traces=3)), list(graph_lines(traces=3)), READY]
VALUES = [None, True, -1, float("nan"), "", [], {}, "x", 1e308, 10**30, {"nodes": []}, [1.0], "\ud800"]


def damaged(rng):
    """Lines with a few values, bytes, repetitions or places changed."""
    lines = [dict(line) for line in rng.choice(BASES)]
    for line in rng.sample(lines, rng.randrange(3)):
        line[rng.choice([*line, "weight", "time", "candidates"])] = rng.choice(VALUES)
    raw = [bytearray(json.dumps(line).encode()) for line in lines]
    for line in rng.sample(raw, rng.randrange(2)):
        line[rng.randrange(len(line))] = rng.randrange(256)
    if rng.random() < 0.2:
        raw.insert(rng.randrange(len(raw)), rng.choice(raw))
    if rng.random() < 0.2:
        rng.shuffle(raw)
    return b"\n".join(raw)


def refused(path):
    """What the reader says of the file; nothing where it reads it."""
    try:
        read_groups(path, labels_required=False)
    except DataError as refusal:
        return str(refusal)
    return ""


@pytest.mark.parametrize("seed", range(8))
def test_an_error_is_found_where_the_reader_refuses_and_nowhere_else(tmp_path, seed):
    rng, path = random.Random(seed), tmp_path / "s.jsonl"
    for _ in range(12):
        path.write_bytes(damaged(rng))
        report = audit_samples(path)
        errors = [
            each for each in report.findings if each.severity == "error" and "other lines have" not in each.message
        ]
        refusal = refused(path)
        assert bool(errors) == bool(refusal)
        assert not refusal or any(each.message in refusal for each in errors)
