"""Rerankers side by side: quality, latency, cost."""

from ltr.benchmark.config import DECIDING, BenchConfig, BenchData, Entry, load_bench
from ltr.benchmark.running import Allowed, Event, forecast, run_bench
from ltr.benchmark.verdict import Bench, Missing

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
