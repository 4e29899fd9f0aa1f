import math
import random
from decimal import Decimal, localcontext
from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ltr import evaluate, rank
from ltr.errors import DataError
from ltr.evaluation import FINE_BINS, Probability, candidate_probabilities
from ltr.evaluation.probabilities import CandidateCounts, chains, fine_bins, rounding
from tests.test_metrics import tied_groups

POOLED = ["accuracy", "precision", "recall", "f1", "f2", "f0.5", "auc", "gauc", "logloss", "ece", "confusion"]
CURVES = ["roc", "reliability"]


def several(seed, groups=200, largest=8):
    """Scores with ties, 0/1 labels, offsets."""
    scores, labels, _, offsets = tied_groups(np.random.default_rng(seed), groups, largest=largest)
    return scores * 5, (labels > 1).astype(float), offsets


def by_hand(scores, labels, offsets):
    """Softmax of each group, its labels, and which rows belong to a query that counts."""
    p, counted = np.empty(len(scores)), np.zeros(len(scores), dtype=bool)
    for first, last in zip(offsets[:-1], offsets[1:], strict=True):
        p[first:last] = np.exp(scores[first:last]) / np.exp(scores[first:last]).sum()
        counted[first:last] = labels[first:last].any()
    return p[counted], labels[counted]


def pairs_won(right, wrong):
    """AUC by looking at every pair; probabilities that are equal but for their last digits are level."""
    gaps = np.subtract.outer(right, wrong)
    return np.where(np.abs(gaps) < 1e-12, 0.5, gaps > 0).mean()


def test_the_confusion_matrix_counts_candidates_by_choice_and_truth():
    # probabilities: 0.6, 0.3, 0.1 and a level pair, both chosen at 0.5
    scores, labels = [math.log(6), math.log(3), 0.0, 1.0, 1.0], [0, 1, 0, 1, 0]
    result = evaluate(rank(scores, [0, 3, 5]), labels, ["confusion", "accuracy", "precision", "recall", "f1", "f2"])
    found = result.means
    counts = [found[f"confusion.{part}_{side}"] for part in ("true", "false") for side in ("positive", "negative")]
    assert counts == [1, 1, 2, 1]
    assert found["accuracy"] == 2 / 5
    assert found["precision"] == 1 / 3
    assert found["recall"] == 1 / 2
    assert found["f1"] == 2 / (2 + 1 + 2)
    assert found["f2"] == 5 / (5 + 4 * 1 + 2)
    assert "accuracy" not in result.values  # pooled over candidates: no value a query


def test_the_threshold_moves_what_is_chosen():
    scores, labels = [math.log(6), math.log(3), 0.0], [0, 1, 0]
    for threshold, recall in ((0.5, 0), (0.3 - 1e-12, 1), (0.31, 0)):
        assert evaluate(rank(scores, [0, 3]), labels, ["recall"], threshold=threshold).means["recall"] == recall


def test_precision_of_no_choice_is_none():
    assert evaluate(rank([0.0] * 3, [0, 3]), [1, 0, 0], ["precision"]).means["precision"] is None


@pytest.mark.parametrize("seed", range(3))
def test_auc_is_the_share_of_pairs_of_all_queries_in_the_right_order(seed):
    scores, labels, offsets = several(seed)
    p, y = by_hand(scores, labels, offsets)
    found = evaluate(rank(scores, offsets), labels, ["auc"]).means["auc"]
    assert found == pytest.approx(pairs_won(p[y > 0], p[y == 0]), abs=1e-12)


def queries_of_tenths(seed):
    """Thirty queries: how far their scores are shifted, then candidates, each with a score and whether it is right."""
    draw = random.Random(seed)
    sizes = [draw.randrange(1, 5) for _ in range(30)]
    return [(draw.randrange(-20, 21), [(draw.randrange(3), draw.random() < 0.5) for _ in range(n)]) for n in sizes]


def pairs_won_in_tenths(queries):
    """AUC of scores that are tenths; None without a pair.

    Two probabilities are equal exactly where the differences to the other candidates are: sums of different rational
    powers of e are never equal.
    """
    candidates = []
    for _, query in queries:
        if any(right for _, right in query):
            for own, right in query:
                differences = sorted(other - own for other, _ in query)
                candidates.append((right, differences, 1 / math.fsum(math.exp(each / 10) for each in differences)))
    won = [
        0.5 if differences == others else float(p > q)
        for right, differences, p in candidates
        if right
        for is_right, others, q in candidates
        if not is_right
    ]
    return sum(won) / len(won) if won else None


def in_tenths(queries):
    """The ranking and the labels of queries of a shift and candidates, each a score and whether it is right."""
    tenths = [shift + score for shift, query in queries for score, _ in query]
    offsets = np.cumsum([0, *(len(query) for _, query in queries)])
    return rank(np.array(tenths) / 10, offsets), [int(right) for _, query in queries for _, right in query]


def test_probabilities_that_only_rounding_tells_apart_are_a_tie_of_auc_and_one_step_of_roc():
    result = evaluate(rank([0.1, 0.2, 0.3, 0.4], [0, 2, 4]), [0, 1, 1, 0], ["auc", "roc"])
    # two levels, a right and a wrong candidate in each: won, lost, and two ties
    assert result.means["auc"] == (1 + 0 + 2 / 2) / 4
    assert result.curves["roc"]["true_positive_rate"] == result.curves["roc"]["false_positive_rate"] == [0, 1]


@pytest.mark.parametrize("seed", range(5))
def test_auc_counts_a_tie_where_the_probabilities_of_the_scores_as_written_are_equal(seed):
    queries = queries_of_tenths(seed)
    found = evaluate(*in_tenths(queries), ["auc"]).means["auc"]
    assert found == pytest.approx(pairs_won_in_tenths(queries), abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_auc_and_roc_do_not_depend_on_the_order_of_queries_and_lines(seed):
    queries, draw = queries_of_tenths(seed), random.Random(seed)
    mixed = [(shift, draw.sample(query, len(query))) for shift, query in draw.sample(queries, len(queries))]
    before, after = (evaluate(*in_tenths(each), ["auc", "roc"]) for each in (queries, mixed))
    assert (after.means["auc"], after.curves["roc"]) == (before.means["auc"], before.curves["roc"])


@pytest.mark.parametrize("further", [1e-12, 1e-9, 1.0])
def test_auc_tells_apart_what_is_more_than_rounding(further):
    # the second query's better candidate is ahead by a little more than the first's
    scores, offsets = [1.0, 0.0, 1.0 + further, 0.0], [0, 2, 4]
    assert evaluate(rank(scores, offsets), [1, 0, 1, 0], ["auc"]).means["auc"] == 1
    # exchanged in the second query: of four pairs only the first query's own is won
    assert evaluate(rank(scores, offsets), [1, 0, 0, 1], ["auc"]).means["auc"] == 1 / 4


def test_auc_tells_apart_probabilities_that_are_all_next_to_one():
    ranking = rank([100.0, 0.0, 200.0, 0.0, 1e300, -1e300], [0, 2, 4, 6])
    assert evaluate(ranking, [1, 0, 1, 0, 1, 0], ["auc"]).means["auc"] == 1
    # the wrong 1 - e^-200 beats 1 - e^-100 and e^-200; the wrong e^-100 beats e^-200
    assert evaluate(rank(ranking.scores[:4], [0, 2, 4]), [1, 0, 0, 1], ["auc"]).means["auc"] == 1 / 4


@settings(max_examples=20)
@given(
    st.integers(0, 10**6), st.sampled_from([1, 2, 3, 10, 30]), st.sampled_from([1, 10, 1000]), st.integers(-9999, 9999)
)
def test_the_log_probability_of_scores_as_written_is_within_its_rounding(seed, size, largest, shift):
    tenths = np.random.default_rng(seed).integers(-largest, largest + 1, size) + shift
    seen = candidate_probabilities(rank(tenths / 10, [0, size]), np.ones(size, dtype=bool), np.ones(1, dtype=bool), 0.5)
    with localcontext(prec=150):
        scores = [Decimal(int(each)) / 10 for each in tenths]
        exact = [-sum((other - own).exp() for other in scores).ln() for own in scores]
        errors = [float(abs(Decimal(float(log)) - true)) for log, true in zip(seen.log_right, exact, strict=True)]
    assert (np.array(errors) <= rounding(seen)).all()
    assert (rounding(seen) <= 2e-14 * (size + np.abs(tenths).max() / 10) * (1 + np.abs(seen.log_right))).all()


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]])
def test_a_tie_of_a_tie_is_a_tie(order):
    # -3.0, -2.9 and -2.8 are 0.1 apart and known to 0.06; -1 stands alone
    found = chains(np.array([-3.0, -2.9, -2.8, -1.0])[order], np.full(4, 0.06))
    assert found.tolist() == np.array([0, 0, 0, 1])[order].tolist()


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1], [1, 2, 0]])
def test_one_candidate_that_may_equal_two_others_ties_them(order):
    # -3 and -2 are exact and apart; what stands at -1 may be either
    assert chains(np.array([-3.0, -2.0, -1.0])[order], np.array([0.0, 0.0, 2.5])[order]).tolist() == [0, 0, 0]


def test_auc_of_one_kind_of_candidates_is_none():
    assert evaluate(rank([1.0, 0.0], [0, 2]), [1, 1], ["auc", "gauc"]).means["auc"] is None


def test_gauc_is_the_mean_of_the_pairs_inside_each_query_and_leaves_out_queries_without_a_wrong_candidate():
    scores, labels, offsets = [2.0, 1.0, 1.0, 5.0, 5.0, 9.0], [0, 1, 0, 1, 1, 1], [0, 3, 5, 6]
    result = evaluate(rank(scores, offsets), labels, ["gauc"])
    assert result.values["gauc"].tolist()[:1] == [(0 + 1 / 2) / 2]
    assert np.isnan(result.values["gauc"]).tolist() == [False, True, True]
    assert result.means["gauc"] == 1 / 4
    assert result.num_queries == 3


def test_gauc_of_ten_thousand_tied_queries_is_won_pairs_over_all_pairs():
    scores, labels, offsets = several(11, groups=10_000, largest=7)
    found = evaluate(rank(scores, offsets), labels, ["gauc"]).values["gauc"]
    for query, (first, last) in enumerate(zip(offsets[:-1], offsets[1:], strict=True)):
        right = labels[first:last] > 0
        if right.any() and not right.all():
            own = scores[first:last]
            assert found[query] == pytest.approx(pairs_won(own[right], own[~right]), abs=1e-12)
        else:
            assert np.isnan(found[query])


def test_gauc_counts_a_query_without_a_right_candidate_as_the_rule_says():
    ranking = rank([2.0, 1.0, 2.0, 1.0], [0, 2, 4])
    assert evaluate(ranking, [1, 0, 0, 0], ["gauc"]).means["gauc"] == 1
    assert evaluate(ranking, [1, 0, 0, 0], ["gauc"], no_relevant="zero").means["gauc"] == 1 / 2


@pytest.mark.parametrize("seed", range(3))
def test_logloss_is_the_mean_cross_entropy_of_candidates(seed):
    scores, labels, offsets = several(seed)
    p, y = by_hand(scores, labels, offsets)
    with np.errstate(divide="ignore", invalid="ignore"):
        losses = np.where(y > 0, -np.log(p), -np.log1p(-p))
    found = evaluate(rank(scores, offsets), labels, ["logloss"]).means["logloss"]
    assert found == pytest.approx(losses.mean(), abs=1e-12)


def test_click_probabilities_of_the_document_are_measured_as_they_are():
    # model A says .51 of a click and .49 of none, model B .99 and .01: one query each, so that a softmax would differ
    for of_click, of_none in ((0.51, 0.49), (0.99, 0.01)):
        ranking = rank([of_click, of_none], [0, 1, 2])
        found = evaluate(ranking, [1, 0], ["auc", "logloss"], no_relevant="zero", probability="given").means
        assert found["logloss"] == pytest.approx(-(math.log(of_click) + math.log(1 - of_none)) / 2)
        assert (found["auc"], found["logloss_floor"]) == (1, 0)


def test_a_sigmoid_makes_a_probability_of_each_score_by_itself():
    ranking = rank([0.0, math.log(3), -800.0], [0, 3])  # p = 1/2, 3/4, exp(-800)
    found = evaluate(ranking, [1, 0, 1], ["logloss"], probability="sigmoid").means["logloss"]
    assert found == pytest.approx((math.log(2) + math.log(4) + 745) / 3)


@pytest.mark.parametrize("first, area", [(0.3, (1 / 2 + 1 + 1) / 3), (math.nextafter(0.3, 1), 1)])
def test_given_probabilities_tie_in_auc_only_where_they_are_equal(first, area):
    found = evaluate(rank([first, 0.3, 0.2, 0.1], [0, 4]), [1, 0, 0, 0], ["auc"], probability="given")
    assert found.means["auc"] == pytest.approx(area)


def test_a_score_that_is_no_probability_is_refused_by_name():
    with pytest.raises(DataError, match="score 1.5 is no probability from 0 to 1, and probability is given"):
        evaluate(rank([0.5, 1.5], [0, 2]), [1, 0], ["auc"], probability="given")


def test_logloss_stays_exact_where_a_probability_is_next_to_one():
    found = evaluate(rank([0.0, 60.0], [0, 2]), [0, 1], ["logloss"]).means["logloss"]
    assert found == pytest.approx(math.exp(-60), rel=1e-12)
    wrong = evaluate(rank([60.0, 0.0], [0, 2]), [0, 1], ["logloss"]).means["logloss"]
    assert wrong == pytest.approx(60, rel=1e-12)


def test_a_lone_wrong_candidate_costs_a_great_deal_not_an_infinity():
    found = evaluate(rank([0.0], [0, 1]), [0], ["logloss"], no_relevant="zero").means
    assert found["logloss"] == found["logloss_floor"] == 745


@given(st.integers(0, 10**6))
def test_no_scores_bring_logloss_below_its_floor(seed):
    scores, labels, offsets = several(seed, groups=10)
    for rule in ("skip", "zero"):
        found = evaluate(rank(scores, offsets), labels, ["logloss"], no_relevant=rule).means
        if found["logloss"] is not None:
            assert found["logloss"] >= found["logloss_floor"] - 1e-12


def test_the_floor_of_logloss_is_reached_by_equal_shares_of_the_right_candidates():
    found = evaluate(rank([800.0, 800.0, 0.0], [0, 3]), [1, 1, 0], ["logloss"]).means
    assert found["logloss_floor"] == pytest.approx(2 * math.log(2) / 3)
    assert found["logloss"] == pytest.approx(found["logloss_floor"], abs=1e-15)


def test_reliability_sets_the_mean_probability_of_a_bin_beside_its_share_of_right_ones():
    # probabilities 0.75 and 0.25, twice; right once each
    scores = [math.log(3), 0.0, math.log(3), 0.0]
    result = evaluate(rank(scores, [0, 2, 4]), [1, 0, 0, 1], ["reliability", "ece"])
    curve = result.curves["reliability"]
    assert (curve["from"], curve["to"], curve["count"]) == ([0.2, 0.7], [0.3, 0.8], [2, 2])
    assert curve["probability"] == pytest.approx([0.25, 0.75])
    assert curve["right"] == [0.5, 0.5]
    assert result.means["ece"] == pytest.approx(0.25)
    assert "reliability" not in result.means


@pytest.mark.parametrize("seed", range(3))
def test_the_area_under_the_roc_curve_is_auc(seed):
    scores, labels, offsets = several(seed)
    result = evaluate(rank(scores, offsets), labels, ["roc", "auc"])
    curve = result.curves["roc"]
    x, y = np.array(curve["false_positive_rate"]), np.array(curve["true_positive_rate"])
    assert ((y[1:] + y[:-1]) / 2 * np.diff(x)).sum() == pytest.approx(result.means["auc"], abs=1e-12)
    assert (x[0], y[0], x[-1], y[-1]) == (0, 0, 1, 1)
    assert curve["threshold"][0] == 2  # above every probability
    assert (np.diff(curve["threshold"]) < 0).all()


def test_a_roc_curve_without_both_kinds_is_empty():
    assert evaluate(rank([1.0], [0, 1]), [1], ["roc"]).curves["roc"]["threshold"] == []


def test_the_order_of_the_lines_changes_no_digit():
    rng = np.random.default_rng(5)
    scores, labels, offsets = several(5)
    rows = [rng.permutation(np.arange(a, b)) for a, b in zip(offsets[:-1], offsets[1:], strict=True)]
    mixed = np.concatenate(rows)
    before = evaluate(rank(scores, offsets), labels, POOLED + CURVES)
    after = evaluate(rank(scores[mixed], offsets), labels[mixed], POOLED + CURVES)
    assert (after.means, after.curves) == (before.means, before.curves)


def test_a_constant_scorer_puts_nobody_before_anybody():
    rng = np.random.default_rng(0)
    labels = np.zeros(60)
    labels[np.arange(0, 60, 6) + rng.integers(0, 6, 10)] = 1
    found = evaluate(rank(np.full(60, 3.0), np.arange(0, 61, 6)), labels, POOLED).means
    assert found["auc"] == found["gauc"] == 1 / 2
    assert found["logloss"] == pytest.approx((math.log(6) + 5 * -math.log(5 / 6)) / 6, rel=1e-12)
    assert found["ece"] == pytest.approx(0, abs=1e-15)


def test_queries_without_a_right_candidate_are_left_out_with_all_their_candidates():
    ranking = rank([2.0, 1.0, 2.0, 1.0], [0, 2, 4])
    assert sum(evaluate(ranking, [1, 0, 0, 0], ["confusion"]).means[f"confusion.{part}"] for part in PARTS) == 2
    counted = evaluate(ranking, [1, 0, 0, 0], ["confusion"], no_relevant="zero").means
    assert sum(counted[f"confusion.{part}"] for part in PARTS) == 4


PARTS = ("true_positive", "false_positive", "false_negative", "true_negative")


def test_without_any_query_every_number_is_none_or_zero():
    result = evaluate(rank([], [0]), [], POOLED + CURVES)
    assert {value for name, value in result.means.items() if not name.startswith("confusion.")} == {None}
    assert result.curves["reliability"]["count"] == []


def test_the_probabilities_of_a_group_sum_to_one_far_apart_and_level():
    scores, offsets = np.array([1e300, -1e300, 3.0, 3.0, 7.0]), [0, 2, 4, 5]
    seen = candidate_probabilities(rank(scores, offsets), np.ones(5, dtype=bool), np.ones(3, dtype=bool), 0.5)
    assert seen.probability.tolist() == [1, 0, 0.5, 0.5, 1]
    assert np.exp(seen.log_wrong).tolist() == pytest.approx([0, 1, 0.5, 0.5, 0])


def seen_of(scores, sizes, meaning=Probability.SOFTMAX):
    """The candidates of queries of these sizes."""
    offsets, rows = np.cumsum([0, *sizes]), np.ones(sum(sizes), dtype=bool)
    return candidate_probabilities(rank(scores, offsets), rows, np.ones(len(sizes), dtype=bool), 0.5, meaning)


def test_probabilities_from_0_to_1_are_given_both_ends_and_one_alone_among_them():
    assert seen_of([0.0, 1.0], [2], Probability.GIVEN).probability.tolist() == [0, 1]
    assert seen_of([0.3, 0.3], [2], Probability.GIVEN).probability.tolist() == [0.3, 0.3]


@pytest.mark.parametrize("scores, named", [([0.0, 1.0, 1.5], "1.5"), ([0.0, 1.0, -0.5], "-0.5")])
def test_the_first_score_outside_0_to_1_is_named(scores, named):
    with pytest.raises(DataError, match=f"score {named} is no probability"):
        seen_of(scores, [3], Probability.GIVEN)


def test_no_candidates_have_no_probabilities_and_no_rounding():
    seen = seen_of([], [])
    assert [len(each) for each in (seen.probability, seen.log_right, seen.log_wrong, rounding(seen))] == [0] * 4


def test_what_is_left_to_the_others_is_exact_where_their_probability_is_below_every_float():
    seen = seen_of([1000.0, 0.0, 7.0, 2000.0, 0.0], [2, 1, 2])  # 1 - p = exp(-1000)
    assert seen.log_wrong[[0, 3]].tolist() == [-1000, -2000]
    assert seen.log_right.tolist() == [0, -1000, 0, 0, -2000]


def test_intervals_that_touch_are_one_chain():
    assert chains(np.array([1.0, 2.0, 3.5]), np.full(3, 0.5)).tolist() == [0, 0, 1]


def test_the_rounding_of_a_query_is_its_formula_whatever_other_queries_there_are():
    queries = [[math.log(6), -math.log(3), 0.0], [50.0, 49.0]]
    found = rounding(seen_of([score for query in queries for score in query], [3, 2])) / np.finfo(float).eps
    assert found == pytest.approx([term for query in queries for term in rounding_terms(query)], rel=1e-12)


def rounding_terms(scores):
    """3 (1 - p_i) (|s_i| + |max s|) + 3 n max_j p_j (1 - p_j) |s_j| + (n + 32) |log p_i| of each candidate."""
    total, n = math.fsum(map(math.exp, scores)), len(scores)
    p = [math.exp(score) / total for score in scores]
    largest = max(q * (1 - q) * abs(score) for q, score in zip(p, scores, strict=True))
    for q, score in zip(p, scores, strict=True):
        yield 3 * (1 - q) * (abs(score) + abs(max(scores))) + 3 * n * largest + (n + 32) * abs(math.log(q))


def counts_of(queries):
    """What is counted of the candidates of queries, each a list of (score, whether it is right)."""
    scores, right = (np.array([candidate[place] for query in queries for candidate in query]) for place in (0, 1))
    offsets, counted = np.cumsum([0, *map(len, queries)]), np.ones(len(queries), dtype=bool)
    return CandidateCounts.of(candidate_probabilities(rank(scores, offsets), right.astype(bool), counted, 0.3))


def test_the_counts_of_shards_add_up_to_those_of_all_queries():
    draw = random.Random(0)
    queries = [[(draw.gauss(0, 2), draw.random() < 0.4) for _ in range(draw.randrange(1, 6))] for _ in range(60)]
    of_all, of_shards = (
        counts_of(queries),
        reduce(add, [counts_of(queries[first : first + 20]) for first in (0, 20, 40)]),
    )
    assert of_all.confusion.min() > 0
    assert of_shards.least_loss == pytest.approx(of_all.least_loss) != 0
    assert of_shards.loss == pytest.approx(of_all.loss)
    assert (of_shards.number, of_shards.queries) == (of_all.number, of_all.queries)
    for name in ("confusion", "count", "right", "least"):
        np.testing.assert_array_equal(getattr(of_shards, name), getattr(of_all, name))
    for name in ("calibration", "first_calibration"):
        np.testing.assert_allclose(getattr(of_shards, name), getattr(of_all, name), atol=1e-12)


def test_a_block_of_counts_has_the_least_probability_of_its_bin():
    blocks = counts_of([[(math.log(3), True), (0.0, False)], [(0.0, True), (0.0, False)]]).blocks
    assert blocks.probability.tolist() == pytest.approx([1 / 4, 1 / 2, 3 / 4])
    assert (blocks.count.tolist(), blocks.right.tolist()) == ([1, 2, 1], [0, 1, 1])


def test_the_bounds_of_auc_and_roc_are_those_of_their_fullest_bins():
    level, sure = [(0.0, True), (0.0, False)], [(5.0, True), (0.0, False)]
    bounds = counts_of([level, level, sure, sure, sure]).error_bounds
    # of 5 right and 5 wrong ones 2 and 2 share the bin of 1/2; the greatest of right and of wrong hold 3 of 5
    assert bounds == {"auc": 2 * 2 / (2 * 5 * 5), "roc": 3 / 5}


def test_bins_are_even_in_log_odds_from_the_least_sure_to_the_surest():
    assert fine_bins(seen_of([100.0, 0.0, 22.0001, 0.0], [2, 2])).tolist()[:3] == [FINE_BINS - 1, 0, FINE_BINS * 3 // 4]


def test_the_first_choices_are_counted_by_their_own_probability():
    # probabilities 3/4, right; 19/20, wrong; 1, right; two level ones of 1/2, one of them right
    scores = [math.log(3), 0.0, math.log(19), 0.0, 0.0, 3.0, 3.0]
    result = evaluate(rank(scores, [0, 2, 4, 5, 7]), [1, 0, 0, 1, 1, 1, 0], ["reliability", "reliability_first"])
    curve = result.curves["reliability_first"]
    assert (curve["from"], curve["to"]) == ([0.5, 0.7, 0.9], [0.6, 0.8, 1.0])
    assert (curve["count"], curve["right"]) == ([1, 1, 2], [0.5, 1, 0.5])
    assert curve["probability"] == pytest.approx([1 / 2, 3 / 4, (19 / 20 + 1) / 2])
    assert result.curves["reliability"]["to"][-1] == 1.0


@pytest.mark.parametrize("size", [2, 3, 7])
def test_where_no_candidate_is_right_equal_probabilities_lose_least(size):
    found = evaluate(rank([0.0] * size, [0, size]), [0] * size, ["logloss"], no_relevant="zero").means
    assert found["logloss_floor"] == pytest.approx(-math.log(1 - 1 / size))
    assert found["logloss"] == pytest.approx(found["logloss_floor"])
