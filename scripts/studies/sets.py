"""Sets of data that studies read, and means with their 95 % bootstrap intervals by trace.

A set is a folder with train.jsonl.gz and test.jsonl.gz, and tools.json for a catalogue.
"""

import numpy as np

from ltr import evaluate, rank, read_groups, read_tools
from ltr.catalogues import united
from ltr.evaluation.bootstrap import bootstrap_difference, bootstrap_means
from ltr.features import FeatureConfig, fit_features


def catalogue(folder):
    """Return the tools of a folder, or None where it lists none."""
    return read_tools(folder / "tools.json") if (folder / "tools.json").exists() else None


def tools_of(folder, *sides):
    """Return the tools of a folder, or where it lists none those of its samples, each with its first text."""
    return catalogue(folder) or united([side.candidates.first_texts() for side in sides])


def read(folder):
    """Return the training and the test groups as they are."""
    tools = catalogue(folder)
    return [read_groups(str(folder / f"{split}.jsonl.gz"), tools=tools) for split in ("train", "test")]


def few_traces(groups, number, draw):
    """Return the groups of so many traces, drawn at random by the number of the draw."""
    drawn = np.random.default_rng(draw).permutation(len(groups.candidates.trace_ids))[:number]
    return groups.select(np.flatnonzero(np.isin(groups.candidates.traces, drawn)))


def columns_of(names, train, *others, encoder):
    """Return the columns of training groups, cross-fitted, and those of other groups."""
    features, phi = fit_features([FeatureConfig(name) for name in names], train, encoder)
    return [phi, *(features(other.candidates) for other in others)]


def measured(scores, groups, *metrics):
    """Return the measures of groups that are ranked by scores."""
    return evaluate(rank(scores, groups.offsets), groups.labels, *metrics)


def means(groups, columns, rng):
    """Return the means of measures that count the same queries, each as if it were the only one."""
    counted = ~np.isnan(columns[0])
    clusters = groups.candidates.traces[counted]
    return bootstrap_means([column[counted] for column in columns], rng, clusters=clusters)


def difference(groups, ours, theirs, rng):
    """Return by how much the first measure is higher, query by query."""
    counted = ~np.isnan(ours)
    clusters = groups.candidates.traces[counted]
    return bootstrap_difference(ours[counted], theirs[counted], rng, clusters=clusters)


def shown(interval, sign=""):
    """Return an interval as .123 [.100, .146], or with signs."""
    return f"{interval.mean:{sign}.3f} [{interval.low:{sign}.3f}, {interval.high:{sign}.3f}]"
