"""The specification's worked numbers: what its documents print, recomputed exactly."""

from math import log, log2

import pytest

from ltr import evaluate, rank

pytestmark = pytest.mark.contract


def means(*queries, metrics=()):
    """Metrics of queries given as labels in ranked order."""
    labels = [label for query in queries for label in query]
    scores = [-float(place) for query in queries for place in range(len(query))]
    offsets = [0]
    for query in queries:
        offsets.append(offsets[-1] + len(query))
    return evaluate(rank(scores, offsets), labels, metrics).means


def at_rank(place, length=10):
    return [0] * (place - 1) + [1] + [0] * (length - place)


def test_reciprocal_ranks_of_the_first_four_places():
    for place in (1, 2, 3, 4):
        assert means(at_rank(place))["mrr"] == 1 / place


def test_first_scenario_of_five_queries():
    found = means(*(at_rank(place) for place in (1, 2, 1, 3, 1)))
    assert found["top1_accuracy"] == 3 / 5
    assert found["top3_accuracy"] == 5 / 5
    assert found["mrr"] == pytest.approx((1 + 1 / 2 + 1 + 1 / 3 + 1) / 5)  # 23/30, printed 0.767


def test_second_scenario_of_five_queries():
    found = means(*(at_rank(place) for place in (2, 4, 3, 1, 3)))
    assert found["top1_accuracy"] == 1 / 5
    assert found["top3_accuracy"] == 4 / 5
    assert found["mrr"] == pytest.approx((1 / 2 + 1 / 4 + 1 / 3 + 1 + 1 / 3) / 5)  # 29/60, printed 0.483


def test_recall_of_two_and_of_four_among_ten_relevant():
    found = means([1, 1, 0, 0, 0, 1, 1, 0, 0, 0] + [1] * 6, metrics=["recall@5", "recall@10"])
    assert found["recall@5"] == pytest.approx(2 / 10)
    assert found["recall@10"] == pytest.approx(4 / 10)


def test_precision_of_three_in_five_and_four_in_ten():
    found = means([1, 0, 1, 1, 0, 0, 0, 1, 0, 0], metrics=["precision@5", "precision@10"])
    assert found["precision@5"] == 3 / 5
    assert found["precision@10"] == 4 / 10


def test_hit_rate_of_three_users_of_whom_two_are_hit():
    assert means([0, 1, 0, 0], [1, 0, 0, 1], [0, 0, 0, 1], metrics=["hit@3"])["hit@3"] == pytest.approx(2 / 3)


def test_exponential_gain_three_at_the_first_three_places():
    for place, printed in ((1, 7), (2, 4.416508), (3, 3.5)):  # the document cuts 4.4165 to 4.41
        found = means([3 * label for label in at_rank(place)], metrics=["dcg_exp@3"])
        assert found["dcg_exp@3"] == pytest.approx(7 / log2(place + 1))
        assert found["dcg_exp@3"] == pytest.approx(printed, abs=1e-6)


GRADES = [3, 2, 3, 0, 1]


def test_exponential_dcg_of_the_five_grades():
    found = means(GRADES, metrics=["dcg_exp@5"])["dcg_exp@5"]
    assert found == pytest.approx(7 + 3 / log2(3) + 7 / 2 + 1 / log2(6))
    assert found == pytest.approx(12.779642, abs=1e-6)


def test_exponential_ideal_dcg_of_the_five_grades():
    found = means(sorted(GRADES, reverse=True), metrics=["dcg_exp@5"])["dcg_exp@5"]
    assert found == pytest.approx(13.347185, abs=1e-6)  # the document sums a truncated term and prints 13.34


def test_exponential_ndcg_of_the_five_grades():
    found = means(GRADES, metrics=["ndcg_exp@5"])["ndcg_exp@5"]
    assert found == pytest.approx(0.957478, abs=1e-6)  # the document prints 0.958


def test_linear_ndcg_of_the_five_grades():
    found = means(GRADES, metrics=["dcg@5", "ndcg@5"])
    assert found["dcg@5"] == pytest.approx(6.148712, abs=1e-6)
    assert means(sorted(GRADES, reverse=True), metrics=["dcg@5"])["dcg@5"] == pytest.approx(6.323466, abs=1e-6)
    assert found["ndcg@5"] == pytest.approx(0.972364, abs=1e-6)


def test_mrr_at_five_of_first_hits_at_one_two_five_and_none():
    queries = [at_rank(1), at_rank(2), at_rank(5), at_rank(6)]
    assert means(*queries, metrics=["mrr@5"])["mrr@5"] == pytest.approx((1 + 1 / 2 + 1 / 5 + 0) / 4)  # 0.425


USERS = {"A": [1, 0, 0, 1, 0, 1], "B": [0, 1, 0, 0, 1, 0], "C": [1, 1, 0, 1, 0, 0]}


@pytest.mark.parametrize(
    "user, by_hand", [("A", (1 + 2 / 4 + 3 / 6) / 3), ("B", (1 / 2 + 2 / 5) / 2), ("C", (1 + 1 + 3 / 4) / 3)]
)
def test_average_precision_of_each_user(user, by_hand):
    assert means(USERS[user], metrics=["map@6"])["map@6"] == pytest.approx(by_hand)


def test_mean_average_precision_of_the_three_users():
    assert means(*USERS.values(), metrics=["map@6"])["map@6"] == pytest.approx(0.677778, abs=1e-6)


def test_the_same_precision_with_another_average_precision():
    for labels, average in (([1, 0, 0, 1, 0, 1], 2 / 3), ([1, 1, 1, 0, 0, 0], 1)):
        found = means(labels, metrics=["precision@6", "map@6"])
        assert found["precision@6"] == 3 / 6
        assert found["map@6"] == pytest.approx(average)


def test_linear_ndcg_of_one_relevant_item_at_the_first_five_places():
    for place, printed in enumerate((1, 0.630930, 0.5, 0.430677, 0.386853), start=1):
        found = means(at_rank(place), metrics=["ndcg@5"])["ndcg@5"]
        assert found == pytest.approx(1 / log2(place + 1))
        assert found == pytest.approx(printed, abs=1e-6)


@pytest.mark.parametrize(
    "labels, printed", [([3, 0, 1, 2], (1, 0.735007, 0.915893)), ([3, 1, 0, 2], (1, 0.762502, 0.943388))]
)
def test_linear_ndcg_of_the_reranked_documents(labels, printed):
    found = means(labels, metrics=["ndcg@1", "ndcg@3", "ndcg@5"])
    assert [found[f"ndcg@{k}"] for k in (1, 3, 5)] == pytest.approx(printed, abs=1e-6)


def test_mrr_of_a_hit_at_one_and_at_five():
    assert means(at_rank(1))["mrr"] == 1
    assert means(at_rank(5))["mrr"] == 1 / 5


def by_probability(*probabilities, labels):
    """logloss of one query whose softmax gives these probabilities."""
    return evaluate(rank([log(p) for p in probabilities], [0, len(labels)]), labels, ["logloss"]).means["logloss"]


def test_logloss_of_the_timid_and_of_the_sure_model():
    assert by_probability(0.51, 0.49, labels=[1, 0]) == pytest.approx(-(log(0.51) + log(1 - 0.49)) / 2)
    assert by_probability(0.51, 0.49, labels=[1, 0]) == pytest.approx(0.673345, abs=1e-6)
    assert by_probability(0.99, 0.01, labels=[1, 0]) == pytest.approx(0.010050, abs=1e-6)


def test_the_loss_of_a_click_of_probability_a_thousandth():
    # the other candidate was as sure and wrong: both pay -log 0.001 = 6.907755, which grows as -log p
    assert by_probability(0.001, 0.999, labels=[1, 0]) == pytest.approx(6.907755, abs=1e-6)


def test_f_of_equal_weights_is_the_harmonic_mean_of_precision_and_recall():
    found = means([1, 0, 1, 0, 1, 1], metrics=["precision@3", "recall@3", "f1@3"])
    p, r = found["precision@3"], found["recall@3"]
    assert found["f1@3"] == pytest.approx(2 * p * r / (p + r))


def test_err_of_the_five_grades():
    scored = rank([5.0, 4.0, 3.0, 2.0, 1.0], [0, 5])
    ideal = sorted(GRADES, reverse=True)
    for labels, greatest, printed in ((GRADES, 3, 0.921468), (GRADES, 4, 0.560098), (ideal, 3, 0.931946)):
        found = evaluate(scored, labels, ["err@5"], max_grade=greatest).means["err@5"]
        assert found == pytest.approx(printed, abs=1e-6)


def test_err_of_one_binary_hit_at_the_first_place():
    assert means([1, 0, 0], metrics=["err@5"])["err@5"] == 0.5
