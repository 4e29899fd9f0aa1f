"""Other evaluators behind one face: means of the eight measures they know, from the same flat arrays.

What a peer needs as its own input is built inside the call, and counts; string ids are ready.
"""

from importlib.util import find_spec

import numpy as np

MEASURES = ["hit@1", "hit@3", "mrr", "ndcg@10", "map", "precision@5", "recall@10", "err"]
MAX_GRADE = 4


def drawn(queries, size, seed=0):
    """Scores without ties, also as float32; one to four labels of 1..4 a query; offsets."""
    rng = np.random.default_rng(seed)
    scores = np.argsort(rng.random((queries, size)), axis=1) / size
    places = np.argsort(rng.random((queries, size)), axis=1)
    counts = rng.integers(1, 5, (queries, 1))
    labels = np.where(places < np.minimum(counts, size), rng.integers(1, 5, (queries, size)), 0)
    return scores.ravel(), labels.ravel().astype(float), np.arange(queries + 1) * size


def ids(queries, size):
    """Names of queries and of the documents of one."""
    return [f"q{number}" for number in range(queries)], [f"d{number}" for number in range(size)]


def nested(scores, labels, offsets, names):
    """qrels of the relevant documents and a run, as dicts of dicts."""
    queries, documents = names
    size = len(documents)
    run = {
        query: dict(zip(documents, row, strict=True))
        for query, row in zip(queries, scores.reshape(-1, size).tolist(), strict=True)
    }
    qrels = {query: {} for query in queries}
    rows = np.flatnonzero(labels)
    for row, label in zip(rows.tolist(), labels[rows].astype(int).tolist(), strict=True):
        qrels[queries[row // size]][documents[row % size]] = label
    return qrels, run


def pytrec_eval(scores, labels, offsets, names):
    """pytrec_eval: seven of eight."""
    import pytrec_eval

    theirs = ("success_1", "success_3", "recip_rank", "ndcg_cut_10", "map", "P_5", "recall_10")
    asked = {"success.1,3", "recip_rank", "ndcg_cut.10", "map", "P.5", "recall.10"}
    qrels, run = nested(scores, labels, offsets, names)
    found = pytrec_eval.RelevanceEvaluator(qrels, asked).evaluate(run)
    return {
        ours: np.mean([each[name] for each in found.values()]) for ours, name in zip(MEASURES, theirs, strict=False)
    }


def ir_measures(scores, labels, offsets, names):
    """ir-measures: seven of eight; its ERR starts perl."""
    import ir_measures

    theirs = ["Success@1", "Success@3", "RR", "nDCG@10", "AP", "P@5", "R@10"]
    asked = [ir_measures.parse_measure(name) for name in theirs]
    qrels, run = nested(scores, labels, offsets, names)
    found = ir_measures.calc_aggregate(asked, qrels, run)
    return {ours: found[name] for ours, name in zip(MEASURES, asked, strict=False)}


def ranx(scores, labels, offsets, names):
    """ranx: seven of eight, from its own Qrels and Run."""
    from ranx import Qrels, Run, evaluate

    theirs = ["hit_rate@1", "hit_rate@3", "mrr", "ndcg@10", "map", "precision@5", "recall@10"]
    qrels, run = nested(scores, labels, offsets, names)
    found = evaluate(Qrels(qrels), Run(run), theirs)
    return {ours: found[name] for ours, name in zip(MEASURES, theirs, strict=False)}


def sklearn(scores, labels, offsets, names):
    """scikit-learn: NDCG@10, and average precision as LRAP; equal sizes only."""
    from sklearn.metrics import label_ranking_average_precision_score, ndcg_score

    shape = (-1, len(names[1]))
    scores, labels = scores.reshape(shape), labels.reshape(shape)
    return {
        "ndcg@10": ndcg_score(labels, scores, k=10, ignore_ties=True),
        "map": label_ranking_average_precision_score(labels > 0, scores),
    }


PEERS = {
    name: peer
    for name, peer, package in (
        ("pytrec_eval", pytrec_eval, "pytrec_eval"),
        ("ir-measures", ir_measures, "ir_measures"),
        ("ranx", ranx, "ranx"),
        ("scikit-learn", sklearn, "sklearn"),
    )
    if find_spec(package)
}
