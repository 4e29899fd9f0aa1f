import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ltr.arrays import linear_scores
from ltr.errors import ArrayError, DataError
from ltr.training import softmax
from ltr.training.designs import trainable
from ltr.training.geometry import deviations, largest_steps
from ltr.training.newton import joined, sampled
from ltr.training.objective import derivatives, slope
from ltr.training.temperature import log_softmax
from tests.oracles import naive_objective, random_groups, slices

seeds = st.integers(0, 10**6)


def test_the_loss_is_the_mean_cross_entropy_of_the_naive_loop():
    phi, labels, offsets = random_groups(np.random.default_rng(1), 300, positives=3, grades=3)
    w = np.array([0.7, -1.3, 0.2])
    loss = derivatives(trainable(phi, labels, offsets), w, np.ones(3)).loss
    assert loss == pytest.approx(naive_objective(w, phi, labels, offsets, l2=0.0), abs=1e-13)


@given(seeds)
def test_the_gradient_agrees_with_central_differences(seed):
    rng = np.random.default_rng(seed)
    phi, labels, offsets = random_groups(rng, 8, sizes=(2, 12), positives=3, grades=2)
    labels[offsets[0]] = 1
    w, weights = rng.normal(size=3), rng.uniform(0.5, 2, len(offsets) - 1)
    at_w = derivatives(trainable(phi, labels, offsets, weights=weights), w, np.ones(3))
    step = 1e-5
    for column in range(3):
        ends = [
            naive_objective(w + sign * step * np.eye(3)[column], phi, labels, offsets, 0.0, weights) for sign in (1, -1)
        ]
        assert at_w.gradient[column] == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-8)


def test_the_hessian_agrees_with_differences_of_the_gradient():
    rng = np.random.default_rng(3)
    phi, labels, offsets = random_groups(rng, 50, positives=2)
    groups, w, step = trainable(phi, labels, offsets), rng.normal(size=3), 1e-6
    hessian = derivatives(groups, w, np.ones(3)).hessian
    for column in range(3):
        ends = [derivatives(groups, w + sign * step * np.eye(3)[column], np.ones(3)).gradient for sign in (1, -1)]
        np.testing.assert_allclose(hessian[column], (ends[0] - ends[1]) / (2 * step), atol=1e-8)


def test_many_blocks_give_the_sums_of_one():
    rng = np.random.default_rng(4)
    phi, labels, offsets = random_groups(rng, 20000, features=9)
    groups, w = trainable(phi, labels, offsets), rng.normal(size=9)
    assert derivatives(groups, w, np.ones(9)).loss == pytest.approx(
        naive_objective(w, phi, labels, offsets, 0.0), abs=1e-12
    )


@given(seeds, st.floats(-1e3, 1e3))
def test_a_shift_of_all_scores_of_a_group_changes_no_probability(seed, shift):
    rng = np.random.default_rng(seed)
    values, offsets = rng.normal(size=7), np.array([0, 3, 7])
    np.testing.assert_allclose(log_softmax(values + shift, offsets), log_softmax(values, offsets), atol=1e-12)


def test_scores_up_to_1e300_give_finite_losses():
    groups = trainable(np.array([[1e300], [-1e300], [1e300], [0.0]]), [1, 0, 0, 1], [0, 2, 4])
    at_one = derivatives(groups, np.ones(1), np.ones(1))
    assert at_one.loss == pytest.approx((0.0 + 1e300) / 2)
    np.testing.assert_array_equal(softmax(np.array([1e300, -1e300]), np.array([0, 2])), [1.0, 0.0])


def test_probabilities_of_each_group_sum_to_one():
    offsets = np.array([0, 1, 5, 7])
    p = softmax(np.random.default_rng(0).normal(size=7) * 50, offsets)
    assert [p[rows].sum() for rows in slices(offsets)] == pytest.approx([1, 1, 1], abs=1e-15)


@pytest.mark.parametrize("features", [1, 3, 4, 7, 16, 33, 64])
def test_equal_rows_get_equal_scores_wherever_they_stand(features):
    rng = np.random.default_rng(features)
    phi, w = rng.normal(size=(257, features)), rng.normal(size=features)
    alone = [linear_scores(np.ascontiguousarray(row[np.newaxis]), w)[0] for row in phi]
    np.testing.assert_array_equal(linear_scores(phi, w), alone)


def test_groups_that_cannot_train_are_counted_by_their_reason():
    labels = [1, 0, 0, 1, 0, 0]  # alone and right; alone and wrong; trains; no positive
    groups = trainable(np.arange(6.0)[:, np.newaxis], labels, [0, 1, 2, 4, 6])
    assert (groups.skipped.one_candidate, groups.skipped.no_positive) == (2, 1)
    np.testing.assert_array_equal(groups.phi, [[2], [3]])
    np.testing.assert_array_equal(groups.shares, [0, 1])


def test_input_without_a_group_that_trains_is_refused_with_the_counts():
    with pytest.raises(DataError) as caught:
        trainable([[1.0], [2.0], [3.0]], [0, 0, 1], [0, 2, 3])
    assert str(caught.value) == (
        "no group can train: 1 with one candidate, 1 without a positive label; "
        "a group needs two candidates and a label above 0; "
        "--negatives adds candidates of a catalogue, ltr init --from those of the samples"
    )


def test_input_without_any_group_says_so():
    with pytest.raises(DataError, match="no group can train: there are no groups"):
        trainable(np.empty((0, 2)), [], [0])


@pytest.mark.parametrize(
    "phi, labels, offsets",
    [
        (np.zeros((2, 0)), [1, 0], [0, 2]),
        ([[np.nan], [0.0]], [1, 0], [0, 2]),
        ([[1.0], [0.0]], [-1, 0], [0, 2]),
        ([[1.0], [0.0]], [np.inf, 0], [0, 2]),
        ([[1.0], [0.0]], [1], [0, 2]),
        ([[1.0], [0.0]], [1, 0], [0, 3]),
        ([[1.0], [0.0]], [1, 0], [0, 0, 2]),
    ],
)
def test_arrays_that_do_not_fit_are_refused(phi, labels, offsets):
    with pytest.raises(ArrayError):
        trainable(phi, labels, offsets)


@pytest.mark.parametrize("features", [1, 3])
def test_training_input_is_left_as_it_was(features):
    phi, labels, offsets = random_groups(np.random.default_rng(5), 30, features=features)
    before = phi.copy(), labels.copy(), offsets.copy()
    groups = trainable(phi, labels, offsets)
    derivatives(groups, np.ones(features), np.ones(features))
    deviations(groups, largest_steps(groups))
    for now, then in zip((phi, labels, offsets), before, strict=True):
        np.testing.assert_array_equal(now, then)


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1.0, 1e150, 1e299])
def test_deviations_inside_groups_follow_the_scale_of_a_column(scale):
    phi, labels, offsets = random_groups(np.random.default_rng(6), 40, features=1, sizes=(2, 5))
    labels[offsets[:-1]] = 1
    spread = [phi[rows] - phi[rows].mean() for rows in slices(offsets)]
    by_hand = np.sqrt(np.mean(np.concatenate(spread) ** 2))
    groups = trainable(phi * scale, labels, offsets)
    assert deviations(groups, largest_steps(groups))[0] == pytest.approx(by_hand * scale, rel=1e-12)


def shards():
    """Groups of one shard without an offset, and of one with."""
    plain = trainable([[1.0], [2.0], [2.0], [4.0]], [1, 0, 0, 1], [0, 2, 4], weights=[1, 3])
    return plain, trainable([[3.0], [4.0], [5.0]], [0, 1, 0], [0, 3], score_offset=[0.0, -1.0, 2.0])


def test_shards_are_joined_with_an_offset_of_0_where_one_has_none():
    plain, drawn = shards()
    both = joined([plain, drawn])
    assert both.phi.ravel().tolist() == [1, 2, 2, 4, 3, 4, 5]
    assert both.offsets.tolist() == [0, 2, 4, 7]
    assert both.weights.tolist() == [0.25, 0.75, 1.0]
    assert both.shares.tolist() == [0.25, 0, 0, 0.75, 0, 1, 0]
    assert both.score_offset.tolist() == [0, 0, 0, 0, 0, -1, 2]
    assert both.trains.tolist() == [True] * 3
    assert not len(joined([plain, plain]).score_offset)


def test_groups_may_weigh_the_same():
    plain, _ = shards()
    assert plain.with_equal_weights().weights.tolist() == [0.5, 0.5]
    assert plain.with_equal_weights().shares.tolist() == plain.shares.tolist()


def test_loss_and_derivatives_of_shards_add_up():
    first, second = shards()
    w, scale = np.array([0.3]), np.ones(1)
    slopes, both = slope(first, w, scale) + slope(second, w, scale), joined([first, second])
    assert slopes.loss == pytest.approx(slope(both, w, scale).loss, rel=1e-14)
    np.testing.assert_allclose(slopes.gradient, slope(both, w, scale).gradient, rtol=1e-14)
    added, whole = derivatives(first, w, scale) + derivatives(second, w, scale), derivatives(both, w, scale)
    assert added.loss == pytest.approx(whole.loss, rel=1e-14)
    np.testing.assert_allclose(added.gradient, whole.gradient, rtol=1e-14)
    np.testing.assert_allclose(added.hessian, whole.hessian, rtol=1e-14)
    with pytest.raises(TypeError):
        derivatives(first, w, scale) + slope(second, w, scale)


def test_a_sample_of_the_groups_is_what_those_groups_alone_are():
    rng = np.random.default_rng(3)
    phi, labels, offsets = rng.normal(size=(12, 2)), np.array([1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 1]), [0, 3, 5, 8, 12]
    drawn = sampled(trainable(phi, labels, offsets), 2)
    rows = [0, 1, 2, 5, 6, 7]
    alone = trainable(phi[rows], labels[rows], [0, 3, 6])
    for name in ("phi", "offsets", "weights", "shares"):
        np.testing.assert_allclose(getattr(drawn, name), getattr(alone, name), rtol=1e-15, err_msg=name)
    assert drawn.trains.tolist() == [True, False, True, False]
