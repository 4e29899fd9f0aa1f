"""The config of a bench: every key, its default, and what it means."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from ltr.config.run import read_document
from ltr.configtext import rendering, strict
from ltr.configtext.document import Document, KeyPath, Value, path_text
from ltr.errors import ConfigError, LtrError, Problem, RangeError
from ltr.evaluation.metrics.registry import Measure, example_names, named
from ltr.files.naming import path_from
from ltr.files.reading import STDIN, AnyPath
from ltr.rerankers.registry import RERANKERS, RerankerChoice, spelled

DECIDING = "ndcg@10"  # best quality, front and balance go by it
PATHS = ("tools", "graphs")
DEAREST = 1e15  # a price from which sums lose their cents
FOR_A_RUN = "a key of runs, not of a bench; ltr run takes this config"
Move = Callable[[str, KeyPath], str]  # of a path, and where in the config it stands


@dataclass(frozen=True, kw_only=True)
class BenchData:
    """Where the queries are. Paths are relative to the config file."""

    samples: str | tuple[str, ...] = ()
    """Queries with candidates and labels: files or globs."""
    tools: str | None = None
    """A catalogue that gives the texts of tools."""
    graphs: str | None = None
    """A catalogue that gives the trees of graphs."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A reranker that takes part."""

    name: str
    """A name of ltr list rerankers; a path after its colon is relative to the config file."""
    label: str | None = None
    """What it is called in the tables; without it, its name."""
    price_per_document: float | None = None
    """What a document costs that is scored, in any currency."""
    price_per_query: float | None = None
    """What a query costs besides."""
    options: dict[str, Any] = field(default_factory=dict)
    """Options of the reranker."""

    def __post_init__(self) -> None:
        prices = [("price_per_document", self.price_per_document), ("price_per_query", self.price_per_query)]
        wrong = [f"{key} {price} is below 0" for key, price in prices if price is not None and price < 0]
        wrong += [f"{key} {price:g} is above {DEAREST:g}" for key, price in prices if price and price > DEAREST]
        if self.label is not None and not self.label.strip():
            wrong.append("label is blank")
        if wrong:
            raise ValueError(*wrong)

    @property
    def shown_name(self) -> str:
        """Its label, else its name."""
        return self.label or self.name


@dataclass(frozen=True, kw_only=True)
class BenchConfig:
    """Rerankers side by side: quality, latency, cost."""

    name: str = "bench"
    """Names the directory of the bench."""
    seed: int = 0
    """Every random choice follows from it."""
    data: BenchData = field(default_factory=BenchData)
    """Where the queries are."""
    sample: int | None = None
    """How many queries are drawn, without replacement; without it, all."""
    rerankers: tuple[str | Entry, ...] = ()
    """Names, or mappings of a name and what belongs to it."""
    metrics: tuple[str, ...] = ("ndcg@1", "ndcg@3", "ndcg@5", DECIDING, "mrr", "hit@1")
    """What quality is measured by; ndcg@10 decides, and always stands there."""
    ties: Literal["expected", "file", "worst", "best", "trec"] = "expected"
    """How equal scores are placed."""
    rel_threshold: float = 1.0
    """The label from which a candidate counts as right."""
    timed: int | None = None
    """On how many of the queries latency is measured, one after the other; without it, on all."""
    repeats: int = 1
    """How often each timed query is asked."""
    warm_up: int = 5
    """Queries asked before, not timed; the first of them is the cold start."""
    workers: int = 1
    """Processes that score the queries that are not timed."""
    cost_weight: float = 1.0
    """balance = ndcg@10 / (mean latency in seconds * cost_weight)."""

    def __post_init__(self) -> None:
        least = {"seed": 0, "sample": 1, "timed": 1, "repeats": 1, "warm_up": 1, "workers": 1}
        wrong = [
            f"{key} is {value}; at least {minimum} is needed"
            for key, minimum in least.items()
            if (value := getattr(self, key)) is not None and value < minimum
        ]
        if not self.rel_threshold > 0:
            wrong.append(f"rel_threshold {self.rel_threshold} is not above 0")
        if not self.cost_weight >= 0:
            wrong.append(f"cost_weight {self.cost_weight} is below 0")
        if not self.rerankers:
            wrong.append("rerankers is empty; name at least one (ltr list rerankers)")
        if not self.data.samples:
            wrong.append("data.samples is missing; a file or a list of files is needed")
        if wrong:
            raise ValueError(*wrong)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The rerankers, each as a mapping."""
        return tuple(Entry(name=entry) if isinstance(entry, str) else entry for entry in self.rerankers)


def load_bench(path: AnyPath, overrides: Sequence[str] = ()) -> BenchConfig:
    """The config of a file (`-` is stdin) with what `--set PATH=VALUE` asks for; every mistake is reported at once."""
    return checked(read_document(path, overrides), path)


def checked(document: Document, path: AnyPath) -> BenchConfig:
    """The document as a config with its paths put against its directory, or a ConfigError with all mistakes."""
    foreign = [key for key in ("features", "encoder", "train") if key in document.value]
    if foreign and "rerankers" not in document.value:
        raise ConfigError((Problem(document.place((foreign[0],)), foreign[0], FOR_A_RUN),))
    problems = [Problem(document.place(at), path_text(at), why) for at, why in _misnamed(document.value)]
    try:
        config = strict.as_dataclass(document, BenchConfig)
    except ConfigError as error:
        problems += error.problems
    if problems:
        raise ConfigError(strict.in_order(document, problems))
    metrics = tuple(dict.fromkeys(named(metric).name for metric in (*config.metrics, DECIDING)))
    return replace(_moved(config, lambda name, at: _joined(_base(document, at, path), name)), metrics=metrics)


def relocated(config: BenchConfig, directory: Path) -> BenchConfig:
    """The config as it stands in a file of another directory: it names the same files from there."""
    return _moved(config, lambda name, at: name if name == STDIN else path_from(directory, name))


def render(config: BenchConfig) -> str:
    """The config as YAML, every default written out."""
    return rendering.yaml_text(config)


def schema() -> dict[str, Any]:
    """The JSON Schema of a bench's config, for editors, with the names of the plug-ins that are registered."""
    described = rendering.json_schema(BenchConfig)
    properties = described["properties"]
    properties["metrics"]["items"]["examples"] = [name for name in example_names() if type(named(name)) is Measure]
    names = {"examples": [*RERANKERS.names()]}
    properties["rerankers"]["items"]["anyOf"][0] |= names
    described["$defs"][Entry.__name__]["properties"]["name"] |= names
    return described


def _base(document: Document, at: KeyPath, path: AnyPath) -> Path:
    """What a path that stands there is relative to: the directory of the file; of a flag, the current one."""
    is_flag = document.place(at).source != document.source
    return Path() if is_flag or str(path) == STDIN else Path(path).parent


def _joined(base: Path, name: str) -> str:
    return name if name == STDIN else str(base / Path(name).expanduser())


def _moved(config: BenchConfig, move: Move) -> BenchConfig:
    """The config with every path moved; what follows a colon is one where a file lies there, or a run should."""
    data = config.data
    samples = (data.samples,) if isinstance(data.samples, str) else data.samples
    named = {key: getattr(data, key) for key in PATHS if getattr(data, key) is not None}
    catalogues = {key: move(name, ("data", key)) for key, name in named.items()}
    moved = replace(data, samples=tuple(move(name, ("data", "samples")) for name in samples), **catalogues)
    entries = enumerate(config.entries)
    return replace(config, data=moved, rerankers=tuple(_moved_entry(entry, place, move) for place, entry in entries))


def _moved_entry(entry: Entry, place: int, move: Move) -> Entry:
    start, colon, argument = entry.name.partition(":")
    if not argument:
        return entry
    moved = move(argument, ("rerankers", place))
    is_path = spelled(entry.name).endswith(":RUN") or Path(moved).exists() or Path(argument).is_dir()
    return replace(entry, name=f"{start}{colon}{moved}", label=entry.shown_name) if is_path else entry


def _misnamed(value: Mapping[str, Value]) -> Iterator[tuple[KeyPath, str]]:
    """Rerankers, options and metrics that nobody registered, and labels that stand twice."""
    lookups: list[tuple[KeyPath, Any, Any]] = [
        (("metrics", place), name, _by_query) for place, name in enumerate(_listed(value.get("metrics")))
    ]
    entries = _listed(value.get("rerankers"))
    lookups += [(("rerankers", place), entry, _choice) for place, entry in enumerate(entries)]
    for address, entry, look_up in lookups:
        try:
            look_up(entry)
        except RangeError as error:
            yield from ((address, problem) for problem in error.args)
        except LtrError as error:
            yield address, str(error)
    seen: set[str] = set()
    for place, entry in enumerate(entries):
        keys = entry if isinstance(entry, dict) else {"name": entry}
        shown_name = keys.get("label") or keys.get("name")
        if isinstance(shown_name, str) and shown_name in seen:
            yield ("rerankers", place), f"{shown_name} stands twice; give one of them another label"
        seen.add(str(shown_name))


def _by_query(name: Value) -> None:
    if isinstance(name, str) and type(named(name)) is not Measure:
        raise LtrError(f"{name} is not measured query by query; ltr list metrics")


def _choice(entry: Value) -> None:
    keys = entry if isinstance(entry, dict) else {"name": entry}
    name, options = keys.get("name"), keys.get("options", {})
    if isinstance(name, str) and isinstance(options, dict):
        RerankerChoice(name, options)


def _listed(value: Value) -> list[Value]:
    return value if isinstance(value, list) else []
