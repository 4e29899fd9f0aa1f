"""The past that a model makes for itself, by its first choices: to be measured with, and to learn from."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ltr.arrays import FloatArray, ragged
from ltr.evaluation import Ties, order, rank
from ltr.logs import stage
from ltr.progress import OnProgress, silent
from ltr.samples import Candidates, Groups, Past, Shards, Whole, with_past

if TYPE_CHECKING:
    from ltr.columns import Prepared
    from ltr.config import RunConfig
    from ltr.steps.heldout import HeldOut
    from ltr.training import Designs, TrainConfig


class Scoring(Protocol):
    """What gives candidates their columns and scores, such as a router."""

    def phi(self, candidates: Candidates) -> FloatArray:
        """Return the columns."""
        ...

    def scores(self, phi: FloatArray) -> FloatArray:
        """Return the score of each row."""
        ...


@stage("walking through the traces")
def with_own_past(scorer: Scoring, groups: Groups, phi: FloatArray | None = None) -> tuple[Groups, FloatArray]:
    """Return the groups with the scorer's first choices as what was done before each in its trace, and their phi.

    It is a walk through each trace, group after group, made in passes over all traces: the first group has nothing
    before it, and each pass settles at least the next one. Only groups whose past has changed are featurised again.
    `phi`: that of the groups as they are.
    """
    phi = np.array(scorer.phi(groups.candidates) if phi is None else phi)
    while True:
        walked = with_past(groups, first_choices(scorer, groups, phi), "own")
        pairs = zip(groups.candidates.past_lists(), walked.candidates.past_lists(), strict=True)
        changed = np.flatnonzero([before != after for before, after in pairs])
        groups = walked
        if not len(changed):
            return groups, phi
        owner, within = ragged(np.diff(groups.offsets)[changed])
        phi[groups.offsets[changed][owner] + within] = scorer.phi(groups.select(changed).candidates)


def first_choices(scorer: Scoring, groups: Groups, phi: FloatArray) -> list[tuple[str, ...]]:
    """Return the name that stands first in each group."""
    candidates = groups.candidates
    ranking = rank(scorer.scores(phi), groups.offsets, keys=candidates.key_order())
    first = candidates.names[order(ranking, Ties.EXPECTED)[groups.offsets[:-1]]]
    return [(candidates.name_texts[code],) for code in first.tolist()]


def designs_to_learn(
    config: "RunConfig",
    train: "TrainConfig",
    prepared: "Prepared",
    past: Past | None,
    on_progress: OnProgress = silent,
) -> "Designs":
    """Return what w is learned from; of groups with a past made of labels each twice, once with own choices before it.

    The choices are of models of other folds, so that no label of its trace is among them. Who learns from right tools
    alone trusts the past more than a past of own choices deserves.
    """
    from ltr.featurized import StoredDesigns, design_of
    from ltr.steps.heldout import held_out  # to be measured needs none of what learning does

    if past != "labels":
        return prepared.designs
    models = held_out(config, train, prepared.shards, work=prepared.work, on_progress=on_progress)
    if isinstance(prepared.shards, Whole):
        groups = prepared.groups
        twice = groups.select(np.tile(np.arange(len(groups.offsets) - 1), 2))
        return (design_of(twice, np.vstack([prepared.phi, own_columns(models, groups, prepared.phi)])),)
    folder = prepared.work.new_folder()
    write = partial(_write_twice, models, prepared, folder)
    names = prepared.work.engine.map(write, range(len(prepared.shards)))
    return StoredDesigns(folder, tuple(names), len(prepared.names))


def _write_twice(models: "HeldOut", prepared: "Prepared", folder: Path, number: int) -> str:
    from ltr.featurized import StoredDesigns, design_of

    groups, phi, name = prepared.shards[number], np.asarray(prepared.designs[number].phi), f"part-{number:05}.npz"
    twice = groups.select(np.tile(np.arange(len(groups.offsets) - 1), 2))
    StoredDesigns.write(folder / name, design_of(twice, np.vstack([phi, own_columns(models, groups, phi)])))
    return name


def own_columns(models: "HeldOut", groups: Groups, phi: FloatArray) -> FloatArray:
    """Return phi with the past of each group as the first choices of the model that knows nothing of its trace."""
    fold_of_group, own = models.folds.of_groups(groups.candidates), phi.copy()
    for fold, scorer in enumerate(models.models):
        inside = fold_of_group == fold
        if inside.any():
            rows = np.repeat(inside, np.diff(groups.offsets))
            own[rows] = with_own_past(scorer, groups.select(np.flatnonzero(inside)))[1]
    return own


def both_pasts(
    config: "RunConfig", train: "TrainConfig", prepared: "Prepared", held: Shards
) -> "tuple[Prepared, Designs]":
    """Return what w is learned from, and the designs of held groups after the own choices of a model of all columns.

    Every alternative is taught and judged by the same choices.
    """
    from ltr.features import prior_of
    from ltr.steps.heldout import Scorer
    from ltr.training import fit_designs

    designs = designs_to_learn(config, train, prepared, "labels")
    prior = prior_of(train, prepared.names)
    model = fit_designs(designs, train, prior=prior, engine=prepared.work.engine)
    scorer = Scorer(prepared.applied, model)
    walked = prepared.work.designs(held, partial(_own_phi, scorer), len(prepared.names))
    return replace(prepared, designs=designs), walked


def _own_phi(scorer: Scoring, groups: Groups) -> FloatArray:
    return with_own_past(scorer, groups)[1]
