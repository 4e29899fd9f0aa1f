"""The record of a bench, bench.json: one description for what is written, shown, and read back."""

from pathlib import Path

import msgspec

from ltr.errors import FileError
from ltr.files import read_bytes
from ltr.paths import AnyPath

BENCH = "bench.json"
TABLES = {"quality": "quality.tsv", "latency": "latency.tsv", "cost": "cost.tsv"}
FORMAT = "ltr-bench/2"
LARGEST_RECORD = 1 << 30


class Quality(msgspec.Struct, frozen=True):
    """Mean of a metric over the queries and its 95 % bootstrap interval; a single unit has no interval."""

    mean: float
    low: float | None
    high: float | None


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """Milliseconds of a query."""

    mean_ms: float
    std_ms: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    n: int  # times
    too_few: list[str]  # percentiles that need more times


class Cost(msgspec.Struct, frozen=True):
    """What the queries cost by the declared prices."""

    total: float
    per_query: float
    per_document: float


class RerankerResult(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one reranker."""

    name: str  # its label, else its name
    reranker: str  # the registered spelling
    what: str
    revision: str
    is_reference: bool  # random, oracle: never best and never on the front
    quality: dict[str, Quality]  # by metric
    latency: Latency
    cold_start_ms: float
    documents_per_second: float | None
    peak_memory_mb: float | None
    cost: Cost | None  # None: no price was declared
    balance: float | None  # None: undefined
    is_on_front: bool = False


class MissingReranker(msgspec.Struct, frozen=True):
    """A reranker without figures."""

    name: str
    why: str


class LeftOut(MissingReranker, frozen=True):
    """A reranker that is not on this machine, or not allowed."""


class Failed(MissingReranker, frozen=True):
    """A reranker that ended with an error."""


class PairedTest(msgspec.Struct, frozen=True, kw_only=True):
    """Reranker a against reranker b, paired query by query."""

    metric: str
    a: str
    b: str
    difference: float  # a - b
    low: float | None
    high: float | None
    p: float  # permutation test
    p_holm: float  # adjusted for all comparisons


class BenchConclusions(msgspec.Struct, frozen=True, kw_only=True):
    """The best rerankers, by what matters most; None where there is none to choose."""

    best_quality: str | None
    lowest_latency: str | None
    best_balance: str | None
    front: list[str]  # best quality first


class EvaluationRules(msgspec.Struct, frozen=True, kw_only=True):
    """How the quality of every reranker was computed, and from how many queries."""

    ties: str
    gain: str
    rel_threshold: float
    no_relevant: str
    num_queries: int
    num_no_relevant: int
    interval_unit: str


class BenchRules(msgspec.Struct, frozen=True, kw_only=True):
    """What the figures rest on."""

    deciding: str  # the metric of best quality, front and balance
    metrics: list[str]  # in the order of the config
    metrics_version: int
    evaluation: EvaluationRules | None  # None: nothing was measured
    interval_level: float
    resamples: int
    permutations: int
    timed: int  # queries
    repeats: int
    warm_up: int
    cost_weight: float


class BenchRecord(msgspec.Struct, frozen=True, kw_only=True):
    """bench.json: everything but the queries."""

    format: str = FORMAT
    name: str
    seed: int
    queries: int
    documents: int
    catalogue: bool  # whether each query has every tool of the catalogue
    queries_in_data: int
    sampled: bool
    rules: BenchRules
    rerankers: list[RerankerResult]  # in the order of the config
    left_out: list[LeftOut]
    failed: list[Failed]
    comparisons: list[PairedTest]
    conclusions: BenchConclusions
    warnings: list[str]


class _Format(msgspec.Struct):
    format: str = ""


def read_bench(directory: AnyPath) -> BenchRecord:
    """The record in the directory. It is untrusted: types are checked, texts stay texts."""
    path = Path(directory, BENCH)
    content = read_bytes(path, limit=LARGEST_RECORD)
    try:
        if msgspec.json.decode(content, type=_Format).format == "ltr-bench/1":
            raise FileError(str(path), "made by an earlier version; bench again")
        bench = msgspec.json.decode(content, type=BenchRecord)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise FileError(str(path), f"not what ltr bench writes: {error}") from error
    metrics = {bench.rules.deciding, *bench.rules.metrics}
    for reranker in bench.rerankers:
        if missing := metrics - reranker.quality.keys():
            raise FileError(str(path), f"{reranker.name} has no quality for {min(missing)}; bench again")
    return bench
