"""Abstaining: a query is not answered where its first choice is not probable enough."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray, offsets_of
from ltr.errors import count
from ltr.hashes import text_mark
from ltr.records.abstain import RISK, AbstainRule
from ltr.runs import StoredModel
from ltr.steps.step import Ranked, Ranks, Step, Told
from ltr.sums import added

if TYPE_CHECKING:
    from ltr.columns import Features, Work
    from ltr.config import RunConfig
    from ltr.evaluation import ConfidentAnswers, Curve
    from ltr.samples import Groups, Shards
    from ltr.steps.heldout import Held, HeldOut

MOST_NAMES = 5_000  # of calibration data that a model keeps marks of


Model = TypeVar("Model", bound=StoredModel)


@dataclass(frozen=True, slots=True)
class Abstain(Step):
    """Probabilities at the temperature of the rule, and whether the first choice is above its threshold."""

    title: ClassVar[str] = "abstaining"
    rule: AbstainRule

    @classmethod
    def of(cls, model: StoredModel) -> Self | None:
        """Return the step of a model with a rule."""
        return None if model.abstain is None else cls(model.abstain)

    @property
    def claim(self) -> str:
        """What the rule says of answers like those that it was calibrated on."""
        return f"{self.rule.claim} of abstaining"

    def apply(self, ranked: Ranked) -> Ranked:
        """Return the ranking with other probabilities, and with the queries that are not answered."""
        at_temperature = replace(ranked, temperature=self.rule.temperature)
        sure = at_temperature.probabilities()[ranked.first]
        return replace(at_temperature, said={**ranked.said, "abstains": self.rule.abstains(sure).tolist()})

    def of_nothing(self) -> Mapping[str, Any]:
        """Return that nothing is answered."""
        return {"abstains": True}

    def told(
        self, model: Ranks, groups: "Groups", ranked: tuple[FloatArray, FloatArray], rel_threshold: float, before: Any
    ) -> tuple["Promised", Mapping[str, Any]]:
        """Return how sure the router is of each query, and in which it abstains."""
        _, confidence = model.first_choices(groups.candidates)
        return promised(model, self.rule, groups, rel_threshold), {"abstains": self.rule.abstains(confidence)}

    def measured(self, of: "Promised", queries: tuple[int, int], *, is_moved: bool, seed: int) -> Mapping[str, Any]:
        """Return what abstaining does to queries, and why its promise may not apply."""
        if not len(of.answers.confidence):
            return {}
        moved = ("outcomes have moved the weights since the calibration",) if is_moved else ()
        measures = of.in_order().measured(self.rule.threshold, np.random.default_rng(seed))
        level = self.rule.level if self.rule.rule == RISK else None
        doubts = (*moved, *promise_warnings(self.rule, of, *queries))
        return {"abstention": replace(measures, not_promised=doubts, promised=level)}


@dataclass(frozen=True, slots=True)
class Promised(Told):
    """What a router that abstains says of queries, and what decides whether its promise is one about them."""

    answers: "ConfidentAnswers"
    is_none: BoolArray  # whether each of them is one for which none is right
    traces: IntArray  # those of the other queries
    num_traces: int  # that the codes count
    names: set[str]  # of tools
    new_names: set[str]  # of them that the calibration data lack
    timed: int  # queries that say when they came
    later: int  # of them, after all calibration data

    def aligned(self, before: "Promised") -> "Promised":
        """Return this with codes of traces above those before."""
        shift, answers = before.num_traces, self.answers
        return replace(self, answers=replace(answers, traces=answers.traces + shift), traces=self.traces + shift)

    def in_order(self) -> "ConfidentAnswers":
        """Return answers of shards as one shard has them: those of none last, traces of such alone behind others."""
        answers, order = self.answers, np.argsort(self.is_none, kind="stable")
        is_alone = self.is_none & ~np.isin(answers.traces, self.traces)
        codes = answers.traces + np.where(is_alone, answers.traces.max(initial=-1) + 1, 0)
        return replace(
            answers, confidence=answers.confidence[order], is_wrong=answers.is_wrong[order], traces=codes[order]
        )

    def curves(self) -> "Mapping[str, Curve]":
        """Return the risk over the coverage, of thresholds."""
        return {"risk_coverage": self.answers.risk_over_coverage()} if len(self.answers.confidence) else {}


def learn(router: Model, config: "RunConfig", features: "Features", held: "Held") -> Model:
    """Return the router with the rule by which it abstains, where it is asked for; its weights are held."""
    from ltr.samples import Whole
    from ltr.steps.past import with_own_past

    chosen, calibrate, model = config.abstain.chosen, features.data.calibrate, cast("Ranks", router)
    if chosen is None or calibrate is None:
        return router
    if isinstance(calibrate, Whole) and calibrate.groups.candidates.known_past == "labels":
        calibrate = Whole(with_own_past(model, calibrate.groups)[0])
    sides = features.samples, calibrate
    return replace(router, abstain=learn_rule(router, chosen, sides, held.models(), config.seed, features.work))


def learn_rule(
    model: Any,
    chosen: tuple[str, float],
    sides: tuple["Shards", "Shards"],
    models: "HeldOut",
    seed: int,
    work: "Work",
) -> AbstainRule:
    """Return the rule with the threshold that the calibration data, the second of the sides, choose and nothing else.

    The training data, as models that do not know their trace score them, choose the temperature, and the thresholds
    that `precision` asks for.
    """
    from ltr.evaluation import fixed_thresholds, precision_threshold, risk_threshold
    from ltr.training import helpful_temperature

    (rule, level), (train, calibrate), rng = chosen, sides, np.random.default_rng(seed)
    parts = list(work.map_shards(partial(_scores, models), train))
    scores, labels, sizes, folds = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    known = list(work.map_shards(_known, calibrate))
    all_times = (time for part in (train, calibrate) for time in work.map_shards(newest_time, part))
    times = [time for time in all_times if time is not None]
    names = {name for of_shard, _ in known for name in of_shard}
    plain = AbstainRule(
        rule=rule,
        level=level,
        threshold=None,
        temperature=helpful_temperature(scores, labels, offsets_of(sizes), folds),
        traces=0,
        queries=0,
        none_queries=sum(num_none for _, num_none in known),
        coverage=0.0,
        risk=0.0,
        error=None,
        error_limit=1.0,
        newest=max(times, default=None),
        candidates=tuple(sorted(map(text_mark, names))[:MOST_NAMES]),
    )
    at_temperature = replace(model, abstain=plain)
    answers = added(work.map_shards(partial(promised, at_temperature, plain), calibrate)).in_order()
    if rule == RISK:
        threshold = risk_threshold(answers, level)
    else:
        sure = np.concatenate(list(work.map_shards(partial(_sure, at_temperature, models), train)))
        thresholds = fixed_thresholds(sure, level, answers.num_traces)
        threshold = precision_threshold(answers, level, thresholds, np.random.default_rng(seed))
    answered = answers.answered(threshold)
    return replace(
        plain,
        threshold=threshold,
        traces=answers.num_traces,
        queries=len(answered),
        coverage=float(answered.mean()),
        risk=float(answers.trace_losses(threshold).mean()),
        error=float(answers.is_wrong[answered].mean()) if answered.any() else None,
        error_limit=answers.error_limit(threshold, rng),
    )


def _scores(models: "HeldOut", groups: "Groups") -> tuple[FloatArray, FloatArray, IntArray, IntArray]:
    """The scores and labels of rows, and the sizes and folds of groups."""
    folds = models.folds.of_groups(groups.candidates)
    return models.scored(groups).scores, groups.labels, np.diff(groups.offsets), folds


def _sure(model: Ranks, models: "HeldOut", groups: "Groups") -> FloatArray:
    """How probable the first choice of each group is, by models that do not know its trace."""
    scored = models.scored(groups)
    ranked = model.ranked(groups.candidates, scored.phi, scored.scores)
    return ranked.probabilities()[ranked.first]


def _known(groups: "Groups") -> tuple[tuple[str, ...], int]:
    return groups.candidates.name_texts if groups.candidates.kind == "tool" else (), groups.num_none


def newest_time(groups: "Groups") -> float | None:
    """Return the latest time of any group; None where no group has one."""
    return None if groups.times is None or not len(groups.times) else float(np.nanmax(groups.times))


def confident_answers(model: Ranks, groups: "Groups", rel_threshold: float = 1.0) -> "ConfidentAnswers":
    """Return every query of which it is known what is right, with how sure the first choice is, and is it wrong.

    A query with nothing right, and without none, is not known to be either, and is left out.
    """
    from ltr.evaluation import ConfidentAnswers

    parts, ids = [], dict[str, int]()
    for some, is_none in ((groups, False), (groups.none_groups, True)):
        if some is None or not len(some.labels):
            continue
        first, confidence = model.first_choices(some.candidates)
        is_known = np.maximum.reduceat(some.labels, some.offsets[:-1]) >= rel_threshold
        is_known |= is_none
        of_trace = np.array([ids.setdefault(trace, len(ids)) for trace in some.candidates.trace_ids], dtype=np.int64)
        is_wrong = (some.labels[first] < rel_threshold) | is_none
        parts.append(
            ConfidentAnswers(confidence[is_known], is_wrong[is_known], of_trace[some.candidates.traces][is_known])
        )
    nothing = ConfidentAnswers(np.empty(0), np.empty(0, dtype=bool), np.empty(0, dtype=np.int64))
    return added(parts) if parts else nothing


def promised(model: Ranks, rule: AbstainRule, groups: "Groups", rel_threshold: float = 1.0) -> Promised:
    """Return what the router says of groups, and what decides whether the promise of the rule is one about them."""
    candidates, times, marks = groups.candidates, groups.times, set(rule.candidates)
    names = set(candidates.name_texts) if candidates.kind == "tool" else set()
    answers = confident_answers(model, groups, rel_threshold)
    number = len(answers.confidence)
    return Promised(
        answers=answers,
        is_none=np.arange(number) >= number - groups.num_none,
        traces=np.unique(candidates.traces),
        num_traces=max(len(candidates.trace_ids), int(answers.traces.max(initial=-1)) + 1),
        names=names,
        new_names={name for name in names if text_mark(name) not in marks} if len(marks) < MOST_NAMES else set(),
        timed=0 if times is None else len(times),
        later=0 if times is None or rule.newest is None else int((times > rule.newest).sum()),
    )


def promise_warnings(rule: AbstainRule, of: Promised, num_none: int, num_others: int) -> Iterator[str]:
    """Say why the promise does not apply: another catalogue, a later time, another share of none."""
    if of.new_names:
        yield f"{count(len(of.new_names), 'candidate')} of {len(of.names):,} are not in the calibration data"
    if of.later:
        yield f"{count(of.later, 'query', 'queries')} of {of.timed:,} are later than all calibration data"
    theirs, mine, other = rule.none_queries, num_others + num_none, rule.queries
    if differ(num_none, mine, theirs, other):
        yield f"none is right in {num_none / mine:.1%} of the queries, in {theirs / other:.1%} of the calibration data"


def differ(ours: int, mine: int, theirs: int, other: int) -> bool:
    """Return whether two shares differ by more than two standard errors of their difference.

    >>> differ(0, 100, 20, 100), differ(19, 100, 20, 100)
    (True, False)
    """
    pooled = (ours + theirs) / (mine + other)
    error = np.sqrt(pooled * (1 - pooled) * (1 / mine + 1 / other))
    return bool(abs(ours / mine - theirs / other) > 2 * error)
