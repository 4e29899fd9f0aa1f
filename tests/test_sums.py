"""What is known of two sets of queries makes what is known of both."""

import numpy as np
import pytest

from ltr.errors import UsageError
from ltr.evaluation import Rules, evaluate_by, rank
from ltr.results.breakdown import Breakdown
from ltr.sums import added

SCORES, LABELS = np.array([3.0, 1, 2, 2, 1, 0, 4, 5]), np.array([0.0, 1, 1, 0, 0, 0, 1, 0])
OFFSETS = np.array([0, 2, 4, 6, 8])  # of the third query nothing is right
NAMES = ("mrr", "ndcg@1", "logloss", "ece", "reliability", "accuracy")


def evaluation(first, last, *, is_part=True, names=NAMES):
    """The queries from the first to the one before the last."""
    rows = slice(OFFSETS[first], OFFSETS[last])
    ranking = rank(SCORES[rows], OFFSETS[first : last + 1] - OFFSETS[first])
    return evaluate_by(ranking, LABELS[rows], Rules(names), is_part=is_part)


@pytest.mark.parametrize("borders", [(0, 1, 4), (0, 2, 3, 4), (0, 0, 4), (0, 1, 2, 3, 4)])
def test_parts_make_the_evaluation_of_all_queries(borders):
    whole = evaluation(0, 4, is_part=False)
    total = added(evaluation(*pair) for pair in zip(borders, borders[1:], strict=False))
    assert list(total.means) == list(whole.means)
    assert total.means == pytest.approx(whole.means, rel=1e-12)
    assert total.means["mrr"] == whole.means["mrr"]
    for name in ("rank", "tied", "num_positives", "num_found", "num_candidates"):
        np.testing.assert_array_equal(getattr(total, name), getattr(whole, name))
    for name, values in whole.values.items():
        np.testing.assert_array_equal(total.values[name], values)
    counts = ("num_queries", "num_tied", "num_no_relevant", "num_one_candidate")
    assert [getattr(total, name) for name in counts] == [getattr(whole, name) for name in counts]
    assert total.curves["reliability"]["right"] == pytest.approx(whole.curves["reliability"]["right"])


def test_two_add_up_and_without_columns_they_are_sums():
    whole = evaluation(0, 4, is_part=False)
    both = evaluation(0, 3).light() + evaluation(3, 4).light()
    assert both.means == pytest.approx(whole.means, rel=1e-12)
    assert both.values == {}
    assert both.rank.size == 0
    kept = evaluation(0, 3).light(("mrr",)) + evaluation(3, 4).light(("mrr",))
    np.testing.assert_array_equal(kept.values["mrr"], whole.values["mrr"])


def test_what_was_added_stays_as_it_was():
    first, second = evaluation(0, 2), evaluation(2, 4)
    before = first.means, {name: values.copy() for name, values in first.values.items()}, first.sums
    assert (first + second).num_queries == 3
    assert (first.means, first.sums) == (before[0], before[2])
    assert all(np.array_equal(first.values[name], values, equal_nan=True) for name, values in before[1].items())


def test_a_single_part_is_its_own_sum_and_of_none_there_is_none():
    one = evaluation(0, 4)
    assert added([one]) is one
    with pytest.raises(UsageError, match="no shard was evaluated"):
        added([])


def test_measures_over_candidates_that_were_not_counted_do_not_add_up():
    with pytest.raises(UsageError, match="evaluate each part as a part"):
        evaluation(0, 2, is_part=False) + evaluation(2, 4, is_part=False)
    names = ("ndcg@1",)
    both = evaluation(0, 2, is_part=False, names=names) + evaluation(2, 4, is_part=False, names=names)
    assert both.means == evaluation(0, 4, is_part=False, names=names).means


def test_values_of_a_field_are_named_anew():
    parts = [("b", "c"), ("a", "c"), ("c",)]
    total = added(Breakdown("topic", names, np.arange(len(names))) for names in parts)
    assert total.names == ("a", "b", "c")
    assert [total.names[code] for code in total.codes] == ["b", "c", "a", "c", "c"]
