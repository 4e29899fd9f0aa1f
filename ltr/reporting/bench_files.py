"""What lies in a bench directory, read for its page. All of it is untrusted: types are checked, texts stay texts."""

from pathlib import Path
from typing import Any

import msgspec

from ltr.files.reading import AnyPath
from ltr.storage.records import decode_record, read_record

BENCH = "bench.json"


class Quality(msgspec.Struct):
    """A metric with its interval."""

    mean: float | None = None
    low: float | None = None
    high: float | None = None


class Latency(msgspec.Struct):
    """Times of a query."""

    mean_ms: float | None = None
    std_ms: float | None = None
    p50_ms: float | None = None
    p95_ms: float | None = None
    p99_ms: float | None = None
    n: int = 0
    too_few: list[str] = []


class Cost(msgspec.Struct):
    """What declared prices come to."""

    total: float | None = None
    per_query: float | None = None
    per_document: float | None = None


class Reranker(msgspec.Struct):
    """One row of a bench."""

    name: str
    what: str = ""
    revision: str | None = None
    quality: dict[str, Quality] = {}
    latency: Latency = msgspec.field(default_factory=Latency)
    cold_start_ms: float | None = None
    documents_per_second: float | None = None
    peak_memory_mb: float | None = None
    cost: Cost | None = None
    balance: float | None = None
    is_on_front: bool = False
    is_reference: bool = False


class Missing(msgspec.Struct):
    """A reranker without figures."""

    name: str
    why: str = ""


class Compared(msgspec.Struct):
    """Two rerankers, query by query."""

    metric: str
    a: str
    b: str
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_holm: float | None = None


class Bench(msgspec.Struct):
    """bench.json."""

    name: str
    queries: int
    documents: int
    seed: int = 0
    sampled: bool = False
    rules: dict[str, Any] = {}
    rerankers: list[Reranker] = []
    left_out: list[Missing] = []
    failed: list[Missing] = []
    comparisons: list[Compared] = []
    conclusions: dict[str, Any] = {}
    warnings: list[str] = []

    @property
    def deciding(self) -> str:
        """The metric that decides; "" where nothing was measured."""
        return str(self.rules.get("deciding", next(iter(self.rerankers[0].quality), "")) if self.rerankers else "")


def read_bench(directory: AnyPath) -> Bench:
    """The bench that lies there."""
    return read_record(Path(directory, BENCH), Bench)


def bench_in(path: Path, content: bytes) -> Bench:
    """The bench that the content of a bench.json tells."""
    return decode_record(path, content, Bench)
