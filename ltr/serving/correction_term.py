"""The term of corrections: put on top of a model whose own scores stand still."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ltr.arrays import FloatArray
from ltr.data.groups import Groups
from ltr.data.outcome_groups import corrections_of
from ltr.errors import UsageError
from ltr.features.corrections import Rarity, corrections_state
from ltr.features.presets import CORRECTIONS
from ltr.features.registry import FeatureConfig

if TYPE_CHECKING:
    from ltr.serving.router import Router


def corrected(router: "Router", outcomes: Groups | None, rarity: Rarity) -> "Router":
    """Return the router with the term that outcomes make; without one that names a right tool, without a term."""
    corrections = None if outcomes is None else corrections_of(outcomes)
    return uncorrected(router) if corrections is None else with_term(router, corrections, rarity, scores_below)


def scores_below(router: "Router", corrections: Groups) -> FloatArray:
    """Return the scores of corrected queries without the term."""
    base, candidates = uncorrected(router), corrections.candidates
    return base.scores(base.known.columns(base.fitted, candidates) if base.kind == "tool" else base.fitted(candidates))


def with_term(
    router: "Router", corrections: Groups, rarity: Rarity, scored: Callable[["Router", Groups], FloatArray]
) -> "Router":
    """Return the router with the term of the corrections, on top of what `scored` says of them.

    One of graphs has no such term: what is added for one query says nothing of the graphs that others are offered.
    """
    base = uncorrected(router)
    if base.kind == "graph":
        return base
    fitted = base.fitted
    if CORRECTIONS in base.names:
        raise UsageError(f"the model was trained with {CORRECTIONS} as a column of its own; train it without")
    state = corrections_state(corrections, scored(base, corrections), rarity, fitted.encoder)
    features = replace(fitted, configs=(*fitted.configs, FeatureConfig(CORRECTIONS)), states=(*fitted.states, state))
    names = (*base.names, CORRECTIONS)
    w = np.insert(base.w, len(base.names), 1.0)
    return replace(base, names=names, w=w, features=features, terms=base.terms.with_plain_column())


def uncorrected(router: "Router") -> "Router":
    """Return the router without the term."""
    if router.names[-1] != CORRECTIONS:
        return router
    count = len(router.names) - 1
    features = router.fitted.only(*router.names[:count])
    w = np.delete(router.w, count)
    return replace(router, names=router.names[:count], w=w, features=features, terms=router.terms.without_last_column())
