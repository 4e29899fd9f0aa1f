"""Learning from outcomes: one by one, shuffled and at once; distance to a full refit, Top-1, before and after folding.

Half of the training traces of data/tools are learned from; the queries of the others are the outcomes. The columns of
outcomes are those at the first offer, so that all orders have the same rows. Columns count as lines.
"""

import gzip
import json
import random
import shutil
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np

import ltr
from ltr.experiments.single_run import train
from ltr.features.crossfit import fit_features
from ltr.files.journal import read_journal
from ltr.serving.learning_from_outcomes import Feedback, JournalLine
from ltr.serving.outcomes import Outcome
from ltr.storage.model_file import load_model
from ltr.training.config import TrainConfig
from ltr.training.fit import fit
from ltr.training.quadratic_approximation import curvature
from subcommands import ROOT, at_least

DATA = ROOT / "data" / "tools"
RECIPE = {"recommended": True, "encoder": "hash", "choose": [], "prior": "zero"}  # lines, as `refit` has them


def options(parser):
    """Options of the command line."""
    parser.add_argument(
        "--outcomes", type=at_least(1), default=10000, help="drawn again and again (default: %(default)s)"
    )
    parser.add_argument("--folds", type=at_least(1), default=10, help="times that outcomes are folded in (default: 10)")


def main(*, outcomes, folds):
    """Tables of times, differences and Top-1."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        early, late = halves(home)
        result = train(early, out=home / "run", **RECIPE)
        train([early, late], out=home / "all", **RECIPE)
        test = ltr.read_groups(DATA / "test.jsonl.gz")
        told = [outcome_of(group) for group in listed(late)]
        trained = result.model.training.groups
        print(f"trained on {trained} queries; {len(told)} others are outcomes, repeated to {outcomes:,}")

        rows = journal_rows(copy(home / "run", home / "rows"), [Outcome(*outcome) for outcome in told])
        drawn = [rows[place % len(rows)] for place in range(outcomes)]
        shuffled = random.Random(0).sample(drawn, len(drawn))
        weights = {}
        print(f"\n{'':20} {'seconds':>9}   ms each   loading (s)")
        for name, order, at_once in (
            ("at once", drawn, len(drawn)),
            ("shuffled", shuffled, len(drawn)),
            ("one by one", drawn, 1),
        ):
            run = copy(home / "run", home / name)
            feedback = Feedback(run, load_model(run))
            begin = time.perf_counter()
            for first in range(0, len(order), at_once):
                feedback.append(order[first : first + at_once])
                applied = feedback.replayed()
            seconds = time.perf_counter() - begin
            weights[name] = applied.w
            begin = time.perf_counter()
            ltr.load(run)
            loading = time.perf_counter() - begin
            print(f"{name:20} {seconds:9.2f} {1000 * seconds / len(order):9.3f} {loading:9.2f}", flush=True)
        for name in ("shuffled", "one by one"):
            apart = np.abs(weights[name] - weights["at once"]).max()
            print(f"largest difference of a weight, {name} and at once: {apart:.1e}")
        size = sum(map(len, read_journal(home / "at once" / "outcomes.journal").contents))
        print(f"journal: {size / outcomes:,.0f} bytes an outcome")

        exact, hessian = refit(result, rows)
        root = ltr.load(home / "run")

        def show(name, router):
            apart = distance(router.w, exact, hessian)
            print(f"{name:34} {apart:10.3f} {top1(router, test):10.4f}", flush=True)

        print(f"\n{'each outcome once':34} {'distance':>10} {'top-1':>10}")
        show("before the outcomes", root)
        whole, parts, folded = (ltr.load(copy(home / "run", home / name)) for name in ("whole", "parts", "folded"))
        whole.update_many([Outcome(*outcome) for outcome in told])
        show("updated", whole)
        show("updated, but counts as before", replace(root, w=whole.w))
        for part in np.array_split(np.arange(len(told)), folds):
            for router in (parts, folded):
                router.update_many([Outcome(*told[place]) for place in part])
            folded.compact()
        show(f"in {folds} parts, counts move between", parts)
        show(f"in {folds} parts, each folded in", folded)
        show("refit of w on the same columns", replace(root, w=exact))
        print(f"{'trained again on all':34} {'':10} {top1(ltr.load(home / 'all'), test):10.4f}")
        print("distance: from the refit, in standard units of its objective; top-1: on the test queries")


def halves(home):
    """The training samples as two files, by trace."""
    paths = home / "early.jsonl", home / "late.jsonl"
    with gzip.open(DATA / "train.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = list(lines)
    traces = list(dict.fromkeys(json.loads(text)["trace_id"] for text in texts))
    first = set(traces[::2])
    for path, is_first in zip(paths, (True, False), strict=True):
        chosen = (text for text in texts if (json.loads(text)["trace_id"] in first) == is_first)
        path.write_text("".join(chosen), encoding="utf-8")
    return paths


def listed(path):
    """The samples of each query of a file."""
    groups = {}
    with path.open(encoding="utf-8") as lines:
        for sample in map(json.loads, lines):
            groups.setdefault((sample["trace_id"], sample["node_id"]), []).append(sample)
    return list(groups.values())


def outcome_of(group):
    """Query, tools and the right tool of a group."""
    tools = [{"name": sample["tool"]} for sample in group]
    return group[0]["query"], tools, next(sample["tool"] for sample in group if sample["label"] > 0)


def copy(run, to):
    """A copy of a run."""
    return Path(shutil.copytree(run, to))


def journal_rows(run, outcomes):
    """The rows that outcomes become when all are offered to the model as it was trained."""
    ltr.load(run).update_many(outcomes)
    (line,) = read_journal(run / "outcomes.journal").contents
    return msgspec.json.decode(line, type=JournalLine).outcomes


def refit(result, rows):
    """The optimum for the training rows and those of the outcomes, in the scale of the training; and its Hessian."""
    configs = result.router.features.configs
    _, phi = fit_features(configs, result.train, "hash")
    units = result.model.training.deviations
    more = np.array([line for row in rows for line in row.columns])
    labels = np.concatenate([np.arange(len(row.names)) == row.right for row in rows]).astype(float)
    offsets = np.concatenate(
        [result.train.offsets, result.train.offsets[-1] + np.cumsum([len(row.names) for row in rows])]
    )
    groups = result.model.training.groups
    l2 = result.router.trainer.penalty * groups / (groups + len(rows))
    config = TrainConfig(trainer="newton", l2=l2)
    data = np.concatenate([phi, more]) / units, np.concatenate([result.train.labels, labels]), offsets
    model = fit(*data, config)
    hessian = curvature(*data, config, model) * np.outer(units, units)
    return model.w / units, hessian


def distance(w, exact, hessian):
    """How many standard units two weight vectors lie apart: sqrt(d' H d)."""
    return float(np.sqrt((w - exact) @ hessian @ (w - exact)))


def top1(router, groups):
    """Top-1 on the groups."""
    ranking = ltr.rank(router.scores(router.phi(groups.candidates)), groups.offsets)
    return ltr.evaluate(ranking, groups.labels, ["top1_accuracy"]).means["top1_accuracy"]
