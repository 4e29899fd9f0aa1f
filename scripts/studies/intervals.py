"""Means and paired differences over the queries that count, with their 95 % bootstrap intervals by trace."""

import numpy as np

from ltr.evaluation.bootstrap import bootstrap_difference, bootstrap_mean, bootstrap_means


def mean(groups, values, rng):
    """The mean of a measure."""
    counted = ~np.isnan(values)
    return bootstrap_mean(values[counted], rng, clusters=groups.candidates.traces[counted])


def means(groups, columns, rng):
    """The means of measures that count the same queries, each as if it were the only one."""
    counted = ~np.isnan(columns[0])
    clusters = groups.candidates.traces[counted]
    return bootstrap_means([column[counted] for column in columns], rng, clusters=clusters)


def difference(groups, ours, theirs, rng):
    """By how much the first measure is higher, query by query."""
    counted = ~np.isnan(ours)
    traces = groups.candidates.traces[counted]
    return bootstrap_difference(ours[counted], theirs[counted], rng, clusters=traces)


def shown(interval, sign=""):
    """As .123 [.100, .146], or with signs."""
    return f"{interval.mean:{sign}.3f} [{interval.low:{sign}.3f}, {interval.high:{sign}.3f}]"
