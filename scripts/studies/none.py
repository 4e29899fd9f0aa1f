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

from ltr import RunConfig, TrainConfig
from ltr.config.none_and_abstain import NoneConfig
from ltr.data.right_candidate_removal import of_rows, removal_of
from ltr.data.shards import Whole
from ltr.data.splits import split_off
from ltr.evaluation.metrics.classification_counts import calibration_error
from ltr.evaluation.none_of_these_measures import measure_none
from ltr.steps.none import told_of
from ltr.training.none_logit import INPUTS
from studies.sets import learned as learned_by
from studies.sets import read

REMOVED, SHARES = 0.2, (0.05, 0.4)
TRAIN = TrainConfig(trainer="newton", standardize=True)


def options(parser):
    """Options of the command line."""
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--encoder", default="hash", help="(default: %(default)s)")


def main(*, folders, encoder):
    """A block a folder."""
    for folder in folders:
        train, test = read(folder)
        inside, kept = split_off(Whole(train), 0.2, "test", seed=0, by="trace", of=len(train.candidates.trace_ids))
        measure(f"{folder.name}, test", train, test, encoder)
        measure(f"{folder.name}, a fifth of the training traces", inside[0], kept[0], encoder)
    return 0


def measure(title, train, test, encoder):
    """b learned on the one, measured on the other."""
    none = NoneConfig(source=f"removed:{REMOVED}", share=1 / 6)
    config = RunConfig(features=("recommended",), encoder=encoder, train=TRAIN, none=none)
    router = learned_by(config, train)
    learned = router.none
    removal = removal_of(Whole(test), REMOVED, seed=0)
    rest, copies = removal.rest(test), removal.copies(test)
    measured = measure_none(judged(router, learned, rest, copies), learned_from=learned.source, for_share=learned.share)
    top1 = judged(router, learned, test).first_right.mean()
    print(f"\n{title}: {measured.other_queries:,} queries, {measured.none_queries:,} copies without right candidates")
    print(f"  Top-1 of the rest {measured.top1_of_rest:.3f} (one wrong candidate less), {top1:.3f} on whole lists")
    print(f"  none found {measured.found:.3f}, said wrongly of {measured.said_wrongly:.3f} of the rest")
    errors = learned.standard_errors or [float("nan")] * len(INPUTS)
    print("  b " + ", ".join(f"{name} {b:.2f} ({e:.2f})" for name, b, e in zip(INPUTS, learned.b, errors, strict=True)))
    print(
        f"  {learned.optimum}: gradient {learned.gradient_norm:.1e}, objective {learned.objective:.6f}, "
        f"gap at most {learned.gap_bound:.1e}; {learned.groups:,} queries, {learned.traces:,} traces"
    )
    for share in (learned.trained_share, *SHARES):
        ways = (learned, replace(learned, share=share))
        (plain, mean), (moved, moved_mean) = (calibration(judged(router, way, rest, copies), share) for way in ways)
        print(
            f"  share {share:.3f}: calibration error {plain:.3f} as trained (mean P {mean:.3f}), "
            f"{moved:.3f} with the constant moved (mean P {moved_mean:.3f})"
        )
    for name, change in OTHER_LISTS.items():
        error, mean = calibration(judged(router, learned, change(rest), change(copies)), learned.trained_share)
        print(f"  {name}: calibration error {error:.3f} (mean P {mean:.3f})")


def judged(router, logit, rest, copies=None):
    """What the router says, with this P(none), of queries and of copies without their right candidates."""
    return told_of(router, logit, replace(rest, none_groups=copies), None, 1.0).queries


def calibration(queries, share):
    """The calibration error of P(none) over queries weighted to a share of none, and its mean."""
    is_none = queries.is_none
    weights = np.where(is_none, share / is_none.sum(), (1 - share) / (~is_none).sum())
    return calibration_error(queries.none, is_none, weights), float(weights @ queries.none)


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
