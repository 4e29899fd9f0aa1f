import numpy as np
import pytest

from ltr.errors import DataError
from ltr.lists import RankedLists, rank_lists
from ltr.metrics import evaluate

METRICS = ["hit@5", "precision@5", "recall@5", "ndcg@5", "map", "ndcg"]


def means(recommended, truth, **rules):
    ranking, labels = rank_lists(recommended, truth)
    return evaluate(ranking, labels, METRICS, **rules).means


def test_items_without_scores_are_ranked_as_they_stand():
    assert means({"u": ["a", "b", "c"]}, {"u": "b"})["mrr"] == 1 / 2


def test_items_with_scores_are_ranked_by_them():
    assert means({"u": [("a", 0.1), ("b", 0.3), ("c", 0.2)]}, {"u": "b"})["mrr"] == 1.0


def test_equal_scores_fall_by_the_tie_rule_and_not_by_the_order_of_the_list():
    for items in ([("a", 1.0), ("b", 1.0)], [("b", 1.0), ("a", 1.0)]):
        assert means({"u": items}, {"u": "b"})["mrr"] == (1 + 1 / 2) / 2
        assert means({"u": items}, {"u": "b"}, ties="trec")["mrr"] == 1.0


def test_a_user_without_a_list_counts_zero():
    assert means({"u": ["a"]}, {"u": "a", "v": "a"})["hit@5"] == 1 / 2


def test_an_empty_list_counts_zero():
    assert means({"u": ["a"], "v": []}, {"u": "a", "v": "a"})["mrr"] == 1 / 2


def test_a_user_without_a_true_item_is_left_out():
    ranking, labels = rank_lists({"u": ["a"], "v": ["a"]}, {"u": "a", "v": [], "w": []})
    result = evaluate(ranking, labels)
    assert (result.means["mrr"], result.num_queries, result.num_no_relevant) == (1.0, 1, 1)


def test_a_list_of_a_user_without_truth_is_ignored():
    assert means({"u": ["a"], "stranger": ["a"]}, {"u": "a"})["mrr"] == 1.0


def test_true_items_outside_the_list_count_among_all_true_items():
    found = means({"u": ["a", "x"]}, {"u": {"a", "b", "c", "d"}})
    assert found["recall@5"] == found["map"] == 1 / 4
    ideal = sum(1 / np.log2(place + 1) for place in range(1, 5))
    assert found["ndcg"] == pytest.approx(1 / ideal, abs=1e-15)


def test_a_true_item_outside_the_list_has_no_place_even_below_a_large_cutoff():
    ranking, labels = rank_lists({"u": ["x"]}, {"u": ["a", "b"]})
    result = evaluate(ranking, labels, ["hit@1000000000", "mrr@1000", "map@1000", "recall@1000", "ndcg@1000"])
    assert set(result.means.values()) == {0.0}
    assert (result.rank.tolist(), result.tied.tolist(), result.num_candidates.tolist()) == ([0], [0], [1])


@pytest.mark.parametrize("ties", ["expected", "file", "worst", "best", "trec"])
def test_no_tie_rule_gives_it_one(ties):
    ranking, labels = rank_lists({"u": [("x", -1e300)]}, {"u": ["a", "b"]})
    assert set(evaluate(ranking, labels, METRICS, ties=ties).means.values()) == {0.0}


def test_grades_are_gains():
    found = means({"u": ["a", "b"]}, {"u": {"a": 1, "b": 3}})
    assert found["ndcg@5"] == pytest.approx((1 + 3 / np.log2(3)) / (3 + 1 / np.log2(3)), abs=1e-15)


def test_users_and_items_may_be_numbers():
    assert means({7: [1, 2]}, {7: 2})["mrr"] == 1 / 2


@pytest.mark.parametrize(
    "items, problem",
    [
        (["a", "a"], "'u': an item stands twice"),
        (["a", ("b", 1.0)], "'u': some items have scores"),
        ([("a", 1.0, 2.0)], "'u': a pair"),
    ],
)
def test_a_list_that_contradicts_itself_is_refused(items, problem):
    with pytest.raises(DataError, match=problem):
        rank_lists({"u": items}, {"u": "a"})


def test_nothing_to_rank_is_refused():
    with pytest.raises(DataError, match="no user"):
        rank_lists({}, {})


@pytest.mark.parametrize("ties", ["expected", "file", "worst", "best", "trec"])
def test_many_true_items_outside_the_list_have_no_place_either(ties):
    items, right = [(f"i{place}", float(place % 3)) for place in range(60)], [f"i{place}" for place in range(20, 140)]
    ranking, labels = rank_lists({"u": items, "v": ["a"]}, {"u": right, "v": "a"})
    inside = rank_lists({"u": items, "v": ["a"]}, {"u": right[:40], "v": "a"})
    whole, part = (
        evaluate(each.ranking, each.labels, METRICS, ties=ties) for each in (RankedLists(ranking, labels), inside)
    )
    for name in ("mrr", "top1_accuracy", "hit@5", "precision@5"):
        assert whole.values[name].tolist() == pytest.approx(part.values[name].tolist(), abs=1e-15)
    assert whole.values["recall@5"][0] * 120 == pytest.approx(part.values["recall@5"][0] * 40, abs=1e-12)
    assert whole.values["map"][0] * 120 == pytest.approx(part.values["map"][0] * 40, abs=1e-12)
