"""The counts behind the leaks, and their bound."""

import numpy as np
import pytest

from ltr.audit.leaks import ChanceTest


def test_a_tally_counts_rows_with_the_mark_hits_and_chance():
    groups = read_groups_of([[1, 0, 0], [0, 1], [1, 1], [0, 0]])
    counted = ChanceTest.of(groups).tally(np.array([0, 1, 3, 5, 7]), np.zeros(5, dtype=np.int64), 1)
    assert (counted.hits[0], counted.rows[0], counted.trials[0]) == (1, 3, 2)  # the last two groups cannot tell
    assert counted.expected[0] == pytest.approx(2 / 3 + 1 / 2)
    assert counted.absent().hits[0] == 1


def test_the_surprise_bounds_the_exact_probability():
    groups = read_groups_of([[1, 0, 0, 0]] * 12)
    first = np.arange(12) * 4
    surprise = ChanceTest.of(groups).tally(first, np.zeros(12, dtype=np.int64), 1).surprise[0]
    assert surprise == pytest.approx(12 * np.log(4))  # all of 12 at chance 1/4: exactly -ln (1/4)^12


def read_groups_of(labels):
    """Groups with these labels."""
    from ltr import Groups

    class Nothing:
        kind = "graph"

    offsets = np.concatenate([[0], np.cumsum([len(each) for each in labels])])
    return Groups(Nothing(), np.array([label for each in labels for label in each], dtype=float), offsets)
