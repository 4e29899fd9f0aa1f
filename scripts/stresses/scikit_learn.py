"""What scikit-learn asks of an estimator: every check that applies passes; the exceptions, each with its reason.

Needs scikit-learn. Ends with 1 when a check fails, or one passes that is excepted.
"""

import warnings
from importlib.util import find_spec

from ltr import ListwiseRanker
from stresses.cases import Figure
from tests.test_estimator import EXCEPTED


def options(parser):
    """There are none."""


def main():
    """A line a check that did not pass."""
    if find_spec("sklearn") is None:
        return "scikit-learn is not installed: pip install scikit-learn"
    from sklearn import __version__
    from sklearn.utils.estimator_checks import check_estimator

    warnings.simplefilter("ignore")
    ranker = ListwiseRanker(single_query=True)  # the checks know no qid
    found = check_estimator(ranker, on_fail=None, on_skip=None, expected_failed_checks=EXCEPTED)
    names = {
        status: [each["check_name"] for each in found if each["status"] == status]
        for status in ("passed", "failed", "xfail", "skipped")
    }
    print(
        *(f"failed: {name}" for name in names["failed"]),
        *(f"{name}: {why}" for name, why in EXCEPTED.items()),
        sep="\n",
    )
    text = (
        f"scikit-learn {__version__}: {len(names['passed'])} of {len(found)} checks pass, {len(names['failed'])} fail"
    )
    text += f", {len(names['xfail'])} excepted with a reason, {len(names['skipped'])} do not apply"
    return Figure(text, is_good=not names["failed"] and set(names["xfail"]) == set(EXCEPTED))
