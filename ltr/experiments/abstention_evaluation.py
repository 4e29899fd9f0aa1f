"""What a router that may abstain does with groups, and where its promise does not hold."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ltr.data.groups import Groups
from ltr.data.text_hashes import text_mark
from ltr.errors import count
from ltr.evaluation.abstention_measures import measure_abstention, risk_over_coverage
from ltr.experiments.abstention_calibration import MOST_NAMES, confident_answers
from ltr.results.evaluated_ranking import EvaluatedRanking
from ltr.serving.router import UPDATED, Router
from ltr.storage.abstain_rule import RISK, AbstainRule


def with_abstention(measured: EvaluatedRanking, router: Router, *, seed: int) -> EvaluatedRanking:
    """The evaluation with what abstaining does to it, and why its promise may not apply."""
    rule = router.abstain
    if rule is None:
        return measured
    groups, threshold = measured.groups, measured.evaluation.rules.rel_threshold
    answers = confident_answers(router, groups, threshold)
    if not len(answers.confidence):
        return measured
    _, confidence = router.first_choices(groups.candidates)
    moved = () if router.feedback is None else (UPDATED,)
    doubts = (*moved, *promise_warnings(rule, groups))
    of = measure_abstention(answers, rule.threshold, np.random.default_rng(seed))
    return replace(
        measured,
        abstention=replace(of, not_promised=doubts, promised=rule.level if rule.rule == RISK else None),
        abstains=rule.abstains(confidence),
        risk_coverage=risk_over_coverage(answers),
    )


def promise_warnings(rule: AbstainRule, groups: Groups) -> Iterator[str]:
    """Why the promise does not apply to the groups: another catalogue, a later time, another share of none."""
    candidates = groups.candidates
    if candidates.kind == "tool":
        marks = set(rule.candidates)
        new = sum(text_mark(name) not in marks for name in candidates.name_texts)
        if new and len(rule.candidates) < MOST_NAMES:
            yield f"{count(new, 'candidate')} of {len(candidates.name_texts):,} are not in the calibration data"
    times = groups.times
    if rule.newest is not None and times is not None and (later := int((times > rule.newest).sum())):
        yield f"{count(later, 'query', 'queries')} of {len(times):,} are later than all calibration data"
    ours, theirs = groups.num_none, rule.none_queries
    mine, other = len(groups.offsets) - 1 + ours, rule.queries
    if differ(ours, mine, theirs, other):
        yield f"none is right in {ours / mine:.1%} of the queries, in {theirs / other:.1%} of the calibration data"


def differ(ours: int, mine: int, theirs: int, other: int) -> bool:
    """Whether two shares differ by more than two standard errors of their difference.

    >>> differ(0, 100, 20, 100), differ(19, 100, 20, 100)
    (True, False)
    """
    pooled = (ours + theirs) / (mine + other)
    error = np.sqrt(pooled * (1 - pooled) * (1 / mine + 1 / other))
    return bool(abs(ours / mine - theirs / other) > 2 * error)
