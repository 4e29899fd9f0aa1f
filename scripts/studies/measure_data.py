"""What the data sets of this project hold and what is reached on them: the tables of data/README.md.

Top-1 on the test set, encoder hash, equal scores counted by their expectation; intervals are 95 % bootstrap
intervals over traces.
"""

from pathlib import Path

import numpy as np

from ltr import RunConfig, TrainConfig, fit, read_tools
from ltr.data.config import DataConfig
from ltr.flow import features_of
from studies import intervals
from studies.data_source.tells import fitted, tells
from studies.sets import measured
from subcommands import ROOT

METRICS = ("top1_accuracy", "top3_accuracy", "mrr")
MODELS = {
    "newton, l2 0.00001": TrainConfig(trainer="newton", l2=1e-5),
    "newton, l2 0.001": TrainConfig(trainer="newton"),
    "descent, l2 0.001": TrainConfig(),
}
ON_SCALED = {
    "newton, l2 0.001, columns of deviation 1": TrainConfig(trainer="newton"),
    "descent, l2 0.001, columns of deviation 1": TrainConfig(),
    "newton, l2 0.001, columns of deviation 1, 7 knots each": TrainConfig(trainer="newton", knots=7),
}

CARD = {"tools": "a tool, by name", "graphs": "a team: agents and who hands work to whom"}


def options(parser):
    """Options of the command line."""
    parser.add_argument("root", nargs="?", type=Path, metavar="FOLDER", default=ROOT / "data", help="(default: data)")


def main(*, root):
    """The table of what is there, and the figures of each kind."""
    configs = {kind: config(root / kind) for kind in CARD}
    columns = {kind: features_of(each) for kind, each in configs.items()}
    print(counted(root, {kind: (each.data.train[0], each.data.test[0]) for kind, each in columns.items()}))
    for kind, each in columns.items():
        print(f"### {kind}\n")
        measure(each)
    return 0


def config(folder: Path) -> RunConfig:
    """The run that is measured on a set."""
    data = {name: str(folder / f"{name}.jsonl.gz") for name in ("train", "test")}
    tools = str(folder / "tools.json") if folder.name == "tools" else None
    return RunConfig(data=DataConfig(**data, tools=tools), encoder="hash")


def counted(root: Path, sets) -> str:
    """The table of what is there."""
    columns = [
        [f"`{kind}/`", CARD[kind], *map(size, both), *shape(both), catalogue(root, kind)] for kind, both in sets.items()
    ]
    labels = ["", "a candidate is", "training", "test", "candidates a query", "queries a trace", "words a query"]
    labels += ["queries with two right candidates, training and test", "catalogue"]
    rows = [f"| {' | '.join(row)} |".replace("|  |", "| |") for row in zip(labels, *columns, strict=True)]
    return "\n".join([rows[0], "| --- | --- | --- |", *rows[1:], ""])


def size(groups) -> str:
    """How many queries, traces and candidates there are, in words."""
    queries, traces = len(groups.offsets) - 1, len(groups.candidates.trace_ids)
    return f"{queries:,} queries in {traces:,} traces, {len(groups.labels):,} candidates"


def shape(both) -> list[str]:
    """Candidates a query, queries a trace, words a query, queries with two right candidates."""
    sizes = np.concatenate([np.diff(groups.offsets) for groups in both])
    traces = np.concatenate([np.bincount(groups.candidates.traces) for groups in both])
    words = np.array([len(text.split()) for groups in both for text in groups.candidates.query_texts])
    two = [int((np.add.reduceat(groups.labels, groups.offsets[:-1]) == 2).sum()) for groups in both]
    spans = [f"{each.min()} to {each.max()}" for each in (sizes, traces, words)]
    return [*spans[:2], f"{spans[2]}, median {np.median(words):.0f}", f"{two[0]} and {two[1]}"]


def catalogue(root: Path, kind: str) -> str:
    """What the catalogue of a set holds, in words."""
    if kind == "graphs":
        return f"`agents.json`: {len(read_tools(root / kind / 'agents.json'))} agents with descriptions"
    return (
        f"`tools.json`: {len(read_tools(root / kind / 'tools.json'))} tools of 10 domains, with descriptions and inputs"
    )


def measure(columns) -> None:
    """Print the tables of one set: each column alone, then the models."""
    prepared, test = columns.training(), columns.data.test[0]
    train, phi = prepared.groups, prepared.applied(test.candidates)
    sizes = np.diff(test.offsets)
    print(f"Random order: {(np.add.reduceat(test.labels, test.offsets[:-1]) / sizes).mean():.3f}\n")
    print("| one column alone | Top-1 | upside down | Top-1 of the model without it |\n| --- | --- | --- | --- |")
    alone = dict(zip(prepared.names, phi.T, strict=True))
    without = {name: top1(ablated(prepared, phi, place), test) for place, name in enumerate(prepared.names)}
    told = tells(test.candidates)
    for name, column in (alone | told).items():
        rest = f"{without[name]:.3f}" if name in without else ""
        print(f"| {name} | {top1(column, test):.3f} | {top1(-column, test):.3f} | {rest} |")
    blind = fitted(train, tells(train.candidates), test, told)
    print(f"| all that see no query, fitted | {top1(blind, test):.3f} |  |  |")
    best = max(alone, key=lambda name: top1(alone[name], test))
    baseline = measured(alone[best], test)
    print(f"\n| model | Top-1 | Top-3 | MRR | Top-1 over `{best}` |\n| --- | --- | --- | --- | --- |")
    for models, scale in ((MODELS, np.ones(phi.shape[1])), (ON_SCALED, prepared.phi.std(axis=0))):
        for name, options in models.items():
            model = fit(prepared.phi / scale, train.labels, train.offsets, options)
            result = measured(model.scores(phi / scale), test)
            values = [result.values[metric] for metric in METRICS]
            found = intervals.means(test, [*values, values[0] - baseline.values[METRICS[0]]], np.random.default_rng(0))
            print(f"| {name} | {' | '.join(map(intervals.shown, found))} |")
    print()


def ablated(prepared, phi, place: int):
    """Scores of the first model, trained without a column."""
    train, options = prepared.groups, next(iter(MODELS.values()))
    w = fit(np.delete(prepared.phi, place, axis=1), train.labels, train.offsets, options).w
    return np.delete(phi, place, axis=1) @ w


def top1(column, groups) -> float:
    """Top-1 of the groups, ranked by one column."""
    return measured(column, groups).means[METRICS[0]]
