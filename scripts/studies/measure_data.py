"""What the data sets of this project hold and what is reached on them: the tables of data/README.md.

Top-1 on the test set, encoder hash, equal scores counted by their expectation; intervals are 95 % bootstrap
intervals over traces.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from data.source.tells import fitted, tells
from ltr import RunConfig, TrainConfig, fit, load_config, read_tools
from ltr.flow import features_of
from studies.sets import means, measured, shown
from subcommands import ROOT

METRICS = ("top1_accuracy", "top3_accuracy", "mrr")
NEWTON = TrainConfig(trainer="newton")
MODELS = {
    "newton, l2 0.00001": replace(NEWTON, l2=1e-5),
    "newton, l2 0.001": NEWTON,
    "descent, l2 0.001": TrainConfig(),
}
ON_SCALED = {
    "newton, l2 0.001, columns of deviation 1": NEWTON,
    "descent, l2 0.001, columns of deviation 1": TrainConfig(),
    "newton, l2 0.001, columns of deviation 1, 7 knots each": replace(NEWTON, knots=7),
}
LABELS = (
    *("", "a candidate is", "training", "test", "candidates a query", "queries a trace", "words a query"),
    *("queries with two right candidates, training and test", "catalogue"),
)
CARD = {
    "tools": ("a tool, by name", "tools.json", "{} tools of 10 domains, with descriptions and inputs"),
    "graphs": ("a team: agents and who hands work to whom", "agents.json", "{} agents with descriptions"),
}


def options(parser):
    """Options of the command line."""
    parser.add_argument("root", nargs="?", type=Path, metavar="FOLDER", default=ROOT / "data", help="(default: data)")


def main(*, root):
    """The table of what is there, and the figures of each kind."""
    columns = {kind: features_of(config(root / kind)) for kind in CARD}
    cards = [card(root / kind, each.data.train[0], each.data.test[0]) for kind, each in columns.items()]
    rows = [f"| {' | '.join(row)} |".replace("|  |", "| |") for row in zip(LABELS, *cards, strict=True)]
    print("\n".join([rows[0], "| --- | --- | --- |", *rows[1:], ""]))
    for kind, each in columns.items():
        print(f"### {kind}\n")
        measure(each)


def config(folder: Path) -> RunConfig:
    """Return the run that is measured on a set."""
    data = [f"data.{name}={folder / name}.jsonl.gz" for name in ("train", "test")]
    tools = [f"data.tools={folder / 'tools.json'}"] if folder.name == "tools" else []
    return load_config(None, [*data, *tools, "encoder=hash"])


def card(folder: Path, *both) -> list[str]:
    """Return what there is of a kind, a cell each."""
    what, listed, told = CARD[folder.name]
    counts = [
        f"{len(groups.offsets) - 1:,} queries in {len(groups.candidates.trace_ids):,} traces, "
        f"{len(groups.labels):,} candidates"
        for groups in both
    ]
    sizes = np.concatenate([np.diff(groups.offsets) for groups in both])
    traces = np.concatenate([np.bincount(groups.candidates.traces) for groups in both])
    words = np.array([len(text.split()) for groups in both for text in groups.candidates.query_texts])
    spans = [f"{each.min()} to {each.max()}" for each in (sizes, traces, words)]
    spans[2] += f", median {np.median(words):.0f}"
    two = [str(int((np.add.reduceat(groups.labels, groups.offsets[:-1]) == 2).sum())) for groups in both]
    catalogue = f"`{listed}`: {told.format(len(read_tools(folder / listed)))}"
    return [f"`{folder.name}/`", what, *counts, *spans, " and ".join(two), catalogue]


def measure(columns) -> None:
    """Print the tables of one set: each column alone, then the models."""
    prepared, test = columns.training(), columns.data.test[0]
    train, phi = prepared.groups, prepared.applied(test.candidates)

    def top1(scores) -> float:
        return measured(scores, test).means[METRICS[0]]

    def without(place) -> str:
        w = fit(np.delete(prepared.phi, place, axis=1), train.labels, train.offsets, next(iter(MODELS.values()))).w
        return f"{top1(np.delete(phi, place, axis=1) @ w):.3f}"

    sizes = np.diff(test.offsets)
    print(f"Random order: {(np.add.reduceat(test.labels, test.offsets[:-1]) / sizes).mean():.3f}\n")
    print("| one column alone | Top-1 | upside down | Top-1 of the model without it |\n| --- | --- | --- | --- |")
    alone, told = dict(zip(prepared.names, phi.T, strict=True)), tells(test.candidates)
    rest = dict(zip(alone, map(without, range(len(alone))), strict=True))
    for name, column in (alone | told).items():
        print(f"| {name} | {top1(column):.3f} | {top1(-column):.3f} | {rest.get(name, '')} |")
    blind = fitted(train, tells(train.candidates), test, told)
    print(f"| all that see no query, fitted | {top1(blind):.3f} |  |  |")
    best = max(alone, key=lambda name: top1(alone[name]))
    baseline = measured(alone[best], test).values[METRICS[0]]
    print(f"\n| model | Top-1 | Top-3 | MRR | Top-1 over `{best}` |\n| --- | --- | --- | --- | --- |")
    for models, scale in ((MODELS, np.ones(phi.shape[1])), (ON_SCALED, prepared.phi.std(axis=0))):
        for name, settings in models.items():
            model = fit(prepared.phi / scale, train.labels, train.offsets, settings)
            result = measured(model.scores(phi / scale), test)
            values = [result.values[metric] for metric in METRICS]
            found = means(test, [*values, values[0] - baseline], np.random.default_rng(0))
            print(f"| {name} | {' | '.join(map(shown, found))} |")
    print()
