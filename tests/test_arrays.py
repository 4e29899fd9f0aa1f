import numpy as np
import pytest

from ltr.arrays import as_column, as_matrix, as_offsets, as_weights, blocks, ragged
from ltr.errors import ArrayError


@pytest.mark.parametrize(
    "offsets, rows, message",
    [
        ([], 0, "offsets: one axis of integers is needed, found shape (0,) of float64"),
        ([[0, 1]], 1, "offsets: one axis of integers is needed, found shape (1, 2) of int64"),
        ([0.0, 1.0], 1, "offsets: one axis of integers is needed, found shape (2,) of float64"),
        ([1, 2], 2, "offsets[0]: 1; the first group starts at row 0"),
        ([0, 2, 2, 3], 3, "offsets: group 1 is empty: 2 to 2"),
        ([0, 3, 2], 2, "offsets: group 1 is empty: 3 to 2"),
        ([0, 2], 3, "offsets[-1]: 2; there are 3 rows"),
    ],
)
def test_offsets_that_do_not_fit_are_refused_with_the_place(offsets, rows, message):
    with pytest.raises(ArrayError) as caught:
        as_offsets(offsets, rows)
    assert str(caught.value) == message


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 1e301])
def test_a_number_that_is_not_allowed_is_named_by_cell_group_and_row(number):
    phi = np.zeros((5, 2))
    phi[3, 1] = number
    with pytest.raises(ArrayError) as caught:
        as_matrix("phi", phi, [0, 2, 5])
    place = f"phi[3, 1] (group 1, row 1): {number}"
    assert str(caught.value) == f"{place}; it must be finite, from -1e+300 to 1e+300"


def test_a_negative_label_is_refused_with_its_group_and_row():
    with pytest.raises(ArrayError, match=r"labels\[2\] \(group 1, row 0\): -1.0; it must be finite, from 0 to"):
        as_column("labels", [0, 1, -1], np.array([0, 2, 3]), least=0)


@pytest.mark.parametrize("phi", [np.zeros((2, 0)), np.zeros(2), np.zeros((2, 1, 1)), np.array([["a"], ["b"]])])
def test_features_must_be_numbers_in_rows_and_columns(phi):
    with pytest.raises(ArrayError, match="^phi: "):
        as_matrix("phi", phi, [0, 2])


@pytest.mark.parametrize("labels", [[True, False], ["1", "0"], [1], [[1, 0]]])
def test_labels_must_be_one_number_a_row(labels):
    with pytest.raises(ArrayError, match="^labels: "):
        as_column("labels", labels, np.array([0, 2]), least=0)


@pytest.mark.parametrize("weights", [[1.0], [1.0, 0.0], [1.0, -1.0], [1.0, np.nan], [np.inf, 1.0]])
def test_weights_must_be_one_finite_number_above_zero_a_group(weights):
    with pytest.raises(ArrayError, match="^weights"):
        as_weights(weights, 2)


def test_without_weights_every_group_weighs_one():
    np.testing.assert_array_equal(as_weights(None, 3), np.ones(3))


def test_blocks_hold_whole_groups_and_cover_them_once():
    offsets = np.concatenate(([0], np.cumsum([5, 1, 1, 9, 2])))
    assert list(blocks(offsets, rows=4)) == [(0, 1), (1, 3), (3, 4), (4, 5)]


def test_ragged_counts_within_each_length():
    owner, step = ragged(np.array([3, 0, 2]))
    assert owner.tolist() == [0, 0, 0, 2, 2]
    assert step.tolist() == [0, 1, 2, 0, 1]
