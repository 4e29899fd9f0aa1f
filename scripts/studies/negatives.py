"""Training with candidates of the catalogue, and what their offsets are worth.

Each way of training, measured on the lists that the test samples offer and on the whole catalogue: the lists of the
log; with tools of the catalogue added; and of right tools alone with lists drawn half near, half at random, with
offsets and without. At the end the weights of the raw columns.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from ltr.config.run import RunConfig
from ltr.data.catalogues.tools import read_tools
from ltr.data.distinct_tools import first_texts
from ltr.data.groups import read_groups, select, take
from ltr.experiments.evaluate_router import evaluate_router
from ltr.experiments.negative_sampling import draw_negatives
from ltr.experiments.sampling_correction import score_offset
from ltr.experiments.training_columns import prepare
from ltr.serving.router import Router
from ltr.storage.training_record import TrainingRecord
from ltr.training.config import TrainConfig
from ltr.training.fit import fit

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
        own = read_tools(folder / "tools.json") if (folder / "tools.json").exists() else None
        train, test = (read_groups(str(folder / f"{split}.jsonl.gz"), tools=own) for split in ("train", "test"))
        tools = own or {**named_in(test), **named_in(train)}
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
        prepared = prepare(config, groups, None)
        offset = score_offset(groups) if has_offsets else None
        model = fit(prepared.phi, groups.labels, groups.offsets, config.train, score_offset=offset)
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


def named_in(groups):
    """The tools of samples with their texts, where no catalogue gives them."""
    candidates = groups.candidates
    return first_texts(candidates) | first_texts(candidates, np.arange(len(candidates.names))[::-1])


def right_alone(groups):
    """The groups with their right candidates alone, as a log that names nothing else has them."""
    is_right = groups.labels > 0
    sizes = np.add.reduceat(is_right.astype(np.int64), groups.offsets[:-1])
    return take(groups, np.flatnonzero(sizes), np.flatnonzero(is_right), sizes[sizes > 0])
