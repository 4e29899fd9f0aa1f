"""What a run is worth on tools that it never saw: some among others, and whole catalogues.

Half of the tools of each FOLDER are held out of its training (all queries for them), and its test lists mix both. A run
of the whole training data is then asked about the catalogues of all other FOLDERs. Prior and weights of what needs no
training are made without the set. Top-1, ties by their expectation.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from ltr.data.groups import select
from ltr.features import prior_weights
from ltr.serving.zero_shot import untrained, zero_shot_router
from studies import foreign, priors
from studies.sets import asks_for, learned, measured, recommended, samples

TOP1 = "top1_accuracy"
ASKED = 100  # queries of each foreign catalogue


def options(parser):
    """Options of the command line."""
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="sets of samples to train on")
    parser.add_argument("--catalogues", nargs="*", type=Path, default=[], metavar="FOLDER", help="other catalogues")
    parser.add_argument("--encoder", default="hash", help="(default: %(default)s)")


def main(*, folders, catalogues, encoder):
    """Two lines a folder, then one for each other catalogue."""
    sets = {folder: samples(folder, encoder) for folder in folders}
    listed = [one for folder in (*folders, *catalogues) for one in foreign.catalogues(folder)]
    for folder, (train, test) in sets.items():
        print(f"{folder.name}, {encoder}", flush=True)
        with foreign.nothing_of(folder.name, listed, encoder):
            prior_weights.WEIGHTS = priors.without(folder, sets, encoder)
            half(train, test, encoder)
            router = learned(recommended(encoder), train)
            leads = [asked(router, one, encoder) for one in listed if one.name != folder.name]
        print(f"  {'mean of the others':28}{np.mean(leads):+.3f}", flush=True)
    return 0


def half(train, test, encoder):
    """Top-1 of queries for known and for held-out tools, by runs with and without held-out folds, and untrained."""
    names = sorted(tools_of(train))
    held = set(np.random.default_rng(0).permutation(names)[: len(names) // 2].tolist())
    some = select(train, np.flatnonzero(~asks_for(train, held)))
    is_new = asks_for(test, held)
    shown = {"nothing learned": untrained(test.candidates, encoder)}
    shown["held-out folds"] = learned(recommended(encoder), some)
    shown["without them"] = learned(recommended(encoder, "train.newcomers=false"), some)
    for title, router in shown.items():
        hits = measured(router.scores(router.phi(test.candidates)), test).values[TOP1]
        known, new = (np.nanmean(hits[which]) for which in (~is_new, is_new))
        number = f"{(~is_new).sum()} and {is_new.sum()} queries"
        print(f"  {title:28}known {known:.3f}  held out {new:.3f}  ({number})", flush=True)


def tools_of(groups):
    """The tools that are right in some group."""
    candidates = groups.candidates
    return {candidates.name_texts[name] for name in candidates.names[groups.labels > 0].tolist()}


def asked(router, one, encoder):
    """How far the run is ahead of what needs no training on another catalogue; a line."""
    queries, is_right, names = one.queries[:ASKED], one.is_right[:ASKED], list(one.tools)
    top1 = []
    for home in (replace(router, tools=one.tools), zero_shot_router(one.tools, encoder)):
        answers = home.rank_many(queries, None, 1, exact=True)
        top1.append(np.mean([is_right[row, names.index(answer[0].candidate)] for row, answer in enumerate(answers)]))
    print(f"  {one.name:28}{top1[0]:.3f}  nothing learned {top1[1]:.3f}", flush=True)
    return top1[0] - top1[1]
