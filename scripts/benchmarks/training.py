"""Every trainer beside plain loops, plain C and the learners of other packages.

CPU seconds of one thread, and the loss that is reached: on exact draws, and on the tools of this checkout. The
yardstick is the specification's loop over dictionaries, of which one epoch is run and scaled, as the table says.
"""

import ctypes
import json
import shutil
import subprocess
import tempfile
import warnings
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from ltr import TrainConfig, fit, load_config
from ltr.flow import features_of
from ltr.training import Design, Terms, optima_along
from ltr.training import groups as kernels
from ltr.training.temperature import log_softmax
from peers import installed, learners, missing
from processes import cpu_seconds
from subcommands import ROOT, at_least

EPOCHS, ROUNDS = 50, 50
PENALTIES = 32
NEWTON, FREE = TrainConfig(trainer="newton"), TrainConfig(trainer="newton", l2=0.0)
BOOSTERS = ((learners.XGBOOST, "rounds"), (learners.LIGHTGBM, "trees"), (learners.CATBOOST, "trees"))
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
    ragged, even, own = draws(groups, (2, 20)), draws(groups, (10, 10)), own_tools()
    print(f"training: {groups:,} groups of 2-20, 4 features, {EPOCHS} epochs, l2 0.001")
    tables = {"trainers": trainers(ragged)}
    show(tables["trainers"], f"specification, 1 epoch x {EPOCHS}")
    print(f"\npeers: {groups:,} groups of 10, 4 features, l2 0; the loss of other objectives is that of their softmax")
    tables["peers"] = beside_peers(even)
    show(tables["peers"], "newton, numpy")
    print(f"\nour own tools: {len(own[2]) - 1:,} queries, {len(own[1]):,} candidates, 4 cross-fitted columns, l2 0")
    tables["own"] = beside_peers(own)
    tables["own"].append(row("descent, 100 epochs, l2 0.001", own, lambda: own[0] @ fit(*own, TrainConfig()).w))
    show(tables["own"], "newton, numpy")
    if absent := missing(PEERS):
        print(f"not installed: {', '.join(absent)}")
    tables["path"] = path(ragged)
    if json:
        write(json, tables)


def write(path, tables):
    """Write the tables as data."""
    path.write_text(json.dumps({"training": tables}, indent=2) + "\n", encoding="utf-8")


def show(rows, yardstick):
    """Print a line a way: CPU seconds, how often the yardstick takes as long, and the loss."""
    base = next(row["cpu_seconds"] for row in rows if row["name"] == yardstick)
    print(f"{'':42}{'CPU s':>9}{'/ ' + yardstick.partition(',')[0]:>16}{'its time / this':>17}{'cross-entropy':>15}")
    for row in rows:
        seconds, loss = row["cpu_seconds"], row["loss"]
        reached = "" if loss is None else f"{loss:.8f}"
        print(f"{row['name']:42}{seconds:9.4f}{seconds / base:16.2f}{base / seconds:17.1f}{reached:>15}", flush=True)


def row(name, data, call, repeats=1):
    """Return CPU seconds of the call, and the mean cross-entropy of the softmax of the scores that it returns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seconds, scores = cpu_seconds(call, repeats)
    reached = None if scores is None else -log_softmax(np.asarray(scores, dtype=float), data[2])[data[1] > 0].mean()
    return {"name": name, "cpu_seconds": seconds, "loss": None if reached is None else float(reached)}


def trainers(data):
    """Return a row for every trainer on ragged groups."""
    phi = data[0]
    naive, _ = cpu_seconds(specification(*data))
    rows = [{"name": f"specification, 1 epoch x {EPOCHS}", "cpu_seconds": naive * EPOCHS, "loss": None}]
    with without_numba():
        one, two = (cpu_seconds(lambda n=n: fit(*data, TrainConfig(epochs=n)))[0] for n in (1, 2))
        seconds = one + (two - one) * (EPOCHS - 1)
        rows.append({"name": f"descent, numpy, 1 epoch x {EPOCHS}", "cpu_seconds": seconds, "loss": None})
        rows.append(row("newton, numpy", data, lambda: phi @ fit(*data, NEWTON).w, 5))
    if find_spec("numba"):
        fit(*data, TrainConfig(epochs=1))  # loads and compiles
        rows.append(row("descent, numba", data, lambda: phi @ fit(*data, TrainConfig(epochs=EPOCHS)).w, 3))
        rows.append(row("newton, numba", data, lambda: phi @ fit(*data, NEWTON).w, 5))
    if plain := c_descent(*data):
        rows.append(row("descent, plain C -O3", data, lambda: phi @ plain(), 3))
    return rows


@contextmanager
def without_numba():
    """Let numpy do all the work."""
    before = kernels.STEPS, kernels.NUMBERS
    kernels.STEPS = kernels.NUMBERS = float("inf")
    try:
        yield
    finally:
        kernels.STEPS, kernels.NUMBERS = before


def specification(phi, labels, offsets):
    """Return one epoch as the specification writes it, one dictionary a sample."""
    rows = [{"features": x, "label": y} for x, y in zip(phi.tolist(), labels.tolist(), strict=True)]
    queries = [rows[first:last] for first, last in zip(offsets[:-1], offsets[1:], strict=True)]

    def epoch():
        w, total = np.ones(4), 0.0
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

    return epoch


def c_descent(phi, labels, offsets):
    """Return the plain C loop, compiled, or None where there is no compiler."""
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
    numbers = ctypes.c_long(len(offsets) - 1), ctypes.c_long(EPOCHS), ctypes.c_double(0.01), ctypes.c_double(0.001)

    def call():
        w = np.ones(4)
        loop(*pointers, *numbers, w.ctypes.data_as(ctypes.c_void_p))
        return w

    return call


def beside_peers(data):
    """Return a row for our exact optimum, by numpy and by numba where it is worth it, and for every peer here."""

    def ours():
        return data[0] @ fit(*data, FREE).w

    with without_numba():
        rows = [row("newton, numpy", data, ours, 5)]
    if kernels.for_passes(data[0].shape[1], len(data[0])):
        ours()
        rows.append(row("newton, numba", data, ours, 5))
    few = draws(200, (10, 10))
    for peer in installed(PEERS):
        row(peer.name, few, lambda peer=peer: peer.call(*few, few[0]))  # imports, and whatever is done once
        repeats = 3 if peer.package == "xlogit" else 1
        rows.append(row(peer.name, data, lambda peer=peer: peer.call(*data, data[0]), repeats))
    return rows


def draws(groups, sizes):
    """Return phi, labels, offsets: exact draws from the model of ltr itself with known w, some thousand at a time."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(sizes[0], sizes[1] + 1, groups)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    phi, labels = np.empty((offsets[-1], 4)), np.empty(offsets[-1])
    for first in range(0, groups, 10_000):  # the making leaves no peak of memory
        own = offsets[first : first + 10_001]
        rows = slice(own[0], own[-1])
        phi[rows] = rng.normal(size=(own[-1] - own[0], 4))
        utility = phi[rows] @ [1.0, -0.5, 0.3, 0.0] + rng.gumbel(size=own[-1] - own[0])
        best = np.maximum.reduceat(utility, own[:-1] - own[0])
        labels[rows] = utility == np.repeat(best, np.diff(own))
    return phi, labels, offsets


def own_tools():
    """Return phi, labels, offsets of our own tools as the config has them: four columns, cross-fitted, standardised.

    Queries with one right tool alone: the peers of the same likelihood know no other.
    """
    prepared = features_of(load_config(ROOT / "configs" / "tools.yaml")).training()
    right = np.add.reduceat(prepared.groups.labels, prepared.groups.offsets[:-1])
    rows = np.repeat(right == 1, np.diff(prepared.groups.offsets))
    groups, phi = prepared.groups.select(np.flatnonzero(right == 1)), prepared.phi[rows]
    standardized = TrainConfig(trainer="newton", standardize=True)
    deviations = fit(phi, groups.labels, groups.offsets, standardized).training.deviations
    return phi / deviations, groups.labels, groups.offsets


def path(data):
    """Print and return the seconds of 32 penalties along one path, and each for itself."""
    l2s = tuple(np.logspace(0, -6, PENALTIES).tolist())
    config = TrainConfig(trainer="newton", l2=l2s)
    warm, along = cpu_seconds(lambda: optima_along((Design(*data),), Terms.of(data[0], config), config))
    cold, apart = cpu_seconds(lambda: [fit(*data, TrainConfig(trainer="newton", l2=l2)).w for l2 in l2s])
    difference = max(float(np.abs(a - b).max()) for a, b in zip(along, apart, strict=True))
    print(f"\n{PENALTIES} penalties: path {warm:.2f} s, cold {cold:.2f} s, ratio {cold / warm:.2f}", end="")
    print(f", w apart {difference:.1e}")
    return {"path_cpu_seconds": warm, "cold_cpu_seconds": cold, "w_apart": difference}
