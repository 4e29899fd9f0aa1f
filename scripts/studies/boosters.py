"""The recommended recipe beside boosters on the same columns, five folds by trace of the training queries of sets.

In each fold the recipe chooses and learns without the fold's traces, which is full nesting; beside it stands what it
chooses of all traces. Boosters have the recommended columns, and those that the recipe added to them.
The prior of each set is made of the other sets that are named: name them all. At the end the permutation tests against
the boosters, by Holm over all sets, encoders, boosters and metrics.
"""

from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from ltr import fit
from ltr.choose import choose
from ltr.data.groups import select
from ltr.evaluation.significance import holm
from ltr.features import prior_weights
from ltr.features.presets import ALL
from ltr.features.prior_weights import prior_of
from peers import installed, learners, missing
from studies import intervals, priors
from studies.quality import METRICS, compared
from studies.sets import columns_of, fold_indices, measured, recommended, run_columns, samples

BOOSTERS = (
    learners.LIGHTGBM,
    learners.LIGHTGBM_SMALL,
    learners.XGBOOST_PAIRWISE,
    learners.XGBOOST_TREES,
    learners.CATBOOST,
    learners.CATBOOST_YETI,
)
NESTED, WHOLE = "ltr, chosen in each fold", "ltr, chosen of all traces"


def options(parser):
    """Options of the command line."""
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--encoder", dest="encoders", nargs="+", default=["hash"], help="(default: hash)")


def main(*, folders, encoders):
    """A table for each set and encoder, and the tests over all of them."""
    if missing(BOOSTERS):
        print(f"not installed: {', '.join(missing(BOOSTERS))}")
    comparisons = {}
    for encoder in encoders:
        sets = {folder.name: samples(folder, encoder)[0] for folder in folders}
        weights = {name: priors.set_weights(train, encoder) for name, train in sets.items()}
        for name, train in sets.items():
            prior_weights.WEIGHTS = priors.mean_weights([own for other, own in weights.items() if other != name])
            comparisons |= compare(f"{name}, {encoder}", train, encoder)
    verdict(comparisons)
    return 0


def compare(title, groups, encoder):
    """The table of a set; mean difference and p of each comparison with a booster."""
    whole, rows = chosen(groups, encoder), np.repeat(np.arange(len(groups.offsets) - 1), np.diff(groups.offsets))
    print(f"\n{title}: {len(groups.offsets) - 1:,} queries; all traces chose: {whole.record.chosen}", flush=True)
    scores, choices, usual = {}, Counter(), ALL[groups.candidates.kind]
    for inside, outside in fold_indices(groups, 5, seed=0, by="trace"):
        learned, held = select(groups, inside), select(groups, outside)
        nested = chosen(learned, encoder)
        choices[nested.record.chosen] += 1
        columns = [*usual, *(name for name in nested.config.features if name not in usual)]
        phi, of_held = columns_of(columns, learned, held, encoder)
        training = phi, learned.labels, learned.offsets
        ways = {booster.name: partial(booster.call, *training, of_held) for booster in installed(BOOSTERS)}
        ways |= {NESTED: partial(by_choice, nested, learned, held, encoder)}
        ways |= {WHOLE: partial(by_choice, whole, learned, held, encoder)}
        for way, call in ways.items():
            scores.setdefault(way, np.full(len(rows), np.nan))[np.isin(rows, outside)] = call()
    print("five folds chose:", "; ".join(f"{number} x {choice}" for choice, number in choices.most_common()))
    results = {way: measured(column, groups, METRICS) for way, column in scores.items()}
    return show(groups, title, results)


def show(groups, title, results):
    """A row a way; the comparisons with boosters."""
    ours, comparisons = results[NESTED], {}
    print(f"{'':36}{'top-1':>7}{'MRR':>7}{'NDCG@10':>9}   {NESTED} less this: top-1, MRR, NDCG@10")
    for way, result in results.items():
        pairs = [(ours.values[metric], result.values[metric]) for metric in METRICS]
        leads = [intervals.difference(groups, *pair, np.random.default_rng(0)) for pair in pairs]
        means = "".join(f"{result.means[metric]:{width}.3f}" for metric, width in zip(METRICS, (7, 7, 9), strict=True))
        print(f"{way:36}{means}   {' '.join(intervals.shown(lead, '+') for lead in leads)}", flush=True)
        if way not in (NESTED, WHOLE):
            tests = [compared(groups, *pair) for pair in pairs]
            comparisons |= {(title, way, metric): test for metric, test in zip(METRICS, tests, strict=True)}
    return comparisons


def chosen(groups, encoder):
    """What the recipe chooses for the groups."""
    config = recommended(encoder)
    return choose(config, run_columns(config, groups))


def by_choice(choice, learned, held, encoder):
    """The scores of held groups by the chosen way; an l2 by the number of traces is that of these."""
    strength = choice.config.train.l2 * choice.features.training().count_traces()
    train = replace(choice.config.train, l2=strength / len(learned.candidates.trace_ids))
    names = [name if isinstance(name, str) else name["name"] for name in choice.config.features]
    phi, of_held = columns_of(names, learned, held, encoder)
    return fit(phi, learned.labels, learned.offsets, train, prior=prior_of(train, names)).scores(of_held)


def verdict(comparisons):
    """How many boosters are ahead, and behind, with Holm's correction and without."""
    adjusted = dict(zip(comparisons, holm([p for _, p in comparisons.values()]), strict=True))
    for word, sign in (("ahead", -1), ("behind", 1)):
        there = [key for key, (gain, _) in comparisons.items() if gain * sign > 0]
        by_holm, alone = (
            [key for key in there if adjusted[key] < 0.05],
            [key for key in there if comparisons[key][1] < 0.05],
        )
        print(f"\nboosters {word} in {len(by_holm)} of {len(comparisons)} comparisons by Holm, {len(alone)} unadjusted")
        for key in alone if sign < 0 else ():
            print(f"  {', '.join(key)}")
