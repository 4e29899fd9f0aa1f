"""What a run is asked to do: every key, its default, and what it means."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from ltr.configtext import rendering, strict, yamltext
from ltr.configtext.document import Document, Value, path_text
from ltr.configtext.document import Path as Address
from ltr.encoders import AUTO, encoder_kind
from ltr.errors import ConfigError, LtrError, Problem, UsageError
from ltr.features import FEATURES, RECOMMENDED, SPECIFICATION, FeatureConfig, recommended
from ltr.files import STDIN, AnyPath, path_from, read_bytes, shown
from ltr.metrics import named
from ltr.metrics.presets import PresetName
from ltr.schema import Kind
from ltr.train import LOSS, TRAINERS, TrainConfig, watchable

LARGEST_CONFIG = 1 << 20
MOST_EPOCHS = 10_000_000
PATHS = ("train", "valid", "test", "tools", "graphs")


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """Where the samples are. Paths are relative to the config file."""

    train: str | tuple[str, ...] = ()
    """Samples to learn from: files or globs."""
    valid: str | tuple[str, ...] | float | None = None
    """Samples that stop the training and choose l2: files, globs, or a share of the training traces."""
    test: str | tuple[str, ...] | float | None = None
    """Samples to measure on: files, globs, or a share of the training traces, drawn by the seed."""
    split: Literal["trace", "time"] = "trace"
    """How shares and folds are taken out: by trace, drawn by the seed; or the latest traces, by time."""
    tools: str | None = None
    """A catalogue that gives the texts of tools."""
    graphs: str | None = None
    """A catalogue that gives the trees of graphs."""

    def __post_init__(self) -> None:
        wrong = [f"{key} is blank; a path is needed" for key in PATHS if _has_blank(getattr(self, key))]
        for name in ("valid", "test"):
            share = getattr(self, name)
            if isinstance(share, float) and not 0 < share < 1:
                wrong.append(f"{name} {share} is not a share between 0 and 1")
        if wrong:
            raise ValueError(*wrong)


def _has_blank(paths: object) -> bool:
    names = paths if isinstance(paths, tuple) else (paths,)
    return any(isinstance(name, str) and not name.strip() for name in names)


@dataclass(frozen=True, kw_only=True)
class EvaluateConfig:
    """What is measured, and by which rules."""

    metrics: tuple[str, ...] = ()
    """More metrics, after top1_accuracy, top3_accuracy and mrr."""
    preset: PresetName = "ltr"
    """Metrics that belong together, instead of metrics; ltr adds none."""
    ties: Literal["expected", "file", "worst", "best", "trec"] = "expected"
    """How equal scores are placed."""
    no_relevant: Literal["skip", "zero", "error"] = "skip"
    """What a query without a right candidate counts."""
    rel_threshold: float = 1.0
    """The label from which a candidate counts as right."""
    threshold: float = 0.5
    """The probability from which accuracy, precision, recall, f1 and confusion choose a candidate."""
    max_grade: float | None = None
    """The greatest label there can be, for err; without it the greatest there is, at least 1."""
    baselines: bool = True
    """Whether random order, the best single feature, w = 1 and the oracle stand beside the result."""
    group_by: str | None = None
    """A field of the samples: metrics for each of its values as well."""

    def __post_init__(self) -> None:
        if not self.rel_threshold > 0:
            raise ValueError(f"rel_threshold {self.rel_threshold} is not above 0")
        if not 0 < self.threshold <= 1:
            raise ValueError(f"threshold {self.threshold} is not a probability above 0")
        if self.max_grade is not None and not self.max_grade > 0:
            raise ValueError(f"max_grade {self.max_grade} is not above 0")
        if self.metrics and self.preset != "ltr":
            raise ValueError(f"preset {self.preset} and metrics exclude each other; leave one out")


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """One run: data, features, trainer, evaluation."""

    name: str = "run"
    """Names the directory of the run."""
    seed: int = 0
    """Every random choice follows from it."""
    kind: Kind | None = None
    """tool or graph; without it, that of the samples."""
    data: DataConfig = field(default_factory=DataConfig)
    features: tuple[str | dict[str, Any], ...] = ()
    """Names, or mappings of a name and options; [recommended]; without any, the specification's four of the kind."""
    encoder: str = "auto"
    """What makes vectors of texts; auto is the best that is installed."""
    train: TrainConfig = field(default_factory=TrainConfig)
    evaluate: EvaluateConfig = field(default_factory=EvaluateConfig)

    def __post_init__(self) -> None:
        wrong = []
        if self.seed < 0:
            wrong.append(f"seed is {self.seed}; it must be 0 or more")
        if self.train.epochs > MOST_EPOCHS:  # the loss of each is kept
            wrong.append(f"train.epochs is {self.train.epochs}; at most {MOST_EPOCHS} are possible")
        if wrong:
            raise ValueError(*wrong)


def load_config(path: AnyPath | None = None, overrides: Sequence[str] = ()) -> RunConfig:
    """The config of a file (`-` is stdin), or the defaults, with what `--set PATH=VALUE` asks for.

    Every mistake is told at once. Paths are resolved: those of the file against its directory.
    """
    document = read_document(path)
    for override in overrides:
        document = yamltext.apply_override(document, override)
    return checked(document, path)


def read_document(path: AnyPath | None) -> Document:
    """The config as it is written; an empty one without a path."""
    if path is None:
        return Document("defaults", {}, {})
    return yamltext.parse(read_bytes(path, limit=LARGEST_CONFIG), shown(path))


def checked(document: Document, path: AnyPath | None = None) -> RunConfig:
    """The document as a config, or a ConfigError that names every mistake in it."""
    problems = [Problem(document.place(at), path_text(at), why) for at, why in _unknown_names(document.value)]
    try:
        config = strict.read(document, RunConfig)
    except ConfigError as error:
        problems += error.problems
    if problems:
        raise ConfigError(strict.in_order(document, problems))
    base = Path() if path is None or str(path) == STDIN else Path(path).parent
    return replace(config, data=_resolved(config.data, document, base))


def _unknown_names(value: Mapping[str, Value]) -> Iterator[tuple[Address, str]]:
    """Names of plug-ins that nobody registered, wherever the config is well enough formed to have names."""
    train, evaluate = value.get("train"), value.get("evaluate")
    lookups: list[tuple[Address, Any, Callable[[Any], object]]] = [
        (("encoder",), value.get("encoder", AUTO), lambda name: name == AUTO or encoder_kind(name)),
        (("train", "trainer"), train.get("trainer") if isinstance(train, dict) else None, TRAINERS.__getitem__),
    ]
    watched = train.get("metric") if isinstance(train, dict) else None
    lookups.append((("train", "metric"), watched, lambda name: name == LOSS or watchable(name)))
    metrics = evaluate.get("metrics") if isinstance(evaluate, dict) else None
    lookups += [(("evaluate", "metrics", place), name, named) for place, name in enumerate(_listed(metrics))]
    features = _listed(value.get("features"))
    if features != [RECOMMENDED]:
        lookups += [(("features", place), entry, feature_config) for place, entry in enumerate(features)]
    for address, name, look_up in lookups:
        try:
            if isinstance(name, str | dict):
                look_up(name)
        except LtrError as error:
            yield address, str(error)
    yield from _repeated(features)
    yield from _of_other_kind(value.get("kind"), features)


def _repeated(features: list[Value]) -> Iterator[tuple[Address, str]]:
    """Features that are named again: a column, its weight and its state are known by the name."""
    seen: set[str] = set()
    for place, entry in enumerate(features):
        name = entry.get("name") if isinstance(entry, dict) else entry
        if isinstance(name, str) and name in seen:
            yield ("features", place), f"{name} stands twice"
        if isinstance(name, str):
            seen.add(name)


def _of_other_kind(kind: Value, features: list[Value]) -> Iterator[tuple[Address, str]]:
    """Features of another kind than the config names, or than the first of them is of."""
    names = [entry.get("name") if isinstance(entry, dict) else entry for entry in features]
    kinds = [FEATURES[name].kind if isinstance(name, str) and name in FEATURES else None for name in names]
    wanted = kind if kind in SPECIFICATION else next(filter(None, kinds), None)
    for place, found in enumerate(kinds):
        if found and found != wanted:
            yield ("features", place), f"{names[place]} is a feature of {found}s; one of {wanted}s is needed"


def _listed(value: Value) -> list[Value]:
    return value if isinstance(value, list) else []


def feature_config(entry: str | Mapping[str, Any]) -> FeatureConfig:
    """A feature as a config names it: NAME, or {name: NAME, option: value}.

    >>> feature_config({"name": "tool.hist", "strength": 5})
    FeatureConfig(name='tool.hist', options={'strength': 5})
    """
    if isinstance(entry, str):
        return FeatureConfig(entry)
    options = dict(entry)
    name = options.pop("name", None)
    if not isinstance(name, str):
        raise UsageError("a feature is a name, or a mapping with the key name")
    return FeatureConfig(name, options)


def feature_configs(config: RunConfig, kind: Kind, traces: int) -> tuple[tuple[FeatureConfig, ...], tuple[str, ...]]:
    """The features of a run, and what is to be said about them.

    They are those it names, the recommended for so many training traces, or the specification's of the kind.
    """
    named, warnings = config.features or SPECIFICATION[kind], tuple[str, ...]()
    if config.features == (RECOMMENDED,):
        named, warnings = recommended(kind, traces)
    return tuple(feature_config(entry) for entry in named), warnings


def _resolved(data: DataConfig, document: Document, base: Path) -> DataConfig:
    """The data with the paths that stand in the file put against its directory; flags mean the current one."""
    changes: dict[str, Any] = {}
    for key in PATHS:
        value, place = getattr(data, key), document.place(("data", key))
        if place.source != document.source or value is None or isinstance(value, float):
            continue
        names = (value,) if isinstance(value, str) else value
        joined = tuple(name if name == STDIN else str(base / _from_home(name)) for name in names)
        changes[key] = joined[0] if isinstance(value, str) else joined
    return replace(data, **changes)


def _from_home(name: str) -> Path:
    return Path.home() / name[2:] if name.startswith("~/") else Path(name)


def relocated(config: RunConfig, directory: Path) -> RunConfig:
    """The config as it stands in a file of another directory: it names the same data from there."""
    changes: dict[str, Any] = {}
    for key in PATHS:
        value = getattr(config.data, key)
        if isinstance(value, str):
            changes[key] = _from(value, directory)
        elif isinstance(value, tuple):
            changes[key] = tuple(_from(name, directory) for name in value)
    return replace(config, data=replace(config.data, **changes))


def _from(name: str, directory: Path) -> str:
    return name if name == STDIN else path_from(directory, name)


def render(config: RunConfig) -> str:
    """The config as YAML, every default written out."""
    return rendering.render(config)


def schema() -> dict[str, Any]:
    """The JSON Schema of a config, for editors."""
    return rendering.schema(RunConfig)
