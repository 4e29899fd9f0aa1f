"""Speed and memory of featurising and writing samples.

N groups of ten tools, 2,000 tools and N / 5 distinct queries; vectors are made beforehand, as a warm cache has them.
--loop ENCODER also times the specification's way, each query encoded twice per candidate, one text at a time, on 200
queries of ten candidates.
"""

import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.scale import write_samples
from ltr import read_groups
from ltr.encoders import ENCODERS, Dense
from ltr.features import FeatureConfig, FittedFeatures, Presets, fit_features, fit_states
from ltr.featurized.columns import save_columns
from ltr.featurized.samples import write_featurized
from processes import cpu_seconds, memory_mb
from subcommands import at_least

DIMENSIONS, CANDIDATES = 64, 10
LEARNED = ("tool.proto", "tool.lift", "tool.clause_char", "tool.name", "tool.clause_words", "tool.known", "tool.talk")


def options(parser):
    """Options of the command line."""
    parser.add_argument("--groups", type=at_least(1), default=100_000, help="(default: %(default)s)")
    parser.add_argument("--loop", metavar="ENCODER", help="also compare with the specification's loop")


def main(*, groups, loop):
    """Rates and memory; with an encoder, how much slower the loop is."""
    base, encoder = memory_mb("VmHWM"), Ready()
    with tempfile.TemporaryDirectory() as folder:
        path, rows = Path(folder, "samples.jsonl"), groups * CANDIDATES
        write_samples(path, groups, is_interleaved=False)
        samples = read_groups(str(path))
        for label, names in (("the plain four", Presets.SPECIFICATION["tool"]), ("the recommended", LEARNED)):
            configs = tuple(map(FeatureConfig, names))
            fitting, states = cpu_seconds(partial(fit_states, configs, samples, encoder))
            features = FittedFeatures("tool", configs, states, encoder)
            seconds, _ = cpu_seconds(partial(features, samples.candidates))
            print(f"{label}: fit {fitting:.2f} s; columns {rows / seconds:,.0f} samples/s")
            for config, state in zip(configs, states, strict=True):
                make = FittedFeatures("tool", (config,), (state,), encoder)
                alone, _ = cpu_seconds(partial(make, samples.candidates))
                print(f"    {config.name:18} {rows / max(alone, 1e-9):14,.0f} samples/s")
        fitted, phi = fit_features(list(map(FeatureConfig, Presets.SPECIFICATION["tool"][1:3])), samples, "hash")
        for name, save in (("phi.npz", save_columns), ("phi.jsonl", write_featurized)):
            seconds, _ = cpu_seconds(partial(save, Path(folder, name), samples, phi, fitted))
            print(f"  written to {name}: {rows / seconds:,.0f} samples/s")
    print(f"peak memory {memory_mb('VmHWM'):,.0f} MB, {memory_mb('VmHWM') - base:,.0f} MB above the imports")
    if loop:
        compare_loop(loop)


class Ready:
    """Vectors that are there already: a text's are those of the number that its length gives."""

    name, revision = "ready", "1"

    def __init__(self):
        self.table = np.random.default_rng(0).normal(size=(4_096, DIMENSIONS)).astype(np.float32)
        self.table /= np.linalg.norm(self.table, axis=1, keepdims=True)

    def encode(self, texts, role="document"):
        """Return a row a text."""
        return Dense(self.table[[len(text) * 31 % len(self.table) for text in texts]])


def compare_loop(encoder_name):
    """Print the time of the specification's loop beside one featurising with the same encoder, cold."""
    rng = np.random.default_rng(0)
    queries = [" ".join(f"word{word}" for word in rng.integers(0, 500, 12)) for _ in range(200)]
    tools = [f"Tool: tool_{number}. Description: does thing {number} for people" for number in range(400)]
    offered = rng.integers(0, 400, (200, CANDIDATES))
    kind = ENCODERS[encoder_name]
    loop, together = kind.fitted(queries + tools), kind.fitted(queries + tools)
    loop.encode(["warm"], "query"), together.encode(["warm"], "query")
    documents, begin = loop.encode(tools, "document"), time.perf_counter()
    for query, row in zip(queries, offered.tolist(), strict=True):
        for tool in row:
            for _ in range(2):  # relevance, and structure that computes relevance again
                own = loop.encode([query], "query")
                own.dots(np.array([0]), documents, np.array([tool]))
    slow, begin = time.perf_counter() - begin, time.perf_counter()
    rows = together.encode(queries, "query")
    encoding = time.perf_counter() - begin
    rows.dots(np.repeat(np.arange(200), CANDIDATES), documents, offered.ravel())
    quick = time.perf_counter() - begin
    print(f"{encoder_name}: the loop {slow:.1f} s, together {quick:.2f} s: {slow / quick:.0f} times; ", end="")
    print(f"{encoding / quick:.1%} of it in the encoder")
