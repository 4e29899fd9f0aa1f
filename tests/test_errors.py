import inspect
import pickle

import pytest

from ltr import errors

pytestmark = pytest.mark.contract

SAMPLES = [
    errors.UnknownNameError("metric", "x", ("a", "b")),
    errors.ArrayError("phi", "[0]", "nan"),
    errors.UsageError("text"),
    errors.DataError("text"),
    errors.RunError("text"),
]


def test_every_error_of_the_package_is_of_the_family():
    classes = [each for _, each in inspect.getmembers(errors, inspect.isclass) if issubclass(each, Exception)]
    assert all(issubclass(each, errors.LtrError) for each in classes if not issubclass(each, Warning))


@pytest.mark.parametrize("error", SAMPLES)
def test_an_error_keeps_its_message_on_the_way_back_from_a_worker(error):
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_suggestion_is_made_only_when_a_name_is_near():
    assert errors.suggestion("mmr", ["mrr", "ndcg"]) == "; did you mean mrr?"
    assert errors.suggestion("zzz", ["mrr", "ndcg"]) == ""


def test_an_unknown_name_that_is_no_text_can_still_be_told():
    assert str(errors.UnknownNameError("trainer", None, ("a",))) == "unknown trainer None; known: a"
