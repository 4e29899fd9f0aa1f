"""Columns of phi that reveal the label, change nothing, or repeat each other."""

from collections.abc import Iterator, Sequence

import numpy as np

from ltr.arrays import FloatArray, group_sums
from ltr.audit.chance_test import ChanceTest
from ltr.audit.findings import Finding, Severity, first_lines, percentage
from ltr.data.groups import Groups, select
from ltr.features.crossfit import fit_features
from ltr.features.presets import SPECIFICATION
from ltr.features.registry import FeatureConfig

CERTAIN = 0.99  # of the groups, from which a column by itself predicts the label
COPIED = 0.999  # correlation inside groups from which a column is another one in another scale
SAMPLE = 300  # groups that plain features are computed for
EXPLAINED = {("tool.rel", "tool.struct"): "tool.struct is a monotone copy of tool.rel, sqrt(tool.rel + 0.1)"}


def column_findings(groups: Groups) -> Iterator[Finding]:
    """All findings about ready numbers; without them, copies among the specification's features on a sample."""
    ready, names = groups.candidates.features, groups.candidates.feature_names
    if ready is None:
        count = len(groups.offsets) - 1
        sample = select(groups, np.arange(0, count, -(-count // SAMPLE)))
        configs = [FeatureConfig(name) for name in SPECIFICATION[sample.candidates.kind]]
        _, phi = fit_features(configs, sample, "hash")
        yield from copied_columns([config.name for config in configs], phi, sample, "info")
        return
    yield from leaking_columns(groups, ready)
    starts = groups.offsets[:-1]
    ranges = np.maximum.reduceat(ready, starts, axis=0) - np.minimum.reduceat(ready, starts, axis=0)
    for column in np.flatnonzero(ranges.max(axis=0) == 0).tolist():
        message = f"{names[column]} is the same for all candidates of each group: no weight changes a ranking"
        yield Finding(severity="warning", code="constant-feature", message=message)
    yield from copied_columns(names, ready, groups, "warning")


def leaking_columns(groups: Groups, phi: FloatArray) -> Iterator[Finding]:
    """Columns that by themselves put the right candidate first nearly always."""
    counted = np.flatnonzero(ChanceTest.of(groups).counts)
    if not counted.size:
        return
    chosen = select(groups, counted)
    test, is_chosen = ChanceTest.of(chosen), np.repeat(ChanceTest.of(groups).counts, np.diff(groups.offsets))
    for column, name in enumerate(groups.candidates.feature_names):
        for sign, which in ((1, "largest"), (-1, "smallest")):
            tally = test.ranked_first(sign * phi[is_chosen, column])
            hits, queries = float(tally.hits[0]), len(test.sizes)
            if hits >= CERTAIN * queries and tally.is_beyond_chance[0]:
                message = (
                    f"{name} alone knows the answer: its {which} value is right in {percentage(hits, queries)} of the "
                    "groups; was it made from the label?"
                )
                where = first_lines(chosen.candidates, np.arange(queries))
                yield Finding(severity="warning", code="leak-feature", message=message, where=where, count=round(hits))


def copied_columns(names: Sequence[str], phi: FloatArray, groups: Groups, severity: Severity) -> Iterator[Finding]:
    """Pairs of columns that inside groups are copies of each other up to scale: |r| of COPIED or more."""
    sizes = np.diff(groups.offsets)
    means = np.column_stack([group_sums(column, groups.offsets) / sizes for column in phi.T])
    inside = phi - np.repeat(means, sizes, axis=0)  # only what differs inside a group changes a ranking
    lengths = np.linalg.norm(inside, axis=0)
    varying = np.flatnonzero(lengths > 0)
    unit = inside[:, varying] / lengths[varying]
    correlations = unit.T @ unit
    for first, second in zip(*np.nonzero(np.triu(np.abs(correlations) >= COPIED, 1)), strict=True):
        pair = names[varying[first]], names[varying[second]]
        explanation = EXPLAINED.get(pair, f"{pair[1]} is {pair[0]} in another scale")
        r = f"r = {correlations[first, second]:.5f}"
        message = f"{explanation}: {r} inside groups, so neither weight means much alone"
        yield Finding(severity=severity, code="collinear", message=message)
