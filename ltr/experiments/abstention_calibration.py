"""The threshold by which a router abstains, chosen on calibration traces."""

from dataclasses import replace

import numpy as np

from ltr.arrays import IntArray
from ltr.data.groups import Groups
from ltr.data.text_hashes import text_mark
from ltr.evaluation.abstention_threshold import (
    ConfidentAnswers,
    OneDraw,
    fixed_thresholds,
    precision_threshold,
    risk_threshold,
    upper_limit,
)
from ltr.experiments.cross_fitted_scores import ScoredGroups
from ltr.serving.router import Router
from ltr.storage.abstain_rule import RISK, AbstainRule
from ltr.training.temperature import helpful_temperature

MOST_NAMES = 5_000  # of calibration data that a model keeps marks of


def newest_time(*several: Groups) -> float | None:
    """The latest time of any group; None where no group has one."""
    times = [groups.times for groups in several if groups.times is not None and len(groups.times)]
    return max((float(np.nanmax(column)) for column in times), default=None)


def abstaining(
    router: Router, chosen: tuple[str, float], calibrate: Groups, scored: ScoredGroups, folds: IntArray, seed: int
) -> AbstainRule:
    """The rule with the threshold that the calibration data choose; they choose nothing else.

    `scored` are the training data and what models that do not know their trace make of them, `folds` those of each
    group: they choose the temperature, and the thresholds that `precision` asks for.
    """
    rule, level = chosen
    train = scored.groups
    temperature = helpful_temperature(scored.scores, train.labels, train.offsets, folds)
    candidates = calibrate.candidates
    names = candidates.name_texts if candidates.kind == "tool" else ()
    plain = AbstainRule(
        rule=rule,
        level=level,
        threshold=None,
        temperature=temperature,
        traces=0,
        queries=0,
        none_queries=calibrate.num_none,
        coverage=0.0,
        risk=0.0,
        error=None,
        error_limit=1.0,
        newest=newest_time(train, calibrate),
        candidates=tuple(sorted(map(text_mark, names))[:MOST_NAMES]),
    )
    at_temperature = replace(router, abstain=plain)
    answers, rng = confident_answers(at_temperature, calibrate), np.random.default_rng(seed)
    if rule == RISK:
        threshold = risk_threshold(answers, level)
    else:
        ranked = at_temperature.ranked(train.candidates, scored.phi, scored.scores)
        sure = ranked.probabilities()[ranked.first]
        thresholds = fixed_thresholds(sure, level, answers.num_traces)
        threshold = precision_threshold(answers, level, thresholds, np.random.default_rng(seed))
    answered, draw = answers.answered(threshold), OneDraw.of(answers, threshold, rng)
    return replace(
        plain,
        threshold=threshold,
        traces=answers.num_traces,
        queries=len(answered),
        coverage=float(answered.mean()),
        risk=float(answers.trace_losses(threshold).mean()),
        error=float(answers.is_wrong[answered].mean()) if answered.any() else None,
        error_limit=upper_limit(draw.wrong, draw.answered),
    )


def confident_answers(router: Router, groups: Groups, rel_threshold: float = 1.0) -> ConfidentAnswers:
    """Every query of which it is known what is right, with how sure the router's first choice is, and is it wrong.

    A query with nothing right, and without none, is not known to be either, and is left out.
    """
    parts = []
    ids: dict[str, int] = {}
    for some, is_none in ((groups, False), (groups.none_groups, True)):
        if some is None:
            continue
        first, confidence = router.first_choices(some.candidates)
        is_known = np.maximum.reduceat(some.labels, some.offsets[:-1]) >= rel_threshold
        is_known |= is_none
        of_trace = np.array([ids.setdefault(trace, len(ids)) for trace in some.candidates.trace_ids], dtype=np.int64)
        is_wrong = (some.labels[first] < rel_threshold) | is_none
        parts.append(
            ConfidentAnswers(confidence[is_known], is_wrong[is_known], of_trace[some.candidates.traces][is_known])
        )
    return ConfidentAnswers.joined(parts)
