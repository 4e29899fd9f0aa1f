"""What sets of features are worth on test queries: the tables of docs/notes/features.md, as they stand there.

Random order, the best column, and sets of columns by newton, l2 .001, standardised: the plain four, the six and all
recommended ones, with 95 % bootstrap intervals by trace. Of tools then: known against unseen right answers, and few
training traces.
"""

from pathlib import Path

import numpy as np

from ltr import TrainConfig, fit
from ltr.evaluation.baselines import best_feature
from ltr.evaluation.linear_scores import linear_scores
from ltr.features.presets import SPECIFICATION, recommended_features
from studies import intervals
from studies.sets import columns_of, few_traces, known_queries, measured, read
from subcommands import ROOT

METRICS = ("top1_accuracy", "top3_accuracy", "mrr")
NEWTON = TrainConfig(trainer="newton", standardize=True)
SIX = {
    "tool": tuple(f"tool.{name}" for name in ("proto", "lift", "char", "name", "words", "known")),
    "graph": tuple(f"graph.{name}" for name in ("proto", "near_edges", "edges", "cover", "start", "size")),
}
FEW = (10, 30, 100, 300)  # training traces
DRAWS = 3  # of so few
SETS = """| set, encoder | random | best column | plain four | recommended | against plain | against the six |
| --- | --- | --- | --- | --- | --- | --- |"""
OF_TOOLS = f"""
Top-1 where the right answer was right in training and where it never was, and from few training traces (means of
three draws); plain / six / recommended:

| set, encoder | known: plain / six / recommended | unseen | {" | ".join([f"{FEW[0]} traces", *map(str, FEW[1:])])} |
| --- | --- | --- |{" --- |" * len(FEW)}"""


def options(parser):
    """Options of the command line."""
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--encoders", nargs="+", default=["hash"], metavar="NAME", help="(default: hash)")


def main(*, folders, encoders):
    """A row a folder and encoder, then more on those of tools."""
    print(SETS, flush=True)
    of_tools = [row for folder in folders for encoder in encoders for row in compare(folder, encoder)]
    if of_tools:
        print("\n".join([OF_TOOLS, *of_tools]))
    return 0


def compare(folder, encoder):
    """Print the row of a folder; of tools the row of the second table comes back."""
    train, test = read(folder)
    kind = train.candidates.kind
    label = f"{'our ' if folder.resolve().parent == ROOT / 'data' else ''}{folder.name}, `{encoder}`"
    sets = {"plain": SPECIFICATION[kind], "six": SIX[kind], "recommended": recommended_features(kind, 10**6)[0]}
    names = list(dict.fromkeys(name for columns in sets.values() for name in columns))
    phi, test_phi = columns_of(names, train, test, encoder)
    best = best_feature(names, phi, train.labels, train.offsets)
    by_best = measured(best.sign * test_phi[:, names.index(best.name)], test)
    plain, six, recommended = (learned(columns, names, phi, test_phi, train, test) for columns in sets.values())
    values, rng = recommended.values[METRICS[0]], np.random.default_rng(0)
    interval = intervals.mean(test, values, rng)
    leads = [intervals.difference(test, values, other.values[METRICS[0]], rng) for other in (plain, six)]
    cells = [
        means(measured(np.zeros(len(test_phi)), test)),
        f"`{best.name.partition('.')[2]}` {means(by_best)}",
        means(plain),
        f"{means(recommended)} [{short(interval.low)}, {short(interval.high)}]",
        *(short(lead.mean, "+") + f" [{short(lead.low)}, {short(lead.high)}]" for lead in leads),
    ]
    print(f"| {label} | {' | '.join(cells)} |", flush=True)
    if kind == "graph":
        return []
    known = by_knowledge((plain, six, recommended), train, test)
    return [f"| {label} | {' | '.join([*known, *few(sets, train, test, encoder)])} |"]


def short(value, sign=""):
    """As .123, −.123 or, with a sign, +.123.

    >>> short(0.25), short(-0.25, "+"), short(0.0, "+"), short(1.0)
    ('.250', '−.250', '.000', '1.000')
    """
    text = f"{value:{sign}.3f}".replace("0.", ".", 1).replace("-", "−")
    return ".000" if text.strip("+−") == ".000" else text


def means(result):
    """Top-1/Top-3/MRR."""
    return "/".join(short(result.means[metric]) for metric in METRICS)


def learned(columns, names, phi, test_phi, train, test):
    """The test groups ranked by w of some of the columns."""
    chosen = [names.index(name) for name in columns]
    w = fit(phi[:, chosen], train.labels, train.offsets, NEWTON).w
    return measured(linear_scores(np.ascontiguousarray(test_phi[:, chosen]), w), test)


def by_knowledge(results, train, test):
    """Top-1 where the right answer was right in training, and where it never was."""
    is_known = known_queries(train, test)
    for queries in (is_known, ~is_known):
        top1 = [np.nanmean(result.values[METRICS[0]][queries]) for result in results] if queries.any() else []
        yield " / ".join(map(short, top1))


def few(sets, train, test, encoder):
    """Top-1 from few training traces, mean of several draws."""
    names = list(dict.fromkeys(name for columns in sets.values() for name in columns))
    for count in FEW:
        top1 = {name: [] for name in sets}
        for draw in range(DRAWS if count < len(train.candidates.trace_ids) else 0):
            chosen = few_traces(train, count, draw)
            phi, test_phi = columns_of(names, chosen, test, encoder)
            for name, columns in sets.items():
                top1[name].append(learned(columns, names, phi, test_phi, chosen, test).means[METRICS[0]])
        yield " / ".join(short(np.mean(values)) for values in top1.values() if values)
