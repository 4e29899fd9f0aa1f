"""The config of a bench: every key, its default, and what it means."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from ltr.config import Document, as_dataclass, json_schema, not_text
from ltr.errors import LtrError, RangeError
from ltr.evaluation import Measure, example_names, named
from ltr.files import put_back
from ltr.paths import STDIN, AnyPath, path_from, path_to
from ltr.rerankers.protocol import RERANKERS, RerankerChoice, registered_spelling

DECIDING = "ndcg@10"  # best quality, front and balance go by it
PATHS = ("tools", "graphs")
DEAREST = 1e15  # a price from which sums lose their cents
FOR_A_RUN = "a key of runs, not of a bench; ltr run takes this config"
KeyPath = tuple[str | int, ...]
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
class BenchEntry:
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
    catalogue: bool = False
    """Whether the documents of a query are all tools of the catalogue, and not those that its samples offer."""
    sample: int | None = None
    """How many queries are drawn, without replacement; without it, all."""
    rerankers: tuple[str | BenchEntry, ...] = ()
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
        if self.catalogue and not self.data.tools:
            wrong.append("catalogue ranks all tools of a catalogue: name one as data.tools")
        if not self.data.samples:
            wrong.append("data.samples is missing; a file or a list of files is needed")
        wrong += not_text(self)
        if wrong:
            raise ValueError(*wrong)

    @property
    def entries(self) -> tuple[BenchEntry, ...]:
        """The rerankers, each as a mapping."""
        return tuple(BenchEntry(name=entry) if isinstance(entry, str) else entry for entry in self.rerankers)


def load_bench(path: AnyPath, overrides: Sequence[str] = ()) -> BenchConfig:
    """Read a config (`-` is stdin), changed as `--set PATH=VALUE` asks; every mistake is reported at once."""
    return bench_config(Document.read(path, overrides))


def bench_config(document: Document) -> BenchConfig:
    """Return the document as a config with its paths put against its directory, or raise all mistakes at once."""
    foreign = [key for key in ("features", "encoder", "train") if key in document.value]
    if foreign and "rerankers" not in document.value:
        document.refuse([document.problem((foreign[0],), FOR_A_RUN)])
    config = as_dataclass(document, BenchConfig, _unknown_names(document))

    def from_here(name: str, at: KeyPath) -> str:
        """Return the path as seen from here; that of a file is relative to the directory of the file."""
        is_flag = document.place(at).source != document.source
        return name if name == STDIN else str(path_to(Path() if is_flag else document.base, name))

    metrics = tuple(dict.fromkeys(named(metric).name for metric in (*config.metrics, DECIDING)))
    return replace(_with_paths(config, from_here), metrics=metrics)


def relocated_bench(config: BenchConfig, directory: Path) -> BenchConfig:
    """Return the config as it stands in a file of another directory: it names the same files from there."""
    return _with_paths(config, lambda name, at: name if name == STDIN else path_from(directory, name))


def bench_schema() -> dict[str, Any]:
    """Return the JSON Schema of a bench's config, for editors, with the names of the plug-ins that are registered."""
    described: Any = json_schema(BenchConfig)
    properties = described["properties"]
    properties["metrics"]["items"]["examples"] = [name for name in example_names() if type(named(name)) is Measure]
    names = {"examples": [*RERANKERS.names()]}
    properties["rerankers"]["items"]["anyOf"][0] |= names
    described["$defs"][BenchEntry.__name__]["properties"]["name"] |= names
    return described


def _with_paths(config: BenchConfig, move: Move) -> BenchConfig:
    """Return the config with every path moved; what follows the colon of a reranker is a path if a file lies there.

    The colon of model:RUN is always followed by a path.
    """
    data, rerankers = config.data, []
    samples = (data.samples,) if isinstance(data.samples, str) else data.samples
    catalogues = {key: move(name, ("data", key)) for key in PATHS if (name := getattr(data, key)) is not None}
    moved_data = replace(data, samples=tuple(move(name, ("data", "samples")) for name in samples), **catalogues)
    for place, entry in enumerate(config.entries):
        start, _, argument = entry.name.partition(":")
        if argument:
            moved = move(argument, ("rerankers", place))
            if registered_spelling(entry.name).endswith(":RUN") or put_back(moved).exists() or Path(argument).is_dir():
                entry = replace(entry, name=f"{start}:{moved}", label=entry.shown_name)
        rerankers.append(entry)
    return replace(config, data=moved_data, rerankers=tuple(rerankers))


def _unknown_names(document: Document) -> Iterator[tuple[KeyPath, str]]:
    """Yield rerankers, options and metrics that are not registered, and labels that stand twice."""
    lists = (document.get("metrics"), document.get("rerankers"))
    metrics, entries = (part if isinstance(part, list) else [] for part in lists)
    for place, name in enumerate(metrics):
        try:
            if isinstance(name, str) and type(named(name)) is not Measure:
                yield ("metrics", place), f"{name} is not measured query by query; ltr list metrics"
        except LtrError as error:
            yield ("metrics", place), str(error)
    labels: set[str] = set()
    for place, entry in enumerate(entries):
        keys = entry if isinstance(entry, dict) else {"name": entry}
        name, options, label = keys.get("name"), keys.get("options", {}), keys.get("label") or keys.get("name")
        try:
            if isinstance(name, str) and isinstance(options, dict):
                RerankerChoice(name, options)
        except RangeError as error:
            yield from ((("rerankers", place), problem) for problem in error.args)
        except LtrError as error:
            yield ("rerankers", place), str(error)
        if isinstance(label, str) and label in labels:
            yield ("rerankers", place), f"{label} stands twice; give one of them another label"
        labels.add(str(label))
