"""CPU of cross-fitting: each fold counted once, beside a fit on the other folds' groups for each fold.

Of the recommended columns, on our data or the given samples. "in all" is all of featurising: texts, vectors, columns.
"""

import time

import numpy as np

from benchmarks.resources import cpu_seconds
from ltr.config.run import load_config
from ltr.data.groups import read_groups, select
from ltr.experiments.loading import read_data
from ltr.features.crossfit import Folds, fit_features, fit_states
from ltr.features.presets import ALL
from ltr.features.registry import FEATURES, FeatureConfig
from ltr.features.words import Lexicon
from subcommands import ROOT


def options(parser):
    """Options of the command line."""
    parser.add_argument("samples", nargs="*", help="files of samples (default: the training data of data/)")
    parser.add_argument("--encoder", default="hash", help="(default: %(default)s)")


def main(*, samples, encoder):
    """A line a file."""
    for name in samples or ("tools", "graphs"):
        if samples:
            groups = read_groups(name)
        else:
            groups = read_data(load_config(str(ROOT / "configs" / f"{name}-recommended.yaml"))).train[0]
        configs = [FeatureConfig(column) for column in ALL[groups.candidates.kind]]
        in_all, (fitted, _) = cpu_seconds(lambda c=configs, g=groups: fit_features(c, g, encoder), 2)
        learning = {FEATURES[config.name].learner: config for config in configs if FEATURES[config.name].learner}
        counted, refitted = compared(list(learning.values()), groups, fitted.encoder)
        print(f"{name}: counted {counted:.2f} s, fitted for each fold {refitted:.2f} s", end="")
        print(f": {refitted / counted:.1f} times; in all {in_all:.2f} s")


def compared(configs, groups, encoder):
    """CPU seconds of the states of all folds: counted once, and fitted for each."""
    lexicon = Lexicon()
    folds = Folds.dealt(configs, groups, encoder, lexicon)  # every text split and encoded before
    start = time.process_time()
    for config in configs:
        for _ in folds.without_each(config):
            pass
    counted = time.process_time() - start
    refitted = 0.0
    for fold in range(len(folds.shards) + 1):
        others = select(groups, np.flatnonzero(folds.of_group != fold))
        start = time.process_time()
        fit_states(configs, others, encoder, lexicon)
        refitted += time.process_time() - start
    return counted, refitted
