"""Rerankers side by side: quality, latency, cost."""

from ltr.bench.config import DECIDING, BenchConfig, BenchData, Entry, load_bench
from ltr.bench.running import Allowed, Event, forecast, run_bench
from ltr.bench.verdict import Bench, Missing

__all__ = [
    "DECIDING",
    "Allowed",
    "Bench",
    "BenchConfig",
    "BenchData",
    "Entry",
    "Event",
    "Missing",
    "forecast",
    "load_bench",
    "run_bench",
]
