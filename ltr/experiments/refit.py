"""An update: columns and weights learned anew from what a run was trained on and its outcomes, settings held."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import msgspec
import numpy as np

from ltr.arrays import FloatArray
from ltr.choose import choose, ranked
from ltr.columns import Data, Features
from ltr.config import Document, RunConfig, load_config, run_config
from ltr.errors import LtrError, RunError
from ltr.evaluation import Interval, bootstrap_difference
from ltr.features import FEATURES, NEWCOMERS, RECOMMENDED, fit_states
from ltr.files import locked, new_directory, write_file
from ltr.flow import fitted, recorded
from ltr.folds import Settled
from ltr.paths import AnyPath
from ltr.progress import OnProgress, silent
from ltr.records.run import Covered
from ltr.results import Marks, untrained
from ltr.runs import Learned, Part, RunDirectory, StoredModel, load_model, save_model
from ltr.samples import Groups, Whole, all_told, beside, outcomes_once
from ltr.serving import Outcome, Router, Update, load
from ltr.steps import none
from ltr.steps.heldout import Held
from ltr.steps.newcomers import with_newcomers

FEWEST = 50  # queries with a right tool, from which a router without samples is trained
NOT_CHOSEN = "among which settings could be chosen"
OLD = 0.25  # of the queries that settings were chosen on: with so many more a fresh choice is worth its time


@dataclass(frozen=True, slots=True)
class TestMove:
    """Of the test queries of the run: the share that was right first before an update and after it."""

    queries: int
    before: float
    after: float
    interval: Interval  # of the difference, paired bootstrap over traces
    decided: int  # queries that would have another first candidate without the corrections


@dataclass(frozen=True, slots=True)
class Settings:
    """How many queries a router has learned from, and on how many of them folds chose its settings."""

    queries: int  # 0: it is not trained
    chosen_on: int  # 0: its config named them, or it is not trained

    @property
    def look_old(self) -> bool:
        """Whether a fresh choice is worth it."""
        return 0 < (1 + OLD) * self.chosen_on <= self.queries

    @classmethod
    def of(cls, home: Path, served: Router) -> Self:
        """Return those of a run and the router that it serves."""
        training, last = served.training, RunDirectory(home).covered
        if training.choice is None:
            return cls(training.groups, 0)
        return cls(training.groups, last.chosen_on or load_model(home).training.groups)


@dataclass(frozen=True, slots=True)
class Refit:
    """What an update came to."""

    update: Update
    settings: Settings
    stay: tuple[str, ...]  # columns that were not learned anew, nor the weights: no texts of training queries are kept
    moved: TestMove | None
    unmeasured: str  # why nobody knows how the test queries moved; "" where it is known


def update(
    run: AnyPath,
    outcomes: Sequence[Outcome] = (),
    *,
    forget: Sequence[str] = (),
    choose: bool = False,
    tools: AnyPath | None = None,
    graphs: AnyPath | None = None,
    on_progress: OnProgress = silent,
) -> Refit:
    """Write the outcomes to the journal of the run, and learn anew from its training groups and all its outcomes.

    The result is that of a training on both, with the settings that the run has: its columns, curves, products, l2.
    With `choose` folds choose these anew, as the recommended recipe does, and later updates keep what they chose.
    """
    home = Path(run)
    before = load(home, tools=tools, graphs=graphs)
    written = before.opened_feedback().write(outcomes, forget, is_strict=False)
    stay = refit(home, on_progress, is_forced=True, chooses=choose)
    served = load(home, tools=tools, graphs=graphs)
    summary = served.opened_feedback().summary(served, written)
    return Refit(summary, Settings.of(home, served), stay or (), *moved(home, before, served))


def refit(
    home: Path, on_progress: OnProgress = silent, *, is_forced: bool = False, chooses: bool = False
) -> tuple[str, ...] | None:
    """Learn anew from what the run was trained on and all its outcomes; None where the run does not keep it.

    Returns the columns that stay as they were trained, of a run that keeps no texts. Where nothing came since the last
    refit, that one stays, unless it is forced.
    """
    with locked(home, wait=True):
        served = load(home)
        feedback = served.opened_feedback()  # other processes may have written meanwhile
        learned, journal, last = feedback.learned(), feedback.read(), feedback.covered
        if learned.groups is None and not learns_from_outcomes_alone(home):
            if chooses:
                raise RunError(f"{home}: keeps no training queries, {NOT_CHOSEN}")
            return None
        if chooses and not learned.has_texts:
            raise RunError(f"{home}: keeps no texts of training queries, {NOT_CHOSEN}")
        counted, stay = counted_by_name(load_model(home), learned)
        if is_forced or chooses or journal.end != last.bytes:
            outcomes = all_told(learned.outcomes, journal.groups, journal.forgotten)
            given = Given(home, served.again(), learned, outcomes, journal.forgotten)
            if learned.has_texts:
                after, chosen_on = learned_anew(given, last.chosen_on, on_progress, chooses=chooses)
            else:
                after, chosen_on = recounted(replace(given, model=load_model(home)), counted), last.chosen_on
            with new_directory(home / Part.UPDATED) as folder:
                save_model(folder, after)
                write_file(
                    folder / Part.COVERED, msgspec.json.encode(Covered(journal.end, len(journal.rows), chosen_on))
                )
    return stay


def learns_from_outcomes_alone(home: Path) -> bool:
    """Whether the run began without samples: `ltr.search(tools, into=DIR)`."""
    return (home / Part.CONFIG).exists() and not load_config(home / Part.CONFIG).data.train


@dataclass(frozen=True, slots=True)
class Given:
    """What a refit begins with."""

    home: Path
    model: StoredModel  # that serves, with the settings that were chosen last
    learned: Learned
    outcomes: Groups | None  # all of them
    forgotten: set[str] = field(default_factory=set)

    @property
    def held_config(self) -> RunConfig:
        """The config of the run with all that was chosen: nothing is chosen again."""
        config, model = load_config(self.home / Part.CONFIG), Router.of(self.model).uncorrected()
        train = replace(model.trainer, choose=(), folds=None)
        if model.features is None:
            return replace(config, train=train)
        weighed = model.training.weights  # newcomers have columns beside the trained ones
        trained = [feature for feature in model.features.configs if feature.name in weighed or not weighed]
        return replace(config.with_columns(trained), encoder=model.features.encoder.name, train=train)

    @property
    def open_config(self) -> RunConfig:
        """The config of the run with all that the recommended recipe leaves to folds."""
        config = self.held_config
        recipe = run_config(Document.of({"train": {"recipe": RECOMMENDED}}, "ltr update"))
        own = self.home / Part.TOOLS
        data = replace(config.data, tools=str(own)) if own.exists() else config.data
        return replace(config, data=data, features=recipe.features, train=recipe.train)

    def groups(self, config: RunConfig) -> Groups | None:
        """Training groups, then outcomes, without traces that are forgotten; None where there is none."""
        learned, outcomes = self.learned.groups, self.outcomes
        if outcomes is not None and config.data.previous is not None:
            # each is a trace of its own, in which nothing was done before
            outcomes = replace(outcomes, candidates=replace(outcomes.candidates, previous=None, previous_lists=()))
        if learned is not None:
            return beside(learned.without_traces(self.forgotten), outcomes)
        return None if outcomes is None else outcomes_once(outcomes)


def counted_by_name(model: StoredModel, learned: Learned) -> tuple[list[int], tuple[str, ...]]:
    """Return, of a run that keeps no texts, the places of the columns that count names alone, and what stays as it is.

    These are the columns whose state comes out the same when numbers stand for the queries.
    """
    features, groups = model.features, learned.groups
    if learned.has_texts or features is None or groups is None:
        return [], ()
    learning = [place for place, config in enumerate(features.configs) if FEATURES[config.name].learner]
    reading = [place for place in learning if FEATURES[features.configs[place].name].encodes]
    silent = [place for place in learning if place not in reading and features.names[place] not in NEWCOMERS]
    states = fit_states([features.configs[place] for place in silent], groups, features.encoder)
    counted = [place for place, state in zip(silent, states, strict=True) if is_alike(state, features.states[place])]
    return counted, tuple(features.names[place] for place in learning if place not in counted)


def is_alike(one: Any, other: Any) -> bool:
    """Whether two states are the same but for the last digits of sums.

    >>> is_alike({"wins": [0.1 + 0.2]}, {"wins": [0.3]}), is_alike({"wins": [1]}, {"wins": [2]})
    (True, False)
    """
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(is_alike(one[key], other[key]) for key in one)
    left, right = np.asarray(one), np.asarray(other)
    if left.dtype.kind in "iuf" and right.dtype.kind in "iuf":
        return left.shape == right.shape and np.allclose(left, right, rtol=1e-9, atol=0)
    return np.array_equal(left, right)


def recounted(given: Given, places: Sequence[int]) -> Router:
    """Return the router as it was trained, with columns that count names counted anew, and corrections on top."""
    router, groups = Router.of(given.model), given.groups(given.held_config)
    features = router.fitted
    if groups is not None:
        states = list(features.states)
        new = fit_states([features.configs[place] for place in places], groups, features.encoder)
        for place, state in zip(places, new, strict=True):
            states[place] = state
        features = replace(features, states=tuple(states))
    counted = replace(router.uncorrected(), features=features)
    return counted.corrected(given.outcomes, given.learned.rarity)


def learned_anew(
    given: Given, chosen_on: int, on_progress: OnProgress = silent, *, chooses: bool = False
) -> tuple[Router, int]:
    """Return the router of all that was told, and how many queries its settings were chosen on, 0: those of training.

    A router that began without samples stays untrained, but for its corrections, until folds rank as well without the
    shipped weights; that is tried with FEWEST queries, and again with a quarter more.
    """
    groups = given.groups(given.held_config)
    if groups is None and not chooses:  # all outcomes of a router without samples are forgotten
        return Router.of(load_model(given.home)), 0
    if chooses or given.model.training.groups:
        router = refitted(given, on_progress, chooses=chooses)
        return router, router.training.groups if chooses else chosen_on
    router = Router.of(given.model).corrected(given.outcomes, given.learned.rarity)
    threshold = given.held_config.evaluate.rel_threshold
    judged = None if groups is None else precisions(router.uncorrected(), groups, threshold)
    if judged is None or len(judged) < max(FEWEST, (1 + OLD) * chosen_on):
        return router, chosen_on
    trained = refitted(given, on_progress, chooses=True)
    choice = trained.training.choice
    best = max((way.mrr for way in choice.alternatives if way.title == choice.chosen), default=0.0) if choice else 0.0
    return (trained, trained.training.groups) if best >= judged.mean() else (router, len(judged))


def precisions(router: Router, groups: Groups, threshold: float) -> FloatArray:
    """What folds judge by, of each group that can be trained on."""
    scores = router.scores(router.phi(groups.candidates))
    judged = ranked([scores], groups.labels, groups.offsets, threshold)[1, 0]
    is_right = np.maximum.reduceat(groups.labels, groups.offsets[:-1]) >= threshold
    return judged[is_right & (np.diff(groups.offsets) > 1)]


def refitted(given: Given, on_progress: OnProgress = silent, *, chooses: bool = False) -> Router:
    """The router of the training groups and the outcomes, with the settings that it has, or that folds choose."""
    config, before = given.open_config if chooses else given.held_config, given.model
    groups, record = given.groups(config), before.training.choice
    if groups is None:
        raise RunError(f"{given.home}: has neither training queries nor outcomes")
    data = Data(kind=before.kind, train=Whole(groups), files={})
    features = Features(config, data)
    prepared = features.training(on_progress)
    if chooses:
        beside = untrained(prepared)
        choice = choose(config, features, on_progress)
        config, record, features = choice.config, choice.record, choice.features
        prepared, kept = features.training(), {"best_feature": beside.best, "baselines": beside.baselines}
    else:
        names = ("folds", "validated", "best_feature", "baselines")
        kept = {name: getattr(before.training, name) for name in names}
    marks = Marks.of(groups)
    weights, diagnosis = fitted(config, config.train, prepared, marks.past, on_progress)
    training = recorded(weights, diagnosis, prepared, Settled(config.train), record, is_l2_chosen=True)
    training = msgspec.structs.replace(marks.put_into(training), **kept)
    of_model = (before.kind, prepared.names, weights.w, prepared.features, config.train, training, weights.terms)
    router = with_newcomers(Router(*of_model), prepared, data.samples, config.train)
    held = Held(config, config.train, features, on_progress)
    router = none.learn(router, config, features, held, has_none=marks.num_none > 0)
    return replace(router, abstain=before.abstain).corrected(given.outcomes, given.learned.rarity)


def moved(home: Path, before: Router, after: Router) -> tuple[TestMove | None, str]:
    """How the test queries of the run moved; or why that is not known."""
    if not (home / Part.CONFIG).exists():
        return None, "a pack names no test file"
    config = load_config(home / Part.CONFIG)
    test = config.data.test
    if test is None or isinstance(test, float):
        return None, "the run has no test file of its own"
    try:
        groups = before.read(test, config.data).without_none()
    except LtrError as error:
        return None, f"the test file cannot be read: {error}"
    earlier, later = (_hits(router, groups) for router in (before, after))
    traces = groups.candidates.traces
    interval = bootstrap_difference(later, earlier, np.random.default_rng(config.seed), clusters=traces)
    decided = after.count_decided(groups.candidates, after.phi(groups.candidates))
    return TestMove(len(later), float(earlier.mean()), float(later.mean()), interval, decided), ""


def _hits(router: Router, groups: Groups) -> FloatArray:
    """Whether the first candidate of each query is right."""
    return (groups.labels[router.first_choices(groups.candidates)[0]] > 0).astype(np.float64)
