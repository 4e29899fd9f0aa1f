"""Groups to train on in shards: each is read for a pass and given back, and what is summed is added in their order."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol, Self

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray, vanishing
from ltr.engines.engine import IN_PROCESS, Engine
from ltr.errors import DataError, UsageError
from ltr.training.config import OnEpoch, TrainConfig, ignore
from ltr.training.diagnosis import Diagnosis, diagnose_groups
from ltr.training.fit import fit_groups
from ltr.training.l2_path import optima_along
from ltr.training.model import Model
from ltr.training.newton import fit_newton
from ltr.training.nonlinear_terms import NO_TERMS, Terms
from ltr.training.objective import (
    CheckedGroups,
    Columns,
    Result,
    Skipped,
    Trainable,
    nothing_trains,
    slope,
    total_mass,
)

KEPT_NUMBERS = 1 << 23  # of phi: fewer in all shards together stay in memory between the passes
CHAIN = (
    "trainer {}: every step starts where the one before it ended, so that it needs all samples in memory and runs on "
    "one core; shards are learned from with --trainer newton, which sums over them"
)


@dataclass(frozen=True, slots=True, eq=False)
class ShardArrays:
    """Arrays of groups of whole traces, as `fit` takes them."""

    phi: FloatArray
    labels: FloatArray
    offsets: IntArray
    weights: FloatArray | None = None
    score_offset: FloatArray | None = None


class ShardSource(Protocol):
    """Where shards are read from, again in each pass; small, as it travels to whoever reads them."""

    def __len__(self) -> int: ...

    def shard(self, number: int) -> ShardArrays:
        """The arrays of that shard."""


@dataclass(frozen=True, slots=True, eq=False)
class ShardReference:
    """A shard to be read: its number and all that its groups depend on beyond it."""

    source: ShardSource
    number: int
    first: int  # of its groups that can train, the place of the first among those of all shards
    largest: float  # weight of a group
    total: float  # of all weights, as shares of the largest
    targets_are: str
    equal_weights: int = 0  # how many groups share the weight evenly; 0: each has its own
    changes: tuple[Columns, ...] = ()  # of the columns, one after the other

    def read(self) -> Trainable:
        """The groups of the shard that can train."""
        shard = self.source.shard(self.number)
        columns = shard.phi, shard.labels, shard.offsets
        checked = CheckedGroups.of(*columns, weights=shard.weights, score_offset=shard.score_offset)
        groups = checked.trainable(self.largest, self.total, targets_are=self.targets_are, first=self.first)
        for change in self.changes:
            groups = groups.with_columns(change, 0)
        if self.equal_weights:
            groups = replace(groups, weights=np.full(len(groups), 1 / self.equal_weights))
        return groups


def on_shard(function: Callable[[Trainable], Result], reference: ShardReference) -> Result:
    """What the function says of the groups of a shard."""
    return function(reference.read())


@dataclass(frozen=True, slots=True, eq=False)
class TrainableShards:
    """The groups to train on in shards: what `Trainable` is in one."""

    references: tuple[ShardReference, ...]  # of shards with groups that can train
    weights: FloatArray
    trains: BoolArray
    skipped: Skipped
    rows: int
    columns: int
    engine: Engine = IN_PROCESS
    kept: dict[int, Trainable] = field(default_factory=dict)  # where all of them are few

    def __len__(self) -> int:
        return len(self.weights)

    def map(self, function: Callable[[Trainable], Result]) -> Iterator[Result]:
        """What the function says of each shard, in order."""
        if self.engine is not IN_PROCESS or self.rows * self.columns > KEPT_NUMBERS:
            return self.engine.map(partial(on_shard, function), self.references)
        return map(function, map(self._kept, self.references))

    def _kept(self, reference: ShardReference) -> Trainable:
        if reference.number not in self.kept:
            self.kept[reference.number] = reference.read()
        return self.kept[reference.number]

    def with_columns(self, change: Columns, columns: int) -> Self:
        """The same groups with other columns, so many of them."""
        changed = tuple(replace(shard, changes=(*shard.changes, change)) for shard in self.references)
        return replace(self, references=changed, columns=columns, kept={})

    def with_equal_weights(self) -> Self:
        """The same groups, all with the same weight."""
        number = len(self)
        equal = tuple(replace(shard, equal_weights=number) for shard in self.references)
        return replace(self, references=equal, weights=np.full(number, 1 / number), kept={})


@dataclass(frozen=True, slots=True)
class _Counted:
    """What a first pass finds in a shard."""

    trains: BoolArray
    masses: FloatArray  # of the groups that can train
    skipped: Skipped
    rows: int  # of these groups
    columns: int


def _counted(number: int, source: ShardSource) -> _Counted:
    shard = source.shard(number)
    columns = shard.phi, shard.labels, shard.offsets
    checked = CheckedGroups.of(*columns, weights=shard.weights, score_offset=shard.score_offset)
    rows = int(np.diff(checked.offsets)[checked.trains].sum())
    return _Counted(checked.trains, checked.masses[checked.trains], checked.skipped, rows, checked.phi.shape[1])


def trainable_shards(
    source: ShardSource, *, targets_are: str = "label", engine: Engine = IN_PROCESS
) -> TrainableShards:
    """The groups of all shards that can train, after checks, as `trainable` gives them for arrays."""
    parts = list(engine.map(partial(_counted, source=source), range(len(source))))
    if not parts:
        raise DataError("no group can train: there are no groups")
    skipped = Skipped(
        sum(part.skipped.one_candidate for part in parts), sum(part.skipped.no_positive for part in parts)
    )
    masses = np.concatenate([part.masses for part in parts])
    if not len(masses):
        raise nothing_trains(skipped)
    if problem := vanishing(masses)[1]:
        raise DataError(f"weights: {problem}")
    largest, total = total_mass(masses)
    firsts = np.cumsum([0, *(len(part.masses) for part in parts)]).tolist()
    references = tuple(
        ShardReference(source, number, firsts[number], largest, total, targets_are)
        for number, part in enumerate(parts)
        if len(part.masses)
    )
    weights = masses / largest
    weights /= total
    trains = np.concatenate([part.trains for part in parts])
    rows = sum(part.rows for part in parts)
    return TrainableShards(references, weights, trains, skipped, rows, parts[0].columns, engine)


def fit_shards(
    source: ShardSource,
    config: TrainConfig,
    *,
    terms: Terms = NO_TERMS,
    prior: FloatArray | None = None,
    on_epoch: OnEpoch = ignore,
    engine: Engine = IN_PROCESS,
) -> Model:
    """The model that newton learns from the shards, which `fit` learns from the same arrays in one.

    Sums over shards are added in their order: the weights differ from those of one shard in the last digits.
    The terms are those of `shard_terms`.
    """
    refuse_chain(config)
    groups = trainable_shards(source, targets_are=config.targets, engine=engine)
    return fit_groups(groups, terms, config, fit_newton, prior=prior, on_epoch=on_epoch)


def path_of_shards(
    source: ShardSource,
    config: TrainConfig,
    *,
    terms: Terms = NO_TERMS,
    prior: FloatArray | None = None,
    engine: Engine = IN_PROCESS,
) -> list[FloatArray]:
    """The optimum for each l2 of the config: `exact_path` over shards."""
    refuse_chain(config)
    groups = trainable_shards(source, targets_are=config.targets, engine=engine)
    return optima_along(groups, terms, config, prior=prior)


def losses_of_shards(
    source: ShardSource,
    config: TrainConfig,
    ws: Sequence[FloatArray],
    *,
    terms: Terms = NO_TERMS,
    engine: Engine = IN_PROCESS,
) -> list[float]:
    """The mean loss of each w over the groups of all shards, without a penalty."""
    groups = trainable_shards(source, targets_are=config.targets, engine=engine)
    if len(terms):
        groups = groups.with_columns(terms, len(ws[0]))
    return [slope(groups, w, np.ones(len(w))).loss for w in ws]


def diagnose_shards(
    source: ShardSource,
    config: TrainConfig,
    model: Model,
    *,
    prior: FloatArray | None = None,
    clusters: IntArray | None = None,
    names: Sequence[str] | None = None,
    engine: Engine = IN_PROCESS,
) -> Diagnosis:
    """The diagnosis of a model that `fit_shards` gave for the same shards; a cluster lies in one of them."""
    groups = trainable_shards(source, targets_are=config.targets, engine=engine)
    return diagnose_groups(groups, config, model, prior=prior, clusters=clusters, names=names)


def refuse_chain(config: TrainConfig) -> None:
    """Raise for a trainer that is no sum over shards."""
    if config.trainer != "newton":
        raise UsageError(CHAIN.format(config.trainer))
