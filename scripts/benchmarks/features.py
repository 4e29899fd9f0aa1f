"""Speed and memory of reading, featurising and writing samples.

N groups of ten tools, 2,000 tools and N / 5 distinct queries; vectors are made beforehand, as a warm cache has them.
--loop ENCODER also times the specification's way, each query encoded twice per candidate, one text at a time, on 200
queries of ten candidates.
"""

import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.resources import cpu_seconds, peak_mb
from ltr import read_groups
from ltr.encoders.dense_vectors import Dense
from ltr.encoders.registry import encoder_kind
from ltr.features.crossfit import fit_features
from ltr.features.fitted_features import FittedFeatures
from ltr.features.learned_states import fit_states
from ltr.features.presets import SPECIFICATION
from ltr.features.registry import FeatureConfig
from ltr.storage.columns_file import save_columns
from ltr.storage.featurized_jsonl import write_featurized
from subcommands import at_least

TOOLS, DIMENSIONS, CANDIDATES = 2_000, 64, 10
LEARNED = ("tool.proto", "tool.lift", "tool.clause_char", "tool.name", "tool.clause_words", "tool.known", "tool.talk")


def options(parser):
    """Options of the command line."""
    parser.add_argument("--groups", type=at_least(1), default=100_000, help="(default: %(default)s)")
    parser.add_argument("--loop", metavar="ENCODER", help="also compare with the specification's loop")


def main(*, groups, loop):
    """Rates and memory; with an encoder, how much slower the loop is."""
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), groups)
    if loop:
        compare_loop(loop)
    return 0


class Ready:
    """Vectors that are there already: a text's are those of the number it begins with."""

    name, revision = "ready", "1"

    def __init__(self):
        self.table = np.random.default_rng(0).normal(size=(4_096, DIMENSIONS)).astype(np.float32)
        self.table /= np.linalg.norm(self.table, axis=1, keepdims=True)

    def encode(self, texts, role="document"):
        """A row a text."""
        return Dense(self.table[[len(text) * 31 % len(self.table) for text in texts]])


def write_samples(path, groups):
    """Flat samples: a query for five groups, ten of 2,000 tools each."""
    rng = np.random.default_rng(0)
    tools = [f"tool_{number % 40}_{number}" for number in range(TOOLS)]
    with path.open("w", encoding="utf-8") as file:
        for group in range(groups):
            words = " ".join(f"word{word}" for word in np.random.default_rng(group // 5).integers(0, 500, 12))
            offered = rng.choice(TOOLS, CANDIDATES, replace=False)
            for position, tool in enumerate(offered.tolist()):
                key = f'"trace_id":"t{group // 3}","node_id":"n{group % 3}","query":"{words}"'
                text = f'"tool":"{tools[tool]}","tool_description":"does thing {tool} for {tool % 97} people"'
                file.write("{" + f'{key},{text},"label":{int(position == 0)}' + "}\n")


def measure(folder, groups):
    """Samples a second of each step, and memory."""
    path, rows = folder / "samples.jsonl", groups * CANDIDATES
    write_samples(path, groups)
    base = peak_mb()
    seconds, samples = cpu_seconds(partial(read_groups, str(path)))
    print(f"{rows:,} samples, {path.stat().st_size >> 20} MB; read {rows / seconds:,.0f} samples/s")
    encoder = Ready()
    for label, names in (("the plain four", SPECIFICATION["tool"]), ("the recommended", LEARNED)):
        configs = tuple(FeatureConfig(name) for name in names)
        fitting, states = cpu_seconds(partial(fit_states, configs, samples, encoder))
        features = FittedFeatures("tool", configs, states, encoder)
        seconds, phi = cpu_seconds(partial(features, samples.candidates))
        print(f"{label}: fit {fitting:.2f} s; columns {rows / seconds:,.0f} samples/s")
        for config, state in zip(configs, states, strict=True):
            make = FittedFeatures("tool", (config,), (state,), encoder)
            alone, _ = cpu_seconds(partial(make, samples.candidates))
            print(f"    {config.name:18} {rows / max(alone, 1e-9):14,.0f} samples/s")
        if label == "the plain four":
            write(folder, samples, phi, configs)
    print(f"peak memory {peak_mb():,.0f} MB, {peak_mb() - base:,.0f} MB above the imports")


def write(folder, groups, phi, configs):
    """Featurise with `hash` and write, as the command does."""
    fitted, _ = fit_features(configs[1:3], groups, "hash")
    rows = len(phi)
    for name, save in (("phi.npz", save_columns), ("phi.jsonl", write_featurized)):
        seconds, _ = cpu_seconds(partial(save, folder / name, groups, phi[:, : len(fitted.names)], fitted))
        print(f"  written to {name}: {rows / seconds:,.0f} samples/s")


def compare_loop(encoder_name):
    """The specification's loop against one featurising with the same encoder, cold."""
    rng = np.random.default_rng(0)
    queries = [" ".join(f"word{word}" for word in rng.integers(0, 500, 12)) for _ in range(200)]
    tools = [f"Tool: tool_{number}. Description: does thing {number} for people" for number in range(400)]
    offered = rng.integers(0, 400, (200, CANDIDATES))
    kind = encoder_kind(encoder_name)
    loop, together = kind.fitted(queries + tools), kind.fitted(queries + tools)
    loop.encode(["warm"], "query"), together.encode(["warm"], "query")
    documents, start = loop.encode(tools, "document"), time.perf_counter()
    for query, row in zip(queries, offered.tolist(), strict=True):
        for tool in row:
            for _ in range(2):  # relevance, and structure that computes relevance again
                own = loop.encode([query], "query")
                own.dots(np.array([0]), documents, np.array([tool]))
    slow, start = time.perf_counter() - start, time.perf_counter()
    rows = together.encode(queries, "query")
    encoding = time.perf_counter() - start
    rows.dots(np.repeat(np.arange(200), CANDIDATES), documents, offered.ravel())
    quick = time.perf_counter() - start
    print(f"{encoder_name}: the loop {slow:.1f} s, together {quick:.2f} s: {slow / quick:.0f} times; ", end="")
    print(f"{encoding / quick:.1%} of it in the encoder")
