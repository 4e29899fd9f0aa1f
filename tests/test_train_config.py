"""The options of a training, and what is wrong with them."""

import pytest

from ltr import TrainConfig, fit
from ltr.errors import UsageError

pytestmark = pytest.mark.contract


@pytest.mark.parametrize(
    "options, message",
    [
        ({"learning_rate": 0.0}, "learning_rate is 0.0; it must be above 0"),
        ({"learning_rate": float("nan")}, "learning_rate is nan; it must be above 0"),
        ({"epochs": 0}, "epochs is 0; it must be at least 1"),
        ({"l2": -1.0}, "l2 is -1.0; it must be 0 or more"),
        ({"l2": 1e308}, "l2 is 1e\\+308; it must be 0 or more, at most 1e\\+300"),
        ({"l2": None}, "l2 is None; it must be 0 or more"),
        ({"learning_rate": float("inf")}, "learning_rate is inf; it must be above 0, at most 1e\\+300"),
        ({"learning_rate": "0.1"}, "learning_rate is '0.1'; it must be above 0"),
        ({"epochs": 2.5}, "epochs is 2.5; it must be at least 1, a whole number"),
        ({"epochs": "3"}, "epochs is '3'; it must be at least 1"),
        ({"epochs": float("nan")}, "epochs is nan; it must be at least 1"),
        ({"epochs": True}, "epochs is True; it must be at least 1"),
        ({"epochs": 10**12}, "epochs is 1000000000000; it must be at least 1, a whole number up to 1,000,000,000"),
        ({"trainer": None}, "trainer is None; a name is needed"),
        ({"l2": ()}, r"l2 is \[\]; different numbers are needed"),
        ({"epochs": 0, "patience": 0}, "^epochs is 0; .*; patience is 0; "),
        ({"l2": (1.0, 1.0)}, "different numbers are needed"),
        ({"l2": (1.0, -1.0)}, "l2 is -1.0; it must be 0 or more"),
        ({"l2_rule": "least"}, "l2_rule is 'least'; best or one_se is needed"),
        ({"targets": "gains"}, "targets is 'gains'; it must be one of onehot, label, gain, apart"),
        ({"init": float("inf")}, "init is inf; it must be finite"),
        ({"patience": 0}, "patience is 0; it must be at least 1"),
        ({"folds": 1}, "folds is 1; it must be at least 2"),
        ({"metric": 3}, "metric is 3; a name is needed"),
    ],
)
def test_options_out_of_range_are_refused(options, message):
    with pytest.raises(UsageError, match=message):
        TrainConfig(**options)


def test_a_fit_has_one_l2():
    with pytest.raises(UsageError, match="l2 names 2 values; a fit has one"):
        fit([[1.0], [0.0]], [1, 0], [0, 2], TrainConfig(l2=(0.1, 1.0)))
