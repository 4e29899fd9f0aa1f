import numpy as np
import pytest

from ltr import rank
from ltr.evaluation import Baseline, BestFeature, NoRelevant, Rules, Ties, baseline_rankings, best_baseline, evaluate_by
from ltr.evaluation.baselines import best_feature

RULES = Rules(("ndcg@3",))
OFFSETS = np.array([0, 3, 5])
LABELS = np.array([0.0, 1.0, 0.0, 1.0, 0.0])
PHI = np.array([[0.2, 3.0], [0.9, 1.0], [0.5, 2.0], [0.8, 9.0], [0.1, 8.0]])


def beside(rules=RULES):
    ranking = rank(np.zeros(5), OFFSETS, keys=np.arange(5))
    scores = {"best_feature": PHI[:, 0], "untrained": PHI.sum(axis=1)}
    ranked = baseline_rankings(scores, LABELS, ranking, rules)
    assert list(ranked) == [name for name in Baseline.TITLES if name in ranked]
    return {name: evaluate_by(ranking, LABELS, rules) for name, (ranking, rules) in ranked.items()}


def test_random_order_is_the_exact_expectation_whatever_the_tie_rule():
    for ties in Ties:
        means = beside(Rules(ties=ties))["random"].means
        assert means["top1_accuracy"] == pytest.approx((1 / 3 + 1 / 2) / 2)
        assert means["mrr"] == pytest.approx(((1 + 1 / 2 + 1 / 3) / 3 + (1 + 1 / 2) / 2) / 2)


def test_untrained_is_the_sum_of_the_features():
    # sums: 3.2 1.9 2.5 | 9.8 8.1: the right ones stand third and first
    assert beside()["untrained"].means["mrr"] == pytest.approx((1 / 3 + 1) / 2)


def test_the_oracle_orders_by_label():
    assert set(beside()["oracle"].means.values()) == {1.0}


def test_scores_rank_from_the_greatest():
    assert beside()["best_feature"].means["top1_accuracy"] == 1


def test_the_first_of_equal_rankings_without_training_is_compared_with():
    top1 = {"similarity": 0.4, "bm25": 0.4, "offered": 0.4}
    assert best_baseline(top1, {}) == "offered"
    assert best_baseline(top1, {"offered": "right ones stand first"}) == "bm25"


def test_the_best_feature_is_the_one_with_the_greatest_mrr():
    assert best_feature(["a", "b"], PHI, LABELS, OFFSETS) == BestFeature("a", 1)
    assert best_feature(["b", "-a"], np.column_stack((PHI[:, 1], -PHI[:, 0])), LABELS, OFFSETS) == BestFeature("-a", -1)


def test_the_first_of_equal_features_is_named():
    assert best_feature(["a", "b"], np.column_stack((PHI[:, 0], PHI[:, 0])), LABELS, OFFSETS).name == "a"


def test_graded_labels_above_zero_count_for_the_choice():
    assert best_feature(["a", "b"], PHI, LABELS / 2, OFFSETS) == BestFeature("a", 1)


def test_the_rules_are_handed_on():
    result = beside(Rules(("hit@2",), Ties.WORST, no_relevant=NoRelevant.ZERO))["untrained"]
    assert (result.rules.ties, result.rules.no_relevant, "hit@2" in result.means) == ("worst", "zero", True)


def test_the_greatest_mrr_decides_before_the_greatest_top1():
    ranks = {"a": (2, 2, 2), "b": (1, 5, 5)}  # of the right one among 7: MRR 1/2 and 7/15, Top-1 0 and 1/3
    others = np.arange(6)
    columns = [
        np.concatenate([np.concatenate([[6.5 - rank], others]) for rank in of_feature]) for of_feature in ranks.values()
    ]
    labels, offsets = np.tile([1.0, 0, 0, 0, 0, 0, 0], 3), np.array([0, 7, 14, 21])
    assert best_feature(list(ranks), np.column_stack(columns), labels, offsets) == BestFeature("a", 1)
