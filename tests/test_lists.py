import numpy as np
import pytest

from ltr import evaluate, rank
from ltr.evaluation import notes
from ltr.evaluation.interpretation import even_log_loss

METRICS = ["hit@5", "precision@5", "recall@5", "ndcg@5", "map", "ndcg"]


def rank_lists(recommended, truth):
    """The ranking and labels of each user's items, or (item, score) pairs; a right one outside the list is unlisted."""
    names, scores, labels, listed, offsets = [], [], [], [], [0]
    for user, right in truth.items():
        several = right if isinstance(right, list | set | dict) else [right]
        grades = right if isinstance(right, dict) else dict.fromkeys(several, 1)
        given = recommended.get(user, [])
        items = dict(item if isinstance(item, tuple) else (item, -place) for place, item in enumerate(given))
        missed = sorted((item for item in grades if item not in items), key=str)
        names += [str(item) for item in (*items, *missed)]
        scores += [*items.values(), *[0.0] * len(missed)]
        labels += [grades.get(item, 0) for item in (*items, *missed)]
        listed += [True] * len(items) + [False] * len(missed)
        offsets += [len(names)] if len(names) > offsets[-1] else []
    keys, is_listed = np.unique(names, return_inverse=True)[1], np.array(listed)
    return rank(np.array(scores, dtype=float), offsets, keys=keys, listed=is_listed), np.array(labels, dtype=float)


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


@pytest.mark.parametrize("ties", ["expected", "file", "worst", "best", "trec"])
def test_many_true_items_outside_the_list_have_no_place_either(ties):
    items, right = [(f"i{place}", float(place % 3)) for place in range(60)], [f"i{place}" for place in range(20, 140)]
    ranking, labels = rank_lists({"u": items, "v": ["a"]}, {"u": right, "v": "a"})
    inside = rank_lists({"u": items, "v": ["a"]}, {"u": right[:40], "v": "a"})
    whole, part = (evaluate(*each, METRICS, ties=ties) for each in ((ranking, labels), inside))
    for name in ("mrr", "top1_accuracy", "hit@5", "precision@5"):
        assert whole.values[name].tolist() == pytest.approx(part.values[name].tolist(), abs=1e-15)
    assert whole.values["recall@5"][0] * 120 == pytest.approx(part.values["recall@5"][0] * 40, abs=1e-12)
    assert whole.values["map"][0] * 120 == pytest.approx(part.values["map"][0] * 40, abs=1e-12)


CANDIDATES = ["auc", "logloss", "logloss_floor", "ece", "accuracy", "precision", "recall", "f1", "confusion", "roc"]


def of_candidates(recommended, truth, **rules):
    ranking, labels = rank_lists(recommended, truth)
    result = evaluate(ranking, labels, [*CANDIDATES, "gauc", "reliability"], **rules)
    own = [name for name in result.means if name.partition(".")[0] in CANDIDATES]
    return {name: result.means[name] for name in own} | result.curves, result.means["gauc"]


def test_measures_over_candidates_know_nothing_of_what_is_not_in_the_list():
    lists = {"u": [("a", 2.0), ("b", 1.0), ("c", 0.0)], "v": [("b", 0.0), ("a", 1.0)]}
    whole = of_candidates(lists, {"u": "b", "v": "b"})
    assert of_candidates(lists, {"u": ["b", "x", "y"], "v": ["b", "z"]}) == whole
    assert whole[1] == (1 / 2 + 0) / 2


def test_an_empty_list_has_no_candidates_and_orders_nothing():
    lists = {"u": [("a", 2.0), ("b", 1.0), ("c", 0.0)]}
    whole, gauc = of_candidates(lists, {"u": "b"})
    assert gauc == 1 / 2
    assert of_candidates(lists, {"u": "b", "v": "a"}) == (whole, (1 / 2 + 0) / 2)


def test_empty_lists_alone_leave_measures_over_candidates_undefined():
    found, gauc = of_candidates({}, {"u": "b", "v": "a"})
    assert gauc == 0.0
    assert found["auc"] is found["logloss"] is found["logloss_floor"] is found["ece"] is found["f1"] is None
    assert found["confusion.true_positive"] == 0
    assert found["roc"]["threshold"] == []


def test_a_reader_never_comes_to_what_is_not_in_the_list_which_still_sets_the_greatest_grade():
    ranking, labels = rank_lists({"u": ["a", "b"]}, {"u": {"a": 1, "b": 2, "c": 3, "d": 3}})
    first, second = 1 / 8, 3 / 8
    for name in ("err@2", "err@1000000000", "err"):
        assert evaluate(ranking, labels, [name]).means[name] == first + (1 - first) * second / 2


@pytest.mark.parametrize("ties", ["expected", "file", "worst", "best", "trec"])
@pytest.mark.parametrize("longest", [4, 60])
def test_what_is_not_in_the_list_counts_as_what_stands_beyond_every_cutoff(ties, longest):
    names = ["hit@3", "mrr@3", "precision@3", "f0.5@3", "map@3", "cg@3", "dcg@3", "ndcg_exp@3", "idcg@3", "err@3"]
    rng = np.random.default_rng(0)
    for _ in range(20):
        items, missed = rng.permutation(longest).tolist(), [f"x{place}" for place in range(rng.integers(1, 4))]
        scored = [(item, float(rng.integers(3))) for item in items]
        truth = {"u": {item: float(rng.integers(4)) for item in [*items[: longest // 2 + 1], *missed]}, "v": {0: 1.0}}
        behind = [(f"y{place}", -1.0) for place in range(3)]
        far = scored + behind + [(item, -2.0 - place) for place, item in enumerate(missed)]
        short, full = (rank_lists({"u": each, "v": [(0, 1.0)]}, truth) for each in (scored, far))
        found, expected = (evaluate(*each, names, ties=ties).means for each in (short, full))
        assert found == pytest.approx(expected | {"mrr": found["mrr"]}, abs=1e-12)


def test_the_note_on_even_probabilities_counts_the_listed_alone():
    ranking, labels = rank_lists({"u": [("a", 1.0), ("b", 1.0)]}, {"u": ["a", "x", "y"], "v": ["z"]})
    result = evaluate(ranking, labels, ["logloss"])
    assert even_log_loss(result) == pytest.approx(result.means["logloss"], abs=1e-15)
    assert result.num_found.tolist() == [1, 0]
    assert not any("cannot miss" in note for note in notes(evaluate(ranking, labels, ["hit@10"])))
