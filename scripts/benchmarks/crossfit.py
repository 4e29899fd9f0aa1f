"""CPU of cross-fitting: each fold counted once, beside a fit on the other folds' groups for each fold.

Of the recommended columns, on our data, or on files or folders of samples (their `train.jsonl.gz`). "in all" is all of
featurising: texts, vectors, columns. Each figure is the median of some rounds: the two are measured in turn.
"""

import time
from pathlib import Path

import numpy as np

from benchmarks.resources import cpu_seconds
from ltr import load_config, read_groups
from ltr.data.groups import select
from ltr.data.shards import Whole
from ltr.features.crossfit import CrossFitting, fit_features
from ltr.features.learned_states import fit_states
from ltr.features.lexicon import Lexicon
from ltr.features.presets import ALL
from ltr.features.registry import FEATURES, FeatureConfig
from ltr.read import read_data
from subcommands import ROOT, at_least


def options(parser):
    """Options of the command line."""
    parser.add_argument("samples", nargs="*", help="files or folders of samples (default: the training data of data/)")
    parser.add_argument("--encoder", default="hash", help="(default: %(default)s)")
    parser.add_argument("--rounds", type=at_least(1), default=3, help="(default: %(default)s)")
    parser.add_argument("--without", nargs="*", default=[], metavar="COLUMN", help="columns that are left out")


def main(*, samples, encoder, rounds, without):
    """A line a file."""
    for name in samples or ("tools", "graphs"):
        if samples:
            path = Path(name)
            groups = read_groups(str(path / "train.jsonl.gz" if path.is_dir() else path))
        else:
            groups = read_data(load_config(str(ROOT / "configs" / f"{name}-recommended.yaml"))).train[0]
        configs = [FeatureConfig(column) for column in ALL[groups.candidates.kind] if column not in without]
        in_all, (fitted, _) = cpu_seconds(lambda c=configs, g=groups: fit_features(c, g, encoder), rounds)
        learning = {FEATURES[config.name].learner: config for config in configs if FEATURES[config.name].learner}
        seconds = [compared(list(learning.values()), groups, fitted.encoder) for _ in range(rounds)]
        counted, refitted = np.median(seconds, axis=0)
        print(f"{name}: counted {counted:.2f} s, fitted for each fold {refitted:.2f} s", end="")
        print(f": {refitted / counted:.1f} times; in all {in_all:.2f} s")


def compared(configs, groups, encoder):
    """CPU seconds of a cross-fit that counts once, columns included, and of the states alone, fitted for each fold."""
    fitting = CrossFitting(configs, Whole(groups), encoder.name)
    folds = fitting.folds[0].of_groups(groups.candidates)
    start = time.process_time()
    fitting.fitted()
    counted = time.process_time() - start
    lexicon, refitted = Lexicon(), 0.0
    for fold in range(int(folds.max()) + 2):
        others = select(groups, np.flatnonzero(folds != fold))
        start = time.process_time()
        fit_states(configs, others, encoder, lexicon)
        refitted += time.process_time() - start
    return counted, refitted
