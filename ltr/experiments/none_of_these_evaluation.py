"""P(none) measured: on queries for which none is right, or on copies without their right candidates."""

from dataclasses import replace

import numpy as np

from ltr.config.none_and_abstain import NoneConfig
from ltr.data.groups import Groups, select
from ltr.data.right_candidate_removal import removed
from ltr.evaluation.none_of_these_measures import NoneQueries, measure_none
from ltr.results.evaluated_ranking import EvaluatedRanking
from ltr.serving.router import Router
from ltr.steps.none import none_probabilities
from ltr.training.none_logit import NoneLogit
from ltr.training.softmax import softmax


def with_none(measured: EvaluatedRanking, router: Router, *, seed: int) -> EvaluatedRanking:
    """The evaluation with P(none) of each query, and how well it tells those for which none is right.

    A model that learned from copies without their right candidates is measured on such copies where the samples do
    not say of any query that none is right. A query with nothing right, and without none, counts in neither.
    """
    if router.none is None:
        return measured
    groups, threshold = measured.groups, measured.evaluation.rules.rel_threshold
    p = none_probabilities(router.none, router.names, groups.candidates, measured.phi, measured.ranking.scores)
    measured = replace(measured, none_probability=p)
    learned_from = NoneConfig(source=router.none.source, share=router.none.share)
    rest, none = groups, groups.none_groups
    if none is None and learned_from.removed_share is not None:
        rest, none = removed(groups, learned_from.removed_share, seed=seed)
    is_known = np.maximum.reduceat(rest.labels, rest.offsets[:-1]) >= threshold
    parts = (
        [_queries(router, select(rest, np.flatnonzero(is_known)), router.none, threshold, is_none=False)]
        if is_known.any()
        else []
    )
    parts += [] if none is None else [_queries(router, none, router.none, threshold, is_none=True)]
    if not parts:
        return measured
    of = measure_none(NoneQueries.joined(parts), learned_from=router.none.source, for_share=router.none.share)
    return replace(measured, none=of)


def _queries(router: Router, groups: Groups, none: NoneLogit, threshold: float, *, is_none: bool) -> NoneQueries:
    """What the router says of each group."""
    phi = router.phi(groups.candidates)
    scores, starts = router.scores(phi), groups.offsets[:-1]
    is_first = scores == np.repeat(np.maximum.reduceat(scores, starts), np.diff(groups.offsets))
    right = np.add.reduceat((is_first & (groups.labels >= threshold)).astype(float), starts)
    return NoneQueries(
        none_probabilities(none, router.names, groups.candidates, phi, scores),
        np.maximum.reduceat(softmax(scores, groups.offsets), starts),
        right / np.add.reduceat(is_first.astype(float), starts),
        np.full(len(starts), is_none),
    )
