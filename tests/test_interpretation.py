import math

import numpy as np
import pytest

from ltr import evaluate, rank
from ltr.evaluation import named, notes, preset_metrics
from ltr.evaluation.interpretation import even_log_loss
from ltr.evaluation.metrics import PRESETS


def at_ranks(*places, length=5, metrics=(), copies=40):
    """Queries whose right candidate stands at these places, over and over."""
    labels = np.zeros((len(places) * copies, length))
    for query, place in enumerate(places * copies):
        labels[query, place - 1] = 1
    scores = np.tile(-np.arange(float(length)), len(labels))
    return evaluate(rank(scores, np.arange(len(labels) + 1) * length), labels.ravel(), metrics)


@pytest.mark.parametrize("preset", PRESETS)
def test_every_metric_of_a_preset_exists_and_is_called_by_its_own_name(preset):
    names = preset_metrics(preset, longest=10**6)
    assert [named(name).name for name in names] == list(names)


def test_the_presets_hold_what_the_documents_recommend():
    assert preset_metrics("ltr", 10**6) == ()
    assert preset_metrics("recall", 50) == ("hit@10", "hit@20", "hit@50", "ndcg@10", "ndcg@20")
    assert preset_metrics("recall", 1001)[5:] == ("recall@100", "recall@200", "recall@1000", "mrr@10")
    assert preset_metrics("ranking", 50) == ("ndcg@5", "ndcg@10", "hit@5", "precision@5")
    assert preset_metrics("end-to-end", 50) == ("hit@5", "ndcg@5", "hit@10", "ndcg@10")
    assert preset_metrics("ctr", 50)[:2] == ("auc", "logloss")


def test_recall_at_a_cutoff_that_no_list_exceeds_is_not_asked():
    assert "recall@100" not in preset_metrics("recall", 100)
    assert "recall@100" in preset_metrics("recall", 101)


@pytest.mark.parametrize(
    "places, band", [((1,), "excellent"), ((1, 1, 1, 1, 2), "good"), ((1, 1, 2), "usable"), ((1, 2), "not usable yet")]
)
def test_top_1_is_read_by_the_bands_of_the_document(places, band):
    assert notes(at_ranks(*places))[0].split(": ")[1].startswith(band)


def test_top_1_low_with_top_3_high_points_at_the_weights():
    assert notes(at_ranks(2, 1))[1] == "top-1 is low and top-3 high: the right one is near the top; look at the weights"


def test_mrr_low_points_at_the_features():
    assert "MRR is low: look at the features" in notes(at_ranks(3, 3, 3, 1))


def test_all_low_points_at_features_and_data():
    assert "all are low: look at the features and at the data" in notes(at_ranks(5))


def test_fewer_than_a_hundred_queries_are_said_to_be_few():
    assert notes(at_ranks(1, copies=99))[-1].startswith("fewer than 100 queries")
    assert len(notes(at_ranks(1, copies=100))) == 1


def test_no_query_is_not_read():
    assert notes(evaluate(rank([1.0], [0, 1]), [0])) == []


@pytest.mark.parametrize(
    "places, found",
    [
        ((1,), "is found, and stands first"),
        ((50,), "is found, but not put first"),
        ((1, 1, 150), "stands first, but much of what is right is missing"),
        ((150,), "is missing, and what is found does not stand first"),
    ],
)
def test_recall_and_mrr_are_read_together(places, found):
    told = notes(at_ranks(*places, length=150, metrics=preset_metrics("recall", 150)))
    assert any(text.startswith("recall@100") and found in text for text in told)


def test_recall_of_few_places_or_without_an_mrr_is_not_read_as_a_search():
    assert len(notes(at_ranks(1, length=150, metrics=["recall@5", "mrr@10"], copies=100))) == 1
    assert len(notes(at_ranks(1, length=150, metrics=["recall@100"], copies=100))) == 1


def test_a_hit_that_cannot_miss_is_told():
    result = at_ranks(1, length=12, metrics=preset_metrics("recall", 12), copies=100)
    assert "no list is longer than 12: hit@20, hit@50 cannot miss" in notes(result)


@pytest.mark.parametrize(
    "scores, found",
    [
        ((5.0, 0.0), "orders well, and its probabilities say more"),
        ((0.0, 5.0), "neither orders well"),
    ],
)
def test_auc_and_logloss_are_read_together(scores, found):
    result = evaluate(rank(scores * 100, np.arange(101) * 2), [1, 0] * 100, ["auc", "logloss"])
    assert any(found in text for text in notes(result))


def test_a_good_order_with_wild_probabilities_is_to_be_calibrated():
    # one query in ten is wrong, and as sure of it as of all others
    scores = ([40.0, 0.0] * 9 + [0.0, 40.0]) * 10
    result = evaluate(rank(scores, np.arange(101) * 2), [1, 0] * 100, ["auc", "logloss"])
    assert any("orders well, but its probabilities are off: calibrate them" in text for text in notes(result))


def test_a_bad_order_whose_probabilities_still_say_something_is_rare():
    # one query in five is known, the others are level: auc = 1/5 + 4/5 * (1/5 + 4/5 / 2)
    scores = [3.0, 0.0] * 20 + [0.0, 0.0] * 80
    result = evaluate(rank(scores, np.arange(101) * 2), [1, 0] * 100, ["auc", "logloss"])
    assert result.means["auc"] == pytest.approx(1 / 5 + 4 / 5 * (1 / 5 + 4 / 5 / 2))
    assert any("orders badly, though" in text for text in notes(result))


def test_even_probabilities_lose_what_a_constant_scorer_loses():
    ranking, labels = rank([0.0] * 6, [0, 2, 5, 6]), [1, 0, 1, 1, 0, 1]
    result = evaluate(ranking, labels, ["logloss"])
    assert even_log_loss(result) == pytest.approx(result.means["logloss"], abs=1e-15)


def test_hit_at_1_alone_is_called_strict():
    strict = "hit@1 alone is strict: read it with hit@5 or hit@10, or with ndcg@5"
    assert strict in notes(at_ranks(1, metrics=["hit@1"]))
    assert strict not in notes(at_ranks(1, metrics=["hit@1", "hit@3"]))
    assert strict not in notes(at_ranks(1))


def test_probabilities_of_others_are_read_beside_the_share_that_is_right():
    # three of four candidates are right: entropy of 3/4
    result = evaluate(rank([0.9, 0.9, 0.9, 0.1], [0, 2, 4]), [1, 1, 1, 0], ["auc", "logloss"], probability="given")
    entropy = -(3 * math.log(3 / 4) + math.log(1 / 4)) / 4
    assert even_log_loss(result) == pytest.approx(entropy)
    assert result.means["logloss"] == pytest.approx(-math.log(0.9))
    assert f"(the share right for each candidate: {entropy:.3f})" in notes(result)[-1]


def test_the_floor_of_logloss_is_told_where_queries_have_several_right_candidates():
    result = evaluate(rank([2.0, 1.0, 0.0], [0, 3]), [1, 1, 0], ["auc", "logloss"])
    assert f"no scores bring logloss below {2 * math.log(2) / 3:.3f}" in notes(result)[-1]


def test_top_3_high_is_told_though_mrr_is_low_as_well():
    found = notes(at_ranks(3, 3, 3, 3, 1, 5))  # Top-1 1/6, Top-3 5/6, MRR .422
    assert "MRR is low: look at the features" in found
    assert "top-1 is low and top-3 high: the right one is near the top; look at the weights" in found


def test_what_is_no_more_than_a_bound_is_below_it():
    # Top-1 0, Top-3 1/2 and MRR (1/3 + 1/5) / 2: the greatest is 0.5
    assert "all are low: look at the features and at the data" in notes(at_ranks(3, 5))
    # Top-1 0.4, Top-3 0.7
    assert not any("top-3 high" in text for text in notes(at_ranks(*[1] * 4, *[2] * 3, *[5] * 3)))


@pytest.mark.parametrize(
    "places, words",
    [
        ((1,) * 9 + (150,), "what is right is found, and stands first"),  # recall 0.9
        ((2,), "what is right is found, but not put first: look at the ranking"),  # MRR 0.5
    ],
)
def test_a_search_is_complete_from_its_bound_and_first_above_it(places, words):
    result = at_ranks(*places, length=150, metrics=["recall@100", "mrr@10"])
    assert notes(result)[-1].endswith(f": {words}")


def test_a_cutoff_as_long_as_the_longest_list_cannot_miss():
    result = at_ranks(1, length=12, metrics=["hit@11", "hit@12"], copies=100)
    assert notes(result)[-1] == "no list is longer than 12: hit@12 cannot miss"


@pytest.mark.parametrize("metrics", [["recall@10", "mrr@10"], ["hit@100", "mrr@10"]])
def test_a_search_is_read_by_a_recall_that_is_deeper_than_the_mrr(metrics):
    assert len(notes(at_ranks(1, length=150, metrics=metrics, copies=100))) == 1


@pytest.mark.parametrize("metrics", [["auc"], ["logloss"]])
def test_auc_or_logloss_alone_is_not_read(metrics):
    assert len(notes(at_ranks(1, metrics=metrics, copies=100))) == 1


@pytest.mark.parametrize(
    "probabilities",
    [
        [0.35, *[0.1] * 7, *[0.9] * 3],  # the right one, which is the first, is before 7 of 10: auc 7/10
        [0.5, 0.5],  # logloss ln 2, as without any knowledge
    ],
)
def test_an_auc_at_its_bound_and_a_logloss_of_even_probabilities_are_not_good(probabilities):
    labels = [1] + [0] * (len(probabilities) - 1)
    result = evaluate(rank(probabilities, [0, len(labels)]), labels, ["auc", "logloss"], probability="given")
    assert notes(result)[-1].endswith("neither orders well nor knows how sure it is: look at features and data")


def test_no_verdict_is_given_of_queries_that_training_saw():
    assert notes(at_ranks(1), is_seen=True)[0] == "top-1 1.000: no verdict, training saw some of these traces"
