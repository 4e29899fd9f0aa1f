"""The training part of scripts/bench: every trainer beside the loop, C, and the peers that are installed."""

import ctypes
import shutil
import subprocess
import tempfile
import time
import warnings
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from ltr import compiled
from ltr.listwise import log_softmax
from ltr.train import TrainConfig, fit
from ltr.train.path import exact_path

EPOCHS, ROUNDS, PATH = 50, 50, 32
FREE = TrainConfig(trainer="newton", l2=0.0)
C_LOOP = """
#include <math.h>
#include <stdlib.h>
#define F 4
void descent(const double *phi, const double *y, const long *offsets, long groups, long epochs, double rate, double l2,
             double *w) {
    long largest = 0;
    for (long g = 0; g < groups; g++)
        if (offsets[g + 1] - offsets[g] > largest) largest = offsets[g + 1] - offsets[g];
    double *e = malloc(largest * sizeof(double));
    for (long epoch = 0; epoch < epochs; epoch++)
        for (long g = 0; g < groups; g++) {
            const double *x = phi + F * offsets[g], *t = y + offsets[g];
            long n = offsets[g + 1] - offsets[g];
            double highest = -INFINITY, z = 0.0, mass = 0.0, step[F] = {0};
            for (long i = 0; i < n; i++) {
                double s = 0.0;
                for (int f = 0; f < F; f++) s += w[f] * x[F * i + f];
                e[i] = s;
                mass += t[i];
                if (s > highest) highest = s;
            }
            for (long i = 0; i < n; i++) z += e[i] = exp(e[i] - highest);
            for (long i = 0; i < n; i++)
                for (int f = 0; f < F; f++) step[f] += (e[i] / z - t[i] / mass) * x[F * i + f];
            for (int f = 0; f < F; f++) w[f] -= rate * (step[f] + 2.0 * l2 * w[f]);
        }
    free(e);
}
"""


def draws(groups, sizes, seed=0):
    """phi, labels, offsets: exact draws from the model with known w."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(sizes[0], sizes[1] + 1, groups)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    phi = rng.normal(size=(offsets[-1], 4))
    utility = phi @ [1.0, -0.5, 0.3, 0.0] + rng.gumbel(size=offsets[-1])
    best = np.repeat(np.maximum.reduceat(utility, offsets[:-1]), lengths)
    return phi, (utility == best).astype(float), offsets


def specification_epoch(queries, w):
    """One epoch as the specification writes it, one dictionary a sample."""
    total = 0.0
    for samples in queries:
        x = np.array([sample["features"] for sample in samples])
        y = np.array([sample["label"] for sample in samples])
        if len(samples) < 2 or y.sum() == 0:
            continue
        scores = x @ w
        e = np.exp(scores - np.max(scores))
        p = e / e.sum()
        total += -np.sum(y * np.log(p + 1e-10)) + 0.001 * np.sum(w**2)
        w = w - 0.01 * (x.T @ (p - y) + 2 * 0.001 * w)
    return w, total / len(queries)


def naive_seconds(phi, labels, offsets):
    """CPU time of one epoch of the specification's loop."""
    rows = [{"features": x, "label": y} for x, y in zip(phi.tolist(), labels.tolist(), strict=True)]
    queries = [rows[first:last] for first, last in zip(offsets[:-1], offsets[1:], strict=True)]
    return cpu_seconds(lambda: specification_epoch(queries, np.ones(4)))[0]


def cpu_seconds(call, repeats=1):
    """Least CPU time of the calls, and what the last returned."""
    spent = []
    for _ in range(repeats):
        start = time.process_time()
        result = call()
        spent.append(time.process_time() - start)
    return min(spent), result


class without_numba:  # noqa: N801 - reads as a statement
    """Inside it numpy does all the work."""

    def __enter__(self):
        self.before = compiled.STEPS, compiled.NUMBERS
        compiled.STEPS = compiled.NUMBERS = float("inf")

    def __exit__(self, *_):
        compiled.STEPS, compiled.NUMBERS = self.before


def loss(scores, labels, offsets):
    """Mean cross-entropy of the softmax of the scores."""
    return float(-log_softmax(np.asarray(scores, dtype=float), offsets)[labels > 0].mean())


def c_descent(phi, labels, offsets, epochs):
    """The plain C loop, or None where there is no compiler; it is compiled before the clock starts."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "loop.c", Path(folder) / "loop.so"
        source.write_text(C_LOOP)
        flags = ["-O3", "-march=native", "-shared", "-fPIC"]
        subprocess.run([compiler, *flags, "-o", library, source, "-lm"], check=True)
        loop = ctypes.CDLL(str(library)).descent
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (phi, labels, offsets)]

    def call():
        w = np.ones(4)
        numbers = ctypes.c_long(len(offsets) - 1), ctypes.c_long(epochs), ctypes.c_double(0.01), ctypes.c_double(0.001)
        loop(*pointers, *numbers, w.ctypes.data_as(ctypes.c_void_p))
        return w

    return call


def trainers(groups):
    """Every trainer on ragged groups, against the specification's loop."""
    phi, labels, offsets = draws(groups, (2, 20))
    naive, found = naive_seconds(phi, labels, offsets) * EPOCHS, []

    def note(name, spent, w):
        found.append(
            {"name": name, "cpu_seconds": spent, "naive_over_this": naive / spent, "w": np.asarray(w).tolist()}
        )
        found[-1]["loss"] = None if w is None else loss(phi @ w, labels, offsets)

    found.append(
        {"name": f"specification, 1 epoch x {EPOCHS}", "cpu_seconds": naive, "naive_over_this": 1.0, "loss": None}
    )
    with without_numba():
        two, _ = cpu_seconds(lambda: fit(phi, labels, offsets, TrainConfig(epochs=2)))
        one, _ = cpu_seconds(lambda: fit(phi, labels, offsets, TrainConfig(epochs=1)))
        found.append({"name": f"descent, numpy, 1 epoch x {EPOCHS}", "cpu_seconds": one + (two - one) * (EPOCHS - 1)})
        found[-1] |= {"naive_over_this": naive / found[-1]["cpu_seconds"], "loss": None}
        note(
            "newton, numpy",
            *weights_of(*cpu_seconds(lambda: fit(phi, labels, offsets, TrainConfig(trainer="newton")), 5)),
        )
    if find_spec("numba"):
        start = time.process_time()
        fit(phi, labels, offsets, TrainConfig(epochs=1))
        loading = time.process_time() - start
        found.append(
            {"name": "loading numba, once a process", "cpu_seconds": loading, "naive_over_this": None, "loss": None}
        )
        note(
            "descent, numba",
            *weights_of(*cpu_seconds(lambda: fit(phi, labels, offsets, TrainConfig(epochs=EPOCHS)), 3)),
        )
        newton = TrainConfig(trainer="newton")
        note("newton, numba", *weights_of(*cpu_seconds(lambda: fit(phi, labels, offsets, newton), 5)))
    plain = c_descent(phi, labels, offsets, EPOCHS)
    if plain:
        note("descent, plain C -O3", *cpu_seconds(plain, 3))
    return found


def weights_of(spent, model):
    """The time, and the w of the model."""
    return spent, model.w


def xlogit(phi, labels, offsets, *, with_errors=False):
    """The fastest peer of the same likelihood: equal group sizes."""
    from xlogit import MultinomialLogit

    size, groups = offsets[1], len(offsets) - 1
    ids, alternatives = np.repeat(np.arange(groups), size), np.tile(np.arange(size), groups)
    model = MultinomialLogit()
    model.fit(phi, labels, varnames=list("abcd"), ids=ids, alts=alternatives, verbose=0, skip_std_errs=not with_errors)
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
    x = library.from_numpy(phi.reshape(len(offsets) - 1, -1, 4))
    right = library.from_numpy(labels.reshape(len(offsets) - 1, -1).argmax(axis=1))
    w = library.zeros(4, dtype=library.float64, requires_grad=True)
    solver = library.optim.LBFGS([w], max_iter=100, tolerance_grad=1e-10, line_search_fn="strong_wolfe")

    def closure():
        solver.zero_grad()
        value = library.nn.functional.cross_entropy(x @ w, right)
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
    """newton at l2 = 0 beside what else is installed, groups of 10."""
    phi, labels, offsets = draws(groups, (10, 10))
    found, absent = [], []
    with without_numba():
        spent, model = cpu_seconds(lambda: fit(phi, labels, offsets, FREE), 5)
    found.append({"name": "newton, numpy", "cpu_seconds": spent, "loss": loss(phi @ model.w, labels, offsets)})
    if find_spec("numba"):
        fit(phi, labels, offsets, FREE)
        spent, model = cpu_seconds(lambda: fit(phi, labels, offsets, FREE), 5)
        found.append({"name": "newton, numba", "cpu_seconds": spent, "loss": loss(phi @ model.w, labels, offsets)})
    for name, call in PEERS.items():
        package = getattr(call, "func", call).__name__
        if find_spec(package) is None:
            absent.append(package)
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call(*draws(200, (10, 10)))  # imports, and whatever is done once
            spent, scores = cpu_seconds(lambda call=call: call(phi, labels, offsets), 3 if package == "xlogit" else 1)
        found.append({"name": name, "cpu_seconds": spent, "loss": loss(scores, labels, offsets)})
    for each in found:
        each["this_over_newton"] = each["cpu_seconds"] / found[min(1, len(found) - 1)]["cpu_seconds"]
        each["this_over_newton_numpy"] = each["cpu_seconds"] / found[0]["cpu_seconds"]
    return found, absent


def path(groups):
    """32 penalties along one path, and each for itself."""
    data, l2s = draws(groups, (2, 20)), tuple(np.logspace(0, -6, PATH).tolist())
    config = TrainConfig(trainer="newton", l2=l2s)
    warm, followed = cpu_seconds(lambda: exact_path(*data, config))
    cold, single = cpu_seconds(lambda: [fit(*data, TrainConfig(trainer="newton", l2=l2)).w for l2 in l2s])
    apart = max(float(np.abs(a - b).max()) for a, b in zip(followed, single, strict=True))
    return {
        "penalties": PATH,
        "path_cpu_seconds": warm,
        "cold_cpu_seconds": cold,
        "ratio": cold / warm,
        "w_apart": apart,
    }


def training(groups):
    """All of it, as a table; what is returned is the same as data."""
    print(f"training: {groups:,} groups of 2-20, 4 features, {EPOCHS} epochs, l2 0.001")
    found = {"groups": groups, "trainers": trainers(groups)}
    print(f"{'':42}{'CPU s':>9}{'naive / this':>14}{'cross-entropy':>15}")
    for each in found["trainers"]:
        ratio = "" if each["naive_over_this"] is None else f"{each['naive_over_this']:.1f}"
        reached = "" if each["loss"] is None else f"{each['loss']:.8f}"
        print(f"{each['name']:42}{each['cpu_seconds']:9.3f}{ratio:>14}{reached:>15}")
    by_name = {each["name"]: each for each in found["trainers"]}
    if {"descent, numba", "descent, plain C -O3"} <= by_name.keys():
        ours, plain = by_name["descent, numba"], by_name["descent, plain C -O3"]
        found["descent_over_c"] = ours["cpu_seconds"] / plain["cpu_seconds"]
        apart = max(abs(a - b) for a, b in zip(ours["w"], plain["w"], strict=True))
        print(f"descent, numba / plain C: {found['descent_over_c']:.2f}, w apart {apart:.1e}")
    print(f"\npeers: {groups:,} groups of 10, 4 features, l2 0; the loss of other objectives is that of their softmax")
    found["peers"], found["not_installed"] = peers(groups)
    print(f"{'':42}{'CPU s':>9}{'/ newton':>10}{'/ numpy':>9}{'cross-entropy':>15}")
    for each in found["peers"]:
        ratios = f"{each['this_over_newton']:10.1f}{each['this_over_newton_numpy']:9.1f}"
        print(f"{each['name']:42}{each['cpu_seconds']:9.3f}{ratios}{each['loss']:15.8f}")
    if found["not_installed"]:
        print(f"not installed: {', '.join(found['not_installed'])}")
    found["path"] = path(groups)
    said = found["path"]
    print(f"\n{PATH} penalties: path {said['path_cpu_seconds']:.2f} s, cold {said['cold_cpu_seconds']:.2f} s, ", end="")
    print(f"ratio {said['ratio']:.2f}, w apart {said['w_apart']:.1e}\n")
    return found
