"""ltr beside what people use otherwise, on the test queries of configs; the table in the README.

Every way sees the same candidates and, where it learns, the same training queries and cross-fitted features.
"""

import time
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from ltr import fit, load_config
from ltr.choose import choose
from ltr.features import prior_of
from ltr.flow import features_of
from peers import Peer, installed, missing
from peers.learners import LIGHTGBM, LOGISTIC
from studies.sets import difference, measured, shown
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
    print(", ".join(map(known_version, PACKAGES)))
    if absent := missing([LOGISTIC, LIGHTGBM]):
        print(f"not installed: {', '.join(absent)}")
    for path in configs:
        compare(load_config(path))


def compare(config):
    """Print a line a way: quality on the test queries, the difference of ltr to it, CPU time of learning."""
    choice = choose(config, features_of(config))  # of a recommended config: what folds choose, as in a run
    config, prepared, test = choice.config, choice.features.training(), choice.features.data.test[0]
    prior = prior_of(config.train, prepared.names)
    groups, phi = prepared.groups, prepared.applied(test.candidates)
    scores, seconds = {"random order": np.zeros(len(phi))}, {}
    scores |= {SINGLE[name]: phi[:, place] for place, name in enumerate(prepared.names) if name in SINGLE}

    def ours(phi, labels, offsets, rows):
        return fit(phi, labels, offsets, config.train, prior=prior).scores(rows)

    for way in (*installed([LOGISTIC, LIGHTGBM]), Peer("ltr", "ltr", ours)):
        begin = time.process_time()
        scores[way.name] = way.call(prepared.phi, groups.labels, groups.offsets, phi)
        seconds[way.name] = f"{time.process_time() - begin:.2f}"
    results = {name: measured(column, test) for name, column in scores.items()}
    count = len(test.offsets) - 1
    print(f"\n| {config.name}: {count} test queries | top-1 | MRR | ltr is better by (top-1, 95 %) | CPU s |")
    print("| --- | --- | --- | --- | --- |")
    best = results["ltr"].values["top1_accuracy"]
    for name, result in results.items():
        lead = difference(test, best, result.values["top1_accuracy"], np.random.default_rng(0))
        means, gap = result.means, "" if name == "ltr" else shown(lead, "+")
        print(f"| {name} | {means['top1_accuracy']:.3f} | {means['mrr']:.3f} | {gap} | {seconds.get(name, '')} |")


def known_version(package):
    """Return the version of a package, or that it is not there."""
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return f"{package} not installed"
