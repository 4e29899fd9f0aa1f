"""Smoothed success rates: how often the candidates of a name were right where they were offered."""

from collections.abc import Sequence

import numpy as np

from ltr.arrays import FloatArray, IntArray, State, distinct
from ltr.data.groups import Groups


def fit_success(groups: Groups, codes: IntArray, names: Sequence[str]) -> State:
    """For each name [wins, seen]: groups where a row of that name was right, and groups with such a row."""
    width = max(len(names), 1)
    group = np.repeat(np.arange(len(groups.offsets) - 1), np.diff(groups.offsets))
    keys = group * width + codes  # a type may stand several times in a group, and counts once
    seen, wins = (
        np.bincount(rows[distinct(rows)[0]] % width, minlength=len(names)) for rows in (keys, keys[groups.labels > 0])
    )
    return {"success": {name: [int(w), int(s)] for name, w, s in zip(names, wins, seen, strict=True)}}


def success_rates(state: State, names: Sequence[str], prior: float, strength: float) -> FloatArray:
    """(wins + prior * strength) / (seen + strength) of each name; one never seen has the prior.

    >>> success_rates({"success": {"a": [3, 4]}}, ["a", "b"], prior=0.5, strength=2.0).round(12)
    array([0.66666667, 0.5       ])
    """
    success = state.get("success", {})
    wins, seen = np.array([success.get(name, (0, 0)) for name in names], dtype=float).reshape(-1, 2).T
    return (wins + prior * strength) / (seen + strength)
