"""An update: columns and weights learned anew from what a run was trained on and its outcomes, settings held."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import numpy as np

from ltr.arrays import FloatArray
from ltr.config.run import RunConfig, listed_features, load_config
from ltr.data.groups import Groups, select
from ltr.data.none_of_these_groups import without_none
from ltr.data.outcome_groups import all_told, beside
from ltr.errors import LtrError, RunError
from ltr.evaluation.bootstrap import Interval, bootstrap_difference
from ltr.experiments.l2_choice import Settled
from ltr.experiments.pipeline import fitted, recorded, with_none_and_abstaining
from ltr.experiments.progress import OnProgress, silent
from ltr.experiments.training_columns import prepare
from ltr.files.atomic_write import write_bytes
from ltr.files.directory_lock import locked
from ltr.files.output_replacement import new_directory
from ltr.files.path_arguments import AnyPath
from ltr.serving.correction_term import corrected
from ltr.serving.learning_from_outcomes import JournalLine, Update
from ltr.serving.outcomes import Outcome, usable_outcomes
from ltr.serving.router import Router, load
from ltr.storage.model_file import StoredModel, load_model, save_model
from ltr.storage.run_directory import CONFIG
from ltr.storage.training_groups import Learned
from ltr.storage.update_state import COVERED, UPDATED, Covered

WAIT = 0.05  # seconds between two looks whether another process still writes


@dataclass(frozen=True, slots=True)
class TestMove:
    """Of the test queries of the run: the share that was right first before an update and after it."""

    queries: int
    before: float
    after: float
    interval: Interval  # of the difference, paired bootstrap over traces
    decided: int  # queries that would have another first candidate without the corrections


@dataclass(frozen=True, slots=True)
class Refit:
    """What an update came to."""

    update: Update
    moved: TestMove | None
    unmeasured: str  # why nobody knows how the test queries moved; "" where it is known


def update(
    run: AnyPath,
    outcomes: Sequence[Outcome] = (),
    *,
    forget: Sequence[str] = (),
    tools: AnyPath | None = None,
    on_progress: OnProgress = silent,
) -> Refit:
    """Write the outcomes to the journal of the run, and learn anew from its training groups and all its outcomes.

    The result is that of a training on both, with the settings that the run has: its columns, curves, products, l2.
    """
    home = Path(run)
    before = load(home, tools=tools)
    usable = usable_outcomes(outcomes, before.tools, is_strict=False)
    new = before.opened_feedback().append(JournalLine(usable.rows, list(forget)))
    refit(home, on_progress, is_forced=True)
    served = load(home, tools=tools)
    summary = served.opened_feedback().summary(served, new, len(usable.rows) - new, usable.skipped)
    return Refit(summary, *moved(home, before, served))


def refit(home: Path, on_progress: OnProgress = silent, *, is_forced: bool = False) -> bool:
    """Learn anew from what the run was trained on and all its outcomes; whether the run keeps what that takes.

    Where nothing came since the last refit, that one stays, unless it is forced.
    """
    with when_free(home):
        feedback = load(home).opened_feedback()  # other processes may have written meanwhile
        learned, journal = feedback.learned(), feedback.read()
        if learned.groups is None:
            return False
        if is_forced or journal.end != feedback.covered.bytes:
            outcomes = all_told(learned.outcomes, journal.groups, journal.forgotten)
            after = refitted(home, load_model(home), learned, outcomes, journal.forgotten, on_progress)
            with new_directory(home / UPDATED) as folder:
                save_model(folder, after)
                write_bytes(folder / COVERED, msgspec.json.encode(Covered(journal.end, len(journal.rows))))
    return True


@contextmanager
def when_free(directory: Path) -> Iterator[None]:
    """Hold the lock of the directory, once no other process writes there."""
    with ExitStack() as stack:
        while True:
            try:
                stack.enter_context(locked(directory))
                break
            except RunError:
                time.sleep(WAIT)
        yield


def held_config(home: Path, model: StoredModel) -> RunConfig:
    """The config of the run with all that it chose: nothing is chosen again."""
    config = load_config(home / CONFIG)
    train = replace(model.trainer, choose=(), folds=None)
    if model.features is None:
        return replace(config, train=train)
    listed, encoder = listed_features(model.features.configs), model.features.encoder.name
    return replace(config, features=listed, encoder=encoder, train=train)


def refitted(
    home: Path,
    model: StoredModel,
    learned: Learned,
    outcomes: Groups | None,
    forgotten: set[str],
    on_progress: OnProgress = silent,
) -> Router:
    """The router of the training groups and the outcomes, but for traces that are forgotten."""
    if learned.groups is None:
        raise RunError(f"{home}: keeps no texts to learn anew from")
    config, groups = held_config(home, model), without_traces(learned.groups, forgotten)
    if outcomes is not None and config.data.previous is not None:  # of a trace of its own, in which nothing was done
        outcomes = replace(outcomes, candidates=replace(outcomes.candidates, previous=None, previous_lists=()))
    prepared = prepare(config, beside(groups, outcomes), None, on_progress)
    weights, diagnosis = fitted(config, config.train, prepared, on_progress)
    before = model.training
    training = recorded(weights, diagnosis, prepared, Settled(config.train), before.choice, is_l2_chosen=True)
    training = msgspec.structs.replace(
        training,
        folds=before.folds,
        validated=before.validated,
        best_feature=before.best_feature,
        baselines=before.baselines,
    )
    of_model = (model.kind, prepared.names, weights.w, prepared.features, config.train, training, weights.terms)
    without_abstaining = replace(config, abstain=replace(config.abstain, rule=None))
    router = with_none_and_abstaining(Router(*of_model), without_abstaining, (prepared.groups, None), on_progress)
    router = replace(router, abstain=model.abstain)
    return corrected(router, outcomes, learned.rarity)


def without_traces(groups: Groups, names: set[str]) -> Groups:
    """The groups of all other traces."""
    ids = groups.candidates.trace_ids
    if names.isdisjoint(ids):
        return groups
    stays = np.array([name not in names for name in ids])[groups.candidates.traces]
    return replace(select(groups, np.flatnonzero(stays)), none_groups=groups.none_groups)


def moved(home: Path, before: Router, after: Router) -> tuple[TestMove | None, str]:
    """How the test queries of the run moved; or why that is not known."""
    if not (home / CONFIG).exists():
        return None, "a pack names no test file"
    config = load_config(home / CONFIG)
    test = config.data.test
    if test is None or isinstance(test, float):
        return None, "the run has no test file of its own"
    try:
        groups = without_none(before.read(test, config.data))
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
