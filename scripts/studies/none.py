"""None of these: how many are found, and whether P(none) is right at other shares than those it was trained for.

Of each FOLDER a fifth of the training queries is copied without right candidates, and b learned from the copies. Then
the same is done to the test queries, and to a fifth of the training traces kept out of a second training, which are
drawn like those it learns from. The calibration error is that of P(none) over queries weighted to a share of none:
the share in training, .05 and .4, with the constant moved to it and without. Half of these traces then are outcomes,
from which b learns. The last lines are of the same queries
with three tools each, drawn, and with tools of other names, which training never saw.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from ltr.config.none_and_abstain import NoneConfig
from ltr.config.run import RunConfig
from ltr.data.catalogues.tools import read_tools
from ltr.data.groups import read_groups, select
from ltr.data.right_candidate_removal import of_rows, removed
from ltr.data.splits import split_off
from ltr.evaluation.none_of_these_measures import calibration_error
from ltr.experiments.cross_fitted_scores import fold_models
from ltr.experiments.none_of_these_training import learn_none, none_source
from ltr.experiments.training_columns import prepare
from ltr.steps.none import none_probabilities
from ltr.training.config import TrainConfig
from ltr.training.fit import fit
from ltr.training.none_logit import INPUTS
from ltr.training.softmax import softmax

REMOVED, SHARES = 0.2, (0.05, 0.4)
TRAIN = TrainConfig(trainer="newton", standardize=True)


def options(parser):
    """Options of the command line."""
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--encoder", default="hash", help="(default: %(default)s)")


def main(*, folders, encoder):
    """A block a folder."""
    for folder in folders:
        catalogue = folder / "tools.json"
        tools = read_tools(catalogue) if catalogue.exists() else None
        train, test = (read_groups(str(folder / f"{part}.jsonl.gz"), tools=tools) for part in ("train", "test"))
        inside, kept = split_off(train, 0.2, "test", seed=0, by="trace", of=len(train.candidates.trace_ids))
        measure(f"{folder.name}, test", train, test, encoder)
        measure(f"{folder.name}, a fifth of the training traces", inside, kept, encoder)
    return 0


def measure(title, train, test, encoder):
    """b learned on the one, measured on the other."""
    none = NoneConfig(source=f"removed:{REMOVED}", share=1 / 6)
    config = RunConfig(features=("recommended",), encoder=encoder, train=TRAIN, none=none)
    prepared = prepare(config, train, None)
    model = fit(prepared.phi, train.labels, train.offsets, TRAIN)
    source = none_source(config.none, train, 0)
    learned = learn_none(config, source, fold_models(config, TRAIN, train, (source.none,)))
    rest, copies = removed(test, REMOVED, seed=0)
    p_rest, right, first = judged(prepared, model, learned, rest)
    p_none, _, first_none = judged(prepared, model, learned, copies)
    at_none, at_rest = p_none > (1 - p_none) * first_none, p_rest > (1 - p_rest) * first
    whole = test if len(rest.offsets) == len(test.offsets) else select(test, np.arange(len(test.offsets) - 1))
    top1 = judged(prepared, model, learned, whole)[1].mean()
    print(f"\n{title}: {len(p_rest):,} queries, {len(p_none):,} copies without right candidates")
    print(f"  Top-1 of the rest {right.mean():.3f} (one wrong candidate less), {top1:.3f} on whole lists")
    print(f"  none found {at_none.mean():.3f}, said wrongly of {at_rest.mean():.3f} of the rest")
    errors = learned.standard_errors or [float("nan")] * len(INPUTS)
    print("  b " + ", ".join(f"{name} {b:.2f} ({e:.2f})" for name, b, e in zip(INPUTS, learned.b, errors, strict=True)))
    print(
        f"  {learned.optimum}: gradient {learned.gradient_norm:.1e}, objective {learned.objective:.6f}, "
        f"gap at most {learned.gap_bound:.1e}; {learned.groups:,} queries, {learned.traces:,} traces"
    )
    is_none = np.arange(len(p_rest) + len(p_none)) >= len(p_rest)
    for share in (learned.trained_share, *SHARES):
        weights = np.where(is_none, share / len(p_none), (1 - share) / len(p_rest))
        line = []
        for logit in (learned, replace(learned, share=share)):
            p = np.concatenate([judged(prepared, model, logit, part)[0] for part in (rest, copies)])
            line.append((calibration_error(p, is_none, weights), float(weights @ p)))
        (plain, mean), (moved, moved_mean) = line
        print(
            f"  share {share:.3f}: calibration error {plain:.3f} as trained (mean P {mean:.3f}), "
            f"{moved:.3f} with the constant moved (mean P {moved_mean:.3f})"
        )
    weights = np.where(is_none, learned.trained_share / len(p_none), (1 - learned.trained_share) / len(p_rest))
    for name, change in OTHER_LISTS.items():
        p = np.concatenate([judged(prepared, model, learned, change(part))[0] for part in (rest, copies)])
        print(f"  {name}: calibration error {calibration_error(p, is_none, weights):.3f} (mean P {weights @ p:.3f})")


def of_three(groups):
    """The groups with their right candidates and two more, else three, drawn."""
    rows = np.random.default_rng(0).random(len(groups.labels)) - (groups.labels > 0)
    owner = np.repeat(np.arange(len(groups.offsets) - 1), np.diff(groups.offsets))
    places = np.empty(len(rows), dtype=np.int64)
    places[np.lexsort((rows, owner))] = np.arange(len(rows)) - groups.offsets[:-1][owner]
    return of_rows(groups, places < 3, np.arange(len(groups.offsets) - 1))


def of_new_tools(groups):
    """The groups with tools of other names and the same texts."""
    names = tuple(f"{name} v2" for name in groups.candidates.name_texts)
    return replace(groups, candidates=replace(groups.candidates, name_texts=names))


OTHER_LISTS = {
    "three tools": of_three,
    "new tools": of_new_tools,
    "three new tools": lambda groups: of_new_tools(of_three(groups)),
}


def judged(prepared, model, logit, groups):
    """P(none), whether the first choice is right, and its softmax, of each group."""
    phi = prepared.applied(groups.candidates)
    scores, starts = model.scores(phi), groups.offsets[:-1]
    is_first = scores == np.repeat(np.maximum.reduceat(scores, starts), np.diff(groups.offsets))
    right = np.add.reduceat((is_first & (groups.labels > 0)).astype(float), starts) / np.add.reduceat(is_first, starts)
    p = none_probabilities(logit, prepared.names, groups.candidates, phi, scores)
    return p, right, np.maximum.reduceat(softmax(scores, groups.offsets), starts)
