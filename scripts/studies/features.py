"""What sets of features are worth on test queries: the tables of docs/notes/features.md, as they stand there.

Random order, the best column, and sets of columns by newton, l2 .001, standardised: the plain four, the six and all
recommended ones, with 95 % bootstrap intervals by trace. Of tools then: known against unseen right answers, and few
training traces.
"""

from pathlib import Path

import numpy as np

from ltr import TrainConfig, fit
from ltr.evaluation.baselines import best_feature
from ltr.features import Presets
from studies.sets import columns_of, difference, few_traces, means, measured, read
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
    rows = [compare(folder, encoder) for folder in folders for encoder in encoders]
    if any(rows):
        print("\n".join([OF_TOOLS, *filter(None, rows)]))


def compare(folder, encoder):
    """Print the row of a folder; of tools the row of the second table comes back."""
    train, test = read(folder)
    kind = train.candidates.kind
    label = f"{'our ' if folder.resolve().parent == ROOT / 'data' else ''}{folder.name}, `{encoder}`"
    sets = {"plain": Presets.SPECIFICATION[kind], "six": SIX[kind], "recommended": Presets.recommended(kind, 10**6)[0]}
    names = list(dict.fromkeys(name for columns in sets.values() for name in columns))

    def results(groups):
        phi, test_phi = columns_of(names, groups, test, encoder=encoder)
        for columns in sets.values():
            chosen = [names.index(name) for name in columns]
            model = fit(phi[:, chosen], groups.labels, groups.offsets, NEWTON)
            yield measured(model.scores(np.ascontiguousarray(test_phi[:, chosen])), test)

    phi, test_phi = columns_of(names, train, test, encoder=encoder)
    best = best_feature(names, phi, train.labels, train.offsets)
    by_best = measured(best.sign * test_phi[:, names.index(best.name)], test)
    plain, six, recommended = every = list(results(train))
    values, rng = recommended.values[METRICS[0]], np.random.default_rng(0)
    (interval,) = means(test, [values], rng)
    leads = [difference(test, values, other.values[METRICS[0]], rng) for other in (plain, six)]
    cells = [
        triple(measured(np.zeros(len(test_phi)), test)),
        f"`{best.name.partition('.')[2]}` {triple(by_best)}",
        triple(plain),
        f"{triple(recommended)} [{short(interval.low)}, {short(interval.high)}]",
        *(short(lead.mean, "+") + f" [{short(lead.low)}, {short(lead.high)}]" for lead in leads),
    ]
    print(f"| {label} | {' | '.join(cells)} |", flush=True)
    if kind == "graph":
        return None
    is_known, cells = known_queries(train, test), []
    for queries in (is_known, ~is_known):
        top1 = [np.nanmean(each.values[METRICS[0]][queries]) for each in every] if queries.any() else []
        cells.append(" / ".join(map(short, top1)))
    for count in FEW:
        draws = range(DRAWS if count < len(train.candidates.trace_ids) else 0)
        top1 = [[each.means[METRICS[0]] for each in results(few_traces(train, count, draw))] for draw in draws]
        cells.append(" / ".join(map(short, np.mean(top1, axis=0))) if top1 else "")
    return f"| {label} | {' | '.join(cells)} |"


def known_queries(train, test):
    """Return of each test query whether a right candidate of it was right in training."""
    before = {train.candidates.name_texts[name] for name in train.candidates.names[train.labels > 0].tolist()}
    is_known = np.array([name in before for name in test.candidates.name_texts])[test.candidates.names]
    return np.logical_or.reduceat(is_known & (test.labels > 0), test.offsets[:-1])


def short(value, sign=""):
    """Return .123, −.123 or, with a sign, +.123.

    >>> short(0.25), short(-0.25, "+"), short(0.0, "+"), short(1.0)
    ('.250', '−.250', '.000', '1.000')
    """
    text = f"{value:{sign}.3f}".replace("0.", ".", 1).replace("-", "−")
    return ".000" if text.strip("+−") == ".000" else text


def triple(result):
    """Return Top-1/Top-3/MRR."""
    return "/".join(short(result.means[metric]) for metric in METRICS)
