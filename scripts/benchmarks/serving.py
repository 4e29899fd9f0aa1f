"""Latency, CPU and memory of a router, and how quickly whole lists are featurised.

Tools are our own, then others: near-duplicates, made of halves of their texts, or of words drawn from them. Each size
is measured in a process of its own, warm: the queries are ranked once before. Beside it stands the CPU of the columns
computed pair by pair, as without anything prepared, and how far scores are from theirs; of a catalogue that is cut, the
share of the first ten that stay.
"""

import json
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import ltr
from benchmarks.memory import resident_mb
from benchmarks.resources import cpu_seconds, in_own_process
from ltr.data.candidates import tool_candidates
from ltr.data.tool_texts import ToolText
from ltr.experiments.single_run import run_and_save
from ltr.features.fitted_features import multiplied
from ltr.serving.pack import recall_of
from ltr.serving.prepared_tools import Offer
from ltr.serving.shortlist import MOST_SCORED
from ltr.serving.zero_shot import zero_shot_router
from subcommands import ROOT, at_least
from tests.plain_columns import plain_column

SIZES = [10, 100, 1_000, 10_000, 100_000]
LISTS, ROWS = (10, 464), 40_000
OWN_TOOLS = ROOT / "data/tools/tools.json"
UNTRAINED = "untrained:"  # before an encoder, in the place of a run
PLAIN = {"tool.newcomer_near": "tool.newcomer"}  # before it is multiplied by another column
PLAIN_ROWS = 3_000  # computed pair by pair


def options(parser):
    """Options of the command line."""
    parser.add_argument("--sizes", type=at_least(1), nargs="*", default=SIZES, help="tools (default: %(default)s)")
    parser.add_argument("--queries", type=at_least(2), default=100, help="(default: %(default)s)")
    parser.add_argument("--encoder", default="hash", help="(default: %(default)s)")
    parser.add_argument("--exact", type=at_least(0), default=16, help="queries that a cut is compared on")
    parser.add_argument("--texts", choices=("halves", "words"), default="halves", help="of tools that are not ours")
    parser.add_argument("--zero-shot", action="store_true", help="the router that needs no training")
    parser.add_argument("--run", help="what a process of its own gets: a run, and one size")


def main(*, sizes, queries, encoder, exact, texts, zero_shot, run):
    """A line a size, then rows a CPU second."""
    if run:
        print(json.dumps(measured(run, sizes[0], queries, exact, texts)))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        home = f"{UNTRAINED}{encoder}" if zero_shot else Path(folder, "run")
        if not zero_shot:
            run_and_save(ltr.load_config(str(ROOT / "configs/tools-recommended.yaml"), [f"encoder={encoder}"]), home)
        for size in sizes:
            same = ("--queries", queries, "--exact", exact, "--encoder", encoder, "--texts", texts)
            done = in_own_process("serving", "--run", home, "--sizes", size, *same)
            if done.returncode:
                sys.exit(done.stderr)
            print(json.loads(done.stdout), flush=True)
        router, asked = router_of(str(home), OWN_TOOLS), own_queries()
        for length in LISTS:
            rate = rows_a_second(router, length, asked)
            print(f"lists of {length}: {rate:,.0f} rows a CPU second")
    return 0


def router_of(run, tools):
    """The router of a run, or the one that needs no training, over the tools."""
    if run.startswith(UNTRAINED):
        tools = ltr.read_tools(tools) if tools == OWN_TOOLS else tools
        return zero_shot_router(tools, run.removeprefix(UNTRAINED))
    loaded = ltr.load(run)
    return loaded if tools == OWN_TOOLS else replace(loaded, tools=tools)


def own_queries():
    """The distinct queries of our test data."""
    return list(dict.fromkeys(ltr.read_groups(ROOT / "data/tools/test.jsonl.gz").candidates.query_texts))


def catalogue(size, own, texts="halves"):
    """Our tools, then others."""
    names, rng, tools = list(own), np.random.default_rng(0), dict(list(own.items())[:size])
    while len(tools) < size:
        tools[f"{names[len(tools) % len(names)]}_{len(tools)}"] = ToolText(TEXTS[texts](own, names, rng), "")
    return tools


def two_halves(own, names, rng):
    """A text of the first half of one and the second half of another."""
    first, second = (own[names[place]].description.split() for place in rng.integers(0, len(names), 2))
    return " ".join([*first[: len(first) // 2], *second[len(second) // 2 :]])


def drawn_words(own, names, rng):
    """Eight words, each of a text of its own."""
    texts = (own[names[place]].description.split() for place in rng.integers(0, len(names), 8))
    return " ".join(words[int(rng.random() * len(words))] for words in texts)


TEXTS = {"halves": two_halves, "words": drawn_words}


def measured(run, size, queries, exact, kind):
    """The figures of one size."""
    texts, base = own_queries()[:queries], resident_mb("VmRSS")
    tools = catalogue(size, ltr.read_tools(OWN_TOOLS), kind)
    loading, router = cpu_seconds(lambda: router_of(run, tools))
    loading += cpu_seconds(lambda: router.rank(texts[0]))[0]
    router.rank_many(texts)
    milliseconds, start = [], time.process_time()
    for text in texts:
        begin = time.perf_counter()
        router.rank(text)
        milliseconds.append((time.perf_counter() - begin) * 1000)
    cpu = (time.process_time() - start) / len(texts)
    encoder = router.features.encoder
    clauses = [[text] for text in texts]
    encoding, _ = cpu_seconds(lambda: [encoder.encode_once(each, "query") for each in clauses])
    figures = {
        "tools": size,
        "p50 ms": round(float(np.percentile(milliseconds, 50)), 2),
        "p95 ms": round(float(np.percentile(milliseconds, 95)), 2),
        "CPU ms": round(cpu * 1000, 2),
        "of it encoder, at least": round(encoding / len(texts) * 1000, 2),
        "loading and first query CPU s": round(loading, 2),
        "peak MB above imports": round(resident_mb("VmHWM") - base),
        "MB above imports": round(resident_mb("VmRSS") - base),
    }
    if size <= MOST_SCORED:
        return figures | beside_pairs(router, texts[: max(PLAIN_ROWS // size, 2)])
    if not exact:
        return figures
    some = texts[:exact]
    cut, every = router.rank_many(some, k=10), router.rank_many(some, k=10, exact=True)
    equal = [
        [choice.candidate for choice in one] == [choice.candidate for choice in two]
        for one, two in zip(cut, every, strict=True)
    ]
    return figures | {"recall@10": recall_of(cut, every), "first ten equal": float(np.mean(equal)), "on queries": exact}


def beside_pairs(router, texts):
    """CPU of the columns computed pair by pair, and the largest difference of a score."""
    features, largest, seconds = router.features, 0.0, 0.0
    for text in texts:
        candidates = tool_candidates(text, router.tools)
        start = time.process_time()
        pairs = zip([PLAIN.get(name, name) for name in features.names], features.states, strict=True)
        phi = np.stack([plain_column(name, candidates, state, features.encoder) for name, state in pairs], axis=1)
        phi = multiplied(features.configs, phi)
        seconds += time.process_time() - start
        scores = dict(zip(candidates.name_texts, router.scores(phi).tolist(), strict=True))
        answer = router.rank(text, k=None)
        largest = max(largest, *(abs(choice.score - scores[choice.candidate]) for choice in answer))
    return {"pair by pair CPU ms": round(seconds / len(texts) * 1000, 2), "largest difference of a score": largest}


def rows_a_second(router, length, texts):
    """Rows of lists of that length, drawn from 464 tools, featurised in one call."""
    tools = catalogue(max(LISTS), router.tools)
    offer = Offer.of(tuple(tools), tuple(tools.values()))
    groups = max(ROWS // length, 1)
    whole, rng = offer.asked([texts[group % len(texts)] for group in range(groups)], None), np.random.default_rng(0)
    drawn = np.concatenate([rng.permutation(len(tools))[:length] for _ in range(groups)])
    candidates = replace(
        whole,
        offsets=np.arange(groups + 1) * length,
        names=drawn,
        texts=drawn,
        lines=np.zeros(len(drawn), dtype=np.int64),
    )
    router.features(candidates)
    seconds, _ = cpu_seconds(lambda: router.features(candidates))
    return len(drawn) / seconds
