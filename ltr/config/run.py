"""What a run is asked to do: every key, its default, and what it means."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from ltr.config.none_and_abstain import LOG, REMOVED, RULES, AbstainConfig, NoneConfig
from ltr.config.recipes import with_recipe
from ltr.configtext import dataclass_checks, yaml_and_schema_output
from ltr.configtext.config_file import read_document
from ltr.configtext.parsed_document import Document, KeyPath, Value, path_text
from ltr.data.config import DataConfig, paths_from, resolve_paths
from ltr.data.schema import Kind
from ltr.encoders.registry import AUTO, ENCODERS, best_installed, encoder_kind, encoder_named
from ltr.engines.config import EngineConfig
from ltr.errors import ConfigError, LtrError, Problem, RangeError, UsageError
from ltr.evaluation.metrics.presets import PresetName
from ltr.evaluation.metrics.registry import example_names, named
from ltr.features.presets import ALL, MORE, PAST, RECOMMENDED, SPECIFICATION, recommended_features
from ltr.features.registry import FEATURES, FeatureConfig
from ltr.files.path_arguments import STDIN, AnyPath
from ltr.training.config import COLUMNS, LOSS, TrainConfig
from ltr.training.registry import TRAINERS
from ltr.training.validation_metric import watchable

MOST_EPOCHS = 10_000_000
FOR_A_BENCH = "a key of a bench, not of runs; ltr bench takes this config (and checks it, with --dry-run)"


@dataclass(frozen=True, kw_only=True)
class EvaluateConfig:
    """What is measured, and by which rules."""

    metrics: tuple[str, ...] = ()
    """More metrics, after top1_accuracy, top3_accuracy and mrr."""
    preset: PresetName = "ltr"
    """Metrics that belong together, beside those of metrics; ltr adds none."""
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
    probability: Literal["softmax", "given", "sigmoid"] = "softmax"
    """What makes a score a probability, for auc, logloss, ece, f1: over the query, as it is, or by itself."""
    baselines: bool = True
    """Whether random order, rankings without training, the best column and others stand beside the result."""
    catalogue: bool | None = None
    """Whether all tools of the catalogue are ranked as well; without it, where lists are drawn or short beside it."""
    group_by: str | None = None
    """A field of the samples: metrics for each of its values as well."""

    def __post_init__(self) -> None:
        if not self.rel_threshold > 0:
            raise ValueError(f"rel_threshold {self.rel_threshold} is not above 0")
        if not 0 < self.threshold <= 1:
            raise ValueError(f"threshold {self.threshold} is not a probability above 0")
        if self.max_grade is not None and not self.max_grade > 0:
            raise ValueError(f"max_grade {self.max_grade} is not above 0")


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
    """Where the samples are, and how validation and test data are taken out of them."""
    features: tuple[str | dict[str, Any], ...] = ()
    """Names, or mappings of a name and options; recommended stands for several; without any, the specification's."""
    encoder: str = "auto"
    """What makes vectors of texts; auto is the best that is installed."""
    train: TrainConfig = field(default_factory=TrainConfig)
    """How the weights are learned."""
    none: NoneConfig = field(default_factory=NoneConfig)
    """How probably nothing offered is right."""
    abstain: AbstainConfig = field(default_factory=AbstainConfig)
    """When the router does not answer."""
    evaluate: EvaluateConfig = field(default_factory=EvaluateConfig)
    """How the ranking is measured."""
    engine: EngineConfig = field(default_factory=EngineConfig)
    """Who works on samples in shards; nothing of it changes a byte of a result."""
    sweep: dict[str, Any] = field(default_factory=dict)
    """Values to try: {path: [values]}; ltr run makes a run of each combination."""
    sweep_count: int | None = None
    """So many of the combinations only, drawn by the seed."""

    def __post_init__(self) -> None:
        wrong = []
        if self.seed < 0:
            wrong.append(f"seed is {self.seed}; it must be 0 or more")
        if self.train.epochs > MOST_EPOCHS:  # the loss of each is kept
            wrong.append(f"train.epochs is {self.train.epochs}; at most {MOST_EPOCHS} are possible")
        wrong += dataclass_checks.not_text(self)
        if wrong:
            raise ValueError(*wrong)


def load_config(path: AnyPath | None = None, overrides: Sequence[str] = ()) -> RunConfig:
    """The config of a file (`-` is stdin), or the defaults, with what `--set PATH=VALUE` asks for.

    Every mistake is told at once. Paths are resolved: those of the file against its directory.
    """
    return checked(read_document(path, overrides), path)


def checked(document: Document, path: AnyPath | None = None) -> RunConfig:
    """The document as a config, or a ConfigError that names every mistake in it."""
    if "rerankers" in document.value:
        raise ConfigError((Problem(document.place(("rerankers",)), "rerankers", FOR_A_BENCH),))
    document = with_recipe(document)
    problems = [Problem(document.place(at), path_text(at), why) for at, why in _unknown_names(document.value)]
    encoder = document.value.get("encoder")
    if isinstance(encoder, dict):
        name = AUTO
        with suppress(UsageError):  # it is among the problems
            name = encoder_named(encoder)
        document = replace(document, value={**document.value, "encoder": name})
    try:
        config = dataclass_checks.as_dataclass(document, RunConfig)
    except ConfigError as error:
        problems += error.problems
    if problems:
        raise ConfigError(dataclass_checks.in_order(document, problems))
    base = Path() if path is None or str(path) == STDIN else Path(path).parent
    return replace(config, data=resolve_paths(config.data, document, base))


def _unknown_names(value: Mapping[str, Value]) -> Iterator[tuple[KeyPath, str]]:
    """Names of plug-ins that nobody registered, wherever the config is well enough formed to have names."""
    train, evaluate = value.get("train"), value.get("evaluate")
    lookups: list[tuple[KeyPath, Any, Callable[[Any], object]]] = [
        (("encoder",), value.get("encoder", AUTO), _encoder),
        (("train", "trainer"), train.get("trainer") if isinstance(train, dict) else None, TRAINERS.__getitem__),
    ]
    watched = train.get("metric") if isinstance(train, dict) else None
    lookups.append((("train", "metric"), watched, lambda name: name == LOSS or watchable(name)))
    metrics = evaluate.get("metrics") if isinstance(evaluate, dict) else None
    names = metrics if isinstance(metrics, list) else []
    lookups += [(("evaluate", "metrics", place), name, named) for place, name in enumerate(names)]
    listed = value.get("features")
    features = listed if isinstance(listed, list) else []
    columns = [(place, entry) for place, entry in enumerate(features) if entry != RECOMMENDED]
    lookups += [(("features", place), entry, feature_config) for place, entry in columns]
    for address, name, look_up in lookups:
        try:
            if isinstance(name, str | dict):
                look_up(name)
        except RangeError as error:
            yield from ((address, problem) for problem in error.args)
        except LtrError as error:
            yield address, str(error)
    yield from _feature_mistakes(value.get("kind"), features)


def _encoder(entry: str | Mapping[str, Any]) -> None:
    """Raise for an encoder that nobody registered, or that has no such options."""
    name = encoder_named(entry)
    if name != AUTO:
        encoder_kind(name)


def _feature_mistakes(kind: Value, features: list[Value]) -> Iterator[tuple[KeyPath, str]]:
    """Features that are named again, or that `recommended` brings already; and features of another kind.

    The kind is that of the config, or else of the first feature.
    """
    names = [entry.get("name") if isinstance(entry, dict) else entry for entry in features]
    kinds = [FEATURES[name].kind if isinstance(name, str) and name in FEATURES else None for name in names]
    wanted = kind if isinstance(kind, str) and kind in SPECIFICATION else next(filter(None, kinds), None)
    seen = {name for columns in ALL.values() for name in columns} if RECOMMENDED in features else set[str]()
    for place, (name, other) in enumerate(zip(names, kinds, strict=True)):
        if isinstance(name, str) and name in seen:
            by_recommended = " (recommended brings it)" if RECOMMENDED in features and name != RECOMMENDED else ""
            yield ("features", place), f"{name} stands twice{by_recommended}"
        if isinstance(name, str):
            seen.add(name)
        if other and other != wanted:
            yield ("features", place), f"{name} is a feature of {other}s; one of {wanted}s is needed"


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


def feature_configs(
    config: RunConfig, kind: Kind, traces: int, *, has_past: bool = False
) -> tuple[tuple[FeatureConfig, ...], tuple[str, ...]]:
    """The features of a run, and the warnings about them.

    They are those it names, or the specification's of the kind. `recommended` among them stands for the recommended
    ones of so many training traces, in its place; where folds choose columns for all of them, with those that folds may
    add, and those that read what was done before a query, if that is known.
    """
    columns: list[FeatureConfig] = []
    warnings: tuple[str, ...] = ()
    for entry in config.features or SPECIFICATION[kind]:
        if entry == RECOMMENDED and COLUMNS in config.train.choose:
            columns += map(FeatureConfig, (*ALL[kind], *MORE[kind], *(PAST if has_past else ())))
        elif entry == RECOMMENDED:
            names, warnings = recommended_features(kind, traces)
            columns += map(FeatureConfig, names)
        else:
            columns.append(feature_config(entry))
    return tuple(columns), warnings


def relocated(config: RunConfig, directory: Path) -> RunConfig:
    """The config as it stands in a file of another directory: it names the same data from there."""
    return replace(config, data=paths_from(config.data, directory))


def render(config: RunConfig) -> str:
    """The config as YAML, every default written out."""
    return yaml_and_schema_output.yaml_text(config)


def schema() -> dict[str, Value]:
    """The JSON Schema of a config, for editors, with the names of the plug-ins that are registered."""
    described: Any = yaml_and_schema_output.json_schema(RunConfig)
    train, evaluate = (described["$defs"][kind.__name__]["properties"] for kind in (TrainConfig, EvaluateConfig))
    feature, mapping = described["properties"]["features"]["items"]["anyOf"]
    feature["enum"] = [RECOMMENDED, *FEATURES.names()]
    mapping |= {"properties": {"name": {"enum": [*FEATURES.names()]}}, "required": ["name"]}
    encoder = described["properties"]["encoder"]
    name = {"type": encoder.pop("type"), "examples": [AUTO, *ENCODERS.names()]}
    encoder["anyOf"] = [name, {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}]
    train["trainer"]["enum"] = [*TRAINERS.names()]
    train["metric"]["examples"] = [LOSS, *(name for name in example_names() if named(name).is_number)]
    evaluate["metrics"]["items"]["examples"] = example_names()
    described["$defs"][NoneConfig.__name__]["properties"]["source"]["examples"] = [LOG, f"{REMOVED}:0.2"]
    described["$defs"][AbstainConfig.__name__]["properties"]["rule"]["examples"] = [f"{rule}=0.05" for rule in RULES]
    return described


def encoder_name(config: RunConfig) -> str:
    """The encoder of a run: the named one, or the best that is installed."""
    return best_installed() if config.encoder == AUTO else config.encoder


def nothing_to_choose(config: RunConfig) -> RunConfig:
    """The config where no data are held out: `recommended` stands for the same columns whatever the samples say."""
    return replace(config, train=replace(config.train, choose=(), newcomers=False))


def listed_features(configs: Sequence[FeatureConfig]) -> tuple[str | dict[str, Any], ...]:
    """The features as a config lists them."""
    return tuple({"name": column.name, **column.options} if column.options else column.name for column in configs)
