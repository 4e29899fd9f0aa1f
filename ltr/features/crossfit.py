"""Cross-fitting: states that travel with the model, and training columns from states that saw no label of the row."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np

from ltr.arrays import FloatArray, IntArray, State
from ltr.data.candidates import Candidates
from ltr.data.groups import Groups, select
from ltr.encoders.cached_encoder import CachedEncoder
from ltr.features.feature_context import Context
from ltr.features.fitted_features import (
    FittedFeatures,
    call_feature,
    checked,
    column_of,
    multiplied,
    reading,
    refuse_other_kind,
)
from ltr.features.learned_states import Shard, counted, counting_key, learned_alike, merge_of, state_of
from ltr.features.learner_output_checks import alike
from ltr.features.lexicon import Lexicon
from ltr.features.registry import FEATURES, FeatureConfig
from ltr.features.state_learners import Counted, LeftOut, Optimised
from ltr.files.mergeable_tables import merged, merges_without_each, parts_without_each
from ltr.logs import LOG, stage

FOLDS = 10
FEWEST_TRACES = 20  # below: a fold for each trace

OnFold = Callable[[int, int], object]


class CrossFitting:
    """Features fitted on choices of the same groups, the rows of each choice cross-fitted in folds of whole traces.

    The groups are cut into cells, those that lie in one fold of every choice, and a feature that counts reads each
    cell once for all choices. No label beyond a choice changes anything of it. The encoder sees the texts of all.
    """

    def __init__(
        self, configs: Sequence[FeatureConfig], groups: Groups, encoder: str, choices: Sequence[IntArray] = ()
    ) -> None:
        """Of the choices, each the indices of its groups; without any there is one, of all groups."""
        for config in configs:
            refuse_other_kind(FEATURES[config.name].kind, groups.candidates)
        self._configs, self._groups, self._lexicon = tuple(configs), groups, Lexicon()
        self._encoder = CachedEncoder.fitted(encoder, encoded_texts(groups.candidates))
        LOG.info(f"encoder {self._encoder.name}, revision {self._encoder.revision}")
        everything = np.arange(len(groups.offsets) - 1)
        self._choices = tuple(choices) or (everything,)
        self.folds = np.full((len(everything), len(self._choices)), -1)  # of each group; -1: not in the choice
        for choice, members in enumerate(self._choices):
            self.folds[members, choice] = fold_of_groups(select(groups, members).candidates)
        self._cells, self._cell_of_group = np.unique(self.folds, axis=0, return_inverse=True)
        self._shards: dict[int, Shard] = {}  # of the cells, where they are the folds of the only choice
        self._parts: dict[object, list[Any]] = {}  # of the cells
        self._left_out: dict[str, LeftOut | None] = {}  # of the cells, by feature and options
        self._plain: FloatArray | None = None  # phi of all groups, where features learn nothing

    def fitted(self, choice: int = 0, on_fold: OnFold = lambda fold, of: None) -> tuple[FittedFeatures, FloatArray]:
        """The features fitted on a choice, and the cross-fitted phi of its groups.

        A feature that learns nothing has one column for all rows. Of one that learns, the rows of a fold come from the
        other folds. A fold has whole traces: leaving out the row's group alone would not do, because the groups of a
        trace know each other's answers. `on_fold` hears the number of each fold that is done, and how many there are.
        """
        folds, learners = self.folds[:, choice], learned_alike(self._configs)
        row_folds, count = np.repeat(folds, np.diff(self._groups.offsets)), self._count(choice)
        phi, states = self._unlearned().copy(), list[State | None]([None] * len(self._configs))
        without_each = {place: self.without_each(self._configs[place], choice) for place, *_ in learners.values()}
        for fold in range(count if learners else 0):
            shard = self._shard(choice, fold)
            for places in learners.values():
                state = next(without_each[places[0]])
                for place in places:
                    config, candidates = self._configs[place], shard.groups.candidates
                    if state is None:
                        column = self._column_left_out(config, candidates, choice, fold)
                    else:
                        column = column_of(config, candidates, state, shard.context)
                    phi[row_folds == fold, place] = column
            on_fold(fold + 1, count)
        for places in learners.values():
            *_, state = without_each[places[0]]
            for place in places:
                states[place] = state
        kind = self._groups.candidates.kind
        fitted = FittedFeatures(kind, self._configs, tuple(states), self._encoder)
        return fitted, multiplied(self._configs, phi[row_folds >= 0])

    def applied(self, features: FittedFeatures, choice: int, candidates: Candidates) -> FloatArray:
        """The columns that features fitted on a choice give to candidates of queries in the groups it leaves out."""
        are_quick = np.array([self._without_cells(config) is not None for config in self._configs], dtype=bool)
        phi = np.empty((int(candidates.offsets[-1]), len(self._configs)))
        phi[:, ~are_quick] = features.taken(np.flatnonzero(~are_quick).tolist())(candidates)
        for place in np.flatnonzero(are_quick).tolist():
            phi[:, place] = self._column_left_out(self._configs[place], candidates, choice)
        return phi

    def without_each(self, config: FeatureConfig, choice: int = 0) -> Iterator[State | None]:
        """What the feature learns from the other folds of a choice, for each fold, then what it learns from all.

        None of a fold for which its learner gives columns at once.
        """
        learner, count = FEATURES[config.name].learner, max(self._count(choice), 2)
        if left_out := self._without_cells(config):
            yield from [None] * count
            yield left_out.state(self._outside(choice))
        elif isinstance(learner, Counted):
            of_cells, merge = self._counted(config, learner), merge_of(config, learner)
            members = [np.flatnonzero(self._cells[:, choice] == fold).tolist() for fold in range(count)]
            empty = [] if all(members) else [counted(config, learner, self._read(np.empty(0, dtype=np.int64)))]
            parts = [reduce(merge, [of_cells[cell] for cell in cells]) if cells else empty[0] for cells in members]
            yield from states_without_each(config, learner, parts)
        else:
            yield from self._refitted(config, choice, count)

    def _refitted(self, config: FeatureConfig, choice: int, count: int) -> Iterator[State]:
        """The same of a feature that reads the groups anew for each fold."""
        folds = self.folds[:, choice]
        for left_out in range(count + 1):
            if isinstance(FEATURES[config.name].learner, Optimised):
                others = [self._shard(choice, fold) for fold in range(count) if fold != left_out]
                yield state_of(config, others, Context(self._encoder, self._lexicon))
            else:
                shard = self._read(np.flatnonzero((folds >= 0) & (folds != left_out)))
                yield state_of(config, shard.groups, shard.context)

    def _column_left_out(
        self, config: FeatureConfig, candidates: Candidates, choice: int, fold: int | None = None
    ) -> FloatArray:
        """The values of candidates of groups that the choice leaves out, or of one of its folds without the fold."""
        left_out = self._without_cells(config)
        if left_out is None:
            raise TypeError(f"the feature {config.name} gives no columns at once")
        return checked(config, left_out.column, left_out.column(candidates, self._outside(choice, fold)), candidates)

    def _count(self, choice: int) -> int:
        """The number of folds of a choice."""
        return int(self.folds[:, choice].max(initial=-1)) + 1

    def _outside(self, choice: int, fold: int | None = None) -> list[int]:
        """The cells beyond a choice, and those of a fold of it."""
        of_cell = self._cells[:, choice]
        return np.flatnonzero((of_cell == -1) | (of_cell == fold)).tolist()

    def _without_cells(self, config: FeatureConfig) -> LeftOut | None:
        """What gives the feature's columns without some of the cells, if its learner has it."""
        learner, key = FEATURES[config.name].learner, repr(config)
        if not isinstance(learner, Counted) or learner.left_out is None:
            return None
        if key not in self._left_out:
            self._left_out[key] = call_feature(config, learner.left_out, self._counted(config, learner))
        return self._left_out[key]

    def _counted(self, config: FeatureConfig, learner: Counted) -> list[Any]:
        """What the feature counts in each cell."""
        key = counting_key(config, learner)
        if key not in self._parts:
            shards = (self._cell(cell) for cell in range(len(self._cells)))
            self._parts[key] = [counted(config, learner, shard) for shard in shards]
        return self._parts[key]

    def _shard(self, choice: int, fold: int) -> Shard:
        """The groups of a fold."""
        if len(self._choices) == 1 and (cells := np.flatnonzero(self._cells[:, 0] == fold)).size:
            return self._cell(int(cells[0]))
        return self._read(np.flatnonzero(self.folds[:, choice] == fold))

    def _cell(self, cell: int) -> Shard:
        """The groups of a cell; memory holds them where they are a fold as well."""
        if cell in self._shards:
            return self._shards[cell]
        shard = self._read(np.flatnonzero(self._cell_of_group == cell))
        if len(self._choices) == 1:
            self._shards[cell] = shard
        return shard

    def _read(self, groups: IntArray) -> Shard:
        """Some of the groups, and the context in which features that learn read them."""
        members = select(self._groups, groups)
        learning = [config for config in self._configs if FEATURES[config.name].learner]
        return Shard(members, reading(learning, members.candidates, self._encoder, self._lexicon))

    def _unlearned(self) -> FloatArray:
        """Phi of all groups, filled where features learn nothing; every text is encoded once."""
        if self._plain is None:
            candidates = self._groups.candidates
            context = reading(self._configs, candidates, self._encoder, self._lexicon)
            self._plain = np.empty((len(self._groups.labels), len(self._configs)))
            for place, config in enumerate(self._configs):
                if FEATURES[config.name].learner is None:
                    self._plain[:, place] = column_of(config, candidates, None, context)
        return self._plain


@stage("featurising")
def fit_features(
    configs: Sequence[FeatureConfig], groups: Groups, encoder: str, on_fold: OnFold = lambda fold, of: None
) -> tuple[FittedFeatures, FloatArray]:
    """The features fitted on all the groups, and the groups' own cross-fitted phi: see `CrossFitting.fitted`."""
    return CrossFitting(configs, groups, encoder).fitted(on_fold=on_fold)


def encoded_texts(candidates: Candidates) -> list[str]:
    """The texts that an encoder may learn from: queries, and what the candidates are described by."""
    documents = [source for source, role in FEATURES[f"{candidates.kind}.rel"].encodes if role == "document"]
    return [*candidates.query_texts, *(text for source in documents for text in source(candidates, None).texts)]


def states_without_each(
    config: FeatureConfig, learner: Counted, parts: Sequence[Any], *, in_memory: int | None = None
) -> Iterator[State]:
    """The state that the feature makes of the other parts, for each part, then that of all.

    `in_memory`: see `parts_without_each`.
    """
    left_out = call_feature(config, learner.left_out, parts) if learner.left_out else None
    if left_out is not None:
        return (left_out.state(without) for without in (*([part] for part in range(len(parts))), []))
    if learner.merge is merged:
        without_each = parts_without_each(alike(config.name, parts), in_memory=in_memory)
    else:
        without_each = merges_without_each(parts, merge_of(config, learner))
    return (state_of(config, part) for part in without_each)


def fold_of_groups(candidates: Candidates) -> IntArray:
    """The fold of each group, from 0: that of its trace; with fewer than FEWEST_TRACES traces each is a fold."""
    trace_ids = candidates.trace_ids
    is_few = len(trace_ids) < FEWEST_TRACES
    folds = np.array([place if is_few else trace_fold(trace) for place, trace in enumerate(trace_ids)], dtype=int)
    return np.unique(folds[candidates.traces], return_inverse=True)[1]


def trace_fold(trace_id: str) -> int:
    """The fold of a trace: a hash of its id, so that neither order nor other traces move it.

    >>> [trace_fold(trace) for trace in ("t1", "t2", "t3")]
    [7, 0, 0]
    """
    return int.from_bytes(hashlib.blake2b(trace_id.encode(), digest_size=8).digest(), "little") % FOLDS
