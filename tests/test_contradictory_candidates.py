"""Where the specification's documents contradict themselves or err: what is done instead, each a test."""

from math import log2

import numpy as np
import pytest

from ltr import evaluate, rank
from ltr.errors import DataError
from ltr.evaluation import MEASURES, named
from tests.builders import tool_lines, write_lines

GRADES = [3, 2, 3, 0, 1]


def means(labels, metrics, scores=None, **rules):
    """Metrics of one query; without scores the labels stand in ranked order."""
    scores = [-float(place) for place in range(len(labels))] if scores is None else scores
    return evaluate(rank(scores, [0, len(labels)]), labels, metrics, **rules).means


def test_ndcg_takes_the_label_as_gain_and_ndcg_exp_two_to_its_power():
    found = means(GRADES, ["ndcg@5", "ndcg_exp@5"])
    assert found["ndcg@5"] == pytest.approx(0.972364, abs=1e-6)
    assert found["ndcg_exp@5"] == pytest.approx(0.957478, abs=1e-6)
    assert evaluate(rank([1.0], [0, 1]), [1]).rules.gain == "label"


def test_gains_come_from_labels_in_the_order_of_scores_and_never_exceed_the_ideal():
    scores, labels = [0.1, 0.9, 0.5, 0.7, 0.3], [0, 3, 2, 3, 1]
    assert means(labels, ["ndcg@5"], scores)["ndcg@5"] == 1
    assert means(labels, ["ndcg@5"], [-score for score in scores])["ndcg@5"] < 1


def test_a_list_shorter_than_the_cutoff_is_discounted_to_its_end():
    found = means([0, 1], ["ndcg@10", "dcg@10", "idcg@10"])
    assert (found["dcg@10"], found["idcg@10"], found["ndcg@10"]) == (1 / log2(3), 1, 1 / log2(3))


def test_without_any_right_candidate_ndcg_is_not_divided_by_zero():
    assert means([0, 0], ["ndcg@2"])["ndcg@2"] is None
    assert means([0, 0], ["ndcg@2"], no_relevant="zero")["ndcg@2"] == 0


def test_precision_divides_by_what_was_shown_and_recall_by_what_is_right():
    found = means([1, 0, 0, 1, 1], ["precision@2", "recall@2"])
    assert (found["precision@2"], found["recall@2"]) == (1 / 2, 1 / 3)


@pytest.mark.parametrize("beta", [0.5, 1, 2])
def test_f_beta_weighs_precision_alone_by_beta_squared(beta):
    # precision 1/2, recall 1/4: with beta 2 it is 0.2778, where the document's formula gives 0.2083
    labels, p, r = [1, 0, 1, 1, 1], 1 / 2, 1 / 4
    by_hand = (1 + beta**2) * p * r / (beta**2 * p + r)
    assert means(labels, [f"f{beta}@2"])[f"f{beta}@2"] == pytest.approx(by_hand)


def test_err_passes_on_what_each_candidate_leaves_with_one_greatest_grade_for_all():
    assert means(GRADES, ["err@5"], max_grade=4)["err@5"] == pytest.approx(0.560098, abs=1e-6)
    assert means(GRADES, ["err@5"], max_grade=3)["err@5"] == pytest.approx(0.921468, abs=1e-6)
    both = evaluate(rank([2.0, 1.0, 2.0, 1.0], [0, 2, 4]), [3, 0, 1, 0], ["err"])
    assert both.values["err"].tolist() == [7 / 8, 1 / 8]  # not 1/2 of a greatest grade of its own
    assert both.rules.max_grade == 3


def test_a_grade_above_the_greatest_is_refused():
    with pytest.raises(DataError, match="label 3 is above max_grade 2; set it to the greatest there can be"):
        means(GRADES, ["err@5"], max_grade=2)


def test_ranks_count_from_one_so_the_first_is_not_discounted():
    assert means([1, 0], ["dcg@1"])["dcg@1"] == 1
    assert means([0, 1], ["dcg@2"])["dcg@2"] == 1 / log2(3)


def test_average_precision_divides_by_all_that_is_right_also_what_the_cutoff_hides():
    assert means([1, 1, 1, 1, 1, 1], ["map@3"])["map@3"] == 3 / 6


def test_precision_counts_every_hit_and_keeps_its_denominator_on_a_short_list():
    assert means([1, 1], ["precision@5"])["precision@5"] == 2 / 5


@pytest.mark.parametrize("right", [0, 4, 9])
def test_a_constant_scorer_gets_no_luck_from_the_place_of_the_truth_in_the_file(right):
    labels = [float(row == right) for row in range(10)]
    found = evaluate(rank([0.5] * 10, [0, 10]), labels)
    assert found.means["top1_accuracy"] == pytest.approx(1 / 10)
    assert (found.num_tied, found.rank.tolist()) == (1, [10])


def test_the_best_ranked_of_several_right_candidates_counts_whatever_its_grade():
    assert means([0, 2, 1], ["mrr"])["mrr"] == 1 / 2


def test_every_query_of_the_truth_counts_but_those_without_a_right_candidate_are_told():
    ranking = rank([2.0, 1.0, 2.0, 1.0], [0, 2, 4])
    result = evaluate(ranking, [1, 0, 0, 0])
    assert (result.means["mrr"], result.num_queries, result.num_no_relevant) == (1, 1, 1)
    assert evaluate(ranking, [1, 0, 0, 0], no_relevant="zero").means["mrr"] == 1 / 2
    with pytest.raises(DataError):
        evaluate(ranking, [1, 0, 0, 0], no_relevant="error")


def test_training_and_evaluation_see_the_same_groups_and_tell_what_each_leaves_out(tmp_path):
    from ltr import TrainConfig, fit, read_groups

    lines = [line for line in tool_lines(traces=3) if line["node_id"] != "n0" or line["label"]]  # some stand alone
    groups = read_groups(write_lines(tmp_path / "samples.jsonl", lines))
    model = fit(np.ones((len(groups.labels), 1)), groups.labels, groups.offsets, TrainConfig(epochs=1))
    found = evaluate(rank(np.ones(len(groups.labels)), groups.offsets), groups.labels)
    assert found.num_one_candidate == model.training.skipped.one_candidate == 3
    assert found.num_queries == model.training.groups + 3


def test_auc_counts_a_tie_as_one_half():
    found = means([1, 0, 0], ["auc", "gauc"], [0.5, 0.5, 0.1])
    assert found["auc"] == found["gauc"] == (1 / 2 + 1) / 2


def test_mrr_reads_the_whole_list_and_mrr_at_k_its_first_k():
    found = means([0, 0, 1], ["mrr", "mrr@2"])
    assert (found["mrr"], found["mrr@2"]) == (1 / 3, 0)
    assert named("RR").name == "mrr"
    assert named("RR@2").name == "mrr@2"


def test_no_rule_repeats_the_documents_mistakes():
    rules = " ".join(MEASURES[name].rule for name in MEASURES.names())
    assert "worst order" not in rules
    assert "true positive rate over the false positive rate" in MEASURES["roc"].rule  # not recall over precision
