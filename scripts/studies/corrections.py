"""What corrections of wrong test queries do: to themselves, to variants of them, and to all other queries.

A RUN is a run directory whose config names its test file. Each wrong test query is corrected alone, once and a hundred
times: by the layer at once, and after a refit. Then half of the test outcomes is learned, by the layer, by a refit, and
by a training that chooses its settings anew. Each line ends with the bars that it must hold, or misses.
"""

import re
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from ltr import load_config
from ltr.data.groups import select
from ltr.evaluation.bootstrap import bootstrap_difference
from ltr.experiments.refit import Given, refitted
from ltr.read import read_data
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


TIMES = (1, 100)
AT_ONCE, AFTER = "layer at once", "refit and layer"


def options(parser):
    """Options of the command line."""
    parser.add_argument("runs", nargs="+", metavar="RUN")
    parser.add_argument("--most", type=int, default=1000, help="wrong queries of a run, corrected at once")
    parser.add_argument("--sample", type=int, default=1000, help="of these the first so many are refit as well")
    parser.add_argument("--no-refit", action="store_true", help="the layer alone")
    parser.add_argument("--workers", type=int, default=2, help="refits at once (default: %(default)s)")


def main(*, runs, most, sample, no_refit, workers):
    """Print the figures of each run, and how long they took."""
    for run in runs:
        begun = time.perf_counter()
        study(Path(run), most, 0 if no_refit else sample, workers)
        print(f"  in {time.perf_counter() - begun:.0f} s")


@dataclass(frozen=True)
class Case:
    """What corrections of one query come to; in a forked process it is that of the parent."""

    run: Path
    router: object
    test: object
    given: Given
    right: np.ndarray
    halves: np.ndarray

    def learned(self, outcomes, way, base=None):
        """The router that has learned the outcomes, on top of the base where it is made already."""
        if way == AT_ONCE:
            return corrected(self.router, outcomes, self.given.learned.rarity)
        if base is None:
            return refitted(replace(self.given, outcomes=outcomes))
        return corrected(base, outcomes, self.given.learned.rarity)

    def of(self, place, way):
        """For each of TIMES: first, variants, how the other half moved, CPU seconds."""
        own, others = select(self.test, np.array([place])), np.flatnonzero(self.halves != self.halves[place])
        found, router = [], None
        for times in TIMES:
            begun = time.process_time()
            router = self.learned(marked(own, times), way, router)  # repeats count once in a refit
            seconds = time.process_time() - begun
            variants = [hits(router, said)[0] for said in varied(own)]
            moved = hits(router, select(self.test, others)).mean() - self.right[others].mean()
            found.append((hits(router, own)[0], np.mean(variants), moved, seconds))
        return found


def hits(router, groups):
    """Whether the first of each group is right."""
    return groups.labels[router.first_choices(groups.candidates)[0]] > 0


def varied(groups):
    """The groups with other words around their queries."""
    for variant in VARIANTS:
        texts = tuple(variant(text) for text in groups.candidates.query_texts)
        yield replace(groups, candidates=replace(groups.candidates, query_texts=texts))


def marked(groups, times=1):
    """The groups as outcomes, each so many times."""
    places = np.tile(np.arange(len(groups.offsets) - 1), times)
    some = select(groups, places)
    ids = tuple(f"outcome {place}" for place in range(len(places)))
    candidates = replace(
        some.candidates, traces=np.arange(len(places)), trace_ids=ids, previous=None, previous_lists=()
    )
    return replace(some, candidates=candidates, outcomes=ids, weights=None)


def study(run, most, sample, workers):
    """Of one run."""
    router, test = load(run), read_data(load_config(run / "config.yaml")).test[0]
    given, right = Given(run, load_model(run), learned_of(run, router), None), hits(router, test)
    case = Case(run, router, test, given, right, np.random.default_rng(0).permutation(len(right)) % 2)
    wrong = np.flatnonzero(~right)[:most].tolist()
    print(f"{run}: {len(right)} test queries, Top-1 {right.mean():.3f}, {len(wrong)} wrong ones corrected", flush=True)
    for way, places in ((AT_ONCE, wrong), (AFTER, wrong[:sample])):
        if not places:
            continue
        with ProcessPoolExecutor(workers, mp_context=get_context("fork")) as pool:
            found = np.array(list(pool.map(case.of, places, [way] * len(places))))  # (cases, times, figures)
        for times, figures in zip(TIMES, found.transpose(1, 0, 2), strict=True):
            (first, variants, moved, _), worst = figures.mean(axis=0), figures[:, 2].min()
            query = 1 / (len(right) // 2)
            bars = {"first": first >= 0.95, "variants": variants >= 0.9 - 1e-9, "mean": moved >= -0.002}
            bars["worst"] = worst >= -max(0.01, query) - 1e-9
            print(
                f"  {times:3} x, {way} ({len(places)}): first {first:.3f}, variants {variants:.3f}, other half"
                f" {moved:+.4f} (worst {worst:+.4f}, a query is {query:.4f}){missed(bars)};"
                f" {np.median(found[:, 0, 3]):.2f} CPU s each",
                flush=True,
            )
    half(case, is_refit=sample > 0)


def half(case, *, is_refit):
    """Half of the test outcomes learned: what the other half comes to."""
    told, others = (select(case.test, np.flatnonzero(case.halves == half)) for half in (0, 1))
    earlier, wrong = case.right[case.halves == 1].astype(float), ~case.right[case.halves == 0]
    given, tops = replace(case.given, outcomes=marked(told)), {}
    ways = {AT_ONCE: lambda: case.learned(marked(told), AT_ONCE)}
    if is_refit:
        ways |= {AFTER: lambda: refitted(given), "trained with choice": lambda: refitted(given, chooses=True)}
    for way, learn in ways.items():
        begun = time.process_time()
        after = learn()
        seconds = time.process_time() - begun
        later = hits(after, others).astype(float)
        traces = others.candidates.traces
        gain = bootstrap_difference(later, earlier, np.random.default_rng(0), clusters=traces)
        first, tops[way] = hits(after, told)[wrong].mean(), later.mean()
        bars = {"not below": gain.high >= 0, "first": first == 1}
        print(
            f"  half learned, {way}: other half {earlier.mean():.3f} -> {later.mean():.3f}"
            f" [{gain.low:+.3f}, {gain.high:+.3f}], wrong ones of the half first {first:.3f}"
            f"{missed(bars)}; {seconds:.1f} CPU s",
            flush=True,
        )
    if is_refit:
        behind = tops["trained with choice"] - tops[AFTER]
        print(f"  refit behind a training with choice: {behind:+.3f}{missed({'.005': behind <= 0.005})}", flush=True)


def missed(bars):
    """Which bars are missed."""
    names = [name for name, is_held in bars.items() if not is_held]
    return f" [misses {', '.join(names)}]" if names else " [holds]"
