"""Evaluation in other packages: means of the eight measures that they know, from the same flat arrays.

What a package needs as its own input is built inside the call, and counts; string ids are ready.
"""

import numpy as np

from peers import Peer

MEASURES = ["hit@1", "hit@3", "mrr", "ndcg@10", "map", "precision@5", "recall@10", "err"]  # the last none of them knows


def ids(queries, size):
    """Return names of queries and of the documents of one."""
    return [f"q{number}" for number in range(queries)], [f"d{number}" for number in range(size)]


def nested(scores, labels, names):
    """Return qrels of the relevant documents and a run, as dicts of dicts."""
    queries, documents = names
    size = len(documents)
    rows = zip(queries, scores.reshape(-1, size).tolist(), strict=True)
    run = {query: dict(zip(documents, row, strict=True)) for query, row in rows}
    qrels = {query: {} for query in queries}
    relevant = np.flatnonzero(labels)
    for row, label in zip(relevant.tolist(), labels[relevant].astype(int).tolist(), strict=True):
        qrels[queries[row // size]][documents[row % size]] = label
    return qrels, run


def named(means, keys):
    """Return the means by our names; the keys are theirs."""
    return {ours: means[key] for ours, key in zip(MEASURES, keys, strict=False)}


def pytrec_eval(scores, labels, names):
    """pytrec_eval: seven of eight."""
    import pytrec_eval

    keys = ("success_1", "success_3", "recip_rank", "ndcg_cut_10", "map", "P_5", "recall_10")
    measures = {"success.1,3", "recip_rank", "ndcg_cut.10", "map", "P.5", "recall.10"}
    qrels, run = nested(scores, labels, names)
    queries = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run).values()
    return named({key: np.mean([query[key] for query in queries]) for key in keys}, keys)


def ir_measures(scores, labels, names):
    """ir-measures: seven of eight; its ERR starts perl."""
    import ir_measures

    keys = ["Success@1", "Success@3", "RR", "nDCG@10", "AP", "P@5", "R@10"]
    measures = [ir_measures.parse_measure(key) for key in keys]
    return named(ir_measures.calc_aggregate(measures, *nested(scores, labels, names)), measures)


def ranx(scores, labels, names):
    """ranx: seven of eight, from its own Qrels and Run."""
    from ranx import Qrels, Run, evaluate

    keys = ["hit_rate@1", "hit_rate@3", "mrr", "ndcg@10", "map", "precision@5", "recall@10"]
    qrels, run = nested(scores, labels, names)
    return named(evaluate(Qrels(qrels), Run(run), keys), keys)


def sklearn(scores, labels, names):
    """scikit-learn: NDCG@10, and average precision as LRAP; equal sizes only."""
    from sklearn.metrics import label_ranking_average_precision_score, ndcg_score

    scores, labels = (each.reshape(-1, len(names[1])) for each in (scores, labels))
    ndcg = ndcg_score(labels, scores, k=10, ignore_ties=True)
    return {"ndcg@10": ndcg, "map": label_ranking_average_precision_score(labels > 0, scores)}


EVALUATORS = (
    Peer("pytrec_eval", "pytrec_eval", pytrec_eval),
    Peer("ir-measures", "ir_measures", ir_measures),
    Peer("ranx", "ranx", ranx),
    Peer("scikit-learn", "sklearn", sklearn),
)
