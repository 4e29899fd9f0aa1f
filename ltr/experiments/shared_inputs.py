"""What runs of the same data, features, encoder and seed share: groups and their columns, made once."""

from typing import Any, Self

from ltr.arrays import FloatArray, IntArray
from ltr.config.run import RunConfig
from ltr.configtext.yaml_and_schema_output import plain_values
from ltr.data.candidates import Candidates
from ltr.data.groups import Groups
from ltr.data.splits import fold_indices
from ltr.experiments.progress import OnProgress, Step, silent
from ltr.experiments.read_data import Loaded, read_data
from ltr.experiments.run_preconditions import refuse_fitted
from ltr.experiments.training_columns import Prepared, prepare
from ltr.features.crossfit import SharedCounts
from ltr.serving.router import Router
from ltr.training.config import COLUMNS

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
        self._counts: tuple[int, SharedCounts] | None = None  # of so many folds

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
            self._columns = prepare(self.config, groups, state, on_progress)
        return self._columns

    def valid_columns(self) -> FloatArray | None:
        """The columns of the validation groups, if there are any."""
        valid = self.data().valid
        if valid is not None and self._valid_columns is None:
            self._valid_columns = self.columns().applied(valid.candidates)
        return self._valid_columns

    def test_columns(self, router: Router) -> FloatArray:
        """The columns that the metrics are of: those of the test groups, or the training ones."""
        test = self.data().test
        if test is None:
            return self.columns().phi
        if self._test_columns is None:
            self._test_columns = router.phi(test.candidates)
        return self._test_columns

    def foldable(self) -> Groups:
        """The training groups, unless their features know all of them."""
        groups, state = self.data().train
        refuse_fitted(state, "folds are asked for")
        return groups

    def fold_columns(self, fold: tuple[int, int], learned: Groups, held: Groups) -> tuple[FloatArray, FloatArray]:
        """The columns of a fold, of nothing but what it learns from; fold: its place, and how many there are."""
        if fold in self._folds:
            return self._folds[fold]
        prepared, *columns = self.fold_columns_of(fold, learned, held.candidates)
        return prepared.phi, columns[0]

    def fold_columns_of(
        self, fold: tuple[int, int], learned: Groups, *others: Candidates
    ) -> tuple[Prepared, *tuple[FloatArray, ...]]:
        """What a fold learned from, with columns of others, of which the first are those that the fold leaves out."""
        number, count = fold
        if self._counts is None or self._counts[0] != count:
            sides = fold_indices(self.foldable(), count, seed=self.config.seed, by=self.config.data.split)
            self._counts = count, SharedCounts.of(self.foldable(), [choice for choice, _ in sides])
        prepared = prepare(self.config, learned, None, shared=(self._counts[1], number))
        if number + 1 == count:
            self._counts = None
        columns = tuple(map(prepared.applied, others))
        kept = prepared.phi, columns[0]
        if sum(column.nbytes for pair in (*self._folds.values(), kept) for column in pair) <= MOST_KEPT:
            self._folds[fold] = kept
        return prepared, *columns


def data_key(config: RunConfig) -> Any:
    """All that decides what is read: the encoder too, where it chooses candidates."""
    encoder = None if config.data.negatives is None else config.encoder
    return plain_values((config.data, config.kind, config.seed, encoder, config.abstain.rule is not None))


def columns_key(config: RunConfig) -> Any:
    """All that decides groups and columns."""
    return data_key(config), plain_values((config.features, config.encoder)), COLUMNS in config.train.choose
