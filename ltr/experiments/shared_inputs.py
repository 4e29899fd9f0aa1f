"""What runs of the same data, features, encoder and seed share: groups and their columns, made once."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Self

import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.config.run import RunConfig
from ltr.configtext.yaml_and_schema_output import plain_values
from ltr.data.candidates import Candidates
from ltr.data.groups import Groups
from ltr.data.splits import TIME, fold_indices
from ltr.errors import DataError, UsageError, count
from ltr.experiments.progress import OnProgress, Step, silent
from ltr.experiments.read_data import Loaded, read_data
from ltr.experiments.run_preconditions import refuse_fitted
from ltr.experiments.training_columns import Prepared, PreparedChoices, prepare
from ltr.training.config import COLUMNS

FOLDS = 5  # that choose settings
MOST_KEPT = 1 << 28  # bytes of the columns of folds; beyond, each run makes them anew


class SharedInputs:
    """Groups and columns of a config, which each method reads or makes once; runs that share them make them once."""

    def __init__(self, config: RunConfig, data: Loaded | None = None) -> None:
        self.config = config
        self._data = data
        self._columns: Prepared | None = None
        self._valid_columns: FloatArray | None = None
        self._test_columns: FloatArray | None = None
        self._folds: dict[tuple[int, int], tuple[FloatArray, FloatArray]] = {}
        self._choices: PreparedChoices | None = None  # all groups, then what each fold that chooses learns from

    def for_run(self, config: RunConfig) -> Self:
        """The shared inputs of another run: these, or some that share what was read, or neither."""
        if columns_key(config) == columns_key(self.config):
            return self
        return type(self)(config, self._data if data_key(config) == data_key(self.config) else None)

    def narrowed(self, config: RunConfig, places: IntArray) -> Self:
        """What a run uses whose config names some of the columns, by their places."""
        columns = self.columns()
        narrow = type(self)(config, self._data)
        narrow._columns = columns.only(places)
        if len(places) == columns.phi.shape[1]:
            narrow._valid_columns, narrow._test_columns = self._valid_columns, self._test_columns
        narrow._folds = {fold: (learned[:, places], held[:, places]) for fold, (learned, held) in self._folds.items()}
        return narrow

    def data(self, on_progress: OnProgress = silent) -> Loaded:
        """The training, validation and test groups; read at the first call."""
        if self._data is None:
            on_progress(Step("reading"))
            self._data = read_data(self.config)
        return self._data

    def columns(self, on_progress: OnProgress = silent) -> Prepared:
        """The training groups with their columns; featurised at the first call."""
        if self._columns is None:
            groups, state = self.data(on_progress).train
            if self.config.train.choose and groups.candidates.features is None:
                with suppress(DataError, UsageError):  # without folds nothing is chosen: who chooses says why
                    self._choices = self._choices_of(choosing_folds(self.config, groups))
            if self._choices is None:
                self._columns = prepare(self.config, groups, state, on_progress)
            else:
                self._columns = self._choices.prepared(0, on_progress)
        return self._columns

    def valid_columns(self) -> FloatArray | None:
        """The columns of the validation groups, if there are any."""
        valid = self.data().valid
        if valid is not None and self._valid_columns is None:
            self._valid_columns = self.columns().applied(valid.candidates)
        return self._valid_columns

    def test_columns(self) -> FloatArray:
        """The columns that the metrics are of: those of the test groups, or the training ones."""
        test = self.data().test
        if test is None:
            return self.columns().phi
        if self._test_columns is None:
            self._test_columns = self.columns().applied(test.candidates)
        return self._test_columns

    def foldable(self) -> Groups:
        """The training groups, unless their features know all of them."""
        groups, state = self.data().train
        refuse_fitted(state, "folds are asked for")
        return groups

    def fold_columns(self, fold: tuple[int, int], learned: Groups, held: Groups) -> tuple[FloatArray, FloatArray]:
        """The columns of a fold, of nothing but what it learns from; fold: its place, and how many there are."""
        if fold not in self._folds:
            prepared = prepare(self.config, learned, None)
            columns = prepared.phi, prepared.applied(held.candidates)
            kept = (*self._folds.values(), columns)
            if sum(column.nbytes for pair in kept for column in pair) > MOST_KEPT:
                return columns
            self._folds[fold] = columns
        return self._folds[fold]

    def fold_that_chooses(
        self, number: int, sides: Sequence[tuple[IntArray, IntArray]], *others: Candidates
    ) -> tuple[Prepared, *tuple[FloatArray, ...]]:
        """What one of `choosing_folds` learns from, and columns of others, whose queries are among what it leaves out.

        It shares with the training, and with the other folds, all that no label says.
        """
        choices = self._choices = self._choices or self._choices_of(sides)
        prepared = choices.prepared(number + 1)
        columns = tuple(choices.applied(prepared, number + 1, candidates) for candidates in others)
        if number + 1 == len(sides):
            self._choices = None
        return prepared, *columns

    def _choices_of(self, sides: Sequence[tuple[IntArray, IntArray]]) -> PreparedChoices:
        """All training groups, and those that each of the folds learns from."""
        groups = self.foldable()
        return PreparedChoices(self.config, groups, [np.arange(len(groups.offsets) - 1), *(side for side, _ in sides)])


def choosing_folds(config: RunConfig, groups: Groups) -> list[tuple[IntArray, IntArray]]:
    """The groups that each fold that chooses settings learns from, and those that it leaves out."""
    traces = len(groups.candidates.trace_ids)
    folds = min(traces - 1 if config.data.split == TIME else traces, FOLDS)  # by time the first block is never left out
    if folds < 2:
        raise DataError(f"{count(traces, 'training trace')}, too few for folds")
    return list(fold_indices(groups, folds, seed=config.seed, by=config.data.split))


def data_key(config: RunConfig) -> Any:
    """All that decides what is read: the encoder too, where it chooses candidates."""
    encoder = None if config.data.negatives is None else config.encoder
    return plain_values((config.data, config.kind, config.seed, encoder, config.abstain.rule is not None))


def columns_key(config: RunConfig) -> Any:
    """All that decides groups and columns."""
    return data_key(config), plain_values((config.features, config.encoder)), COLUMNS in config.train.choose
