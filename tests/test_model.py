import numpy as np
import pytest

from ltr import TrainConfig, fit
from ltr.errors import ArrayError
from ltr.training import direction_text


@pytest.fixture(scope="module")
def model():
    return fit([[1.0, 0.0], [0.0, 1.0]], [1, 0], [0, 2], TrainConfig(epochs=1))


def test_a_score_is_the_weighted_sum_of_the_features(model):
    np.testing.assert_allclose(model.scores(np.array([[2.0, 3.0]])), [2 * model.w[0] + 3 * model.w[1]])


@pytest.mark.parametrize("shape", [(2,), (1, 3), (1, 1)])
def test_another_number_of_features_is_refused(model, shape):
    with pytest.raises(ArrayError, match="phi: 2 features are needed, found shape"):
        model.scores(np.zeros(shape))


@pytest.mark.parametrize("row", [[np.nan, 0.0], [1e308, 1e308], [1e301, 0.0]])
def test_numbers_that_cannot_be_scored_are_refused_with_their_row(model, row):
    with pytest.raises(ArrayError, match=r"^phi\[1\]: .* both must be finite"):
        model.scores([[1.0, 2.0], row])


def test_directions_read_as_sums_of_named_columns():
    assert direction_text(np.array([0.0, -3.0]), ["rel", "hist"]) == "-hist"
    assert direction_text(np.array([1.0, 1.0, 1e-9])) == "x1 + x2"
