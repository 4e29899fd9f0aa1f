"""Cross-fitting: states that travel with the model, and training columns from states that saw no label of the row.

Groups come in shards of whole traces. What a feature counts is counted once in each shard and added up, so the columns
of many shards are those of the same samples in memory, to the last digits of sums. Memory is the list of one shard.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from typing import Any

import numpy as np

from ltr.arrays import FloatArray, IntArray, State
from ltr.encoders import CachedEncoder
from ltr.engine import IN_PROCESS, Engine
from ltr.features.fitted import (
    FittedFeatures,
    call_feature,
    column_of,
    finite,
    multiplied,
    reading,
    refuse_other_kind,
)
from ltr.features.learning import (
    IN_MEMORY,
    ReadShards,
    Shard,
    counted,
    counting,
    counting_key,
    learned_alike,
    merge_of,
    read_shard,
    refuse_plain_fits,
    state_of,
    states_without_each,
)
from ltr.features.protocol import FEATURES, Context, Counted, FeatureConfig, InMemory, LeftOut
from ltr.features.specified import documents
from ltr.features.texts import Lexicon
from ltr.hashes import Hashes, hashed
from ltr.logs import LOG, stage
from ltr.memory import return_freed_memory
from ltr.samples import Candidates, Groups, Shards, Whole
from ltr.splits import Dealt, Side, hash_folds
from ltr.tables import Merging
from ltr.temporary import StoredState

NOTHING = np.empty(0, dtype=np.int64)
OnStep = Callable[[int, int], object]  # how many steps are done, and how many there are
By = Callable[[Candidates, State], FloatArray]  # what reads a state, where the column of its feature does not
Learned = dict[int, tuple[State, By | None]]  # by place of a feature


def ignore(_done: int, _of: int) -> None:
    """Show nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The groups of each shard cut into cells: those that lie in one fold of every choice. It goes to workers."""

    configs: tuple[FeatureConfig, ...]  # that learn
    shards: Shards
    dealt: Dealt  # the cell of each trace
    encoder: CachedEncoder
    is_whole: bool  # groups in memory: their texts are encoded once

    def of(self, number: int) -> Iterator[tuple[int, Shard]]:
        """Yield the cells that a shard has, with the context in which features read them."""
        groups, encoder = self.shards[number], self.encoder if self.is_whole else self.encoder.apart()
        of_group, lexicon = self.dealt.of_groups(groups.candidates), Lexicon()
        for cell in np.unique(of_group).tolist():
            members = groups.select(np.flatnonzero(of_group == cell))
            yield cell, Shard(members, reading(self.configs, members.candidates, encoder, lexicon))


class CrossFitting:
    """Features fitted on choices of the same groups, the rows of each choice cross-fitted in folds of whole traces.

    A feature that counts reads each cell once for all choices. No label beyond a choice changes anything of it. The
    encoder sees the texts of all.
    """

    def __init__(
        self,
        configs: Sequence[FeatureConfig],
        shards: Shards,
        encoder: str,
        choices: Sequence[Side | None] = (None,),
        *,
        engine: Engine = IN_PROCESS,
    ) -> None:
        """Of the choices, each a side of some dealing; None: all groups."""
        self._is_whole = isinstance(shards, Whole)
        if not self._is_whole:
            refuse_plain_fits(configs)
        self._kind = shards[0].candidates.kind
        for config in configs:
            refuse_other_kind(FEATURES[config.name].kind, shards[0].candidates)
        self._configs, self._shards, self._engine = tuple(configs), shards, engine
        self._encoder = fitted_encoder(encoder, shards, engine)
        LOG.info(f"encoder {self._encoder.name}, revision {self._encoder.revision}")
        keys = np.concatenate(list(engine.map(partial(_trace_keys, shards), range(len(shards)))))
        of_traces = np.column_stack([hash_folds(keys, choice) for choice in choices])  # -1: not in the choice
        self._of_cells, cell_of_trace = np.unique(of_traces, axis=0, return_inverse=True)
        self.folds = [Dealt.of(keys, column) for column in of_traces.T]
        learning = tuple(config for config in configs if FEATURES[config.name].learner)
        cells = Dealt.of(keys, cell_of_trace.reshape(-1))
        self._cells = Cells(learning, shards, cells, self._encoder, self._is_whole)
        self._held: dict[int, Shard] = {}  # the cells in memory, where they are the folds of the only choice
        self._parts: dict[object, list[Any]] | None = None  # of each cell, by what counts them
        self._left_out: dict[str, LeftOut | None] = {}  # of the cells, by feature and options
        self._plain: FloatArray | None = None  # phi of all groups in memory, where features learn nothing

    def fitted(self, choice: int = 0, on_fold: OnStep = ignore) -> tuple[FittedFeatures, FloatArray]:
        """Fit the features on a choice of groups in memory; also return the cross-fitted phi of these groups.

        A feature that learns nothing has one column for all rows. Of one that learns, the rows of a fold come from the
        other folds. A fold has whole traces: leaving out the row's group alone would not do, because the groups of a
        trace know each other's answers. `on_fold` hears the number of each fold that is done, and how many there are.
        """
        groups, count = self._shards[0], self._count(choice)
        folds = self.folds[choice].of_groups(groups.candidates)
        row_folds, phi = np.repeat(folds, np.diff(groups.offsets)), self._unlearned(groups).copy()
        of_folds = self._without_each_fold(choice)
        for fold in range(count if self._cells.configs else 0):
            shard, learned = self._shard(fold, folds), next(of_folds)
            for place, column in self._columns(learned, shard):
                phi[row_folds == fold, place] = column
            on_fold(fold + 1, count)
        return self._features(next(of_folds, {})), multiplied(self._configs, phi[row_folds >= 0])

    def stored(self, folder: Path, choice: int = 0, on_shard: OnStep = ignore) -> "CrossFit":
        """Fit the features on a choice of groups in shards; the folder takes the states that the folds did not see."""
        self._count_shards(on_shard)
        states, of_folds = list[dict[int, tuple[StoredState, By | None]]](), self._without_each_fold(choice)
        for fold in range(self._count(choice) if self._cells.configs else 0):
            learned, written = next(of_folds), dict[int, StoredState]()  # features that learn the same share a file
            for place, (state, _) in learned.items():
                if id(state) not in written:
                    written[id(state)] = StoredState.written(folder / f"without-{choice}-{fold}-{place}", state)
            states.append({place: (written[id(state)], by) for place, (state, by) in learned.items()})
        return CrossFit(self._features(next(of_folds, {})), self._encoder, self.folds[choice], tuple(states))

    def applied(self, features: FittedFeatures, choice: int, folder: Path | None = None) -> "LeftOutColumns":
        """Return what gives features fitted on a choice to queries in the groups that it leaves out.

        The folder takes what is known of these, where others than this process read it.
        """
        quick = dict[int, tuple[State | StoredState, By]]()
        for place, config in enumerate(self._configs):
            if left_out := self._without_cells(config):
                rest = left_out.rest(self._outside(choice))
                stored = rest if folder is None else StoredState.written(folder / f"outside-{choice}-{place}", rest)
                quick[place] = stored, left_out.column
        return LeftOutColumns(features if folder is None else features.apart(), quick)

    def without_each(self, config: FeatureConfig, choice: int = 0) -> Iterator[tuple[State, By | None]]:
        """Yield what the feature learns from the other folds of a choice, for each fold, then what it learns from all.

        Where its learner gives columns at once, what they are read from stands for the state of a fold.
        """
        learner, count = FEATURES[config.name].learner, max(self._count(choice), 2)
        if left_out := self._without_cells(config):
            for fold in range(count):
                yield left_out.rest(self._outside(choice, fold)), left_out.column
            yield left_out.state(self._outside(choice)), None
        elif isinstance(learner, Counted):
            of_cells, merge = self._counted(config), self._merge_of(config)
            members = [np.flatnonzero(self._of_cells[:, choice] == fold).tolist() for fold in range(count)]
            empty = [] if all(members) else [counted(config, self._empty(config))]
            parts = [reduce(merge, [of_cells[cell] for cell in cells]) if cells else empty[0] for cells in members]
            yield from ((state, None) for state in states_without_each(config, parts, in_memory=self._in_memory))
        else:
            yield from ((state, None) for state in self._refitted(config, choice, count))

    def _refitted(self, config: FeatureConfig, choice: int, count: int) -> Iterator[State]:
        """Yield the states of a feature that reads the groups anew for each fold."""
        dealt, is_plain = self.folds[choice], isinstance(FEATURES[config.name].learner, InMemory)
        for left_out in range(count + 1):
            side = Side(dealt, tuple(fold for fold in range(count) if fold != left_out))
            others = ReadShards([config], self._shards.changed(side), self._encoder, is_apart=not self._is_whole)
            if is_plain:
                yield state_of(config, others[0].groups, others[0].context)
            else:
                yield state_of(config, others, Context(self._encoder))

    def _without_each_fold(self, choice: int) -> Iterator[Learned]:
        """Yield what each feature learns without each fold, then from all; those that learn alike share it."""
        learners = list(learned_alike(self._configs).values())
        each = [self.without_each(self._configs[places[0]], choice) for places in learners]
        last = max(self._count(choice), 2)
        for number, learned in enumerate(zip(*each, strict=True)):
            if number < self._count(choice) or number == last:
                yield {place: of for places, of in zip(learners, learned, strict=True) for place in places}

    def _columns(self, learned: Learned, shard: Shard) -> Iterator[tuple[int, FloatArray]]:
        for place, (state, by) in learned.items():
            config, candidates = self._configs[place], shard.groups.candidates
            column = _by(by, config, candidates, state) if by else column_of(config, candidates, state, shard.context)
            yield place, column

    def _features(self, learned: Learned) -> FittedFeatures:
        """Return the features with what they learned of all."""
        states = tuple(learned[place][0] if place in learned else None for place in range(len(self._configs)))
        return FittedFeatures(self._kind, self._configs, states, self._encoder)

    def _count(self, choice: int) -> int:
        """Return the number of folds of a choice."""
        return int(self._of_cells[:, choice].max(initial=-1)) + 1

    def _outside(self, choice: int, fold: int | None = None) -> list[int]:
        """Return the cells beyond a choice, and those of a fold of it."""
        of_cell = self._of_cells[:, choice]
        return np.flatnonzero((of_cell == -1) | (of_cell == fold)).tolist()

    def _without_cells(self, config: FeatureConfig) -> LeftOut | None:
        """Return what gives the feature's columns without some of the cells, if its learner has it."""
        learner, key = FEATURES[config.name].learner, repr(config)
        if not isinstance(learner, Counted) or learner.left_out is None:
            return None
        if key not in self._left_out:
            self._left_out[key] = call_feature(config, learner.left_out, self._counted(config))
        return self._left_out[key]

    def _counted(self, config: FeatureConfig) -> list[Any]:
        """Return what the feature counts in each cell."""
        self._count_shards()
        return (self._parts or {})[counting_key(config)]

    def _count_shards(self, on_shard: OnStep = ignore) -> None:
        """Count every shard once, for all features; shards are added in their order."""
        if self._parts is not None:
            return
        counters = counting(self._cells.configs)
        merging = {
            key: [Merging[Any](self._merge_of(config)) for _ in self._of_cells] for key, config in counters.items()
        }
        for cells in self._counts(list(counters.values()), on_shard) if counters else ():
            for cell, parts in cells.items():
                for key, part in zip(counters, parts, strict=True):
                    merging[key][cell].add(part)
        self._parts = {key: [of_cell.total() for of_cell in of_cells] for key, of_cells in merging.items()}

    def _counts(self, configs: Sequence[FeatureConfig], on_shard: OnStep) -> Iterator[dict[int, list[Any]]]:
        """Yield what the features count in the cells of each shard."""
        if self._is_whole:
            for cell, shard in self._cells.of(0):
                if len(self.folds) == 1:  # its columns are read from it later
                    self._held[cell] = shard
                yield {cell: [counted(config, shard) for config in configs]}
            return
        counts = self._engine.map(partial(_count_cells, self._cells, configs), range(len(self._shards)))
        for done, cells in enumerate(counts, start=1):
            yield cells
            return_freed_memory()
            on_shard(done, len(self._shards))

    @property
    def _in_memory(self) -> int | None:  # disk holds what would take much memory for all features and folds together
        return None if self._is_whole else IN_MEMORY

    def _merge_of(self, config: FeatureConfig) -> Callable[[Any, Any], Any]:
        return merge_of(config, in_memory=self._in_memory)

    def _shard(self, fold: int, folds: IntArray) -> Shard:
        """Return the groups in memory of a fold of a choice; `folds`: that of each group."""
        if len(self.folds) == 1:
            (cell,) = np.flatnonzero(self._of_cells[:, 0] == fold).tolist()
            if cell in self._held:
                return self._held[cell]
        members = self._shards[0].select(np.flatnonzero(folds == fold))
        return read_shard(self._cells.configs, members, self._encoder)

    def _empty(self, config: FeatureConfig) -> Shard:
        """Return no groups: without a single trace, nothing is left to learn from."""
        return read_shard([config], self._shards[0].select(NOTHING), self._encoder)

    def _unlearned(self, groups: Groups) -> FloatArray:
        """Return phi of all groups in memory, filled where features learn nothing; every text is encoded once."""
        if self._plain is None:
            self._plain = plain_columns(self._configs, read_shard(self._configs, groups, self._encoder))
        return self._plain


@dataclass(frozen=True, slots=True)
class CrossFit:
    """What gives training groups in shards their columns: for each fold the states that did not see it, in files."""

    features: FittedFeatures  # of all groups
    encoder: CachedEncoder
    folds: Dealt  # of each trace
    states: tuple[Mapping[int, tuple[StoredState, By | None]], ...]  # of each fold, by place of a feature

    def phi(self, groups: Groups) -> FloatArray:
        """Return the cross-fitted columns of training groups, such as those of a shard."""
        return_freed_memory()
        candidates, configs, lexicon = groups.candidates, self.features.configs, Lexicon()
        encoder, of_group = self.encoder.apart(), self.folds.of_groups(candidates)
        # every text is encoded once, before the folds
        phi = plain_columns(configs, Shard(groups, reading(configs, candidates, encoder, lexicon)))
        learning = [config for config in configs if FEATURES[config.name].learner]
        for fold in np.unique(of_group).tolist() if learning else ():
            rows, members = np.repeat(of_group == fold, np.diff(groups.offsets)), np.flatnonzero(of_group == fold)
            some = groups.select(members).candidates
            own = reading(learning, some, encoder, lexicon)
            for place, (stored, by) in self.states[fold].items():
                state, config = stored.read(), configs[place]  # what it holds is held by one column at a time
                phi[rows, place] = _by(by, config, some, state) if by else column_of(config, some, state, own)
        return multiplied(configs, phi)


@dataclass(frozen=True, slots=True)
class LeftOutColumns:
    """The columns of queries in groups that were left out of what the features were fitted on."""

    features: FittedFeatures
    quick: Mapping[int, tuple[State | StoredState, By]]  # by place of a feature that gives columns at once

    def __call__(self, groups: Groups) -> FloatArray:
        """Return the columns of groups."""
        candidates, configs = groups.candidates, self.features.configs
        slow = [place for place in range(len(configs)) if place not in self.quick]
        phi = np.empty((len(groups.labels), len(configs)))
        phi[:, slow] = self.features.taken(slow)(candidates)
        for place, (rest, by) in self.quick.items():
            state = rest.read() if isinstance(rest, StoredState) else rest
            phi[:, place] = _by(by, configs[place], candidates, state)
        return phi


@stage("featurising")
def fit_features(
    configs: Sequence[FeatureConfig], groups: Groups, encoder: str, on_fold: OnStep = ignore
) -> tuple[FittedFeatures, FloatArray]:
    """Fit the features on all the groups; also return the groups' own cross-fitted phi: see `CrossFitting.fitted`."""
    return CrossFitting(configs, Whole(groups), encoder).fitted(on_fold=on_fold)


def plain_columns(configs: Sequence[FeatureConfig], shard: Shard) -> FloatArray:
    """Return phi with the columns of the features that learn nothing; the others are not filled."""
    phi = np.empty((len(shard.groups.labels), len(configs)))
    for place, config in enumerate(configs):
        if FEATURES[config.name].learner is None:
            phi[:, place] = column_of(config, shard.groups.candidates, None, shard.context)
    return phi


def encoded_texts(candidates: Candidates) -> list[str]:
    """Return the texts that an encoder may learn from: queries, and what the candidates are described by."""
    return [*candidates.query_texts, *documents(candidates).texts]


def fitted_encoder(name: str, shards: Shards, engine: Engine = IN_PROCESS) -> CachedEncoder:
    """Return the encoder of that name, after it has seen the texts of all shards, if it learns from texts."""
    if isinstance(shards, Whole):
        return CachedEncoder.fitted(name, encoded_texts(shards.groups.candidates))
    return CachedEncoder.fitted_to(name, partial(_texts_of, shards), range(len(shards)), engine)


def _by(by: By, config: FeatureConfig, candidates: Candidates, rest: State) -> FloatArray:
    """Return the column of candidates of queries that were left out, from what is known without them."""
    return finite(config, by, by(candidates, rest), (int(candidates.offsets[-1]),))


def _trace_keys(shards: Shards, number: int) -> Hashes:
    return hashed(shards[number].candidates.trace_ids)


def _count_cells(cells: Cells, configs: Sequence[FeatureConfig], number: int) -> dict[int, list[Any]]:
    """Return what each feature counts in each cell of a shard."""
    return {cell: [counted(config, shard) for config in configs] for cell, shard in cells.of(number)}


def _texts_of(shards: Shards, number: int) -> list[str]:
    return encoded_texts(shards[number].candidates)
