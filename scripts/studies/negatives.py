"""Training with candidates of the catalogue, and what their offsets are worth.

Each way of training, measured on the lists that the test samples offer and on the whole catalogue: the lists of the
log; with tools of the catalogue added; and of right tools alone with lists drawn half near, half at random, with
offsets and without. At the end the weights of the raw columns.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from ltr import Router, RunConfig, TrainConfig
from ltr.data.groups import select
from ltr.data.right_candidate_removal import of_rows
from ltr.measuring import evaluate_router
from ltr.steps.negatives import draw_negatives
from ltr.storage.training_record import TrainingRecord
from ltr.training.fit import fit_designs
from studies.sets import read, run_columns, tools_of

METRICS = ("top1_accuracy", "top3_accuracy", "top1_accuracy@catalogue", "top3_accuracy@catalogue")
TRAIN = TrainConfig(trainer="newton", standardize=True)


def options(parser):
    """Options of the command line."""
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--encoder", default="hash", help="(default: %(default)s)")
    parser.add_argument("--number", type=int, default=30, help="tools drawn for a query (default: %(default)s)")
    parser.add_argument("--queries", type=int, help="so many test queries at even steps (default: all)")
    parser.add_argument("--features", help="columns, with commas (default: the specification's)")


def main(*, folders, encoder, number, queries, features):
    """A table a folder."""
    names = tuple(features.split(",")) if features else ()
    heading = "".join(f"{name:>22}" for name in ("offered top-1, top-3", "catalogue top-1, top-3"))
    for folder in folders:
        train, test = read(folder)
        tools = tools_of(folder, train, test)
        if queries is not None:
            test = select(test, np.unique(np.linspace(0, len(test.offsets) - 2, queries).round().astype(np.int64)))
        counts = f"{len(train.offsets) - 1:,} training, {len(test.offsets) - 1:,} test queries, {len(tools):,} tools"
        print(f"{folder.name}, {encoder}: {counts}\n{'':46}{heading}")
        config = RunConfig(features=names, encoder=encoder, train=TRAIN)
        config = replace(config, evaluate=replace(config.evaluate, catalogue=True, baselines=False))
        compare(config, train, test, tools, number)
    return 0


def compare(config, train, test, tools, number):
    """Every way of training, and its weights."""

    def drawn(groups, asked):
        return draw_negatives(groups, tools, asked, encoder=config.encoder, seed=0)

    alone = right_alone(train)
    ways = {
        "the lists of the log": (train, True),
        f"the log's, and {number} of the catalogue": (drawn(train, number), True),  # no offset: the log offers several
        f"right tools alone, {number} half near, half random": (drawn(alone, number), True),
        "the same without offsets": (drawn(alone, number), False),
    }
    if len(tools) <= 200:
        ways["right tools alone, all of the catalogue"] = (drawn(alone, "catalogue"), True)
    learned = {}
    for way, (groups, has_offsets) in ways.items():
        prepared = run_columns(config, groups).training()
        designs = prepared.designs if has_offsets else (replace(prepared.designs[0], score_offset=None),)
        model = fit_designs(designs, config.train)
        trained = (groups.candidates.kind, prepared.names, model.w, prepared.features, config.train, TrainingRecord())
        means = evaluate_router(Router(*trained, model.terms, tools=tools), test, config).evaluation.means
        print(f"  {way:46}" + "".join(f"{means[name]:11.3f}" for name in METRICS), flush=True)
        learned[way] = prepared.names, model.w
    print("  weights")
    for way, (names, w) in learned.items():
        print(
            f"  {way:46}"
            + ", ".join(f"{name.partition('.')[2]} {weight:.3g}" for name, weight in zip(names, w, strict=True))
        )


def right_alone(groups):
    """The groups with their right candidates alone, as a log that names nothing else has them."""
    is_right = groups.labels > 0
    return of_rows(groups, is_right, np.flatnonzero(np.logical_or.reduceat(is_right, groups.offsets[:-1])))
