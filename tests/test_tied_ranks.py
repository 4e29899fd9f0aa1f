import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ltr import rank
from ltr.arrays import groups_of
from ltr.errors import UsageError
from ltr.evaluation import Ties, order
from ltr.evaluation.ties import COUNTED, TieOrder, _by_counting, _by_sorting, tie_blocks, tied_ranks


def place(scores, ties, labels=None, keys=None):
    """The first place each candidate of one group may take."""
    ranking = rank(scores, [0, len(scores)], keys=keys)
    rows = np.arange(len(scores))
    return (tied_ranks(ranking, rows, ties, np.array(labels or [0.0] * len(scores))).above + 1).tolist()


def test_without_ties_every_rule_gives_the_same_places():
    for ties in Ties:
        assert place([0.1, 0.4, 0.2, 0.3], ties, keys=[0, 1, 2, 3]) == [4, 1, 3, 2]


def test_ties_by_file_follow_the_input():
    assert place([0.5, 0.5, 0.9, 0.5], Ties.FILE) == [2, 3, 1, 4]


def test_ties_by_trec_put_the_greater_id_first():
    assert place([0.5, 0.5, 0.9, 0.5], Ties.TREC, keys=[7, 9, 1, 8]) == [4, 2, 1, 3]


def test_best_and_worst_place_the_higher_label_first_and_last():
    scores, labels = [0.5, 0.5, 0.5, 0.1], [1.0, 0.0, 2.0, 0.0]
    assert place(scores, Ties.BEST, labels) == [2, 3, 1, 4]
    assert place(scores, Ties.WORST, labels) == [2, 1, 3, 4]


def test_expected_shares_the_places_of_the_tie():
    stand = tied_ranks(rank([0.5, 0.5, 0.9, 0.5], [0, 4]), np.array([0, 2]), Ties.EXPECTED, np.zeros(4))
    assert stand.above.tolist() == [1, 0]
    assert stand.span.tolist() == [3, 1]


def test_the_number_of_equal_scores_is_known_under_every_rule():
    for ties in Ties:
        stand = tied_ranks(rank([0.5, 0.5, 0.9], [0, 3], keys=[0, 1, 2]), np.arange(3), ties, np.zeros(3))
        assert stand.sharing.tolist() == [2, 2, 1]


def test_scores_are_compared_exactly_as_float64():
    assert place([1.0, 1.000000001], Ties.FILE) == [2, 1]
    assert place([1.0, np.nextafter(1.0, 2.0)], Ties.FILE) == [2, 1]
    assert place([0.0, -0.0], Ties.FILE) == [1, 2]


def test_groups_do_not_see_each_other():
    ranking = rank([1.0, 2.0, 5.0, 4.0, 3.0], [0, 2, 5])
    assert tied_ranks(ranking, np.arange(5), Ties.FILE, np.zeros(5)).above.tolist() == [1, 0, 0, 1, 2]


@given(st.integers(0, 10**6))
def test_the_order_and_the_places_agree_wherever_a_rule_fixes_the_order(seed):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate(([0], np.cumsum(rng.integers(1, 9, 6))))
    rows = int(offsets[-1])
    ranking = rank(rng.integers(0, 4, rows), offsets, keys=rng.permutation(rows))
    for ties in (Ties.FILE, Ties.TREC):
        above = tied_ranks(ranking, np.arange(rows), ties, np.zeros(rows)).above
        listed = order(ranking, ties)
        starts = np.repeat(offsets[:-1], np.diff(offsets))
        np.testing.assert_array_equal(above[listed], np.arange(rows) - starts)


def peak_bytes(call):
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_a_large_group_is_counted_in_parts():
    scores = np.random.default_rng(0).permutation(100_000).astype(float)
    rows = np.arange(COUNTED - 1)
    ranking, labels, found = rank(scores, [0, 100_000]), np.zeros(100_000), []
    used = peak_bytes(lambda: found.append(tied_ranks(ranking, rows, Ties.FILE, labels)))
    np.testing.assert_array_equal(found[0].above, 99_999 - scores[rows])
    assert used < 16e6  # one table of all is 25 MB a column


@given(st.integers(0, 10**6), st.sampled_from(list(Ties)))
def test_sorting_a_group_once_places_its_rows_as_counting_does(seed, ties):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate(([0], np.cumsum(rng.integers(1, 20, 6))))
    count = int(offsets[-1])
    ranking = rank(rng.integers(0, 4, count) * rng.choice([-1.0, 1.0], count), offsets, keys=rng.permutation(count))
    rows, labels = np.flatnonzero(rng.random(count) < 0.7), rng.integers(0, 3, count).astype(float)
    owners = groups_of(rows, offsets)
    second = {Ties.TREC: -ranking.keys, Ties.BEST: -labels, Ties.WORST: labels}.get(ties)
    tie_order = TieOrder(ties is Ties.EXPECTED, second)
    counted, listed = (placed(ranking, rows, owners, tie_order) for placed in (_by_counting, _by_sorting))
    np.testing.assert_array_equal(listed, counted)


@pytest.mark.parametrize("size", [254, 255, 256, 700])
def test_a_long_group_is_counted_past_what_a_byte_holds(size):
    stand = tied_ranks(
        rank([0.0] * size + [1.0] * size, [0, 2 * size]), np.array([0, 2 * size - 1]), Ties.EXPECTED, np.zeros(1)
    )
    assert stand.above.tolist() == [size, 0]
    assert stand.sharing.tolist() == [size, size]


def test_a_large_group_with_many_labels_is_sorted():
    scores = np.random.default_rng(0).permutation(40_000).astype(float)
    stand = tied_ranks(rank(scores, [0, 40_000]), np.arange(40_000), Ties.EXPECTED, np.zeros(40_000))
    np.testing.assert_array_equal(stand.above, 39_999 - scores)


def test_equal_scores_with_equal_labels_stand_in_the_order_of_the_input():
    for ties in (Ties.BEST, Ties.WORST):
        assert place([0.5, 0.5, 0.5], ties, [1.0, 1.0, 1.0]) == [1, 2, 3]


def test_a_rule_that_the_ranking_cannot_follow_is_refused():
    with pytest.raises(UsageError, match="ties 'trec' goes by id, and the ranking has no keys"):
        place([0.5], Ties.TREC)


def test_only_candidates_with_a_label_have_blocks():
    ranking, labels = rank([0.9, 0.5, 0.5, 0.1], [0, 4]), np.array([0.0, 1.0, 0.0, 2.0])
    blocks = tie_blocks(ranking, labels, Ties.EXPECTED, 2.0)
    assert blocks.labels.tolist() == [1, 2]
    assert blocks.ranked.place.tolist() == [2, 3, 4]  # the tie of two, then the last
    assert blocks.ideal.place.tolist() == [1, 2]


def test_great_whole_labels_order_queries_as_small_ones_do():
    labels = np.random.default_rng(0).integers(0, 3, 60).astype(float)
    ranking = rank(np.random.default_rng(1).normal(size=60), np.arange(0, 61, 3))
    small, great = (tie_blocks(ranking, labels * unit, Ties.EXPECTED, 1.0) for unit in (1.0, 2.0**60))
    assert (small.ideal.query.tolist(), small.ideal.place.tolist()) == (
        great.ideal.query.tolist(),
        great.ideal.place.tolist(),
    )
