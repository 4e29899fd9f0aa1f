"""Columns of phi that say too much, nothing, or the same: ready ones, else the specification's on a sample."""

from collections.abc import Iterator

import numpy as np

from ltr.arrays import FloatArray, group_sums
from ltr.audit.chance_test import Judged, Tally, beyond_chance
from ltr.audit.findings import Finding, first_rows, share
from ltr.data.groups import Groups, select
from ltr.evaluation.evaluate import evaluate
from ltr.evaluation.metrics.ranked import TOP1
from ltr.evaluation.ranking import rank
from ltr.features.crossfit import SPECIFICATION, fit_features
from ltr.features.registry import FeatureConfig

CERTAIN = 0.99  # of the groups, from which a column alone knows the answer
COLLINEAR = 0.999
SAMPLE = 300  # groups that plain features are computed for
KNOWN = {("tool.rel", "tool.struct"): "tool.struct is a monotone copy of tool.rel, sqrt(tool.rel + 0.1)"}


def column_findings(groups: Groups) -> Iterator[Finding]:
    """Of ready numbers all there is to say; of plain features only which are copies of each other."""
    ready = groups.candidates.features
    if ready is not None:
        yield from _certain(groups, ready)
        yield from _constant(groups, ready)
        yield from _collinear(groups.candidates.feature_names, within(ready, groups), "warning")
        return
    count = len(groups.offsets) - 1
    sample = select(groups, np.arange(0, count, -(-count // SAMPLE)))
    configs = [FeatureConfig(name) for name in SPECIFICATION[sample.candidates.kind]]
    _, phi = fit_features(configs, sample, "hash")
    yield from _collinear(tuple(config.name for config in configs), within(phi, sample), "info")


def within(phi: FloatArray, groups: Groups) -> FloatArray:
    """The columns less their mean in each group: only that changes a ranking."""
    sizes = np.diff(groups.offsets)
    means = np.column_stack([group_sums(column, groups.offsets) / sizes for column in phi.T])
    return phi - np.repeat(means, sizes, axis=0)


def _certain(groups: Groups, phi: FloatArray) -> Iterator[Finding]:
    """Columns that by themselves put the right candidate first nearly always."""
    judged = Judged.of(groups)
    if not judged.can_tell.any():
        return
    open_groups = select(groups, np.flatnonzero(judged.can_tell))
    telling = Judged.of(open_groups)
    rows = np.repeat(judged.can_tell, judged.sizes)
    queries, expected = float(len(telling.sizes)), float((telling.right / telling.sizes).sum())
    for place, name in enumerate(groups.candidates.feature_names):
        for sign, which in ((1, "largest"), (-1, "smallest")):
            top1 = evaluate(rank(sign * phi[rows, place], telling.offsets), telling.is_right).means[TOP1] or 0.0
            found = Tally(*(np.array([each]) for each in (top1 * queries, queries, expected, queries, queries)))
            if top1 >= CERTAIN and beyond_chance(found)[0]:
                message = (
                    f"{name} alone knows the answer: its {which} value is right in {share(top1, 1)} of the groups; "
                    "was it made from the label?"
                )
                where = first_rows(open_groups.candidates, np.arange(len(telling.sizes)))
                hits = round(top1 * queries)
                yield Finding(severity="warning", code="leak-feature", message=message, where=where, count=hits)


def _constant(groups: Groups, phi: FloatArray) -> Iterator[Finding]:
    starts = groups.offsets[:-1]
    spread = np.maximum.reduceat(phi, starts, axis=0) - np.minimum.reduceat(phi, starts, axis=0)
    for place in np.flatnonzero(spread.max(axis=0) == 0).tolist():
        message = f"{groups.candidates.feature_names[place]} is the same for all candidates of each group: no weight"
        yield Finding(severity="warning", code="constant-feature", message=f"{message} changes a ranking")


def _collinear(names: tuple[str, ...], inside: FloatArray, severity: str) -> Iterator[Finding]:
    """Pairs of columns that inside groups are copies of each other up to scale: |r| of COLLINEAR or more."""
    lengths = np.linalg.norm(inside, axis=0)
    varying = np.flatnonzero(lengths > 0)
    unit = inside[:, varying] / lengths[varying]
    correlations = unit.T @ unit
    for first, second in zip(*np.nonzero(np.triu(np.abs(correlations) >= COLLINEAR, 1)), strict=True):
        pair = names[varying[first]], names[varying[second]]
        said = KNOWN.get(pair, f"{pair[1]} is {pair[0]} in another scale")
        message = f"{said}: r = {correlations[first, second]:.5f} inside groups, so neither weight means much alone"
        yield Finding(severity="info" if severity == "info" else "warning", code="collinear", message=message)
