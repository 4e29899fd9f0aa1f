"""The columns of training groups: given, or made by features that are fitted on them; what folds see is fitted anew."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.config import RunConfig, plain_values
from ltr.engine import IN_PROCESS, Engine
from ltr.errors import DataError, UsageError, count
from ltr.features import RECOMMENDED, CrossFit, CrossFitting, FeatureConfig, FittedFeatures, strength_by_moments
from ltr.featurized import ColumnShards, StoredDesigns, design_of, only_columns
from ltr.logs import stage
from ltr.progress import OnProgress, Step, silent
from ltr.samples import Candidates, Groups, Kind, Shards, SourceFile, Whole, refuse_other_columns
from ltr.splits import TIME, Side, fold_sides
from ltr.training import COLUMNS, Designs

FOLDS = 5  # that choose settings
MOST_KEPT = 1 << 28  # bytes of the columns of folds in memory; beyond, each run makes them anew
ColumnsOf = Callable[[Groups], FloatArray]
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """What a run reads, in shards: memory is a list of one, a directory of columns has many."""

    kind: Kind
    train: Shards
    state: FittedFeatures | None = None  # that made the columns which the training groups bear
    like: FittedFeatures | None = None  # that made columns which are made anew: the same features, fitted again
    columns: ColumnShards | None = None  # where these lie in a directory
    valid: Shards | None = None
    test: Shards | None = None
    calibrate: Shards | None = None  # where the router is to abstain
    warnings: tuple[str, ...] = ()  # what is odd about them
    apart: tuple[Groups, Groups | None] | None = (
        None  # of the training groups: samples, outcomes; None: all are samples
    )
    files: Mapping[str, tuple[SourceFile, ...]]  # by what was read from them
    is_applied: bool = False  # the state was fitted on other samples, or on whatever they were

    @property
    def told(self) -> tuple[Groups, Groups | None]:
        """The training groups that are samples, and the outcomes among the samples, each as often as it was told."""
        if self.apart is not None:
            return self.apart
        if not isinstance(self.train, Whole):
            raise UsageError("outcomes are learned beside samples in memory")
        return self.train.groups, None

    @property
    def samples(self) -> Shards | None:
        """The training groups for whatever is fitted anew on a part of them; None: they bear columns that stay."""
        if self.columns is not None:
            return None if self.is_applied else self.train.changed(Groups.without_numbers)
        is_ready = isinstance(self.train, Whole) and self.train.groups.candidates.features is not None
        return None if is_ready and self.state is not None else self.train


def fitted_on_all(why: str) -> UsageError:
    """Return the error about samples that bear features fitted on all of them."""
    return UsageError(
        f"{why}, and the samples bear features, or vectors of texts, fitted on all of them; "
        "name a file of samples instead"
    )


@dataclass(frozen=True, slots=True)
class Work:
    """Who works on shards, and the folder of what is made of them on the way; groups in memory need neither."""

    engine: Engine = IN_PROCESS
    folder: Path | None = None

    def new_folder(self) -> Path:
        """Make a folder, which is gone when the run ends."""
        if self.folder is None:
            raise UsageError("samples in shards need a folder to work in")
        return Path(tempfile.mkdtemp(dir=self.folder))

    def map_shards(self, function: Callable[[Groups], Result], shards: Shards) -> Iterator[Result]:
        """Yield what the function says of the groups of each shard, in order."""
        return self.engine.map(partial(_of_shard, function, shards), range(len(shards)))

    def designs(self, shards: Shards, columns_of: ColumnsOf, width: int) -> Designs:
        """Return the designs of groups with these columns: in memory, or written shard by shard."""
        if isinstance(shards, Whole):
            return (design_of(shards.groups, columns_of(shards.groups)),)
        folder = self.new_folder()
        write = partial(_write, shards, columns_of, folder)
        return StoredDesigns(folder, tuple(self.engine.map(write, range(len(shards)))), width)


IN_MEMORY = Work()


def _of_shard(function: Callable[[Groups], Result], shards: Shards, number: int) -> Result:
    return function(shards[number])


def _write(shards: Shards, columns_of: ColumnsOf, folder: Path, number: int) -> str:
    groups, name = shards[number], f"part-{number:05}.npz"
    StoredDesigns.write(folder / name, design_of(groups, columns_of(groups)))
    return name


@dataclass(frozen=True, slots=True, eq=False)
class Applied:
    """What gives columns to candidates that were not trained on: the features, or the ready numbers that they bear."""

    names: tuple[str, ...]
    features: FittedFeatures | None
    is_apart: bool = False  # vectors of one shard go with it

    def __call__(self, candidates: Candidates) -> FloatArray:
        """Return the columns of candidates."""
        if candidates.features is None and self.features is not None:
            return (self.features.apart() if self.is_apart else self.features)(candidates)
        if candidates.features is None:
            raise DataError("the training samples bear ready numbers; the others need them too")
        refuse_other_columns(self.names, candidates.feature_names)
        return candidates.features

    def of_groups(self, groups: Groups) -> FloatArray:
        """Return the columns of groups."""
        return self(groups.candidates)


@dataclass(frozen=True, slots=True)
class Prepared:
    """Training groups with their columns, and the features that made them; None for ready numbers without a state."""

    kind: Kind
    shards: Shards
    designs: Designs
    names: tuple[str, ...]
    features: FittedFeatures | None
    is_given: bool = False  # the samples bear the columns
    config_warnings: tuple[str, ...] = ()
    work: Work = IN_MEMORY

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the config, and what the columns that are here, make doubtful."""
        if self.features is None or self.is_given:
            return self.config_warnings
        return (*self.config_warnings, *feature_warnings(self.features))

    @property
    def groups(self) -> Groups:
        """The groups, which are in memory."""
        if not isinstance(self.shards, Whole):
            raise UsageError("the samples are read shard by shard")
        return self.shards.groups

    @property
    def phi(self) -> FloatArray:
        """The columns of groups in memory."""
        if not isinstance(self.designs, tuple):
            raise UsageError("the samples are read shard by shard")
        return np.asarray(self.designs[0].phi)

    def only(self, places: Sequence[int]) -> "Prepared":
        """Return some of the columns, by their places."""
        chosen = tuple(int(place) for place in places)
        if len(chosen) == len(self.names):
            return self
        features = None if self.features is None else self.features.taken(chosen)
        names = tuple(self.names[place] for place in chosen)
        return replace(self, designs=narrowed(self.designs, chosen), names=names, features=features)

    @property
    def applied(self) -> Applied:
        """What gives columns to candidates that were not trained on."""
        return Applied(self.names, self.features, is_apart=not isinstance(self.shards, Whole))

    def designs_of(self, shards: Shards) -> Designs:
        """Return the designs of groups that were not trained on."""
        return self.work.designs(shards, self.applied.of_groups, len(self.names))

    def count_traces(self) -> int:
        """Count the traces."""
        return sum(self.work.map_shards(count_traces, self.shards))


def count_traces(groups: Groups) -> int:
    """Count the traces of groups."""
    return len(groups.candidates.trace_ids)


def narrowed(designs: Designs, places: tuple[int, ...]) -> Designs:
    """Return the designs with some of the columns."""
    if isinstance(designs, StoredDesigns):
        return designs.only(places)
    return tuple(only_columns(designs[number], places) for number in range(len(designs)))


def clusters_of(designs: Designs) -> IntArray:
    """Return the trace of each group, counted through all designs."""
    codes, first = list[IntArray](), 0
    for number in range(len(designs)):
        traces = np.asarray(designs[number].traces, dtype=np.int64)
        codes.append(traces + first)
        first += int(traces.max(initial=-1)) + 1
    return np.concatenate(codes)


class Choices:
    """Choices of training groups with their columns; features are fitted on each, and see no label beyond it.

    What choices share is made once: see `CrossFitting`.
    """

    def __init__(
        self,
        config: RunConfig,
        shards: Shards,
        sides: Sequence[Side | None],
        work: Work = IN_MEMORY,
        features: FittedFeatures | None = None,
    ) -> None:
        """Of the features of the config, or of those that others were fitted as."""
        self._shards, self.sides, self._work = shards, tuple(sides), work
        self._kind = shards[0].candidates.kind
        self._config, self._fitting = config, None
        if shards[0].candidates.features is None:
            configs, self._warnings = _features(config, shards, features)
            encoder = config.encoder_name if features is None else features.encoder.name
            self._fitting = CrossFitting(configs, shards, encoder, sides, engine=work.engine)
            self._names = tuple(column.name for column in configs)

    def prepared(self, choice: int = 0, on_progress: OnProgress = silent) -> Prepared:
        """Return a choice with its columns."""
        side = self.sides[choice]
        shards = self._shards if side is None else self._shards.changed(side)
        if self._fitting is None:
            names = self._shards[0].candidates.feature_names
            given_designs = self._work.designs(shards, _given, len(names))
            return Prepared(self._kind, shards, given_designs, names, None, is_given=True, work=self._work)
        on_progress(Step("featurising"))
        with stage("featurising"):
            designs: Designs
            if isinstance(shards, Whole):
                features, phi = self._fitting.fitted(choice, _steps(on_progress))
                designs = (design_of(shards.groups, phi),)
            else:
                fitted, _ = self.fitted(choice, on_progress)
                features, designs = fitted.features, self._work.designs(shards, fitted.phi, len(self._names))
        return Prepared(
            self._kind, shards, designs, self._names, features, config_warnings=self._warnings, work=self._work
        )

    def fitted(self, choice: int = 0, on_progress: OnProgress = silent) -> tuple[CrossFit, tuple[str, ...]]:
        """Fit the features on a choice of groups in shards; also return what is to be said about them."""
        if self._fitting is None:
            raise UsageError("the samples bear ready features already")
        fitted = self._fitting.stored(self._work.new_folder(), choice, _steps(on_progress, parts=2))
        return fitted, (*self._warnings, *feature_warnings(fitted.features))

    def designs_of(self, prepared: Prepared, choice: int, shards: Shards) -> Designs:
        """Return the designs of groups whose queries are among those that the choice leaves out."""
        if self._fitting is None or prepared.features is None:
            return prepared.designs_of(shards)
        folder = None if isinstance(shards, Whole) else self._work.new_folder()
        columns = self._fitting.applied(prepared.features, choice, folder)
        return self._work.designs(shards, columns, len(self._names))


def _given(groups: Groups) -> FloatArray:
    """The columns that groups bear."""
    if groups.candidates.features is None:
        raise DataError("the samples bear no ready numbers")
    return groups.candidates.features


def prepare(config: RunConfig, data: Data, work: Work = IN_MEMORY, on_progress: OnProgress = silent) -> Prepared:
    """Return the training groups with their columns: ready numbers as they are, else the features, cross-fitted."""
    if data.state is None and data.train[0].candidates.features is None:
        return Choices(config, data.train, (None,), work, data.like).prepared(0, on_progress)
    designs: Designs
    if data.columns is not None and data.state is not None:
        names, designs = data.state.names, StoredDesigns.of(data.columns)
        traces = sum(part.traces for part in data.columns.manifest.parts)
    else:
        candidates = data.train[0].candidates
        names, traces = candidates.feature_names, len(candidates.trace_ids)
        designs = work.designs(data.train, _given, len(names))
    refuse_other_features(config, config.columns(data.kind, traces)[0], names)
    return Prepared(data.kind, data.train, designs, names, data.state, is_given=True, work=work)


def _features(
    config: RunConfig, shards: Shards, fitted: FittedFeatures | None
) -> tuple[tuple[FeatureConfig, ...], tuple[str, ...]]:
    """The features of a run on these groups, and the warnings about them."""
    if fitted is not None:
        return fitted.configs, ()
    candidates = shards[0].candidates
    traces = sum(count_traces(shards[number]) for number in range(len(shards)))
    has_past = candidates.kind == "tool" and candidates.known_past is not None
    return config.columns(candidates.kind, traces, has_past=has_past)


def _steps(on_progress: OnProgress, parts: int = 1) -> Callable[[int, int], object]:
    return lambda done, of: on_progress(Step("featurising", done, parts * of))


def refuse_other_features(config: RunConfig, named: Sequence[FeatureConfig], borne: tuple[str, ...]) -> None:
    """Raise where the config names other features than the samples bear; a recipe's own are no wish."""
    names = tuple(column.name for column in named)
    by_recipe = config.train.recipe == RECOMMENDED and config.features == (RECOMMENDED,)
    if config.features and not by_recipe and names != borne:
        raise UsageError(f"the samples bear the ready features {', '.join(borne)}; the config names {', '.join(names)}")


def feature_warnings(features: FittedFeatures) -> Iterator[str]:
    """Yield which columns say nothing, and why."""
    for config, state in zip(features.configs, features.states, strict=True):
        is_estimated = config.name == "tool.lift" and "strength" not in config.options
        if is_estimated and state and strength_by_moments(state["wins"], state["chance"]) == float("inf"):
            yield (
                "tool.lift is 0 for every tool: chance alone explains that some are right more often than others; "
                "to use it all the same, write {name: tool.lift, strength: 5} in its place under `features`"
            )


@dataclass(slots=True)
class Features:
    """The columns of a run, each made at the first call; runs of a sweep that share data and features share it."""

    config: RunConfig
    data: Data
    work: Work = IN_MEMORY
    _training: Prepared | None = None
    _others: dict[str, Designs] = field(default_factory=dict)  # of validation and test groups
    _folds: dict[tuple[int, int], tuple[Prepared, Designs]] = field(default_factory=dict)
    _choices: Choices | None = None  # all groups, then what each fold that chooses learns from

    @property
    def samples(self) -> Shards:
        """The training groups for whatever is fitted on a part of them; columns that stay are kept."""
        return self.data.train if self.data.samples is None else self.data.samples

    def training(self, on_progress: OnProgress = silent) -> Prepared:
        """Return the training groups with their columns."""
        if self._training is None:
            if self.data.like is not None:
                traces = sum(self.work.map_shards(count_traces, self.data.train))
                named, _ = self.config.columns(self.data.kind, traces)
                refuse_other_features(self.config, named, self.data.like.names)
            if self.config.train.choose and self.data.train[0].candidates.features is None:
                try:
                    self._choices = self._choices_of(self.choosing_folds())
                except (DataError, UsageError):  # without folds nothing is chosen: who chooses says why
                    self._choices = None
            if self._choices is None:
                self._training = prepare(self.config, self.data, self.work, on_progress)
            else:
                self._training = self._choices.prepared(0, on_progress)
        return self._training

    def designs(self, name: str) -> Designs | None:
        """Return the designs of the validation or the test groups, if there are any."""
        shards: Shards | None = getattr(self.data, name)
        if shards is not None and name not in self._others:
            self._others[name] = self.training().designs_of(shards)
        return self._others.get(name)

    def narrowed(self, config: RunConfig, places: Sequence[int]) -> "Features":
        """Return what a run uses whose config names some of the columns, by their places."""
        training, chosen = self.training(), tuple(int(place) for place in places)
        is_all = len(chosen) == len(training.names)
        folds = {
            fold: (prepared.only(chosen), held if is_all else narrowed(held, chosen))
            for fold, (prepared, held) in self._folds.items()
        }
        return Features(config, self.data, self.work, training.only(chosen), self._others if is_all else {}, folds)

    def foldable(self) -> Shards:
        """Return the training groups for what is fitted anew on a part of them; not of columns that know all."""
        samples = self.data.samples
        if samples is None:
            raise fitted_on_all("folds are asked for")
        return samples

    @property
    def fitted(self) -> FittedFeatures | None:
        """The features that made the columns of the samples, which folds fit again; None: those of the config."""
        return self.data.state or self.data.like

    def fold(self, place: tuple[int, int], sides: tuple[Side, Side]) -> tuple[Prepared, Designs]:
        """Return both sides of a fold with columns of nothing but what it learns from, by its number of so many."""
        if place not in self._folds:
            shards = self.foldable()
            learned, held = (shards.changed(side) for side in sides)
            prepared = Choices(self.config, learned, (None,), self.work, self.fitted).prepared()
            columns = prepared, prepared.designs_of(held)
            kept = (*self._folds.values(), columns)
            if sum(_bytes(one.designs) + _bytes(other) for one, other in kept) > MOST_KEPT:
                return columns
            self._folds[place] = columns
        return self._folds[place]

    def choosing_folds(self) -> list[tuple[Side, Side]]:
        """Return the groups that each fold that chooses settings learns from, and those that it leaves out."""
        shards, split = self.data.train, self.config.data.split
        traces = sum(self.work.map_shards(count_traces, shards))
        folds = min(traces - 1 if split == TIME else traces, FOLDS)  # by time the first block is never left out
        if folds < 2:
            raise DataError(f"{count(traces, 'training trace')}, too few for folds")
        return fold_sides(shards, folds, seed=self.config.seed, by=split, engine=self.work.engine)

    def choosing_fold(
        self, number: int, sides: Sequence[tuple[Side, Side]], *others: Shards
    ) -> tuple[Prepared, *tuple[Designs, ...]]:
        """Return what one of `choosing_folds` learns from, and others, whose queries are among what it leaves out.

        It shares with the training, and with the other folds, all that no label says.
        """
        choices = self._choices = self._choices or self._choices_of(sides)
        prepared = choices.prepared(number + 1)
        designs = tuple(choices.designs_of(prepared, number + 1, shards) for shards in others)
        if number + 1 == len(sides):
            self._choices = None
        return prepared, *designs

    def _choices_of(self, sides: Sequence[tuple[Side, Side]]) -> Choices:
        """All training groups, and those that each of the folds learns from; columns that stay are kept."""
        chosen = (None, *(learned for learned, _ in sides))
        shards = self.samples
        return Choices(self.config, shards, chosen, self.work, self.fitted)


def _bytes(designs: Designs) -> int:
    return sum(np.asarray(design.phi).nbytes for design in designs) if isinstance(designs, tuple) else 0


def data_key(config: RunConfig) -> Any:
    """Return all that decides what is read: the encoder too, where it chooses candidates."""
    encoder = None if config.data.negatives is None else config.encoder
    return plain_values((config.data, config.kind, config.seed, encoder, config.abstain.rule is not None))


def columns_key(config: RunConfig) -> Any:
    """Return all that decides groups and columns."""
    return data_key(config), plain_values((config.features, config.encoder)), COLUMNS in config.train.choose
