"""Learning to rank in other packages: each learns from (phi, labels, offsets) and returns the scores of other rows.

Boosters learn for a number of rounds; one thread each. Rows to score that are the training rows are not copied again.
"""

from functools import partial

import numpy as np

from peers import Peer


def lightgbm(phi, labels, offsets, rows, *, rounds=100):
    """lambdarank, with its defaults."""
    from lightgbm import LGBMRanker

    ranker = LGBMRanker(n_estimators=rounds, n_jobs=1, verbose=-1)
    return ranker.fit(phi, labels.astype(int), group=np.diff(offsets)).predict(rows)


def xgboost(phi, labels, offsets, rows, *, rounds=100):
    """rank:ndcg on a linear booster."""
    from xgboost import DMatrix, train

    data = DMatrix(phi, labels)
    data.set_group(np.diff(offsets))
    options = {"objective": "rank:ndcg", "booster": "gblinear", "nthread": 1, "verbosity": 0}
    return train(options, data, rounds).predict(data if rows is phi else DMatrix(rows))


def catboost(phi, labels, offsets, rows, *, rounds=100):
    """QuerySoftMax on trees."""
    from catboost import CatBoost, Pool

    pool = Pool(phi, labels, group_id=np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)))
    options = {"loss_function": "QuerySoftMax", "iterations": rounds, "thread_count": 1, "verbose": False}
    return CatBoost({**options, "allow_writing_files": False}).fit(pool).predict(pool if rows is phi else rows)


def logistic_regression(phi, labels, offsets, rows):
    """scikit-learn: a row is right or wrong, whichever rows compete with it."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=1000).fit(phi, labels > 0).decision_function(rows)


def xlogit(phi, labels, offsets, rows, *, with_errors=False):
    """The fastest peer of the likelihood of ltr; one right candidate a query."""
    from xlogit import MultinomialLogit

    x, y, present = padded(phi, labels, offsets)
    groups, size = present.shape
    layout = {"ids": np.repeat(np.arange(groups), size), "alts": np.tile(np.arange(size), groups)}
    layout |= {} if present.all() else {"avail": present.ravel().astype(int)}
    model = MultinomialLogit()
    names = [f"x{number}" for number in range(x.shape[2])]
    options = {"varnames": names, "verbose": 0, "skip_std_errs": not with_errors}
    model.fit(x.reshape(-1, x.shape[2]), y.ravel(), **options, **layout)
    return rows @ model.coeff_


def torch(phi, labels, offsets, rows):
    """The likelihood of ltr by L-BFGS, one thread."""
    import torch as library

    library.set_num_threads(1)
    x, y, present = map(library.from_numpy, padded(phi, labels, offsets))
    right, absent = y.argmax(dim=1), ~present
    w = library.zeros(phi.shape[1], dtype=library.float64, requires_grad=True)
    solver = library.optim.LBFGS([w], max_iter=100, tolerance_grad=1e-10, line_search_fn="strong_wolfe")

    def closure():
        solver.zero_grad()
        scores = x @ w if present.all() else (x @ w).masked_fill(absent, -1e300)
        value = library.nn.functional.cross_entropy(scores, right)
        value.backward()
        return value

    solver.step(closure)
    return rows @ w.detach().numpy()


def padded(phi, labels, offsets):
    """Return groups with as many rows each as the largest has, and which of the rows are theirs; 0 in the others."""
    sizes = np.diff(offsets)
    if (sizes == sizes[0]).all():  # nothing is copied
        shape = len(sizes), sizes[0]
        return phi.reshape(*shape, -1), labels.reshape(shape), np.ones(shape, dtype=bool)
    present = np.arange(sizes.max()) < sizes[:, np.newaxis]
    x, y = np.zeros((*present.shape, phi.shape[1])), np.zeros(present.shape)
    x[present], y[present] = phi, labels
    return x, y, present


SAME_LIKELIHOOD = (
    Peer("xlogit, without standard errors", "xlogit", xlogit),
    Peer("xlogit, as it comes", "xlogit", partial(xlogit, with_errors=True)),
    Peer("torch L-BFGS", "torch", torch),
)
LIGHTGBM = Peer("LightGBM lambdarank", "lightgbm", lightgbm)
XGBOOST = Peer("XGBoost rank:ndcg, gblinear", "xgboost", xgboost)
CATBOOST = Peer("CatBoost QuerySoftMax", "catboost", catboost)
LOGISTIC = Peer("logistic regression (scikit-learn)", "sklearn", logistic_regression)
