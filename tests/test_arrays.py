import numpy as np
import pytest

from ltr.arrays import as_column, as_floats, as_matrix, as_offsets, as_weights, chunks, distinct, ragged
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
        (np.array([0, 2**63 + 5], dtype=np.uint64), 2, "offsets[-1]: 9223372036854775813; there are 2 rows"),
        ([0, 2**63 - 1, -(2**63), 2], 2, "offsets: group 1 is empty: 9223372036854775807 to -9223372036854775808"),
        ([[0], [0, 2]], 2, "offsets: row 1 has 2 numbers, row 0 has 1"),
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
    with pytest.raises(ArrayError, match="^phi"):
        as_matrix("phi", phi, [0, 2])


@pytest.mark.parametrize("labels", [[True, False], ["1", "0"], [1], [[1, 0]]])
def test_labels_must_be_one_number_a_row(labels):
    with pytest.raises(ArrayError, match="^labels"):
        as_column("labels", labels, np.array([0, 2]), least=0)


@pytest.mark.parametrize("weights", [[1.0], [1.0, 0.0], [1.0, -1.0], [1.0, np.nan], [np.inf, 1.0]])
def test_weights_must_be_one_finite_number_above_zero_a_group(weights):
    with pytest.raises(ArrayError, match="^weights"):
        as_weights(weights, 2)


def test_without_weights_every_group_weighs_one():
    np.testing.assert_array_equal(as_weights(None, 3), np.ones(3))


def test_runs_hold_whole_groups_and_cover_them_once():
    offsets = np.concatenate(([0], np.cumsum([5, 1, 1, 9, 2])))
    assert list(chunks(offsets, rows=4)) == [(0, 1), (1, 3), (3, 4), (4, 5)]


def test_ragged_counts_within_each_length():
    owner, step = ragged(np.array([3, 0, 2]))
    assert owner.tolist() == [0, 0, 0, 2, 2]
    assert step.tolist() == [0, 1, 2, 0, 1]


@pytest.mark.parametrize(
    "values, message",
    [
        ([[1.0], [0.0, 2.0]], "phi: row 1 has 2 numbers, row 0 has 1"),
        ([1.0, [0.0, 2.0]], "phi: row 1 has 2 numbers, row 0 has 1"),
        (None, "phi: an array or a list of numbers is needed, found NoneType"),
        ("1.0", "phi: an array or a list of numbers is needed, found str"),
        ({"a": 1}, "phi: an array or a list of numbers is needed, found dict"),
        ((x for x in (1.0, 2.0)), "phi: an array or a list of numbers is needed, found generator"),
        ([[1.0], [None]], "phi[1, 0]: numbers are needed, found object: 'None' is a NoneType"),
        ([["1.0"]], "phi[0, 0]: numbers are needed, found <U3: '1.0' is a str_"),
        ([True], "phi: numbers are needed, found bool; use phi.astype(float)"),
        ([1j], "phi: numbers are needed, found complex128"),
        (np.ma.array([1.0], mask=[True]), "phi: a masked array hides values; fill or drop them first"),
    ],
)
def test_what_is_no_array_of_numbers_is_refused_with_what_would_be_right(values, message):
    with pytest.raises(ArrayError) as caught:
        as_floats("phi", values)
    assert str(caught.value) == message


def test_a_number_too_long_for_a_float_is_refused_where_it_stands():
    with pytest.raises(ArrayError, match=r"phi\[1, 0\] \(group 0, row 1\): inf"):
        as_matrix("phi", np.array([[1], [np.longdouble("1e400")]]), [0, 2])


def test_weights_that_vanish_beside_the_largest_are_refused():
    with pytest.raises(ArrayError, match=r"weights\[1\] \(group 1\): 1e-320 vanishes beside the largest, 1e\+300"):
        as_weights([1e300, 1e-320], 2)


def test_no_rows_at_all_are_a_matrix():
    assert as_matrix("phi", np.empty((0, 2)), [0])[0].shape == (0, 2)


@pytest.mark.parametrize("shift", [0, 1 << 58])
def test_distinct_codes_are_those_of_numpy_however_large(shift):
    codes = np.random.default_rng(0).integers(0, 50, 400) + shift
    _, first, which = np.unique(codes, return_index=True, return_inverse=True)
    found = distinct(codes)
    np.testing.assert_array_equal(found[0], first)
    np.testing.assert_array_equal(found[1], which)


def test_no_codes_have_no_distinct_ones():
    assert [len(part) for part in distinct(np.empty(0, dtype=np.int64))] == [0, 0]
