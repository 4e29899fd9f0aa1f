"""Dense and sparse vectors against loops over rows that are written out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ltr.encoders import Dense, HashEncoder, Sparse, Vectors
from ltr.errors import DataError

TEXTS = ["Get the weather", "weather of Paris, please", "", "  ", "写一封邮件", "send e-mail", "Ünïcödé ☂", "a"]
NOTHING = np.empty(0, dtype=np.int64)


def written(vectors):
    """Every number of every row."""
    if isinstance(vectors, Dense):
        return vectors.numbers
    rows = np.zeros((len(vectors), vectors.dimensions))
    for row, (first, last) in enumerate(zip(vectors.starts[:-1], vectors.starts[1:], strict=True)):
        rows[row, vectors.columns[first:last]] = vectors.numbers[first:last]
    return rows


def sparse(rows):
    """The rows without their zeros."""
    owner, columns = np.nonzero(rows)
    starts = np.concatenate(([0], np.cumsum(np.bincount(owner, minlength=len(rows)))))
    return Sparse(starts, columns, rows[owner, columns], rows.shape[1])


@pytest.fixture(params=[Dense, sparse])
def kind(request):
    return request.param


def drawn(seed, count=9, dimensions=7):
    """Rows with many zeros, the first row all of them."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, dimensions)) * (rng.random((count, dimensions)) < 0.5)
    rows[0] = 0
    return rows, rng


@given(seed=st.integers(0, 10**6))
def test_taken_rows_are_the_rows_in_the_order_asked(seed):
    rows, rng = drawn(seed)
    asked = rng.integers(0, len(rows), 20)
    for kind in (Dense, sparse):
        np.testing.assert_array_equal(written(kind(rows).take(asked)), rows[asked])


@given(seed=st.integers(0, 10**6))
def test_sums_add_the_weighted_rows_of_each_owner(seed):
    rows, rng = drawn(seed)
    owner, asked, weights = rng.integers(0, 5, 30), rng.integers(0, len(rows), 30), rng.normal(size=30)
    by_hand = np.zeros((6, rows.shape[1]))
    for place in range(30):
        by_hand[owner[place]] += weights[place] * rows[asked[place]]
    for kind in (Dense, sparse):
        np.testing.assert_allclose(written(kind(rows).sums(owner, asked, weights, 6)), by_hand, atol=1e-12)


def test_sums_of_many_places_and_owners_are_made_in_parts(kind):
    rows, rng = drawn(1, count=40, dimensions=300)
    owner, asked = rng.integers(0, 5000, 20_000), rng.integers(0, 40, 20_000)
    totals = kind(rows).sums(owner, asked, np.full(20_000, 0.5), 5000)
    for checked in (0, 17, 4999):
        by_hand = 0.5 * rows[asked[owner == checked]].sum(axis=0)
        np.testing.assert_allclose(written(totals.take(np.array([checked])))[0], by_hand, atol=1e-12)


def test_nobody_owns_nothing(kind):
    vectors = kind(drawn(0)[0])
    assert len(vectors.sums(NOTHING, NOTHING, np.empty(0), 0)) == 0
    np.testing.assert_array_equal(written(vectors.sums(NOTHING, NOTHING, np.empty(0), 2)), np.zeros((2, 7)))
    assert len(vectors.take(NOTHING)) == len(vectors.take(NOTHING).unit()) == 0


def test_unit_rows_have_length_one_and_zero_rows_stay_zero(kind):
    rows, _ = drawn(3)
    lengths = np.linalg.norm(written(kind(rows).unit()), axis=1)
    np.testing.assert_allclose(lengths, np.linalg.norm(rows, axis=1) > 0, atol=1e-12)


def test_stacked_parts_keep_their_order(kind):
    one, two = drawn(4)[0], drawn(5, count=3)[0]
    np.testing.assert_array_equal(written(Vectors.stacked([kind(one), kind(two)])), np.concatenate([one, two]))


def test_dense_and_sparse_vectors_do_not_stack():
    with pytest.raises(DataError):
        Vectors.stacked([Dense(drawn(0)[0]), sparse(drawn(0)[0])])


def test_kept_vectors_come_back_to_half_precision(kind):
    vectors = kind(drawn(6)[0]).unit()
    arrays = vectors.arrays()
    assert arrays["numbers"].dtype == np.float16
    again = Vectors.restored(arrays)
    assert type(again) is type(vectors)
    np.testing.assert_allclose(written(again), written(vectors), atol=2**-11)


def test_single_precision_is_multiplied_in_double():
    rows = drawn(7)[0].astype(np.float32)
    products = Dense(rows).dots(np.arange(9), Dense(rows), np.arange(9))
    np.testing.assert_allclose(products, (rows.astype(np.float64) ** 2).sum(axis=1), rtol=1e-15)


@pytest.mark.parametrize(
    "change",
    [
        {"numbers": np.array([1.0, np.nan, 1.0])},
        {"numbers": np.array([1, 2, 3])},
        {"numbers": np.ones(2)},
        {"columns": np.array([0, 1, 3])},
        {"columns": np.array([0, 1, -1])},
        {"starts": np.array([0, 2, 1, 3])},
        {"starts": np.array([1, 3])},
        {"starts": np.array([0, 4])},
        {"starts": NOTHING},
        {"dimensions": np.array(3)},
        {"dimensions": 3},
    ],
)
def test_sparse_arrays_that_cannot_be_are_refused(change):
    good = {"starts": np.array([0, 1, 3]), "columns": np.arange(3), "numbers": np.ones(3), "dimensions": np.array([3])}
    Vectors.restored(good)
    with pytest.raises(DataError):
        Vectors.restored(good | change)


@pytest.mark.parametrize("numbers", [np.ones(3), np.array([[np.inf]]), np.array([[1]]), [[1.0]]])
def test_dense_arrays_that_cannot_be_are_refused(numbers):
    with pytest.raises(DataError):
        Vectors.restored({"numbers": numbers})


@pytest.mark.parametrize("arrays", [{}, {"what": np.ones(2)}])
def test_arrays_of_neither_kind_are_refused(arrays):
    with pytest.raises(DataError, match="neither dense nor sparse vectors"):
        Vectors.restored(arrays)


@settings(max_examples=12)  # each writes out rows of very many columns
@given(st.integers(0, 10**6))
def test_products_of_pairs_are_those_of_the_rows_written_out(seed):
    rng = np.random.default_rng(seed)
    left, right = (HashEncoder.fitted(TEXTS).encode(rng.permutation(TEXTS).tolist(), "query") for _ in range(2))
    rows, others = rng.integers(0, len(TEXTS), (2, 200))
    by_hand = np.einsum("ij,ij->i", written(left)[rows], written(right)[others])
    np.testing.assert_allclose(left.dots(rows, right, others), by_hand, atol=1e-12)
    np.testing.assert_allclose(Dense(written(left)).dots(rows, Dense(written(right)), others), by_hand, atol=1e-12)


def test_many_pairs_are_multiplied_in_parts():
    vectors = HashEncoder.fitted(TEXTS).encode([f"text number {n}" for n in range(300)], "query")
    rows = np.random.default_rng(0).integers(0, 300, (2, 20_000))
    products = vectors.dots(rows[0], vectors, rows[1])
    same = rows[0] == rows[1]
    np.testing.assert_allclose(products[same], 1, atol=1e-12)
    check = np.random.default_rng(1).integers(0, 20_000, 50)
    numbers = written(vectors)
    np.testing.assert_allclose(products[check], (numbers[rows[0][check]] * numbers[rows[1][check]]).sum(axis=1))


def test_no_pairs_have_no_products():
    vectors, none = HashEncoder.fitted(TEXTS).encode(TEXTS, "query"), np.empty(0, dtype=np.int64)
    assert vectors.dots(none, vectors, none).shape == (0,)


def test_dense_and_sparse_vectors_do_not_mix():
    sparse, full = Sparse(np.array([0, 0]), np.empty(0, int), np.empty(0), 4), Dense(np.zeros((1, 4)))
    for left, right in ((sparse, full), (full, sparse)):
        with pytest.raises(TypeError):
            left.dots(np.array([0]), right, np.array([0]))


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_sums_without_each_part_are_the_sums_of_the_other_rows(kind):
    generator = np.random.default_rng(0)
    numbers = generator.random((30, 5)) * (generator.random((30, 5)) < 0.5)
    vectors = sparse(numbers) if kind == "sparse" else Dense(numbers)
    owner, part = generator.integers(6, size=30), generator.integers(4, size=30)
    every = list(vectors.sums_without_each(owner, part, 4))
    assert len(every) == 4 + 1
    for left_out, sums in enumerate(every):
        others = part != left_out
        listed = np.unique(owner[others])
        by_hand = [numbers[others & (owner == one)].sum(axis=0) for one in listed]
        rows = np.arange(len(listed))
        dense = np.zeros((len(listed), 5))
        for column in range(5):
            unit = sparse(np.eye(5)[[column]]) if kind == "sparse" else Dense(np.eye(5)[[column]])
            dense[:, column] = sums.dots(rows, unit, np.zeros(len(rows), dtype=int))
        np.testing.assert_allclose(dense, by_hand, rtol=1e-12)
