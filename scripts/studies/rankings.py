"""What the recommended recipe is worth on tools, beside single columns, ridge regression and neighbours' votes.

A set that names right tools alone is trained and measured on its whole catalogue. The prior of each set, and what needs
no training, are made of the other sets and catalogues that are named: name them all. Differences of Top-1 are paired,
with 95 % bootstrap intervals by trace; then queries whose right answer is known or unseen in training, less relevance
alone, and learning curves.
"""

from pathlib import Path

import numpy as np

from ltr import TrainConfig, fit
from ltr.evaluation.baselines import best_feature
from ltr.features import prior_weights
from ltr.features.crossfit import fit_features
from ltr.features.linear_algebra import all_dots
from ltr.features.presets import ALL
from ltr.features.registry import FeatureConfig
from ltr.features.row_queries import row_queries
from ltr.serving.zero_shot import untrained
from studies import foreign, intervals, priors
from studies.sets import few_traces, known_queries, learned, measured, recommended, samples

TOP1 = "top1_accuracy"
SINGLE = {"relevance": "tool.clause", "prototype": "tool.proto", "ridge": "tool.ridge"}
OLD_LIFT = "tool.lift, strength 5"
SEVEN = ("tool.proto", OLD_LIFT, "tool.clause_char", "tool.name", "tool.clause_words", "tool.known", "tool.talk")
SETS = {"seven, lift of strength 5": SEVEN, "ten, lines, l2 .001": ALL["tool"]}
COLUMNS = {name: FeatureConfig(name) for name in ALL["tool"]} | {
    OLD_LIFT: FeatureConfig("tool.lift", {"strength": 5.0})
}
RECOMMENDED, UNTRAINED = "recommended", "nothing learned"
FEW = (5, 10, 30, 100)  # training traces
DRAWS = 3  # of so few
NEIGHBOURS, SHARPNESS = 20, 10.0


def options(parser):
    """Options of the command line."""
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--catalogues", nargs="*", type=Path, default=[], metavar="FOLDER", help="other catalogues")
    parser.add_argument("--encoder", default="hash", help="(default: %(default)s)")
    parser.add_argument("--no-curves", action="store_true", help="leave out the learning curves")


def main(*, folders, catalogues, encoder, no_curves):
    """A table a folder."""
    sets = {folder: samples(folder, encoder) for folder in folders}
    listed = [one for folder in (*catalogues, *folders) if taught(folder) for one in foreign.catalogues(folder)]
    for folder, (train, test) in sets.items():
        counts = f"{len(train.offsets) - 1:,} training groups, {len(test.offsets) - 1:,} test queries"
        print(f"{folder.name}, {encoder}: {counts}\n  {'':28}  top-1    MRR  less ridge alone{'':9}less seven")
        with foreign.nothing_of(folder.name, listed, encoder):
            prior_weights.WEIGHTS = priors.without(folder, sets, encoder)
            compare(train, test, encoder)
            if not no_curves:
                curves(train, test, encoder)
    return 0


def taught(folder):
    """Whether a set is of tools with a text that says something: those that teach what ships."""
    return folder.name not in {"whowhen", "trail"}


def scored(train, test, encoder):
    """The scores of the test rows by each way, from the single columns to the sums."""
    features, phi = fit_features(list(COLUMNS.values()), train, encoder)
    test_phi, names = features(test.candidates), list(COLUMNS)
    usual = [names.index(name) for name in ALL["tool"]]
    best = best_feature(ALL["tool"], phi[:, usual], train.labels, train.offsets)
    scores = {way: test_phi[:, names.index(name)] for way, name in SINGLE.items()}
    scores[f"best column: {best.name}"] = best.sign * test_phi[:, names.index(best.name)]
    for way, columns in SETS.items():
        scores[way] = by_columns(phi, test_phi, [names.index(name) for name in columns], train)
    scores[UNTRAINED] = (zero := untrained(test.candidates, encoder)).scores(zero.phi(test.candidates))
    router = learned(recommended(encoder), train)
    scores[RECOMMENDED] = router.scores(router.phi(test.candidates))
    return scores, features.encoder, router.training.choice.chosen


def by_columns(phi, test_phi, columns, train):
    """The scores by w of some of the columns."""
    chosen = np.ascontiguousarray(phi[:, columns])
    model = fit(chosen, train.labels, train.offsets, TrainConfig(trainer="newton", standardize=True))
    return model.scores(np.ascontiguousarray(test_phi[:, columns]))


def votes(train, test, encoder):
    """Of each row the share of the nearest training queries that its tool answered, near ones counting more."""
    rows = np.flatnonzero(train.labels > 0)
    answered = row_queries(train.candidates)[rows]
    tools = [train.candidates.name_texts[name] for name in train.candidates.names[rows].tolist()]
    code = {name: place for place, name in enumerate(dict.fromkeys(tools))}
    wins = np.zeros((len(train.candidates.query_texts), len(code) + 1))
    np.add.at(wins, (answered, [code[tool] for tool in tools]), 1.0)
    cosines = all_dots(
        encoder.encode(test.candidates.query_texts, "query"), encoder.encode(train.candidates.query_texts, "query")
    )
    nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :NEIGHBOURS]
    weights = np.exp(SHARPNESS * (np.take_along_axis(cosines, nearest, axis=1) - 1))
    shares = np.einsum("qn,qnt->qt", weights, wins[nearest]) / weights.sum(axis=1, keepdims=True)
    places = np.array([code.get(name, -1) for name in test.candidates.name_texts])[test.candidates.names]
    return shares[row_queries(test.candidates), places]


def compare(train, test, encoder):
    """Every way on the test queries, and where the right answer was right in training or never was."""
    scores, fitted, choice = scored(train, test, encoder)
    scores["votes of 20 neighbours"] = votes(train, test, fitted)
    results = {way: measured(values, test) for way, values in scores.items()}
    known = known_queries(train, test)
    print(f"  folds chose: {choice}")
    for way, result in results.items():
        values, rng = result.values[TOP1], np.random.default_rng(0)
        leads = [
            intervals.shown(intervals.difference(test, values, results[other].values[TOP1], rng), "+")
            for other in ("ridge", "seven, lift of strength 5")
        ]
        beside = results["relevance"].values[TOP1]
        parts = "".join(
            f"  {label} {np.nanmean(values[which]):.3f} {of_part(test, values, beside, which, rng)}"
            for label, which in (("known", known), ("unseen", ~known))
            if which.any()
        )
        means = f"{result.means[TOP1]:.3f}  {result.means['mrr']:.3f}"
        print(f"  {way:28}  {means}  {'  '.join(leads)}{parts}", flush=True)


def of_part(test, values, relevance, which, rng):
    """How far some of the queries are ahead of relevance alone, with the interval."""
    counted = np.where(which, values, np.nan), np.where(which, relevance, np.nan)
    return intervals.shown(intervals.difference(test, *counted, rng), "+")


def curves(train, test, encoder):
    """Top-1 from few training traces, mean of several draws; the recipe less the best single column, or untrained."""
    traces = len(train.candidates.trace_ids)
    for number in (number for number in FEW if number < traces):
        values, choices = {}, []
        for draw in range(DRAWS):
            scores, _, choice = scored(few_traces(train, number, draw), test, encoder)
            choices.append(choice)
            for way, column in scores.items():
                values.setdefault(way.partition(":")[0], []).append(measured(column, test).values[TOP1])
        means = {way: np.mean(of_draws, axis=0) for way, of_draws in values.items()}  # of each query over the draws
        text = "".join(f"  {way} {np.nanmean(of_queries):.3f}" for way, of_queries in means.items())
        best = max((*SINGLE, UNTRAINED), key=lambda way: np.nanmean(means[way]))
        lead = intervals.difference(test, means[RECOMMENDED], means[best], np.random.default_rng(0))
        print(
            f"  {number} traces:{text}\n    less {best} {intervals.shown(lead, '+')}; chosen: {'; '.join(choices)}",
            flush=True,
        )
