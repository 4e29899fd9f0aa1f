"""Learning to rank in other packages: each learns from (phi, labels, offsets) and returns the scores of other rows.

Boosters learn for a number of rounds; one thread each. Rows to score that are the training rows are not copied again.
"""

from functools import partial

import numpy as np

from peers import Peer


def lightgbm(phi, labels, offsets, rows, *, rounds=100, **options):
    """lambdarank, with its defaults where no options say otherwise."""
    from lightgbm import LGBMRanker

    ranker = LGBMRanker(n_estimators=rounds, n_jobs=1, verbose=-1, **options)
    return ranker.fit(phi, labels.astype(int), group=np.diff(offsets)).predict(rows)


def xgboost(phi, labels, offsets, rows, *, booster="gbtree", objective="rank:ndcg", rounds=100):
    """An objective on trees or a linear booster."""
    from xgboost import DMatrix, train

    data = DMatrix(phi, labels)
    data.set_group(np.diff(offsets))
    options = {"objective": objective, "booster": booster, "nthread": 1, "verbosity": 0}
    return train(options, data, rounds).predict(data if rows is phi else DMatrix(rows))


def catboost(phi, labels, offsets, rows, *, loss="QuerySoftMax", rounds=100):
    """A loss on trees."""
    from catboost import CatBoost, Pool

    pool = Pool(phi, labels, group_id=np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)))
    options = {"loss_function": loss, "iterations": rounds, "thread_count": 1, "verbose": False}
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


def xlogit_with_errors(phi, labels, offsets, rows):
    """The same with its standard errors, as it comes."""
    return xlogit(phi, labels, offsets, rows, with_errors=True)


def torch(phi, labels, offsets, rows):
    """The likelihood of ltr by L-BFGS, one thread."""
    import torch as library

    library.set_num_threads(1)
    x, y, present = map(library.from_numpy, padded(phi, labels, offsets))
    right, absent, is_ragged = y.argmax(dim=1), ~present, not present.all()
    w = library.zeros(phi.shape[1], dtype=library.float64, requires_grad=True)
    solver = library.optim.LBFGS([w], max_iter=100, tolerance_grad=1e-10, line_search_fn="strong_wolfe")

    def closure():
        solver.zero_grad()
        scores = (x @ w).masked_fill(absent, -1e300) if is_ragged else x @ w
        value = library.nn.functional.cross_entropy(scores, right)
        value.backward()
        return value

    solver.step(closure)
    return rows @ w.detach().numpy()


def padded(phi, labels, offsets):
    """The groups with as many rows each as the largest has, and which of the rows are theirs; 0 in the others."""
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
    Peer("xlogit, as it comes", "xlogit", xlogit_with_errors),
    Peer("torch L-BFGS", "torch", torch),
)
LIGHTGBM = Peer("LightGBM lambdarank", "lightgbm", lightgbm)
SMALL = {"num_leaves": 7, "min_child_samples": 50, "learning_rate": 0.05}
LIGHTGBM_SMALL = Peer("LightGBM lambdarank, small trees", "lightgbm", partial(lightgbm, **SMALL))
XGBOOST_TREES = Peer("XGBoost rank:ndcg, trees", "xgboost", xgboost)
XGBOOST_LINEAR = Peer("XGBoost rank:ndcg, gblinear", "xgboost", partial(xgboost, booster="gblinear"))
XGBOOST_PAIRWISE = Peer("XGBoost rank:pairwise, trees", "xgboost", partial(xgboost, objective="rank:pairwise"))
CATBOOST = Peer("CatBoost QuerySoftMax", "catboost", catboost)
CATBOOST_YETI = Peer("CatBoost YetiRank", "catboost", partial(catboost, loss="YetiRank"))
LOGISTIC = Peer("logistic regression (scikit-learn)", "sklearn", logistic_regression)
