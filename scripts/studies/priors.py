"""The weights that recommended columns have on other sets: the table in ltr/features/prior_weights.py.

Of each FOLDER five draws of 30 training traces: recommended columns divided by their deviation, newton, l2 1 / traces.
A column's weight is the mean over the draws of a set, then over the sets. The shipped table is of the sample sets
alone: with our own data in it no figure of theirs would be of weights that have not seen them.
"""

from pathlib import Path

import numpy as np

from ltr import TrainConfig
from ltr.features.crossfit import fit_features
from ltr.features.presets import ALL
from ltr.features.registry import FeatureConfig
from ltr.storage.designs import design_of
from ltr.training.fit import fit_designs
from studies.sets import few_traces, samples

TRACES, DRAWS = 30, 5
TRAINING = TrainConfig(trainer="newton", standardize=True, l2=1 / TRACES)


def options(parser):
    """Options of the command line."""
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--encoder", default="hash", help="(default: %(default)s)")


def main(*, folders, encoder):
    """A table a kind: each set's weights, and their mean."""
    of_sets = {folder.name: set_weights(samples(folder, encoder)[0], encoder) for folder in folders}
    for kind, names in ALL.items():
        of_kind = {name: weights for name, weights in of_sets.items() if set(names) == set(weights)}
        if of_kind:
            print(f"{kind + 's, ' + encoder:20}{''.join(f'{name:>18}' for name in of_kind)}{'mean':>8}")
        for column in names if of_kind else ():
            own = "".join(f"{weights[column]:18.2f}" for weights in of_kind.values())
            print(f"{column:20}{own}{mean_weights(of_kind.values())[column]:8.2f}")
    return 0


def mean_weights(of_sets):
    """The mean weight of each column over the sets that have it."""
    of_sets = list(of_sets)
    names = dict.fromkeys(name for weights in of_sets for name in weights)
    return {name: float(np.mean([weights[name] for weights in of_sets if name in weights])) for name in names}


def without(folder, sets, encoder):
    """The mean weight of each column over all sets but the one of the folder."""
    others = (train for other, (train, _) in sets.items() if other != folder)
    return mean_weights(set_weights(train, encoder) for train in others)


def set_weights(train, encoder):
    """The mean weight of each recommended column, in units of its deviation, over draws of few traces."""
    names, drawn = ALL[train.candidates.kind], []
    for draw in range(DRAWS):
        few = few_traces(train, TRACES, draw)
        _, phi = fit_features(list(map(FeatureConfig, names)), few, encoder)
        model = fit_designs((design_of(few, phi),), TRAINING)
        drawn.append(model.w * model.training.deviations)
    return dict(zip(names, np.mean(drawn, axis=0).tolist(), strict=True))
