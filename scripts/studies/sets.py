"""Sets of data that studies read: a folder with train.jsonl.gz and test.jsonl.gz, and tools.json for a catalogue."""

import numpy as np

from ltr import evaluate, load_config, rank, read_groups, read_tools
from ltr.columns import Data, Features
from ltr.data.distinct_tools import first_texts, united
from ltr.data.groups import select
from ltr.data.shards import Whole
from ltr.data.splits import fold_sides
from ltr.features.crossfit import fit_features
from ltr.features.registry import FeatureConfig
from ltr.flow import learn
from ltr.steps.negatives import draw_negatives


def catalogue(folder):
    """Return the tools of a folder, or None where it lists none."""
    return read_tools(folder / "tools.json") if (folder / "tools.json").exists() else None


def tools_of(folder, *sides):
    """Return the tools of a folder, or where it lists none those of its samples, each with its first text."""
    return catalogue(folder) or united([first_texts(side.candidates) for side in sides])


def read(folder):
    """Return the training and the test groups as they are."""
    tools = catalogue(folder)
    return [read_groups(str(folder / f"{split}.jsonl.gz"), tools=tools) for split in ("train", "test")]


def samples(folder, encoder):
    """Return the training and the test groups; where they name right tools alone, with all others of the catalogue."""
    tools, sides = catalogue(folder), read(folder)
    if tools and all(side.labels.all() for side in sides):
        sides = [draw_negatives(side, tools, "catalogue", encoder=encoder, seed=0) for side in sides]
    return sides


def few_traces(groups, number, draw):
    """Return the groups of so many traces, drawn at random by the number of the draw."""
    drawn = np.random.default_rng(draw).permutation(len(groups.candidates.trace_ids))[:number]
    return select(groups, np.flatnonzero(np.isin(groups.candidates.traces, drawn)))


def known_queries(train, test):
    """Return of each test query whether a right candidate of it was right in training."""
    candidates = train.candidates
    before = {candidates.name_texts[name] for name in candidates.names[train.labels > 0].tolist()}
    return asks_for(test, before)


def asks_for(groups, names):
    """Return of each group whether a right candidate is among these."""
    candidates = groups.candidates
    is_one = np.array([name in names for name in candidates.name_texts])[candidates.names] & (groups.labels > 0)
    return np.logical_or.reduceat(is_one, groups.offsets[:-1])


def columns_of(names, train, other, encoder):
    """Return the columns of training groups, cross-fitted, and those of other groups."""
    features, phi = fit_features([FeatureConfig(name) for name in names], train, encoder)
    return phi, features(other.candidates)


def measured(scores, groups, *metrics):
    """Return the measures of groups that are ranked by scores."""
    return evaluate(rank(scores, groups.offsets), groups.labels, *metrics)


def recommended(encoder, *changes):
    """Return the config of the recommended recipe."""
    return load_config(None, ["train.recipe=recommended", f"encoder={encoder}", "evaluate.baselines=false", *changes])


def run_columns(config, train):
    """Return the columns of training groups in memory, as a run of the config makes them."""
    return Features(config, Data(kind=train.candidates.kind, train=Whole(train), files={}))


def learned(config, train):
    """Return the router that a run of the config learns from the groups."""
    return learn(config, run_columns(config, train)).router


def fold_indices(groups, folds, *, seed, by):
    """The places of both sides of each fold."""
    for learned, measured in fold_sides(Whole(groups), folds, seed=seed, by=by):
        yield learned.holds(groups.candidates), measured.holds(groups.candidates)
