"""What a run is asked to do: every key, its default, and what it means."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from ltr.config.checks import Mistake, as_dataclass, json_schema, not_text
from ltr.config.recipes import VERSIONS, with_recipe
from ltr.config.text import Document, KeyPath
from ltr.encoders import AUTO, ENCODERS, best_installed, encoder_named
from ltr.engine import EngineConfig
from ltr.errors import LtrError, RangeError, UsageError
from ltr.evaluation import PresetName, example_names, named
from ltr.features import FEATURES, RECOMMENDED, FeatureConfig, Presets
from ltr.paths import AnyPath, path_from, path_to
from ltr.samples import DataConfig, Kind
from ltr.training import COLUMNS, LOSS, TRAINERS, TrainConfig, watchable

MOST_EPOCHS = 10_000_000
FOR_A_BENCH = "a key of a bench, not of runs; ltr bench takes this config (and checks it, with --dry-run)"
LOG = "log"


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
class NoneConfig:
    """Where P(none) is learned from, and for which share it is."""

    source: str | None = None
    """log: queries that say that none is right; removed:0.2: copies without right answers; null: the log's, if any."""
    share: float | None = None
    """The share of queries for which none is right that P(none) is for; null: that of the log. Removed needs it."""
    l2: float = 0.0001
    """Weight of the penalty on its squared coefficients."""

    def __post_init__(self) -> None:
        wrong = []
        if self.source not in (None, LOG) and self.removed_share is None:
            wrong.append(f"source {self.source!r} is neither log nor removed:SHARE with a share between 0 and 1")
        if self.share is not None and not 0 < self.share < 1:
            wrong.append(f"share {self.share:g} is not between 0 and 1")
        if not self.l2 > 0:
            wrong.append(f"l2 {self.l2:g} is not above 0")
        if wrong:
            raise ValueError(*wrong)

    @property
    def learned_from(self) -> str:
        """Its source, the log without one."""
        return self.source or LOG

    @property
    def removed_share(self) -> float | None:
        """The share of queries that are copied without their right candidates; None of another source."""
        name, _, share = (self.source or "").partition(":")
        return _share(share) if name == "removed" else None


@dataclass(frozen=True, kw_only=True)
class AbstainConfig:
    """When a router does not answer."""

    rule: str | None = None
    """risk=0.05: at most so many of all queries answered wrongly; precision=0.95: so many of the answers right."""

    RISK: ClassVar[str] = "risk"
    RULES: ClassVar[tuple[str, ...]] = (RISK, "precision")

    def __post_init__(self) -> None:
        if self.rule is not None and self.chosen is None:
            raise ValueError(
                f"rule {self.rule!r} is neither risk=SHARE nor precision=SHARE with a share between 0 and 1"
            )

    @property
    def chosen(self) -> tuple[str, float] | None:
        """The rule and its share; None without a rule that can be read."""
        name, _, text = (self.rule or "").partition("=")
        share = _share(text)
        return (name, share) if name in self.RULES and share is not None else None


def _share(text: str) -> float | None:
    """Return the text as a number between 0 and 1, None where it is none."""
    with suppress(ValueError):
        return share if 0 < (share := float(text)) < 1 else None
    return None


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
        wrong += not_text(self)
        if wrong:
            raise ValueError(*wrong)

    @property
    def encoder_name(self) -> str:
        """The named encoder, or the best that is installed."""
        return best_installed() if self.encoder == AUTO else self.encoder

    @property
    def recipe(self) -> str:
        """The name of its recipe with the version, as a run records it."""
        return f"{self.train.recipe}/{VERSIONS[self.train.recipe]}"

    def columns(
        self, kind: Kind, traces: int, *, has_past: bool = False
    ) -> tuple[tuple[FeatureConfig, ...], tuple[str, ...]]:
        """Return the features of the run, and the warnings about them.

        They are those it names, or the specification's of the kind. `recommended` among them stands for the recommended
        ones of so many training traces, in its place; where folds choose columns for all of them, with those that folds
        may add, and those that read what was done before a query, if that is known.
        """
        columns: list[FeatureConfig] = []
        warnings: tuple[str, ...] = ()
        for entry in self.features or Presets.SPECIFICATION[kind]:
            if entry == RECOMMENDED and COLUMNS in self.train.choose:
                past = Presets.PAST if has_past else ()
                columns += map(FeatureConfig, (*Presets.ALL[kind], *Presets.MORE[kind], *past))
            elif entry == RECOMMENDED:
                names, warnings = Presets.recommended(kind, traces)
                columns += map(FeatureConfig, names)
            else:
                columns.append(_feature(entry))
        return tuple(columns), warnings

    def with_columns(self, columns: Sequence[FeatureConfig]) -> "RunConfig":
        """Return the config with these features in the place of its own."""
        return replace(
            self, features=tuple({"name": each.name, **each.options} if each.options else each.name for each in columns)
        )

    def without_choice(self) -> "RunConfig":
        """Return the config where no data are held out: `recommended` stands for the same columns on any samples."""
        return replace(self, train=replace(self.train, choose=(), newcomers=False))

    def seen_from(self, directory: Path) -> "RunConfig":
        """Return the config as it stands in a file of another directory: it names the same data from there."""
        return replace(self, data=self.data.with_paths(lambda name: path_from(directory, name)))


def load_config(path: AnyPath | None = None, overrides: Sequence[str] = ()) -> RunConfig:
    """Read the config of a file (`-` is stdin), or the defaults, with what `--set PATH=VALUE` asks for.

    Every mistake is told at once. Paths are resolved: those of the file against its directory.
    """
    return run_config(Document.read(path, overrides))


def run_config(document: Document) -> RunConfig:
    """Return the document as a config, or raise a ConfigError that names every mistake in it."""
    if "rerankers" in document.value:
        document.refuse([document.problem(("rerankers",), FOR_A_BENCH)])
    document = with_recipe(document)
    mistakes = [*_unknown_names(document), *_feature_mistakes(document)]
    if isinstance(encoder := document.get("encoder"), dict):
        name = AUTO
        with suppress(UsageError):  # it is among the mistakes
            name = encoder_named(encoder)
        document = document.replace("encoder", name, document.place(("encoder",)))
    config = as_dataclass(document, RunConfig, mistakes)
    of_file = [key for key in config.data.sources() if document.place(("data", key)).source == document.source]
    return replace(config, data=config.data.with_paths(lambda name: str(path_to(document.base, name)), of_file))


def _unknown_names(document: Document) -> Iterator[Mistake]:
    """Yield names of plug-ins that nobody registered, wherever the config is well enough formed to have names."""
    metrics, features = document.get("evaluate", "metrics"), document.get("features")
    lookups: list[tuple[KeyPath, Any, Callable[[Any], object]]] = [
        (("encoder",), document.get("encoder"), _encoder),
        (("train", "trainer"), document.get("train", "trainer"), TRAINERS.__getitem__),
        (("train", "metric"), document.get("train", "metric"), lambda name: name == LOSS or watchable(name)),
    ]
    for place, name in enumerate(metrics if isinstance(metrics, list) else []):
        lookups.append((("evaluate", "metrics", place), name, named))
    for place, entry in enumerate(features if isinstance(features, list) else []):
        lookups.append((("features", place), entry, lambda entry: entry == RECOMMENDED or _feature(entry)))
    for path, name, look_up in lookups:
        try:
            if isinstance(name, str | dict):
                look_up(name)
        except RangeError as error:
            yield from ((path, problem) for problem in error.args)
        except LtrError as error:
            yield path, str(error)


def _encoder(entry: str | Mapping[str, Any]) -> None:
    """Raise for an encoder that nobody registered, or that has no such options."""
    name = encoder_named(entry)
    if name != AUTO:
        ENCODERS[name]


def _feature(entry: str | Mapping[str, Any]) -> FeatureConfig:
    """Return a feature as a config names it: NAME, or {name: NAME, option: value}.

    >>> _feature({"name": "tool.hist", "strength": 5})
    FeatureConfig(name='tool.hist', options={'strength': 5})
    """
    if isinstance(entry, str):
        return FeatureConfig(entry)
    options = dict(entry)
    name = options.pop("name", None)
    if not isinstance(name, str):
        raise UsageError("a feature is a name, or a mapping with the key name")
    return FeatureConfig(name, options)


def _feature_mistakes(document: Document) -> Iterator[Mistake]:
    """Yield features that are named again, or that `recommended` brings already; and features of another kind.

    The kind is that of the config, or else of the first feature.
    """
    kind, listed = document.get("kind"), document.get("features")
    features = listed if isinstance(listed, list) else []
    names = [entry.get("name") if isinstance(entry, dict) else entry for entry in features]
    kinds = [FEATURES[name].kind if isinstance(name, str) and name in FEATURES else None for name in names]
    wanted = kind if isinstance(kind, str) and kind in Presets.SPECIFICATION else next(filter(None, kinds), None)
    seen = {name for columns in Presets.ALL.values() for name in columns} if RECOMMENDED in features else set[str]()
    for place, (name, other) in enumerate(zip(names, kinds, strict=True)):
        if isinstance(name, str) and name in seen:
            by_recommended = " (recommended brings it)" if RECOMMENDED in features and name != RECOMMENDED else ""
            yield ("features", place), f"{name} stands twice{by_recommended}"
        if isinstance(name, str):
            seen.add(name)
        if other and other != wanted:
            yield ("features", place), f"{name} is a feature of {other}s; one of {wanted}s is needed"


def run_schema() -> Any:
    """Return the JSON Schema of a config, for editors, with the names of the plug-ins that are registered."""
    schema: Any = json_schema(RunConfig)
    keys = {name: section["properties"] for name, section in (*schema["$defs"].items(), ("RunConfig", schema))}
    feature, mapping = keys["RunConfig"]["features"]["items"]["anyOf"]
    feature["enum"] = [RECOMMENDED, *FEATURES.names()]
    mapping |= {"properties": {"name": {"enum": [*FEATURES.names()]}}, "required": ["name"]}
    encoder = keys["RunConfig"]["encoder"]
    name = {"type": encoder.pop("type"), "examples": [AUTO, *ENCODERS.names()]}
    encoder["anyOf"] = [name, {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}]
    keys["TrainConfig"]["trainer"]["enum"] = [*TRAINERS.names()]
    keys["TrainConfig"]["metric"]["examples"] = [LOSS, *(name for name in example_names() if named(name).is_number)]
    keys["EvaluateConfig"]["metrics"]["items"]["examples"] = example_names()
    keys["NoneConfig"]["source"]["examples"] = [LOG, "removed:0.2"]
    keys["AbstainConfig"]["rule"]["examples"] = [f"{rule}=0.05" for rule in AbstainConfig.RULES]
    return schema
