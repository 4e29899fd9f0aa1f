"""Every trainer beside plain loops, plain C and the learners of other packages.

CPU seconds of one thread, and the loss that is reached: on exact draws, and on the tools of this checkout. The
yardstick is the specification's loop over dictionaries, of which one epoch is run and scaled, as the table says.
"""

import ctypes
import shutil
import subprocess
import tempfile
import warnings
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from json import dumps
from pathlib import Path

import numpy as np

from benchmarks.draws import draws, loss
from benchmarks.resources import cpu_seconds
from ltr import TrainConfig, fit, load_config
from ltr.data.groups import select
from ltr.flow import features_of
from ltr.training.kernels import dispatch_by_size as kernels
from ltr.training.kernels.dispatch_by_size import for_passes
from ltr.training.l2_path import exact_path
from peers import installed, learners, missing
from subcommands import ROOT, at_least

CONFIG = ROOT / "configs" / "tools.yaml"
EPOCHS, ROUNDS = 50, 50
PENALTIES = 32
NEWTON, FREE = TrainConfig(trainer="newton"), TrainConfig(trainer="newton", l2=0.0)
BOOSTERS = (
    (learners.XGBOOST_LINEAR, "rounds"),
    (learners.LIGHTGBM, "trees"),
    (learners.CATBOOST, "trees"),
)
PEERS = (
    *learners.SAME_LIKELIHOOD,
    *(
        replace(peer, name=f"{peer.name}, {ROUNDS} {unit}", call=partial(peer.call, rounds=ROUNDS))
        for peer, unit in BOOSTERS
    ),
)
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


def options(parser):
    """Options of the command line."""
    parser.add_argument("--groups", type=at_least(100), default=100_000, help="queries drawn (default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")


def main(*, groups, json):
    """Print the tables, and write the same as data where that is asked for."""
    figures = measure(groups)
    if json:
        json.write_text(dumps({"training": figures}, indent=2) + "\n", encoding="utf-8")
    return 0


def measure(groups):
    """All of it, as tables; what is returned is the same as data."""
    print(f"training: {groups:,} groups of 2-20, 4 features, {EPOCHS} epochs, l2 0.001")
    rows = trainers(groups)
    figures = {"groups": groups, "trainers": rows}
    print(f"{'':42}{'CPU s':>9}{'naive / this':>14}{'cross-entropy':>15}")
    for row in rows:
        ratio = "" if row["naive_over_this"] is None else f"{row['naive_over_this']:.1f}"
        reached = "" if row["loss"] is None else f"{row['loss']:.8f}"
        print(f"{row['name']:42}{row['cpu_seconds']:9.3f}{ratio:>14}{reached:>15}")
    by_name = {row["name"]: row for row in rows}
    if {"descent, numba", "descent, plain C -O3"} <= by_name.keys():
        ours, plain = by_name["descent, numba"], by_name["descent, plain C -O3"]
        figures["descent_over_c"] = ours["cpu_seconds"] / plain["cpu_seconds"]
        difference = max(abs(a - b) for a, b in zip(ours["w"], plain["w"], strict=True))
        print(f"descent, numba / plain C: {figures['descent_over_c']:.2f}, w apart {difference:.1e}")
    print(f"\npeers: {groups:,} groups of 10, 4 features, l2 0; the loss of other objectives is that of their softmax")
    data = draws(groups, (10, 10))
    figures["peers"], figures["not_installed"] = with_ratios(newtons(data) + others(data)), missing(PEERS)
    show(figures["peers"])
    if figures["not_installed"]:
        print(f"not installed: {', '.join(figures['not_installed'])}")
    data = own_tools()
    stepped = measured("descent, 100 epochs, l2 0.001", partial(trained, *data, TrainConfig()), data)
    own = {"queries": len(data[2]) - 1, "candidates": len(data[1])}
    own["peers"] = with_ratios([*newtons(data), stepped, *others(data)])
    print(
        f"\nour own tools: {own['queries']:,} queries, {own['candidates']:,} candidates, 4 cross-fitted columns, l2 0"
    )
    show(own["peers"])
    followed = path(groups)
    print(f"\n{PENALTIES} penalties: path {followed['path_cpu_seconds']:.2f} s, ", end="")
    print(
        f"cold {followed['cold_cpu_seconds']:.2f} s, ratio {followed['ratio']:.2f}, w apart {followed['w_apart']:.1e}\n"
    )
    return figures | {"own_data": own, "path": followed}


def trainers(groups):
    """Every trainer on ragged groups, against the specification's loop."""
    phi, labels, offsets = data = draws(groups, (2, 20))
    naive = naive_seconds(*data) * EPOCHS

    def row(name, seconds, w=None):
        reached = {} if w is None else {"w": np.asarray(w).tolist()}
        reached["loss"] = None if w is None else loss(phi @ w, labels, offsets)
        return {"name": name, "cpu_seconds": seconds, "naive_over_this": naive / seconds} | reached

    def ours(name, config, repeats):
        seconds, model = cpu_seconds(lambda: fit(*data, config), repeats)
        return row(name, seconds, model.w)

    rows = [row(f"specification, 1 epoch x {EPOCHS}", naive)]
    with without_numba():
        two, _ = cpu_seconds(lambda: fit(*data, TrainConfig(epochs=2)))
        one, _ = cpu_seconds(lambda: fit(*data, TrainConfig(epochs=1)))
        rows.append(row(f"descent, numpy, 1 epoch x {EPOCHS}", one + (two - one) * (EPOCHS - 1)))
        rows.append(ours("newton, numpy", NEWTON, 5))
    if find_spec("numba"):
        loading, _ = cpu_seconds(lambda: fit(*data, TrainConfig(epochs=1)))
        rows.append(row("loading numba, once a process", loading) | {"naive_over_this": None})
        rows.append(ours("descent, numba", TrainConfig(epochs=EPOCHS), 3))
        rows.append(ours("newton, numba", NEWTON, 5))
    plain = c_descent(*data, EPOCHS)
    if plain:
        rows.append(row("descent, plain C -O3", *cpu_seconds(plain, 3)))
    return rows


class without_numba:  # noqa: N801 - reads as a statement
    """Inside it numpy does all the work."""

    def __enter__(self):
        self.before = kernels.STEPS, kernels.NUMBERS
        kernels.STEPS = kernels.NUMBERS = float("inf")

    def __exit__(self, *_):
        kernels.STEPS, kernels.NUMBERS = self.before


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


def newtons(data):
    """Our exact optimum by numpy, and by numba where it is installed and the work large enough for it."""
    with without_numba():
        rows = [measured("newton, numpy", partial(trained, *data, FREE), data, repeats=5)]
    if for_passes(data[0].shape[1], len(data[0])):
        fit(*data, FREE)
        rows.append(measured("newton, numba", partial(trained, *data, FREE), data, repeats=5))
    return rows


def others(data):
    """Every peer that is installed."""
    rows, few = [], draws(200, (10, 10))
    for peer in installed(PEERS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            peer.call(*few, few[0])  # imports, and whatever is done once
        repeats = 3 if peer.package == "xlogit" else 1
        rows.append(measured(peer.name, partial(peer.call, *data, data[0]), data, repeats=repeats))
    return rows


def measured(name, call, data, *, repeats=1):
    """CPU seconds of the call, and the loss of the scores it returns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seconds, scores = cpu_seconds(call, repeats)
    return {"name": name, "cpu_seconds": seconds, "loss": loss(scores, *data[1:])}


def trained(phi, labels, offsets, config):
    """The scores of our trainer."""
    return phi @ fit(phi, labels, offsets, config).w


def with_ratios(rows):
    """The rows, each with its time over that of newton: by numba where that is used, and by numpy."""
    seconds = {row["name"]: row["cpu_seconds"] for row in rows}
    by_numpy = seconds["newton, numpy"]
    fastest = seconds.get("newton, numba", by_numpy)
    ratios = ({"this_over_newton": s / fastest, "this_over_newton_numpy": s / by_numpy} for s in seconds.values())
    return [row | ratio for row, ratio in zip(rows, ratios, strict=True)]


def show(rows):
    """The table of trainers and peers."""
    print(f"{'':42}{'CPU s':>9}{'/ newton':>10}{'/ numpy':>9}{'cross-entropy':>15}")
    for row in rows:
        ratios = f"{row['this_over_newton']:10.1f}{row['this_over_newton_numpy']:9.1f}"
        print(f"{row['name']:42}{row['cpu_seconds']:9.4f}{ratios}{row['loss']:15.8f}")


def own_tools():
    """phi, labels, offsets of our own tools as the config has them: four columns, cross-fitted and standardised.

    Queries with one right tool alone: the peers of the same likelihood know no other.
    """
    prepared = features_of(load_config(CONFIG)).training()
    right = np.add.reduceat(prepared.groups.labels, prepared.groups.offsets[:-1])
    rows = np.repeat(right == 1, np.diff(prepared.groups.offsets))
    groups, phi = select(prepared.groups, np.flatnonzero(right == 1)), prepared.phi[rows]
    standardized = TrainConfig(trainer="newton", standardize=True)
    deviations = fit(phi, groups.labels, groups.offsets, standardized).training.deviations
    return phi / deviations, groups.labels, groups.offsets


def path(groups):
    """32 penalties along one path, and each for itself."""
    data, l2s = draws(groups, (2, 20)), tuple(np.logspace(0, -6, PENALTIES).tolist())
    config = TrainConfig(trainer="newton", l2=l2s)
    warm, along = cpu_seconds(lambda: exact_path(*data, config))
    cold, apart = cpu_seconds(lambda: [fit(*data, TrainConfig(trainer="newton", l2=l2)).w for l2 in l2s])
    difference = max(float(np.abs(a - b).max()) for a, b in zip(along, apart, strict=True))
    return {
        "penalties": PENALTIES,
        "path_cpu_seconds": warm,
        "cold_cpu_seconds": cold,
        "ratio": cold / warm,
        "w_apart": difference,
    }
