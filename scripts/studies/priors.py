"""The weights that recommended columns have on other sets: the table in ltr/features/presets.py.

Of each FOLDER five draws of 30 training traces: recommended columns divided by their deviation, newton, l2 1 / traces.
A column's weight is the mean over the draws of a set, then over the sets. The shipped table is of the sample sets
alone: with our own data in it no figure of theirs would be of weights that have not seen them.
"""

from pathlib import Path

import numpy as np

from ltr import TrainConfig, fit
from ltr.features import Presets
from ltr.steps.negatives import draw_negatives
from studies.sets import catalogue, columns_of, few_traces, read

TRACES, DRAWS = 30, 5
TRAINING = TrainConfig(trainer="newton", standardize=True, l2=1 / TRACES)


def options(parser):
    """Options of the command line."""
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--encoder", default="hash", help="(default: %(default)s)")


def main(*, folders, encoder):
    """A table a kind: each set's weights, and their mean."""
    of_sets = {folder.name: set_weights(folder, encoder) for folder in folders}
    for kind, names in Presets.ALL.items():
        of_kind = {name: weights for name, weights in of_sets.items() if set(names) == set(weights)}
        if of_kind:
            print(f"{kind + 's, ' + encoder:20}{''.join(f'{name:>18}' for name in of_kind)}{'mean':>8}")
        for column in names if of_kind else ():
            own = [weights[column] for weights in of_kind.values()]
            print(f"{column:20}{''.join(f'{weight:18.2f}' for weight in own)}{np.mean(own):8.2f}")


def set_weights(folder, encoder):
    """Return the mean weight of each recommended column, in units of its deviation, over draws of few traces.

    Where a set names right tools alone, all others of the catalogue are wrong.
    """
    (train, test), tools, drawn = read(folder), catalogue(folder), []
    if tools and train.labels.all() and test.labels.all():
        train = draw_negatives(train, tools, "catalogue", encoder=encoder, seed=0)
    names = Presets.ALL[train.candidates.kind]
    for draw in range(DRAWS):
        few = few_traces(train, TRACES, draw)
        (phi,) = columns_of(names, few, encoder=encoder)
        model = fit(phi, few.labels, few.offsets, TRAINING)
        drawn.append(model.w * model.training.deviations)
    return dict(zip(names, np.mean(drawn, axis=0).tolist(), strict=True))
