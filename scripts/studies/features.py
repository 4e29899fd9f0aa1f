"""What features, the history they learn from, and trainers are worth on test queries.

Random order and the best column; trainers with the specification's four columns ("plain 4"); newton, l2 0, without
history and with history fitted on the rows that it describes. Then sets of columns by newton, l2 .001, standardised:
the plain four, the six and all recommended ones. 95 % bootstrap intervals by trace; known against unseen right answers,
and few training traces.
"""

from pathlib import Path

import numpy as np

from ltr.data.catalogues.tools import read_tools
from ltr.data.groups import read_groups, select
from ltr.evaluation.baselines import best_feature
from ltr.evaluation.evaluate import evaluate
from ltr.evaluation.linear_scores import linear_scores
from ltr.evaluation.ranking import rank
from ltr.features.crossfit import fit_features
from ltr.features.presets import SPECIFICATION, recommended_features
from ltr.features.registry import FeatureConfig
from ltr.training.config import TrainConfig
from ltr.training.fit import fit
from studies import intervals

METRICS = ("top1_accuracy", "top3_accuracy", "mrr")
NEWTON = TrainConfig(trainer="newton", standardize=True)
FREE = TrainConfig(trainer="newton", l2=0.0)
TRAINERS = {"descent": TrainConfig(), "newton, l2 .001": TrainConfig(trainer="newton"), "newton, l2 0": FREE}
SIX = {
    "tool": tuple(f"tool.{name}" for name in ("proto", "lift", "char", "name", "words", "known")),
    "graph": tuple(f"graph.{name}" for name in ("proto", "near_edges", "edges", "cover", "start", "size")),
}
FEW = (10, 30, 100, 300)  # training traces
DRAWS = 3  # of so few


def options(parser):
    """Options of the command line."""
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--encoder", default="hash", help="(default: %(default)s)")


def main(*, folders, encoder):
    """A table a folder."""
    heading = "".join(f"{name:>7}" for name in ("top-1", "top-3", "MRR"))
    print(f"  {'':34}{heading}  interval of top-1  less plain              less six")
    for folder in folders:
        compare(folder, encoder)
    return 0


def compare(folder, encoder):
    """Every way, measured on the test queries of a folder."""
    tools = read_tools(folder / "tools.json") if (folder / "tools.json").exists() else None
    train, test = (read_groups(str(folder / f"{split}.jsonl.gz"), tools=tools) for split in ("train", "test"))
    kind = train.candidates.kind
    sets = {"plain": SPECIFICATION[kind], "six": SIX[kind], "recommended": recommended_features(kind, 10**6)[0]}
    names = list(dict.fromkeys(name for columns in sets.values() for name in columns))
    phi, test_phi = columns_of(names, train, test, encoder)
    print(
        f"{folder.name}, {encoder}: {len(train.offsets) - 1:,} training groups, {len(test.offsets) - 1:,} test queries"
    )
    line("random order", ranked(np.zeros(len(test_phi)), test), test)
    best = best_feature(names, phi, train.labels, train.offsets)
    line(f"best column: {best.name}", ranked(best.sign * test_phi[:, names.index(best.name)], test), test)
    trainers(train, test, encoder)
    results = {name: learned(columns, names, phi, test_phi, train, test) for name, columns in sets.items()}
    for number, (name, result) in enumerate(results.items()):
        line(f"{name} {len(sets[name])}", result, test, list(results.values())[:number])
    if kind == "tool":
        known_and_unseen(results, train, test)
        few_traces(sets, train, test, encoder)


def trainers(train, test, encoder):
    """Each trainer on the specification's four columns; and of tools, what history is worth."""
    names = SPECIFICATION[train.candidates.kind]
    features, phi = fit_features([FeatureConfig(name) for name in names], train, encoder)
    test_phi = features(test.candidates)

    def by(label, phi, columns, config):
        w = fit(phi[:, columns], train.labels, train.offsets, config).w
        line(label, ranked(linear_scores(np.ascontiguousarray(test_phi[:, columns]), w), test), test)

    every = list(range(len(names)))
    line("plain 4: w = 1", ranked(test_phi.sum(axis=1), test), test)
    for name, config in TRAINERS.items():
        by(f"plain 4: {name}", phi, every, config)
    if "tool.hist" in names:
        others = [column for column in every if names[column] != "tool.hist"]
        by("plain 4: without history", phi, others, FREE)
        by("plain 4: in-sample history", features(train.candidates), every, FREE)


def columns_of(names, train, test, encoder):
    """Cross-fitted columns of the training groups, and the columns of the test groups."""
    features, phi = fit_features([FeatureConfig(name) for name in names], train, encoder)
    return phi, features(test.candidates)


def ranked(values, test):
    """The test groups, measured."""
    return evaluate(rank(values, test.offsets), test.labels)


def learned(columns, names, phi, test_phi, train, test):
    """The test groups ranked by w of some of the columns."""
    chosen = [names.index(name) for name in columns]
    w = fit(phi[:, chosen], train.labels, train.offsets, NEWTON).w
    return ranked(linear_scores(np.ascontiguousarray(test_phi[:, chosen]), w), test)


def line(label, result, test, others=()):
    """Top-1, Top-3, MRR, the interval of Top-1, and the paired differences to other results."""
    values, rng = result.values[METRICS[0]], np.random.default_rng(0)
    means = "".join(f"{result.means[metric]:7.3f}" for metric in METRICS)
    interval = intervals.mean(test, values, rng)
    leads = (intervals.difference(test, values, other.values[METRICS[0]], rng) for other in others)
    text = "".join(f"  {intervals.shown(lead, '+')}" for lead in leads)
    print(f"  {label:34}{means}  [{interval.low:.3f}, {interval.high:.3f}]   {text}".rstrip(), flush=True)


def known_and_unseen(results, train, test):
    """Top-1 where the right answer was right in training, and where it never was."""
    candidates = train.candidates
    before = {candidates.name_texts[name] for name in candidates.names[train.labels > 0].tolist()}
    was_right = np.array([text in before for text in test.candidates.name_texts])[test.candidates.names]
    is_known = np.maximum.reduceat((was_right & (test.labels > 0)).astype(int), test.offsets[:-1]) > 0
    for label, queries in (("known", is_known), ("unseen", ~is_known)):
        if queries.any():
            means = {name: np.nanmean(result.values[METRICS[0]][queries]) for name, result in results.items()}
            text = "".join(f"  {name} {mean:.3f}" for name, mean in means.items())
            print(f"  right answer {label} ({queries.sum()}):{text}", flush=True)


def few_traces(sets, train, test, encoder):
    """Top-1 from few training traces, mean of several draws."""
    names = list(dict.fromkeys(name for columns in sets.values() for name in columns))
    for count in (count for count in FEW if count < len(train.candidates.trace_ids)):
        top1 = {name: [] for name in sets}
        for draw in range(DRAWS):
            traces = np.random.default_rng(draw).permutation(len(train.candidates.trace_ids))[:count]
            few = select(train, np.flatnonzero(np.isin(train.candidates.traces, traces)))
            phi, test_phi = columns_of(names, few, test, encoder)
            for name, columns in sets.items():
                top1[name].append(learned(columns, names, phi, test_phi, few, test).means[METRICS[0]])
        text = "".join(f"  {name} {np.mean(values):.3f}" for name, values in top1.items())
        print(f"  {count} traces:{text}", flush=True)
