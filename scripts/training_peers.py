"""Our trainers beside those of other packages, on draws and on our own data: CPU seconds and the loss they reach."""

import warnings
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from timing import cpu_seconds, draws, loss, without_numba

from ltr.config.run import load_config
from ltr.data.groups import select
from ltr.experiments.shared_inputs import SharedInputs
from ltr.training.config import TrainConfig
from ltr.training.fit import fit
from ltr.training.kernels import for_passes

CONFIG = Path(__file__).resolve().parent.parent / "configs" / "tools.yaml"
EPOCHS, ROUNDS = 50, 50
FREE = TrainConfig(trainer="newton", l2=0.0)


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


def xlogit(phi, labels, offsets, *, with_errors=False):
    """The fastest peer of the same likelihood."""
    from xlogit import MultinomialLogit

    x, y, present = padded(phi, labels, offsets)
    groups, size = present.shape
    given = {"ids": np.repeat(np.arange(groups), size), "alts": np.tile(np.arange(size), groups)}
    given |= {} if present.all() else {"avail": present.ravel().astype(int)}
    model = MultinomialLogit()
    rows = x.reshape(-1, x.shape[2])
    model.fit(rows, y.ravel(), varnames=list("abcd"), verbose=0, skip_std_errs=not with_errors, **given)
    return phi @ model.coeff_


def lightgbm(phi, labels, offsets):
    """lambdarank with its defaults."""
    from lightgbm import LGBMRanker

    ranker = LGBMRanker(n_estimators=ROUNDS, n_jobs=1, verbose=-1)
    return ranker.fit(phi, labels.astype(int), group=np.diff(offsets)).predict(phi)


def xgboost(phi, labels, offsets):
    """rank:ndcg on a linear booster."""
    from xgboost import DMatrix, train

    data = DMatrix(phi, labels)
    data.set_group(np.diff(offsets))
    options = {"objective": "rank:ndcg", "booster": "gblinear", "nthread": 1, "verbosity": 0}
    return train(options, data, ROUNDS).predict(data)


def catboost(phi, labels, offsets):
    """QuerySoftMax on trees."""
    from catboost import CatBoost, Pool

    pool = Pool(phi, labels, group_id=np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)))
    options = {"loss_function": "QuerySoftMax", "iterations": ROUNDS, "thread_count": 1, "verbose": False}
    return CatBoost({**options, "allow_writing_files": False}).fit(pool).predict(pool)


def torch(phi, labels, offsets):
    """The same likelihood by L-BFGS, one thread."""
    import torch as library

    library.set_num_threads(1)
    x, y, present = map(library.from_numpy, padded(phi, labels, offsets))
    right, absent, is_ragged = y.argmax(dim=1), ~present, not present.all()
    w = library.zeros(4, dtype=library.float64, requires_grad=True)
    solver = library.optim.LBFGS([w], max_iter=100, tolerance_grad=1e-10, line_search_fn="strong_wolfe")

    def closure():
        solver.zero_grad()
        scores = (x @ w).masked_fill(absent, -1e300) if is_ragged else x @ w
        value = library.nn.functional.cross_entropy(scores, right)
        value.backward()
        return value

    solver.step(closure)
    return phi @ w.detach().numpy()


PEERS = {
    "xlogit, without standard errors": xlogit,
    "xlogit, as it comes": partial(xlogit, with_errors=True),
    "torch L-BFGS": torch,
    f"XGBoost rank:ndcg, gblinear, {ROUNDS} rounds": xgboost,
    f"LightGBM lambdarank, {ROUNDS} trees": lightgbm,
    f"CatBoost QuerySoftMax, {ROUNDS} trees": catboost,
}


def peers(groups):
    """newton at l2 = 0 beside what else is installed, groups of 10; and the packages that are not."""
    data = draws(groups, (10, 10))
    packages = {name: getattr(call, "func", call).__name__ for name, call in PEERS.items()}
    absent = [name for name in dict.fromkeys(packages.values()) if find_spec(name) is None]
    return with_ratios(newtons(data) + others(data)), absent


def on_own_data():
    """The same on our own tools, and descent as it comes."""
    data = own_data()
    stepped = measured("descent, 100 epochs, l2 0.001", partial(trained, *data, TrainConfig()), data)
    found = with_ratios([*newtons(data), stepped, *others(data)])
    return {"queries": len(data[2]) - 1, "candidates": len(data[1]), "peers": found}


def newtons(data):
    """Our exact optimum by numpy, and by numba where it is installed and the work large enough for it."""
    with without_numba():
        found = [measured("newton, numpy", partial(trained, *data, FREE), data, repeats=5)]
    if for_passes(data[0].shape[1], len(data[0])):
        fit(*data, FREE)
        found.append(measured("newton, numba", partial(trained, *data, FREE), data, repeats=5))
    return found


def others(data):
    """Every peer that is installed."""
    found = []
    for name, call in PEERS.items():
        package = getattr(call, "func", call).__name__
        if find_spec(package):
            repeats = 3 if package == "xlogit" else 1
            found.append(measured(name, partial(call, *data), data, repeats=repeats, once=call))
    return found


def with_ratios(found):
    """The rows, each with its time over that of newton: by numba where that is used, and by numpy."""
    seconds = {each["name"]: each["cpu_seconds"] for each in found}
    by_numpy = seconds["newton, numpy"]
    ours = seconds.get("newton, numba", by_numpy)
    ratios = (
        {"this_over_newton": spent / ours, "this_over_newton_numpy": spent / by_numpy} for spent in seconds.values()
    )
    return [each | ratio for each, ratio in zip(found, ratios, strict=True)]


def trained(phi, labels, offsets, config):
    """The scores of our trainer."""
    return phi @ fit(phi, labels, offsets, config).w


def measured(name, call, data, *, repeats=1, once=None):
    """CPU seconds of the call, and the loss of the scores it returns; `once` is called before, on little."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if once:
            once(*draws(200, (10, 10)))  # imports, and whatever is done once
        spent, scores = cpu_seconds(call, repeats)
    return {"name": name, "cpu_seconds": spent, "loss": loss(scores, *data[1:])}


def own_data():
    """phi, labels, offsets of our own tools as the config has them: four columns, cross-fitted and standardised.

    Queries with one right tool alone: the peers of the same likelihood know no other.
    """
    prepared = SharedInputs(load_config(CONFIG)).prepared
    right = np.add.reduceat(prepared.groups.labels, prepared.groups.offsets[:-1])
    rows = np.repeat(right == 1, np.diff(prepared.groups.offsets))
    groups, phi = select(prepared.groups, np.flatnonzero(right == 1)), prepared.phi[rows]
    known = fit(phi, groups.labels, groups.offsets, TrainConfig(trainer="newton", standardize=True)).training
    return phi / known.deviations, groups.labels, groups.offsets


def shown(found, absent):
    """The table of what was found."""
    print(f"{'':42}{'CPU s':>9}{'/ newton':>10}{'/ numpy':>9}{'cross-entropy':>15}")
    for each in found:
        ratios = f"{each['this_over_newton']:10.1f}{each['this_over_newton_numpy']:9.1f}"
        print(f"{each['name']:42}{each['cpu_seconds']:9.4f}{ratios}{each['loss']:15.8f}")
    if absent:
        print(f"not installed: {', '.join(absent)}")
