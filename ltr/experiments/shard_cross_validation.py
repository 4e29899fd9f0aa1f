"""Cross-validation of a directory of columns: each fold learns features, terms and weights anew, shard by shard."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from pathlib import Path

import numpy as np

from ltr.arrays import FloatArray
from ltr.config.run import RunConfig
from ltr.data.groups import Groups, select, without_numbers
from ltr.data.none_of_these_groups import groups_to_learn
from ltr.data.splits import TraceDigests, fold_borders, trace_digests
from ltr.engines.engine import IN_PROCESS, Engine
from ltr.errors import DataError, FileError
from ltr.evaluation.evaluate import Rules
from ltr.evaluation.metrics.classification_counts import CandidateCounts
from ltr.experiments.l2_choice import chosen_l2, judging_rules
from ltr.experiments.progress import OnProgress, Step, silent
from ltr.experiments.training_shard_reader import NUMBERS, TrainingShardReader
from ltr.features.crossfit_shards import CrossFit, TraceFolds, first_traces, fit_over_shards
from ltr.files.npz import read_arrays, write_arrays
from ltr.files.temporary_directory import temporary_directory
from ltr.logs import stage
from ltr.results.evaluated_ranking import evaluate_scores
from ltr.results.fold_results import CrossValidation
from ltr.results.metric_sums import Sums, by_query, is_of_candidates, measures_of
from ltr.storage.columns_file import LARGEST_COLUMNS, columns_of
from ltr.storage.sharded_columns import ColumnShards
from ltr.training.config import LOSS
from ltr.training.nonlinear_terms import Terms
from ltr.training.nonlinear_terms_of_shards import shard_terms
from ltr.training.shard_training import losses_of_shards, path_of_shards
from ltr.training.validation_metric import no_value, sign, watchable


@dataclass(frozen=True, slots=True, eq=False)
class SideOfFold:
    """The groups of each shard that a fold learns from, or those that it leaves out: without their columns."""

    shards: ColumnShards
    borders: TraceDigests  # see `fold_borders`
    seed: int
    fold: int
    is_held: bool

    def __len__(self) -> int:
        return len(self.shards)

    def __getitem__(self, number: int) -> Groups:
        groups = without_numbers(groups_to_learn(self.shards[number]))
        digests = trace_digests(groups.candidates.trace_ids, self.seed)
        fold = np.searchsorted(self.borders, digests, side="right")[groups.candidates.traces]
        return select(groups, np.flatnonzero((fold == self.fold) == self.is_held))


@dataclass(frozen=True, slots=True, eq=False)
class FoldColumns:
    """Both sides of a fold, with columns that know nothing of what it leaves out, in files of a folder."""

    source: CrossFit
    learned: SideOfFold
    held: SideOfFold
    folder: Path

    def write(self, number: int) -> "WrittenShard":
        """Write those of a shard."""
        learned, held = self.learned[number], self.held[number]
        if len(learned.labels):
            self._write(f"learned-{number:05}.npz", learned, self.source.phi(learned))
        if len(held.labels):
            self._write(held_file(number), held, self.source.features.apart()(held.candidates))
        return WrittenShard(number, len(learned.offsets) - 1, len(held.offsets) - 1)

    def _write(self, name: str, groups: Groups, phi: FloatArray) -> None:
        numbers = {key: column for key, column in columns_of(groups, phi).items() if key in NUMBERS}
        write_arrays(self.folder / name, numbers)


@dataclass(frozen=True, slots=True)
class WrittenShard:
    """How many groups of a shard each side of a fold has; one without any has no file."""

    number: int
    learned: int
    held: int


def held_file(number: int) -> str:
    """The file of what a fold leaves out of a shard."""
    return f"held-{number:05}.npz"


@dataclass(frozen=True, slots=True, eq=False)
class LearnedFold:
    """What a fold learned: the terms, and w for each l2."""

    columns: FoldColumns
    shards: tuple[WrittenShard, ...]
    terms: Terms
    ws: tuple[FloatArray, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Judging:
    """How each w is judged on what was left out: by the rules of the run, and by those of what chooses an l2."""

    config: RunConfig
    rules: Rules
    by: Rules | None  # None: the loss chooses

    def sums(self, learned: LearnedFold, number: int) -> list[tuple[Sums, Sums | None]]:
        """Of each w the sums over the queries of a shard."""
        held, path = learned.columns.held[number], learned.columns.folder / held_file(number)
        phi, sums = read_arrays(path, limit=LARGEST_COLUMNS, names=("phi",))["phi"], []
        for w in learned.ws:
            scores = learned.terms.scores(phi, w)
            chosen_by = None if self.by is None else sums_by(self.by, held, phi, scores, self.config)
            sums.append((sums_by(self.rules, held, phi, scores, self.config), chosen_by))
        return sums


@dataclass(frozen=True, slots=True, eq=False)
class JudgedFold:
    """What was left out, by each l2: the metric, greater is better, and the sums of all metrics."""

    values: list[float]
    sums: list[Sums]
    num_groups: int


@stage("cross-validation")
def cross_validate_shards(
    config: RunConfig,
    shards: ColumnShards,
    rules: Rules,
    on_progress: OnProgress = silent,
    *,
    prior: FloatArray | None = None,
    engine: Engine = IN_PROCESS,
) -> CrossValidation:
    """`cross_validate` of the groups of a directory, whose own columns are not used: they know all groups."""
    folds, l2s, measures = config.train.folds or 0, config.train.l2s, measures_of(rules)
    judging = replace(judging_rules(config), metrics=(config.train.metric,), max_grade=rules.max_grade)
    by = None if config.train.metric == LOSS else judging
    digests = list(engine.map(partial(_trace_digests, shards, config.seed), range(len(shards))))
    borders, judged = fold_borders(np.concatenate(digests), folds), list[JudgedFold]()
    for fold in range(folds):
        on_progress(Step("folds", fold, folds))
        learned_side, held_side = (SideOfFold(shards, borders, config.seed, fold, is_held) for is_held in (False, True))
        with temporary_directory() as folder:
            with _named(f"the groups that fold {fold + 1} learns from"):
                learned = _learned(config, (learned_side, held_side), folder, prior, engine)
            with _named(f"the groups that fold {fold + 1} leaves out"):
                judged.append(_judged(learned, Judging(config, rules, by), engine))
    table = np.array([fold.values for fold in judged]).T
    l2 = chosen_l2(l2s, table, config.train.l2_rule)
    sums = [fold.sums[l2s.index(l2)] for fold in judged]
    return CrossValidation(
        l2s=l2s,
        values=table,
        l2=l2,
        each=tuple(of_fold.means(measures) for of_fold in sums),
        pooled=reduce(add, sums).means(measures),
        rules=rules,
        num_groups=sum(fold.num_groups for fold in judged),
        earlier=0,
    )


def _trace_digests(shards: ColumnShards, seed: int, number: int) -> TraceDigests:
    return trace_digests(groups_to_learn(shards[number]).candidates.trace_ids, seed)


def _learned(
    config: RunConfig, sides: tuple[SideOfFold, SideOfFold], folder: Path, prior: FloatArray | None, engine: Engine
) -> LearnedFold:
    """What a fold learns; its columns lie in the folder."""
    learned, features = sides[0], sides[0].shards.features
    folds = TraceFolds.of(first_traces(learned))
    source = fit_over_shards(features.configs, learned, folds, features.encoder.name, folder=folder, engine=engine)
    columns = FoldColumns(source, *sides, folder)
    written = tuple(engine.map(columns.write, range(len(learned))))
    files = tuple(f"learned-{shard.number:05}.npz" for shard in written if shard.learned)
    to_learn = TrainingShardReader(folder, files, len(features.configs))
    terms, _ = shard_terms(to_learn, config.train, engine=engine)
    ws = path_of_shards(to_learn, config.train, terms=terms, prior=prior, engine=engine)
    return LearnedFold(columns, written, terms, tuple(ws))


def _judged(learned: LearnedFold, judging: Judging, engine: Engine) -> JudgedFold:
    """What a fold learned, judged on what it leaves out."""
    held = [shard.number for shard in learned.shards if shard.held]
    sums, chosen_by = list[Sums](), list[Sums]()
    for part in engine.map(partial(judging.sums, learned), held):
        sums = added(sums, [of_w for of_w, _ in part])
        chosen_by = added(chosen_by, [of_w for _, of_w in part if of_w is not None])
    if judging.by is None:
        width = len(learned.columns.source.features.configs)
        left_out = TrainingShardReader(learned.columns.folder, tuple(map(held_file, held)), width)
        losses = losses_of_shards(left_out, judging.config.train, learned.ws, terms=learned.terms, engine=engine)
        values = [-loss for loss in losses]
    else:
        values = [value_of(judging.by, of_w) for of_w in chosen_by]
    return JudgedFold(values, sums, sum(shard.held for shard in learned.shards))


def value_of(rules: Rules, sums: Sums) -> float:
    """The metric that chooses, so that greater is better."""
    (metric,) = rules.metrics
    mean = sums.means(measures_of(rules))[watchable(metric).name]
    if mean is None:
        raise no_value(metric)
    return sign(metric) * mean


def sums_by(rules: Rules, groups: Groups, phi: FloatArray, scores: FloatArray, config: RunConfig) -> Sums:
    """The sums over the queries of a shard that the rules ask for."""
    measures = measures_of(rules)
    measured = evaluate_scores(groups, phi, scores, by_query(rules, measures), config)
    is_pooled = any(map(is_of_candidates, measures))
    return Sums.of(measured.evaluation, CandidateCounts.of(measured.candidates()) if is_pooled else None)


def added(totals: Sequence[Sums], sums: Sequence[Sums]) -> list[Sums]:
    """The totals of each w with those of another shard or fold."""
    return [total + part for total, part in zip(totals, sums, strict=True)] if totals else list(sums)


@contextmanager
def _named(what: str) -> Iterator[None]:
    """Say of which groups an error is, unless it is of a file."""
    try:
        yield
    except FileError:
        raise
    except DataError as error:
        raise DataError(f"{what}: {error}") from error
