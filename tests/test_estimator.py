"""The estimator: the same numbers as the functions it is made of, and what scikit-learn asks of estimators."""

import subprocess
import sys

import numpy as np
import pytest

import ltr
from ltr import ListwiseRanker
from ltr.errors import DataError, UsageError
from ltr.training import softmax
from ltr.training.estimator import NotFittedError
from tests.oracles import random_groups

EXCEPTED = {
    "check_sample_weight_equivalence_on_dense_data": "weights are of queries: a repeated row is another candidate",
    "check_methods_subset_invariance": "the probability of a candidate depends on the others of its query",
}


@pytest.fixture
def data():
    """X, y, qid with the rows of each query apart, and the same in groups."""
    phi, labels, offsets = random_groups(np.random.default_rng(0), 50, sizes=(2, 6), grades=3)
    labels[offsets[:-1]] = 1
    qid = np.repeat(np.arange(50), np.diff(offsets))
    mixed = np.random.default_rng(1).permutation(len(phi))
    return phi[mixed], labels[mixed], qid[mixed], (phi, labels, offsets), mixed


def test_it_learns_what_fit_learns(data):
    x, y, qid, grouped, _ = data
    for trainer in ("newton", "descent"):
        model = ltr.fit(*grouped, ltr.TrainConfig(trainer=trainer))
        ranker = ListwiseRanker(trainer=trainer).fit(x, y, qid=qid)
        # descent goes by order of first appearance, which is another here
        np.testing.assert_allclose(ranker.coef_, model.w, atol=1e-9 if trainer == "newton" else 0.05)


def test_probabilities_sum_to_1_in_each_query_and_come_in_the_order_of_the_rows(data):
    x, y, qid, (phi, _, offsets), mixed = data
    ranker = ListwiseRanker().fit(x, y, qid=qid)
    np.testing.assert_allclose(ranker.predict(x), x @ ranker.coef_)
    np.testing.assert_allclose(ranker.predict_proba(x, qid=qid), softmax(phi @ ranker.coef_, offsets)[mixed])


def test_places_are_those_of_the_scores(data):
    x, y, qid, _, _ = data
    ranker = ListwiseRanker().fit(x, y, qid=qid)
    scores, places = ranker.predict(x), ranker.rank(x, qid=qid)
    for row in range(len(x)):
        same = qid == qid[row]
        assert places[row] == 1 + (scores[same] > scores[row]).sum()


def test_the_score_is_the_metric_by_any_positive(data):
    x, y, qid, grouped, _ = data
    ranker = ListwiseRanker(metric="mrr").fit(x, y, qid=qid)
    by_hand = ltr.evaluate(ltr.rank(grouped[0] @ ranker.coef_, grouped[2]), grouped[1], ["mrr"]).means["mrr"]
    assert ranker.score(x, y, qid=qid) == pytest.approx(by_hand)
    assert ranker.score(x, y / 2, qid=qid) == pytest.approx(by_hand)


def test_weights_are_those_of_queries(data):
    x, y, qid, grouped, _ = data
    of_query = np.random.default_rng(2).uniform(0.5, 2, 50)
    ranker = ListwiseRanker().fit(x, y, qid=qid, sample_weight=of_query[qid])
    model = ltr.fit(*grouped, ltr.TrainConfig(trainer="newton"), weights=of_query)
    np.testing.assert_allclose(ranker.coef_, model.w, atol=1e-9)


def test_a_query_of_weight_0_is_not_learned_from_and_not_scored(data):
    x, y, qid, _, _ = data
    weights, rest = (qid > 4).astype(float), qid > 4
    ranker = ListwiseRanker().fit(x, y, qid=qid, sample_weight=weights)
    np.testing.assert_allclose(ranker.coef_, ListwiseRanker().fit(x[rest], y[rest], qid=qid[rest]).coef_, atol=1e-12)
    scored = ranker.score(x[rest], y[rest], qid=qid[rest])
    assert ranker.score(x, y, qid=qid, sample_weight=weights) == pytest.approx(scored)
    with pytest.raises(DataError, match="sample_weight is zero everywhere"):
        ranker.score(x, y, qid=qid, sample_weight=0 * weights)


@pytest.mark.parametrize("metric", ["auc", "logloss", "roc", "confusion"])
def test_a_metric_without_a_value_a_query_that_grows_is_no_score(data, metric):
    x, y, qid, _, _ = data
    with pytest.raises(UsageError, match=f"metric is '{metric}'; one with a value a query, of which more is better"):
        ListwiseRanker(metric=metric).fit(x, y, qid=qid).score(x, y, qid=qid)


@pytest.mark.parametrize("ask", ["fit", "score", "predict_proba", "rank"])
def test_rows_without_qid_are_not_taken_for_one_query(data, ask):
    x, y, qid, _, _ = data
    given = (x, y) if ask in ("fit", "score") else (x,)
    ranker = ListwiseRanker().fit(x, y, qid=qid)
    with pytest.raises(DataError, match="qid is missing") as error:
        getattr(ranker, ask)(*given)
    for remedy in ("Pass qid", "sklearn.set_config(enable_metadata_routing=True)", "single_query=True"):
        assert remedy in str(error.value)


def test_rows_without_qid_are_one_query_where_the_ranker_is_made_for_one(data):
    x, y, _, _, _ = data
    alone, named = ListwiseRanker(single_query=True), ListwiseRanker()
    one = np.zeros(len(x))
    alone.fit(x, y), named.fit(x, y, qid=one)
    np.testing.assert_array_equal(alone.coef_, named.coef_)
    np.testing.assert_array_equal(alone.rank(x), named.rank(x, qid=one))
    np.testing.assert_array_equal(alone.predict_proba(x), named.predict_proba(x, qid=one))
    assert alone.score(x, y) == named.score(x, y, qid=one)


def test_a_metric_that_nobody_knows_is_refused_by_fit(data):
    x, y, qid, _, _ = data
    with pytest.raises(UsageError, match="unknown metric 'nonsense'"):
        ListwiseRanker(metric="nonsense").fit(x, y, qid=qid)


def test_a_score_beyond_floats_is_named(data):
    x, y, qid, _, _ = data
    ranker = ListwiseRanker().fit(x, y, qid=qid)
    ranker.coef_ = np.ones_like(ranker.coef_)
    with pytest.raises(DataError, match=r"X\[0\]: its score is beyond the range of floats"):
        ranker.predict(np.full((1, x.shape[1]), 1.7e308))


def test_ids_of_any_kind_name_the_queries(data):
    x, y, qid, _, _ = data
    ranker = ListwiseRanker().fit(x, y, qid=[f"query {each}" for each in qid])
    np.testing.assert_array_equal(ranker.coef_, ListwiseRanker().fit(x, y, qid=qid).coef_)


def test_without_a_fit_there_is_no_answer():
    for ask in ("predict", "predict_proba", "rank"):
        with pytest.raises((NotFittedError, ValueError), match="not fitted yet"):
            getattr(ListwiseRanker(), ask)([[1.0]])


def test_parameters_are_read_and_set_by_name():
    ranker = ListwiseRanker(l2=0.5)
    assert ranker.get_params()["l2"] == 0.5
    assert ranker.set_params(l2=0.1, trainer="descent").get_params()["trainer"] == "descent"
    with pytest.raises(UsageError, match="Invalid parameter 'l3'"):
        ranker.set_params(l3=1)


@pytest.mark.parametrize(
    "given, message",
    [
        ({"X": [[1.0], [np.nan]]}, "X contains NaN or infinity"),
        ({"X": [1.0, 2.0]}, "Expected 2D array, got 1D array"),
        ({"y": [1.0]}, r"y: one number a row is needed \(2,\)"),
        ({"y": [1.0, -1.0]}, "y holds grades of 0 or more"),
        ({"y": [0.0, 0.0]}, "no group can train"),
        ({"qid": [1]}, r"qid: one a row is needed \(2,\)"),
        ({"qid": [1.0, np.nan]}, r"qid\[1\]: nan is no id"),
        ({"qid": [None, "a"]}, r"qid\[0\]: None is no id"),
        ({"qid": [[1], [1, 2]]}, r"qid: row 1 has 2 numbers, row 0 has 1"),
        ({"sample_weight": [1, -1]}, r"sample_weight\[1\]: found a weight below 0"),
        ({"sample_weight": [0, 0]}, "sample_weight is zero everywhere"),
    ],
)
def test_what_cannot_be_used_is_named(given, message):
    with pytest.raises(DataError, match=message):
        ListwiseRanker().fit(**{"X": [[1.0], [0.0]], "y": [1, 0], "qid": [0, 0]} | given)


def test_scikit_learn_is_not_loaded():
    code = (
        "import sys, ltr; ltr.ListwiseRanker().fit([[1.0], [0.0]], [1, 0], qid=[0, 0]); print('sklearn' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore")  # it need not inherit from scikit-learn
def test_every_check_of_scikit_learn_passes_but_the_excepted():
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    one_query = ListwiseRanker(single_query=True)  # the checks know no qid
    found = checks.check_estimator(one_query, on_fail=None, on_skip=None, expected_failed_checks=EXCEPTED)
    told = {each["check_name"]: each["status"] for each in found}
    assert [name for name, status in told.items() if status == "failed"] == []
    assert {name for name, status in told.items() if status == "xfail"} == set(EXCEPTED)
    assert sum(each["status"] == "passed" for each in found) > 40


@pytest.mark.heavy
def test_scikit_learn_searches_its_parameters(data):
    selection = pytest.importorskip("sklearn.model_selection")
    x, y, qid, _, _ = data
    from sklearn.base import clone

    assert clone(ListwiseRanker(l2=0.3)).get_params()["l2"] == 0.3
    folds = list(selection.GroupKFold(3).split(x, y, qid))
    for inside, outside in folds:
        ranker = clone(ListwiseRanker()).fit(x[inside], y[inside], qid=qid[inside])
        assert 0 < ranker.score(x[outside], y[outside], qid=qid[outside]) <= 1


@pytest.mark.heavy
def test_scikit_learn_hands_on_qid_where_routing_is_on(data):
    sklearn = pytest.importorskip("sklearn")
    from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score

    x, y, qid, _, _ = data
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(ListwiseRanker(), {"l2": [0.001, 100.0]}, cv=GroupKFold(3))
        assert search.fit(x, y, groups=qid, qid=qid).best_params_["l2"] in (0.001, 100.0)
        options = {"params": {"qid": qid, "groups": qid}, "cv": GroupKFold(3)}
        scores = cross_val_score(ListwiseRanker(), x, y, **options)
    splits = GroupKFold(3).split(x, y, qid)
    by_hand = [ListwiseRanker().fit(x[i], y[i], qid=qid[i]).score(x[o], y[o], qid=qid[o]) for i, o in splits]
    assert search.cv_results_["mean_test_score"][0] == pytest.approx(np.mean(by_hand))
    np.testing.assert_allclose(scores, by_hand)


@pytest.mark.heavy
@pytest.mark.parametrize("routing", [False, True])
def test_a_search_that_hands_on_no_qid_fails_and_says_what_to_do(data, routing):
    sklearn = pytest.importorskip("sklearn")
    from sklearn.model_selection import GridSearchCV, GroupKFold

    x, y, qid, _, _ = data
    with sklearn.config_context(enable_metadata_routing=routing):
        search = GridSearchCV(ListwiseRanker(), {"l2": [0.001, 100.0]}, cv=GroupKFold(3))
        with pytest.raises(ValueError, match=r"qid is missing: .*enable_metadata_routing=True"):
            search.fit(x, y, groups=qid)
