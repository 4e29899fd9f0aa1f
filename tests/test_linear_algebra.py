"""Equations of a positive definite matrix, and the memory that they take."""

import tracemalloc

import numpy as np
import pytest

from ltr.features.algebra import PositiveDefinite


def positive_definite(size):
    rows = np.random.default_rng(size).normal(size=(size, size + 2))
    return rows @ rows.T + np.eye(size)


def set_in_blocks(numbers, rows):
    matrix = PositiveDefinite(len(numbers))
    for first in range(0, len(numbers), rows):
        matrix.set_rows(first, numbers[first : first + rows])
    return matrix


@pytest.mark.parametrize("size", range(8))
@pytest.mark.parametrize("rows", [1, 3, 8])
def test_the_solution_is_that_of_the_whole_matrix(size, rows):
    numbers, right = positive_definite(size), np.arange(2.0 * size).reshape(size, 2)
    matrix = set_in_blocks(numbers, rows)
    matrix.factorise()
    np.testing.assert_allclose(matrix.solution(right), np.linalg.solve(numbers, right), rtol=1e-9, atol=1e-9)


def test_what_stands_above_the_diagonal_is_not_looked_at():
    numbers = positive_definite(7)
    lower, whole = set_in_blocks(np.tril(numbers), 2), set_in_blocks(numbers, 2)
    for matrix in (lower, whole):
        matrix.factorise()
    np.testing.assert_array_equal(lower.solution(np.eye(7)), whole.solution(np.eye(7)))


def test_a_matrix_that_is_not_positive_definite_is_refused():
    matrix = set_in_blocks(-np.eye(3), 3)
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        matrix.factorise()


def test_half_of_the_matrix_is_held_and_no_copy_is_made():
    size = 400
    numbers, right = positive_definite(size), np.ones((size, 1), order="F")
    set_in_blocks(np.eye(2), 1).factorise()  # what it imports is there
    tracemalloc.start()
    matrix = set_in_blocks(numbers, 16)
    matrix.factorise()
    matrix.solution(right)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.6 * numbers.nbytes
