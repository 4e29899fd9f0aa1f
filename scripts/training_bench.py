"""The training part of scripts/bench: every trainer beside the loop, C, and the peers that are installed."""

import ctypes
import shutil
import subprocess
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from timing import cpu_seconds, draws, loss, without_numba
from training_peers import EPOCHS, on_own_data, peers, shown

from ltr.training.config import TrainConfig
from ltr.training.fit import fit
from ltr.training.l2_path import exact_path

PATH = 32
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
    shown(found["peers"], found["not_installed"])
    own = found["own_data"] = on_own_data()
    print(
        f"\nour own tools: {own['queries']:,} queries, {own['candidates']:,} candidates, 4 cross-fitted columns, l2 0"
    )
    shown(own["peers"], [])
    found["path"] = path(groups)
    said = found["path"]
    print(f"\n{PATH} penalties: path {said['path_cpu_seconds']:.2f} s, cold {said['cold_cpu_seconds']:.2f} s, ", end="")
    print(f"ratio {said['ratio']:.2f}, w apart {said['w_apart']:.1e}\n")
    return found
