import numpy as np
import pytest

from ltr import rank
from ltr.errors import ArrayError, UsageError
from ltr.evaluation import Ties, order


def test_the_order_lists_equal_scores_by_the_rule():
    ranking = rank([0.5, 0.5, 0.9, 0.5], [0, 4], keys=[7, 9, 1, 8])
    assert order(ranking, Ties.FILE).tolist() == [2, 0, 1, 3]
    assert order(ranking, Ties.TREC).tolist() == [2, 1, 3, 0]
    assert order(ranking, Ties.EXPECTED).tolist() == [2, 0, 3, 1]


def test_the_rule_may_be_given_by_its_name():
    ranking = rank([0.5, 0.5], [0, 2], keys=[0, 1])
    for ties in Ties:
        assert order(ranking, str(ties)).tolist() == order(ranking, ties).tolist()
    assert order(ranking, "trec").tolist() == [1, 0]


def test_a_rule_that_does_not_exist_is_refused():
    ranking = rank([0.5, 0.5], [0, 2])
    with pytest.raises(UsageError, match="ties 'nonsense' is not one of expected, file, worst, best, trec"):
        order(ranking, "nonsense")


def test_a_ranking_keeps_its_own_scores():
    scores = np.array([1.0, 0.0])
    ranking = rank(scores, [0, 2])
    scores[:] = [0, 1]
    assert order(ranking, Ties.FILE).tolist() == [0, 1]


def test_keys_at_the_ends_of_their_range_keep_their_order():
    keys = np.array([-(2**63), 2**63 - 1, 0])
    assert order(rank([1, 1, 1], [0, 3], keys=keys), Ties.TREC).tolist() == [1, 2, 0]
    with pytest.raises(ArrayError, match=r"^keys\[1\]: 9223372036854775808 does not fit 64 bits with a sign"):
        rank([1, 1], [0, 2], keys=np.array([0, 2**63], dtype=np.uint64))


@pytest.mark.parametrize("far", [7, 2**62])
def test_equal_keys_in_a_group_are_refused_with_their_rows(far):
    rank([1, 1, 1, 1], [0, 2, 4], keys=[0, far, 0, far])
    with pytest.raises(ArrayError, match=r"^keys\[4\]: rows 0 and 2 of group 1 share a key; ids differ"):
        rank([1, 1, 1, 1, 1], [0, 2, 5], keys=[0, far, 5, -far, 5])


def test_keys_below_zero_of_one_group_are_not_those_of_another():
    keys = [1, 4, -2, 0]
    assert order(rank([1, 1, 1, 1], [0, 2, 4], keys=keys), Ties.TREC).tolist() == [1, 0, 3, 2]


def test_no_groups_are_a_ranking():
    assert order(rank([], [0]), Ties.FILE).tolist() == []


@pytest.mark.parametrize("scores", [None, "0.5", {"a": 1}, 3.0, [[1.0, 2.0]]])
def test_what_is_no_column_of_scores_is_blamed_on_the_scores(scores):
    with pytest.raises(ArrayError, match="^scores: "):
        rank(scores, [0, 2])


def test_trec_without_ids_is_refused():
    with pytest.raises(UsageError, match="ties 'trec' goes by id, and the ranking has no keys"):
        order(rank([0.5], [0, 1]), Ties.TREC)


@pytest.mark.parametrize("scores", [[np.nan, 0.0], [np.inf, 0.0], ["a", "b"], [1.0]])
def test_scores_that_cannot_be_ranked_are_refused(scores):
    with pytest.raises(ArrayError):
        rank(scores, [0, 2])


@pytest.mark.parametrize("keys", [[0], [0.5, 1.5], [[0, 1]]])
def test_keys_must_be_one_integer_a_row(keys):
    with pytest.raises(ArrayError, match="^keys: one integer a row is needed"):
        rank([0.0, 1.0], [0, 2], keys=keys)


def test_of_three_rows_that_share_a_key_the_first_two_are_named():
    with pytest.raises(ArrayError, match="rows 1 and 2 of group 0 share a key; ids differ"):
        rank([1.0] * 4, [0, 4], keys=[5, 7, 7, 7])


@pytest.mark.parametrize("listed", [[True], [1, 0]])
def test_which_rows_are_listed_is_one_truth_value_a_row(listed):
    with pytest.raises(ArrayError, match="listed: one truth value a row is needed"):
        rank([1.0, 2.0], [0, 2], listed=np.array(listed))
