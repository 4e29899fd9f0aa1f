"""Against other people's evaluators, on many random groups; what is not installed is not asked."""

import numpy as np
import pytest

from ltr import evaluate, rank
from tests.oracles import slices

pytestmark = pytest.mark.heavy
GROUPS = 50_000
K = (1, 3, 5, 10)
OURS = {
    "P": "precision",
    "recall": "recall",
    "success": "hit",
    "ndcg_cut": "ndcg",
    "map_cut": "map",
}


def untied_groups():
    """Ragged groups, grades 0..4, at least one positive; scores differ, also as float32."""
    rng = np.random.default_rng(7)
    offsets = np.append(0, np.cumsum(rng.integers(1, 25, GROUPS)))
    labels = rng.integers(1, 5, offsets[-1]) * (rng.random(offsets[-1]) < 0.25)
    labels[offsets[:-1]] = np.maximum(labels[offsets[:-1]], 1)
    scores = np.concatenate([rng.permutation(last - first) for first, last in zip(offsets, offsets[1:])]) / 32  # noqa: B905
    return scores, labels.astype(float), offsets


def as_dicts(untied):
    """The same as dicts of dicts: qrels, and a run."""
    scores, labels, offsets = untied
    names = [f"d{place}" for place in range(32)]
    qrels, run = {}, {}
    for number, rows in enumerate(slices(offsets)):
        size = rows.stop - rows.start
        qrels[str(number)] = dict(zip(names[:size], labels[rows].astype(int).tolist(), strict=True))
        run[str(number)] = dict(zip(names[:size], scores[rows].tolist(), strict=True))
    return qrels, run


@pytest.fixture(scope="module")
def untied():
    return untied_groups()


@pytest.fixture(scope="module")
def nested(untied):
    return as_dicts(untied)


def largest_difference(found, theirs, name):
    return float(np.abs(found.values[name] - theirs).max())


def beside_pytrec_eval(untied, nested):
    """The largest difference of each metric that it has."""
    import pytrec_eval

    asked = {f"{theirs}.{','.join(map(str, K))}" for theirs in OURS} | {"recip_rank", "map", "ndcg"}
    found = pytrec_eval.RelevanceEvaluator(nested[0], asked).evaluate(nested[1])
    names = {f"{ours}@{k}": f"{theirs}_{k}" for theirs, ours in OURS.items() for k in K}
    names |= {"mrr": "recip_rank", "map": "map", "ndcg": "ndcg"}
    ours = evaluate(rank(untied[0], untied[2]), untied[1], names)
    worst = {}
    for name, their_name in names.items():
        theirs = np.array([found[str(number)][their_name] for number in range(GROUPS)])
        worst[name] = largest_difference(ours, theirs, name)
    return worst


def beside_ir_measures(untied, nested):
    """The largest difference of each metric that it has."""
    import ir_measures

    names = [f"{name}@{k}" for name in ("P", "R", "Success", "nDCG", "AP", "RR") for k in K] + ["RR", "AP", "nDCG"]
    asked = {ir_measures.parse_measure(name): name for name in names}
    place = {str(number): number for number in range(GROUPS)}
    ours = evaluate(rank(untied[0], untied[2]), untied[1], names)
    theirs = {name: np.full(GROUPS, np.nan) for name in names}
    for each in ir_measures.iter_calc(list(asked), *nested):
        theirs[asked[each.measure]][place[each.query_id]] = each.value
    return {name: largest_difference(ours, theirs[name], _own(name)) for name in names}


@pytest.mark.parametrize("package, beside", [("pytrec_eval", beside_pytrec_eval), ("ir_measures", beside_ir_measures)])
def test_fifty_thousand_groups_agree_with_other_people_s_evaluators(untied, nested, package, beside):
    pytest.importorskip(package)
    assert max(beside(untied, nested).values()) <= 1e-12


def _own(name):
    from ltr.evaluation import named

    return named(name).name


def test_tied_ndcg_of_fifty_thousand_groups_agrees_with_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(8)
    for size in (2, 5, 10, 20):
        queries = GROUPS // 4
        scores = rng.integers(0, 4, (queries, size)) / 7
        labels = rng.integers(0, 5, (queries, size)) * (rng.random((queries, size)) < 0.5)
        labels[:, 0] = np.maximum(labels[:, 0], 1)
        offsets = np.arange(queries + 1) * size
        ours = evaluate(rank(scores.ravel(), offsets), labels.ravel().astype(float), ["ndcg@5", "ndcg"])
        for name, k in (("ndcg@5", 5), ("ndcg", None)):
            theirs = [metrics.ndcg_score(labels[q : q + 1], scores[q : q + 1], k=k) for q in range(0, queries, 25)]
            assert np.abs(ours.values[name][::25] - theirs).max() <= 1e-12
            assert ours.means[name] == pytest.approx(metrics.ndcg_score(labels, scores, k=k), abs=1e-12)


def test_probabilities_agree_with_scikit_learn(untied):
    metrics = pytest.importorskip("sklearn.metrics")
    _, labels, offsets = untied
    scores = np.random.default_rng(9).normal(size=len(labels)) * 3
    sizes = np.diff(offsets)
    p = np.exp(scores - np.repeat(np.maximum.reduceat(scores, offsets[:-1]), sizes))
    p /= np.repeat(np.add.reduceat(p, offsets[:-1]), sizes)
    y = labels >= 1
    found = evaluate(
        rank(scores, offsets), labels, ["auc", "logloss", "accuracy", "precision", "recall", "f1", "f2", "gauc"]
    )
    assert found.means["auc"] == pytest.approx(metrics.roc_auc_score(y, p), abs=1e-12)
    assert found.means["logloss"] == pytest.approx(metrics.log_loss(y, p), abs=1e-12)
    for name, theirs in (
        ("accuracy", metrics.accuracy_score(y, p >= 0.5)),
        ("precision", metrics.precision_score(y, p >= 0.5)),
        ("recall", metrics.recall_score(y, p >= 0.5)),
        ("f1", metrics.f1_score(y, p >= 0.5)),
        ("f2", metrics.fbeta_score(y, p >= 0.5, beta=2)),
    ):
        assert found.means[name] == pytest.approx(theirs, abs=1e-12)
    both = [rows for rows in slices(offsets)[:5000] if not y[rows].all()]
    theirs = [metrics.roc_auc_score(y[rows], scores[rows]) for rows in both]
    ours = found.values["gauc"][:5000]
    np.testing.assert_allclose(ours[~np.isnan(ours)], theirs, rtol=0, atol=1e-12)
