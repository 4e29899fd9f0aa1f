"""ltr beside what people use otherwise, on the test queries of configs; the table in the README.

Every way sees the same candidates and, where it learns, the same training queries and cross-fitted features.
"""

import time
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from ltr import fit, load_config
from ltr.choose import choose
from ltr.features.prior_weights import prior_of
from ltr.flow import features_of
from peers import Peer, installed, missing
from peers.learners import LIGHTGBM, LOGISTIC
from studies import intervals
from studies.sets import measured
from subcommands import ROOT

CONFIGS = tuple(f"{kind}{which}.yaml" for kind in ("graphs", "tools") for which in ("-recommended", ""))
SINGLE = {
    "tool.rel": "similarity search (hash)",
    "graph.rel": "similarity search (hash)",
    "tool.hist": "whatever was right most often",
    "graph.hist": "whatever shape was right most often",
    "tool.coop": "keyword in the name",
    "graph.coop": "size of the team that suits the query's length",
}
PACKAGES = ("numpy", "scikit-learn", "lightgbm")


def options(parser):
    """Options of the command line."""
    ours = [ROOT / "configs" / name for name in CONFIGS]
    parser.add_argument("configs", nargs="*", metavar="CONFIG", default=ours, help="(default: those of this checkout)")


def main(*, configs):
    """A table for each config, in Markdown."""
    print(", ".join(known_version(package) for package in PACKAGES))
    if missing([LOGISTIC, LIGHTGBM]):
        print(f"not installed: {', '.join(missing([LOGISTIC, LIGHTGBM]))}")
    for path in configs:
        compare(load_config(path))
    return 0


def compare(config):
    """One line a way: quality on the test queries, the difference of ltr to it, CPU time of learning."""
    choice = choose(config, features_of(config))  # of a recommended config: what folds choose, as in a run
    config, prepared, test = choice.config, choice.features.training(), choice.features.data.test[0]
    prior = prior_of(config.train, prepared.names)
    groups, phi = prepared.groups, prepared.applied(test.candidates)
    scores, seconds = {"random order": np.zeros(len(phi))}, {}
    for place, name in enumerate(prepared.names):
        if name in SINGLE:
            scores[SINGLE[name]] = phi[:, place]

    def ours(phi, labels, offsets, rows):
        return fit(phi, labels, offsets, config.train, prior=prior).scores(rows)

    for way in (*installed([LOGISTIC, LIGHTGBM]), Peer("ltr", "ltr", ours)):
        start = time.process_time()
        scores[way.name] = way.call(prepared.phi, groups.labels, groups.offsets, phi)
        seconds[way.name] = time.process_time() - start
    show(config.name, test, scores, seconds)


def show(title, test, scores, seconds):
    """The table, in Markdown."""
    results = {name: measured(column, test) for name, column in scores.items()}
    print(f"\n| {title}: {len(test.offsets) - 1} test queries | top-1 | MRR | ltr is better by (top-1, 95 %) | CPU s |")
    print("| --- | --- | --- | --- | --- |")
    best = results["ltr"].values["top1_accuracy"]
    for name, result in results.items():
        lead = intervals.difference(test, best, result.values["top1_accuracy"], np.random.default_rng(0))
        gap = "" if name == "ltr" else intervals.shown(lead, "+")
        taken = f"{seconds[name]:.2f}" if name in seconds else ""
        print(f"| {name} | {result.means['top1_accuracy']:.3f} | {result.means['mrr']:.3f} | {gap} | {taken} |")


def known_version(package):
    """The version of a package, or that it is not there."""
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return f"{package} not installed"
