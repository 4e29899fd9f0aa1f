"""ltr beside other learners on the same cross-fitted columns, 5 folds by trace.

The training and test queries of a folder are taken together. A row a trainer: Top-1, MRR, NDCG@10, and by how much ltr
is better, query by query, with its 95 % interval by trace; * where that excludes 0. At the end the permutation tests
against the peers, by Holm over all folders, peers and metrics.
"""

import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np

from ltr import TrainConfig, fit, load_config, read_groups
from ltr.config.run import feature_configs, nothing_to_choose
from ltr.data.groups import select
from ltr.evaluation.significance import differences, holm, permutation_p, unit_sums
from ltr.features.crossfit import fit_features
from ltr.training.diagnosis import diagnose
from peers import installed, learners, missing
from studies import intervals
from studies.sets import catalogue, fold_indices, measured
from subcommands import ROOT

METRICS = ("top1_accuracy", "mrr", "ndcg@10")
OURS = "ltr, as the shipped config"
TRAINERS = {
    "newton, l2 .001": TrainConfig(trainer="newton"),
    "newton, l2 .001, standardised": TrainConfig(trainer="newton", standardize=True),
    "newton, the same, 7 knots": TrainConfig(trainer="newton", standardize=True, knots=7),
    "newton, l2 0": TrainConfig(trainer="newton", l2=0.0),
    "descent, 100 epochs": TrainConfig(),
    "descent, 100 epochs, standardised": TrainConfig(standardize=True),
}
PEERS = (
    learners.LIGHTGBM,
    learners.XGBOOST_TREES,
    learners.XGBOOST_LINEAR,
    learners.CATBOOST,
    learners.LOGISTIC,
)


def options(parser):
    """Options of the command line."""
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    sets = ("plain", "recommended")
    parser.add_argument("--set", dest="feature_set", choices=sets, default="plain", help="of features (default: plain)")


def main(*, folders, feature_set):
    """A table a folder, and the tests over all of them."""
    if missing(PEERS):
        print(f"not installed: {', '.join(missing(PEERS))}")
    verdict({key: comparison for folder in folders for key, comparison in compare(folder, feature_set).items()})
    return 0


def compare(folder, feature_set):
    """The table of a folder; mean difference and p of each comparison with a peer."""
    files = [str(folder / f"{part}.jsonl.gz") for part in ("train", "test")]
    groups = read_groups(files, tools=catalogue(folder))
    name = {"tool": "tools", "graph": "graphs"}[groups.candidates.kind]
    config = load_config(ROOT / "configs" / f"{name}{'-recommended' if feature_set == 'recommended' else ''}.yaml")
    config = nothing_to_choose(config)  # the recommended columns alone, which every way sees
    ways = {name: partial(by_ltr, train) for name, train in {OURS: config.train, **TRAINERS}.items()}
    ways |= {peer.name: peer.call for peer in installed(PEERS)}
    scores, seconds = {name: np.full(len(groups.labels), np.nan) for name in ways}, dict.fromkeys(ways, 0.0)
    rows, gaps = np.arange(len(groups.labels)), []
    for inside, outside in fold_indices(groups, 5, seed=0, by="trace"):
        train, test = select(groups, inside), select(groups, outside)
        chosen, _ = feature_configs(config, groups.candidates.kind, len(train.candidates.trace_ids))
        features, phi = fit_features(chosen, train, "hash")
        test_phi, training = features(test.candidates), (phi, train.labels, train.offsets)
        test_rows = np.concatenate([rows[groups.offsets[g] : groups.offsets[g + 1]] for g in outside])
        for name, call in ways.items():
            start = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                scores[name][test_rows] = call(*training, test_phi)
            seconds[name] += (time.process_time() - start) / 5
        stepped = fit(*training, TrainConfig())
        diagnosis = diagnose(*training, TrainConfig(), stepped)
        gain = diagnosis.at_zero - stepped.training.objective + diagnosis.gap
        gaps.append((diagnosis.gap, diagnosis.gap / gain))
    comparisons = show(f"{folder.name}, {feature_set}", groups, scores, seconds)
    gap, share = np.mean(gaps, axis=0)
    print(
        f"descent on raw columns ends {gap:.4f} above its optimum, {share:.0%} of what w = 0 leaves to gain", flush=True
    )
    return comparisons


def by_ltr(config, phi, labels, offsets, rows):
    """Scores of one of our trainers."""
    return fit(phi, labels, offsets, config).scores(rows)


def show(title, groups, scores, seconds):
    """A row a trainer; the comparisons with peers."""
    results = {name: measured(column, groups, METRICS) for name, column in scores.items()}
    ours = results[OURS]
    print(f"\n{title}: {ours.num_queries:,} queries; better by: {OURS} less this, paired, 95 % by trace")
    print(f"{'':36}{'top-1':>7}{'MRR':>7}{'NDCG@10':>9}{'CPU s':>8}   better by: top-1, MRR, NDCG@10")
    for name, result in results.items():
        means = "".join(f"{result.means[metric]:{width}.3f}" for metric, width in zip(METRICS, (7, 7, 9), strict=True))
        gains = [] if name == OURS else [lead(groups, ours.values[m], result.values[m]) for m in METRICS]
        print(f"{name:36}{means}{seconds[name]:8.2f}   {' '.join(gains)}")
    peers = [peer.name for peer in PEERS if peer.name in results]
    return {
        (title, name, metric): compared(groups, ours.values[metric], results[name].values[metric])
        for name in peers
        for metric in METRICS
    }


def lead(groups, ours, theirs):
    """The paired difference with its interval; * where it excludes 0."""
    interval = intervals.difference(groups, ours, theirs, np.random.default_rng(0))
    return intervals.shown(interval, "+") + ("*" if interval.low > 0 or interval.high < 0 else " ")


def compared(groups, ours, theirs):
    """The mean difference, and p of the permutation test by trace."""
    counted = ~np.isnan(ours)
    apart = differences(ours[counted], theirs[counted])
    sums = unit_sums(apart, groups.candidates.traces[counted])
    return apart.mean(), permutation_p(sums, np.random.default_rng(0), permutations=99_999)


def verdict(comparisons):
    """What is beyond chance in the whole family of comparisons."""
    adjusted = holm([p for _, p in comparisons.values()])
    print(f"\n{len(comparisons)} comparisons with peers, Holm over all of them; p below .05 alone:")
    better = worse = 0
    for ((title, name, metric), (gain, p)), p_holm in zip(comparisons.items(), adjusted, strict=True):
        if p < 0.05:
            print(f"{title:30}{name:36}{metric:15}{gain:+.3f}  p {p:.4f}  Holm {p_holm:.4f}")
        better += p_holm < 0.05 and gain > 0
        worse += p_holm < 0.05 and gain < 0
    print(f"better {better}, worse {worse} at .05 by Holm")
