"""What corrections of wrong test queries do: to themselves, to variants of them, and to all other queries.

A RUN is a run directory whose config names its test file. Each wrong test query is corrected alone, once and a hundred
times: by the layer at once, and after a refit. Then half of the test outcomes is learned.
"""

import re
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from ltr.config.run import load_config
from ltr.data.groups import select
from ltr.evaluation.bootstrap import bootstrap_difference
from ltr.experiments.read_data import read_data
from ltr.experiments.refit import Given, refitted
from ltr.serving.correction_term import corrected
from ltr.serving.learning_from_outcomes import learned_of
from ltr.serving.router import load
from ltr.storage.model_file import load_model

VARIANTS = (
    lambda text: f"please, {text}",
    lambda text: f"{text} Thanks in advance!",
    lambda text: (
        re.sub(r"\d+", lambda number: str(int(number[0]) + 3), text) if re.search(r"\d", text) else f"hi, {text}"
    ),
    str.upper,
    lambda text: f"one more question: {text.lower()}",
)


def options(parser):
    """Options of the command line."""
    parser.add_argument("runs", nargs="+", metavar="RUN")
    parser.add_argument("--most", type=int, default=1000, help="wrong queries of a run")
    parser.add_argument("--no-refit", action="store_true", help="the layer alone")


def main(*, runs, most, no_refit):
    """Print the figures of each run."""
    for run in runs:
        study(Path(run), most, is_refit=not no_refit)


def hits(router, groups):
    """Whether the first of each group is right."""
    return groups.labels[router.first_choices(groups.candidates)[0]] > 0


def marked(groups, times=1):
    """The groups as outcomes, each so many times."""
    places = np.tile(np.arange(len(groups.offsets) - 1), times)
    some = select(groups, places)
    ids = tuple(f"outcome {place}" for place in range(len(places)))
    candidates = replace(
        some.candidates, traces=np.arange(len(places)), trace_ids=ids, previous=None, previous_lists=()
    )
    return replace(some, candidates=candidates, outcomes=ids, weights=None)


def study(run, most, *, is_refit):
    """Of one run."""
    router, config = load(run), load_config(run / "config.yaml")
    test = read_data(config).test
    learned, model = learned_of(run, router), load_model(run)
    right = hits(router, test)
    wrong = np.flatnonzero(~right)[:most]
    halves = np.random.default_rng(0).permutation(len(right)) % 2
    print(f"{run}: {len(right)} test queries, Top-1 {right.mean():.3f}, {len(wrong)} wrong ones corrected", flush=True)

    def at_once(outcomes):
        return corrected(router, outcomes, learned.rarity)

    def refit(outcomes):
        return refitted(Given(run, model, learned, outcomes))

    for times in (1, 100):
        for name, learn in (("layer at once", at_once), *([("refit and layer", refit)] if is_refit else [])):
            first, variants, moves, seconds = [], [], [], []
            for place in wrong:
                own = select(test, np.array([place]))
                begun = time.process_time()
                after = learn(marked(own, times))
                seconds.append(time.process_time() - begun)
                first.append(hits(after, own)[0])
                for variant in VARIANTS:
                    texts = tuple(variant(text) for text in own.candidates.query_texts)
                    said = replace(own, candidates=replace(own.candidates, query_texts=texts))
                    variants.append(hits(after, said)[0])
                others = select(test, np.flatnonzero(halves != halves[place]))
                moves.append(hits(after, others).mean() - right[halves != halves[place]].mean())
            half = len(right) // 2
            print(
                f"  {times:3} x, {name}: first {np.mean(first):.3f}, variants {np.mean(variants):.3f}, other half"
                f" {np.mean(moves):+.4f} (worst {np.min(moves):+.4f}, a query is {1 / half:.4f}),"
                f" {np.median(seconds):.3f} CPU s",
                flush=True,
            )
    for name, learn in (("layer at once", at_once), *([("refit and layer", refit)] if is_refit else [])):
        told, others = (select(test, np.flatnonzero(halves == half)) for half in (0, 1))
        after = learn(marked(told))
        later, earlier = hits(after, others).astype(float), right[halves == 1].astype(float)
        gain = bootstrap_difference(later, earlier, np.random.default_rng(0), clusters=others.candidates.traces)
        was_wrong = ~right[halves == 0]
        print(
            f"  half learned, {name}: other half {earlier.mean():.3f} -> {later.mean():.3f}"
            f" [{gain.low:+.3f}, {gain.high:+.3f}], wrong ones of the half first "
            f"{hits(after, told)[was_wrong].mean():.3f}",
            flush=True,
        )
