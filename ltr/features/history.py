"""Smoothed success rates: how often what bears a name was right where it was offered."""

from collections.abc import Sequence

import numpy as np

from ltr.arrays import FloatArray, IntArray, State, distinct
from ltr.data.groups import Groups


def fit_success(groups: Groups, codes: IntArray, names: Sequence[str]) -> State:
    """For each name [wins, seen]: groups where a row that bears it was right, and groups with such a row."""
    group = np.repeat(np.arange(len(groups.offsets) - 1), np.diff(groups.offsets))
    keys = group * max(len(names), 1) + codes  # a type may stand several times in a group, and counts once
    seen, wins = (
        np.bincount(each[distinct(each)[0]] % max(len(names), 1), minlength=len(names))
        for each in (keys, keys[groups.labels > 0])
    )
    return {"success": {name: [int(w), int(s)] for name, w, s in zip(names, wins, seen, strict=True)}}


def success_rates(state: State, names: Sequence[str], prior: float, strength: float) -> FloatArray:
    """(wins + prior * strength) / (seen + strength) of each name; one never seen has the prior.

    >>> success_rates({"success": {"a": [3, 4]}}, ["a", "b"], prior=0.5, strength=2.0).round(12)
    array([0.66666667, 0.5       ])
    """
    known = state.get("success", {})
    counted = np.array([known.get(name, (0, 0)) for name in names], dtype=float).reshape(-1, 2)
    return (counted[:, 0] + prior * strength) / (counted[:, 1] + strength)
