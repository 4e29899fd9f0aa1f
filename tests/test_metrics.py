from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ltr import evaluate, rank
from ltr.errors import ArrayError, DataError, RunError, UsageError
from ltr.evaluation import MEASURES, Measure, Ties, named
from ltr.evaluation.cascade import stop_probabilities
from ltr.evaluation.ties import tie_blocks
from tests.oracles import MEASURES as MEASURES_BY_HAND
from tests.oracles import expected_value, ordered_labels, slices, value

CUTOFFS = (1, 2, 3, 5)
CUT = [f"{name}@{k}" for name in MEASURES_BY_HAND for k in CUTOFFS]
WHOLE = ["mrr", "map", "ndcg", "ndcg_exp", "err"]
GAINS = ("cg", "dcg", "idcg")  # measures without an upper end
FIXED = ("file", "trec", "best", "worst")


def tied_groups(rng, groups, *, largest=6, levels=3):
    """Scores of few values, graded labels with a positive each, ids, offsets."""
    lengths = rng.integers(1, largest + 1, groups)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    scores = rng.integers(0, levels, offsets[-1]) / 7
    labels = rng.integers(0, 4, offsets[-1]) * (rng.random(offsets[-1]) < 0.5)
    for rows in slices(offsets):
        labels[rows.start] = max(labels[rows.start], 1) if not labels[rows].any() else labels[rows.start]
    return scores, labels.astype(float), rng.permutation(offsets[-1]), offsets


def one(scores, labels, metrics, **rules):
    """Means of a single query."""
    return evaluate(rank(scores, [0, len(scores)]), labels, metrics, **rules).means


def test_every_measure_under_expected_is_the_mean_over_all_orders_of_the_ties():
    scores, labels, _, offsets = tied_groups(np.random.default_rng(1), 1_000)
    found = evaluate(rank(scores, offsets), labels, CUT + WHOLE).values
    queries = [(tuple(scores[rows].tolist()), tuple(labels[rows].tolist())) for rows in slices(offsets)]
    for name in CUT + WHOLE:
        base, _, k = name.partition("@")
        by_hand = [expected_value(base, *query, 1, int(k or len(query[0]))) for query in queries]
        np.testing.assert_allclose(found[name], by_hand, rtol=0, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("ties", FIXED)
def test_every_measure_under_a_fixed_rule_is_the_plain_loop_over_the_sorted_list(ties):
    scores, labels, keys, offsets = tied_groups(np.random.default_rng(2), 1_000, largest=9)
    found = evaluate(rank(scores, offsets, keys=keys), labels, CUT + WHOLE, ties=ties).values
    lists = [ordered_labels(scores[rows], labels[rows].tolist(), ties, keys[rows]) for rows in slices(offsets)]
    for name in CUT + WHOLE:
        base, _, k = name.partition("@")
        by_hand = [value(base, listed, 1, int(k or len(listed))) for listed in lists]
        np.testing.assert_allclose(found[name], by_hand, rtol=0, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("threshold", [1, 2, 3])
def test_only_labels_at_the_threshold_are_relevant_while_every_label_is_a_gain(threshold):
    scores, labels, _, offsets = tied_groups(np.random.default_rng(3), 150)
    result = evaluate(rank(scores, offsets), labels, CUT, rel_threshold=threshold)
    for query, rows in enumerate(slices(offsets)):
        own = tuple(scores[rows].tolist()), tuple(labels[rows].tolist())
        relevant = max(own[1]) >= threshold
        assert (result.num_positives[query] > 0) == relevant
        for name in CUT:
            base, _, k = name.partition("@")
            by_hand = expected_value(base, *own, threshold, int(k)) if relevant else np.nan
            assert result.values[name][query] == pytest.approx(by_hand, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("shape", [lambda label: label / 8, lambda label: label * 2.0**21, lambda label: label**0.5])
def test_grades_may_be_any_numbers(shape):
    scores, whole, _, offsets = tied_groups(np.random.default_rng(6), 300)
    labels = shape(whole)
    found = evaluate(rank(scores, offsets), labels, ["ndcg@3", "idcg@3", "cg@2"], rel_threshold=shape(1.0)).values
    for query, rows in enumerate(slices(offsets)):
        own = tuple(scores[rows].tolist()), tuple(labels[rows].tolist())
        for name in ("ndcg@3", "idcg@3", "cg@2"):
            by_hand = expected_value(name[:-2], *own, shape(1.0), int(name[-1]))
            assert found[name][query] == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.parametrize("ties", ["expected", "best", "worst"])
def test_shuffling_the_rows_of_the_queries_changes_nothing(ties):
    rng = np.random.default_rng(4)
    scores, labels, _, offsets = tied_groups(rng, 500, largest=12)
    mixed = np.concatenate([rng.permutation(np.arange(rows.start, rows.stop)) for rows in slices(offsets)])
    before = evaluate(rank(scores, offsets), labels, CUT, ties=ties)
    after = evaluate(rank(scores[mixed], offsets), labels[mixed], CUT, ties=ties)
    for name in CUT:
        np.testing.assert_allclose(after.values[name], before.values[name], rtol=0, atol=0)
    np.testing.assert_array_equal(after.rank, before.rank)
    np.testing.assert_array_equal(after.tied, before.tied)


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.floats(0.01, 100), st.floats(-50, 50))
def test_scaling_and_shifting_scores_changes_nothing(seed, scale, shift):
    scores, labels, _, offsets = tied_groups(np.random.default_rng(seed), 20)
    before, after = (evaluate(rank(each, offsets), labels, CUT) for each in (scores, scores * scale + shift))
    assert after.means == before.means


@settings(max_examples=20)
@given(st.integers(0, 10**6))
def test_every_value_lies_between_worst_and_best_and_all_but_gains_in_zero_to_one(seed):
    scores, labels, _, offsets = tied_groups(np.random.default_rng(seed), 20)
    low, mid, high = (
        evaluate(rank(scores, offsets), labels, CUT, ties=ties).values for ties in ("worst", "expected", "best")
    )
    for name in CUT:
        assert (low[name] <= mid[name] + 1e-12).all()
        assert (mid[name] <= high[name] + 1e-12).all()
        assert (mid[name] >= 0).all()
        assert name.startswith(GAINS) or (high[name] <= 1).all()


@pytest.mark.parametrize("labels", [(1, 0, 0, 0, 0), (3, 1, 0, 0, 2), (0, 2, 2, 0, 0, 0)])
def test_a_constant_scorer_gets_exactly_the_random_expectation_in_every_measure_in_any_order_of_the_lines(labels):
    expected = one([0.3] * len(labels), labels, CUT + WHOLE, max_grade=3)
    for name in CUT + WHOLE:
        base, _, k = name.partition("@")
        orders = [value(base, order, 1, int(k or len(labels))) for order in set(permutations(labels))]
        assert expected[name] == pytest.approx(np.mean(orders), abs=1e-12)
    for order in set(permutations(labels)):
        assert one([0.3] * len(labels), order, CUT + WHOLE, max_grade=3) == expected


@pytest.mark.parametrize("right", range(10))
def test_a_constant_scorer_gets_the_random_expectation_wherever_the_truth_stands(right):
    labels = [float(row == right) for row in range(10)]
    means = one([0.3] * 10, labels, ["mrr", "hit@3", "ndcg@10", "precision@5"])
    assert means["mrr"] == pytest.approx(sum(1 / place for place in range(1, 11)) / 10, abs=1e-15)
    assert means["top1_accuracy"] == pytest.approx(1 / 10, abs=1e-15)
    assert means["hit@3"] == pytest.approx(3 / 10, abs=1e-15)
    assert means["precision@5"] == pytest.approx(5 / 10 / 5, abs=1e-15)
    assert means["ndcg@10"] == pytest.approx(np.mean(1 / np.log2(np.arange(2, 12))), abs=1e-15)


def test_several_positives_in_a_large_tie_stay_exact():
    # the first of 500 relevant among 1000: P(first at j) = C(1000 - j, 499) / C(1000, 500)
    chance, by_hand = 1.0, 0.0
    for j in range(501):
        by_hand += chance * 500 / (1000 - j) / (j + 1)
        chance *= (500 - j) / (1000 - j)
    assert one([0.0] * 1000, [1.0] * 500 + [0.0] * 500, [])["mrr"] == pytest.approx(by_hand, abs=1e-12)


def test_one_great_tie_among_many_queries_is_exact():
    # padded to one width, these queries would take 320 MB a column
    offsets = np.append(np.arange(0, 200_001, 10), 202_000)
    labels = np.append(np.tile([1.0] + [0.0] * 9, 20_000), [1.0, 0.0] * 1000)
    values = evaluate(rank(np.zeros(202_000), offsets), labels).values["mrr"]
    assert values[-1] == pytest.approx(one([0.0] * 2000, [1.0] * 1000 + [0.0] * 1000, [])["mrr"])


def test_tiny_labels_keep_their_exponential_gain():
    means = one([1.0, 0.0], [0, 1e-17], ["dcg_exp@2", "ndcg_exp@2"], rel_threshold=1e-18)
    assert means["dcg_exp@2"] == pytest.approx(1e-17 * np.log(2) / np.log2(3), rel=1e-12, abs=0)
    assert means["ndcg_exp@2"] == pytest.approx(1 / np.log2(3))


def test_a_perfect_ranking_is_never_better_than_perfect():
    scores, labels = [20, 20, 20, 21, 30, 21], [2, 2, 2, 2, 3, 2]
    assert one(scores, labels, ["ndcg@5"])["ndcg@5"] == 1


def test_err_of_a_large_tie_with_many_grades_stays_exact():
    grades = np.arange(400) % 5.0
    found = one([0.0] * 400, grades, ["err"], max_grade=4)["err"]
    rng = np.random.default_rng(0)
    drawn = [stop_probabilities(rng.permutation(grades), 4) @ (1 / np.arange(1, 401)) for _ in range(2000)]
    assert found == pytest.approx(np.mean(drawn), abs=5 * np.std(drawn) / np.sqrt(2000))


def test_a_grade_above_the_greatest_satisfies_nobody_and_is_refused():
    with pytest.raises(DataError, match="label 3 is above max_grade 2; set it to the greatest there can be"):
        stop_probabilities([3, 0], max_grade=2)


def test_stop_probabilities_leave_what_no_candidate_satisfies():
    stops = stop_probabilities([1, 0, 2], max_grade=2)
    assert stops.tolist() == [1 / 4, 0, 3 / 4 * 3 / 4]
    assert 1 - stops.sum() == pytest.approx((1 - 1 / 4) * (1 - 3 / 4))


@pytest.mark.parametrize("grade, greatest", [(0.5, 0.5), (1.5, 2), (1, 1), (2.5, 4)])
def test_a_grade_need_not_be_whole_nor_as_great_as_1(grade, greatest):
    assert stop_probabilities([grade], greatest) == pytest.approx([(2**grade - 1) / 2**greatest], rel=1e-15)


def test_tiny_and_huge_grades_satisfy_without_overflow():
    assert stop_probabilities([1e-17], max_grade=1)[0] == pytest.approx(1e-17 * np.log(2) / 2, rel=1e-12, abs=0)
    assert stop_probabilities([1e6], max_grade=1e6).tolist() == [1]


def test_the_greatest_grade_is_that_of_the_data_unless_it_is_named():
    assert evaluate(rank([1.0, 0.0], [0, 2]), [3, 0], ["err"]).rules.max_grade == 3
    assert evaluate(rank([1.0, 0.0], [0, 2]), [0.5, 0], ["err"], rel_threshold=0.5).rules.max_grade == 1
    assert evaluate(rank([1.0, 0.0], [0, 2]), [3, 0], ["err"], max_grade=4).means["err"] == 7 / 16


@pytest.mark.parametrize(
    "alias, name",
    [
        ("nDCG@10", "ndcg@10"),
        ("RR", "mrr"),
        ("RR@10", "mrr@10"),
        ("AP", "map"),
        ("AP@10", "map@10"),
        ("P@5", "precision@5"),
        ("R@10", "recall@10"),
        ("Success@5", "hit@5"),
        ("ERR@10", "err@10"),
        ("HR@3", "hit@3"),
        ("Hit@5", "hit@5"),
        ("MRR", "mrr"),
        ("AUC", "auc"),
        ("LogLoss", "logloss"),
        ("top5_accuracy", "hit@5"),
        ("top3_accuracy", "top3_accuracy"),
        ("F1", "f1"),
        ("f1.0@5", "f1@5"),
        ("f02@005", "f2@5"),
        ("F0.5@3", "f0.5@3"),
    ],
)
def test_the_names_others_use_are_taken_and_ours_are_given(alias, name):
    assert named(alias).name == name
    result = evaluate(rank([1.0, 0.0], [0, 2]), [1, 0], [alias])
    assert name in result.means


@pytest.mark.parametrize(
    "name", ["fB", "fB@5", "f0", "f0@5", "f@5", "f-1", "f1e3@5", "P", "R", "hit@k", "f1@k", "top0_accuracy"]
)
def test_a_name_without_its_numbers_is_refused(name):
    with pytest.raises(UsageError, match="metric"):
        named(name)


def test_a_large_beta_is_recall_and_a_small_one_precision():
    means = one([3.0, 2.0, 1.0], [1, 0, 1], ["f9999@2", "f0.0001@2", "precision@2", "recall@2"])
    assert means["f9999@2"] == pytest.approx(means["recall@2"], abs=1e-6)
    assert means["f0.0001@2"] == pytest.approx(means["precision@2"], abs=1e-6)


@pytest.mark.parametrize("rule", ["threshold", "max_grade"])
def test_rules_that_are_numbers_must_be_above_zero(rule):
    with pytest.raises(UsageError, match=f"{rule} is 0; it must be above 0"):
        one([0.9, 0.5], [0, 1], [], **{rule: 0})


def test_no_queries_give_no_means():
    result = evaluate(rank([], [0]), [], CUT + WHOLE)
    assert set(result.means.values()) == {None}
    assert result.num_queries == 0


def test_a_query_without_a_relevant_candidate_shares_its_score_with_nobody():
    assert evaluate(rank([0.5, 0.5], [0, 2]), [0, 0]).tied.tolist() == [0]


def test_the_result_names_its_gain():
    assert evaluate(rank([0.5, 0.5], [0, 2]), [0, 1]).rules.gain == "label"


@pytest.mark.parametrize("returned", [np.zeros(2), np.array([np.nan]), 0.5, np.array(["a"])])
def test_a_measure_of_a_plug_in_must_give_one_finite_number_a_query(returned):
    blocks = tie_blocks(rank([0.5, 0.5], [0, 2]), np.array([0.0, 1.0]), Ties.FILE, 1.0)
    with pytest.raises(RunError, match="metric 'odd': one finite number a query is needed \\(1,\\), found shape"):
        Measure("odd", "", lambda blocks, k: returned, 1)(blocks)


def test_a_measure_may_answer_with_flags():
    blocks = tie_blocks(rank([0.5, 0.5], [0, 2]), np.array([0.0, 1.0]), Ties.FILE, 1.0)
    assert Measure("short", "", lambda blocks, k: blocks.sizes <= k, 2)(blocks).tolist() == [1.0]


def test_every_formula_has_an_example():
    assert all(">>>" in (MEASURES[name].function.__doc__ or "") for name in MEASURES.names())
    assert all(MEASURES[name].formula and MEASURES[name].range for name in MEASURES.names())


def test_the_three_headline_metrics_always_come_first():
    assert list(one([1.0, 0.0], [1, 0], ["hit@2", "mrr"])) == ["top1_accuracy", "top3_accuracy", "mrr", "hit@2"]


def test_several_positives_count_by_the_best_ranked():
    result = evaluate(rank([0.1, 0.9, 0.5], [0, 3]), [1, 0, 1])
    assert result.rank.tolist() == [2]
    assert result.means["mrr"] == 1 / 2


def test_under_expected_the_rank_lets_the_others_of_the_tie_come_first():
    result = evaluate(rank([0.5, 0.5, 0.5, 0.9], [0, 4]), [1, 0, 1, 0])
    assert result.rank.tolist() == [3]  # behind 0.9 and the one wrong candidate of the tie
    assert result.tied.tolist() == [2]


def test_queries_without_a_relevant_candidate_are_left_out_and_counted():
    ranking = rank([0.9, 0.1, 0.9, 0.1, 0.7], [0, 2, 4, 5])
    result = evaluate(ranking, [1, 0, 0, 0, 1], ["ndcg@2"])
    assert result.means["top1_accuracy"] == 1
    assert (result.num_queries, result.num_no_relevant, result.num_one_candidate) == (2, 1, 1)
    assert np.isnan(result.values["mrr"]).tolist() == [False, True, False]
    assert result.rank.tolist() == [1, 0, 1]


def test_no_relevant_zero_counts_them_as_nothing():
    result = evaluate(rank([0.9, 0.1, 0.9, 0.1], [0, 2, 4]), [1, 0, 0, 0], no_relevant="zero")
    assert result.means["mrr"] == (1 + 0) / 2
    assert result.num_queries == 2


def test_no_relevant_error_names_the_first():
    with pytest.raises(DataError, match="group 1 has no label of 1 or more, and no_relevant is 'error'"):
        evaluate(rank([0.9, 0.1, 0.9, 0.1], [0, 2, 4]), [1, 0, 0, 0], no_relevant="error")


def test_without_any_relevant_candidate_every_mean_is_none():
    result = evaluate(rank([0.9, 0.1], [0, 2]), [0, 0], ["ndcg@2", "map"])
    assert set(result.means.values()) == {None}
    assert result.num_queries == 0


def test_tied_counts_queries_with_a_relevant_candidate_in_a_tie_under_every_rule():
    ranking = rank([0.5, 0.5, 0.5, 0.1, 0.1, 0.9], [0, 2, 6], keys=np.arange(6))
    for ties in ("expected", "file", "worst", "best", "trec"):
        result = evaluate(ranking, [1, 0, 0, 0, 0, 1], ties=ties)
        assert result.num_tied == 1
        assert result.tied.tolist() == [1, 0]


def test_a_large_grade_is_refused_by_the_exponential_gain_only():
    assert one([1.0, 0.0], [32, 0], ["ndcg@2"])["ndcg@2"] == 1
    with pytest.raises(DataError, match="label 32 is above 31, too large for the gain 2\\^label - 1; use ndcg@k"):
        one([1.0, 0.0], [32, 0], ["ndcg_exp@2"])


def test_the_greatest_grade_of_an_exponential_gain_is_31():
    assert one([1.0], [31], ["dcg_exp@1"])["dcg_exp@1"] == 2**31 - 1


def test_cutoffs_beyond_the_list_and_huge_cutoffs_are_fine():
    means = one([0.9, 0.5], [0, 1], ["precision@5", "recall@5", "ndcg@1000000000", "mrr@10"])
    assert means["precision@5"] == 1 / 5
    assert means["recall@5"] == 1
    assert means["mrr@10"] == 1 / 2


@pytest.mark.parametrize(
    "name", ["hit", "hit@", "hit@0", "hit@-1", "hit@k", "hit@1.5", "ndgc@5", "", "hit@99999999999", "hit@" + "9" * 5000]
)
def test_an_unknown_metric_is_refused_with_the_known_names(name):
    with pytest.raises(UsageError, match="metric"):
        one([0.9, 0.5], [0, 1], [name])


@pytest.mark.parametrize("metrics", ["ndcg@3", None, [3], [["mrr"]]])
def test_metrics_are_a_list_of_names(metrics):
    with pytest.raises(UsageError, match="a list of names is needed|is not a name"):
        one([0.9, 0.5], [0, 1], metrics)


def test_a_metric_is_looked_up_before_any_work():
    with pytest.raises(UsageError, match="unknown metric 'nothing@5'"):
        evaluate(rank([0.9, 0.1], [0, 2]), [0, 0], ["nothing@5"], no_relevant="error")


def test_a_misspelt_metric_is_told_the_nearest():
    with pytest.raises(UsageError, match="unknown metric 'ndgc@5'; did you mean ndcg@5\\?"):
        one([0.9, 0.5], [0, 1], ["ndgc@5"])


@pytest.mark.parametrize(
    "rules, message",
    [
        ({"ties": "random"}, "ties 'random' is not one of expected, file, worst, best, trec"),
        ({"no_relevant": "drop"}, "no_relevant 'drop' is not one of skip, zero, error"),
        ({"ties": ["file"]}, "ties \\['file'\\] is not one of"),
        ({"rel_threshold": "1"}, "rel_threshold is '1'; it must be above 0"),
        ({"rel_threshold": None}, "rel_threshold is None; it must be above 0"),
        ({"rel_threshold": 0}, "rel_threshold is 0; it must be above 0"),
        ({"rel_threshold": float("nan")}, "rel_threshold is nan; it must be above 0"),
    ],
)
def test_rules_that_do_not_exist_are_refused(rules, message):
    with pytest.raises(UsageError, match=message):
        one([0.9, 0.5], [0, 1], [], **rules)


@pytest.mark.parametrize("labels", [[-1, 1], [np.nan, 1], [1], [True, False]])
def test_labels_that_cannot_judge_are_refused(labels):
    with pytest.raises(ArrayError):
        one([0.9, 0.5], labels, [])


def test_every_registered_measure_states_its_rule():
    assert all(MEASURES[name].rule for name in MEASURES.names())
