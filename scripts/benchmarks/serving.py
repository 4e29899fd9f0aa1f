"""Latency, CPU and memory of a router, and how quickly whole lists are featurised.

Tools are our own, then others: near-duplicates, made of halves of their texts, or of words drawn from them. Each size
is measured in a process of its own, warm: the queries are ranked once before. Beside it stands the CPU of the columns
computed pair by pair, as without anything prepared, and how far scores are from theirs; of a catalogue that is cut, the
share of the first ten that stay.
"""

import argparse
import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import ltr
from ltr.catalogues import ToolText
from ltr.features.fitted import multiplied
from ltr.samples import Candidates
from ltr.serving import MOST_SCORED, zero_shot_router
from ltr.serving.catalogue import Offer
from ltr.serving.packs import recall_of
from processes import cpu_seconds, in_own_process, memory_mb
from subcommands import ROOT, at_least
from tests.plain_columns import plain_column

LISTS, ROWS = (10, 464), 40_000
OWN_TOOLS, OWN_TRAIN = ROOT / "data/tools/tools.json", ROOT / "data/tools/train.jsonl.gz"
UNTRAINED = "untrained:"  # before an encoder, in the place of a run
PLAIN = {"tool.newcomer_near": "tool.newcomer"}  # before it is multiplied by another column
PLAIN_ROWS = 3_000  # computed pair by pair


def options(parser):
    """Options of the command line."""
    sizes = [10, 100, 1_000, 10_000, 100_000]
    parser.add_argument("--sizes", type=at_least(1), nargs="*", default=sizes, help="tools (default: %(default)s)")
    parser.add_argument("--queries", type=at_least(2), default=100, help="(default: %(default)s)")
    parser.add_argument("--encoder", default="hash", help="(default: %(default)s)")
    parser.add_argument("--exact", type=at_least(0), default=16, help="queries that a cut is compared on")
    parser.add_argument("--texts", choices=("halves", "words"), default="halves", help="of tools that are not ours")
    parser.add_argument("--zero-shot", action="store_true", help="the router that needs no training")
    parser.add_argument("--run", help=argparse.SUPPRESS)  # what a process of its own gets, beside one size


def main(*, sizes, queries, encoder, exact, texts, zero_shot, run):
    """A line a size, then rows a CPU second."""
    if run:
        print(json.dumps(measured(run, sizes[0], queries, exact, texts)))
        return
    with tempfile.TemporaryDirectory() as folder:
        home = f"{UNTRAINED}{encoder}" if zero_shot else str(Path(folder, "run"))
        if not zero_shot:
            ltr.train(OWN_TRAIN, out=home, tools=OWN_TOOLS, recommended=True, encoder=encoder)
        for size in sizes:
            same = ("--queries", queries, "--exact", exact, "--encoder", encoder, "--texts", texts)
            print(json.loads(in_own_process("serving", "--run", home, "--sizes", size, *same)), flush=True)
        router, asked = router_of(home, ltr.read_tools(OWN_TOOLS)), own_queries()
        for length in LISTS:
            print(f"lists of {length}: {rows_a_second(router, length, asked):,.0f} rows a CPU second")


def router_of(run, tools):
    """Return the router of a run, or the one that needs no training, over the tools."""
    if run.startswith(UNTRAINED):
        return zero_shot_router(tools, run.removeprefix(UNTRAINED))
    return replace(ltr.load(run), tools=tools)


def own_queries():
    """Return the distinct queries of our test data."""
    return list(dict.fromkeys(ltr.read_groups(ROOT / "data/tools/test.jsonl.gz").candidates.query_texts))


def catalogue(size, own, kind="halves"):
    """Return our tools, then others: the halves of two texts, or eight words, each of a text of its own."""
    names, rng, tools = list(own), np.random.default_rng(0), dict(list(own.items())[:size])
    while len(tools) < size:
        count = 2 if kind == "halves" else 8
        texts = [own[names[place]].description.split() for place in rng.integers(0, len(names), count)]
        if kind == "halves":
            words = [*texts[0][: len(texts[0]) // 2], *texts[1][len(texts[1]) // 2 :]]
        else:
            words = [words[int(rng.random() * len(words))] for words in texts]
        tools[f"{names[len(tools) % len(names)]}_{len(tools)}"] = ToolText(" ".join(words), "")
    return tools


def measured(run, size, queries, exact, kind):
    """Return the figures of one size."""
    texts, base = own_queries()[:queries], memory_mb("VmRSS")
    tools = catalogue(size, ltr.read_tools(OWN_TOOLS), kind)
    loading, router = cpu_seconds(lambda: router_of(run, tools))
    loading += cpu_seconds(lambda: router.rank(texts[0]))[0]
    router.rank_many(texts)
    milliseconds, start = [], time.process_time()
    for text in texts:
        begin = time.perf_counter()
        router.rank(text)
        milliseconds.append((time.perf_counter() - begin) * 1000)
    cpu, encoder = (time.process_time() - start) / len(texts), router.features.encoder
    encoding, _ = cpu_seconds(lambda: [encoder.encode_once([text], "query") for text in texts])
    figures = {
        "tools": size,
        "p50 ms": round(float(np.percentile(milliseconds, 50)), 2),
        "p95 ms": round(float(np.percentile(milliseconds, 95)), 2),
        "CPU ms": round(cpu * 1000, 2),
        "of it encoder, at least": round(encoding / len(texts) * 1000, 2),
        "loading and first query CPU s": round(loading, 2),
        "peak MB above imports": round(memory_mb("VmHWM") - base),
        "MB above imports": round(memory_mb("VmRSS") - base),
    }
    if size <= MOST_SCORED:
        return figures | beside_pairs(router, texts[: max(PLAIN_ROWS // size, 2)])
    if not exact:
        return figures
    cut, every = (router.rank_many(texts[:exact], k=10, exact=is_exact) for is_exact in (False, True))
    names = [[[choice.candidate for choice in answer] for answer in answers] for answers in (cut, every)]
    equal = np.mean([one == two for one, two in zip(*names, strict=True)])
    return figures | {"recall@10": recall_of(cut, every), "first ten equal": float(equal), "on queries": exact}


def beside_pairs(router, texts):
    """Return CPU of the columns computed pair by pair, and the largest difference of a score."""
    features, largest, seconds = router.features, 0.0, 0.0
    for text in texts:
        candidates = Candidates.of_tools(text, router.tools)
        begin = time.process_time()
        pairs = zip([PLAIN.get(name, name) for name in features.names], features.states, strict=True)
        phi = np.stack([plain_column(name, candidates, state, features.encoder) for name, state in pairs], axis=1)
        phi = multiplied(features.configs, phi)
        seconds += time.process_time() - begin
        scores = dict(zip(candidates.name_texts, router.scores(phi).tolist(), strict=True))
        answer = router.rank(text, k=None)
        largest = max(largest, *(abs(choice.score - scores[choice.candidate]) for choice in answer))
    return {"pair by pair CPU ms": round(seconds / len(texts) * 1000, 2), "largest difference of a score": largest}


def rows_a_second(router, length, texts):
    """Return the rows of lists of that length, drawn from 464 tools, featurised in one call."""
    tools, rng = catalogue(max(LISTS), router.tools), np.random.default_rng(0)
    offer, groups = Offer.of(tuple(tools), tuple(tools.values())), max(ROWS // length, 1)
    whole = offer.asked([texts[group % len(texts)] for group in range(groups)], None)
    drawn = np.concatenate([rng.permutation(len(tools))[:length] for _ in range(groups)])
    lines, offsets = np.zeros(len(drawn), dtype=np.int64), np.arange(groups + 1) * length
    candidates = replace(whole, offsets=offsets, names=drawn, texts=drawn, lines=lines)
    router.features(candidates)
    seconds, _ = cpu_seconds(lambda: router.features(candidates))
    return len(drawn) / seconds
