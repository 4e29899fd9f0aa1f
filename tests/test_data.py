"""The project's own data sets: made by their script, shaped as promised, and without a way to cheat."""

import gzip
import json
import zlib
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from data.source import chat_log, make
from data.source.tells import fitted, parts, tells
from ltr import TrainConfig, evaluate, fit, import_samples, rank, read_groups, read_tools
from ltr.evaluation import bootstrap_difference
from ltr.features import FeatureConfig, fit_features
from ltr.files import ContentDigest

ROOT = Path(__file__).resolve().parent.parent

FOLDERS = {"tools": "data/tools", "graphs": "data/graphs", "starter": "ltr/experiments/starter/data"}
SETS = {name: [ROOT / folder / f"{part}.jsonl.gz" for part in ("train", "test")] for name, folder in FOLDERS.items()}
CATALOGUES = {
    "tools": ROOT / "data/tools/tools.json",
    "graphs": ROOT / "data/graphs/agents.json",
    "starter": ROOT / "ltr/experiments/starter/data/tools.json",
}
LOG = ROOT / "data/log/chats.jsonl.gz"
FILES = sorted([*(path for pair in SETS.values() for path in pair), *CATALOGUES.values(), LOG])
CUT = [f"data/{kind}/{part}.jsonl.gz" for kind in ("tools", "graphs") for part in ("train", "test")]
CONTENT = {  # sha256 of what `scripts/study make-data` writes without --queries, unpacked
    "data/graphs/agents.json": "00d9ed651c5921c4114a22ef6fad1ee2b243ba35519e9524f14e435c68592fd2",
    "data/graphs/test.jsonl.gz": "ee1a27763666b673cd7af197c1c975a58af5dfdfd94d1a81d9c242cb68734e83",
    "data/graphs/train.jsonl.gz": "777d01a9c67a7f4b5a1668edf82bc5a6ccfecd8f749c089e0cdf7fdb2b3ec80f",
    "data/log/chats.jsonl.gz": "2d41cf2f9042e89ed3bb2473a3f39215cfb67037f01d1cc3007deead977d2449",
    "data/tools/test.jsonl.gz": "35ebaebfb0f4e889533d22c124687d319596d2dc86149dabfce5559a175a5b1a",
    "data/tools/tools.json": "0a93e4f52120cf8150cbb88d0cfc1129b460223723f96aec4d10ffd328787c37",
    "data/tools/train.jsonl.gz": "699d8fcb122e1bb7cbdc5605b785136d05cc79bc29860723b200513338379261",
    "ltr/experiments/starter/data/test.jsonl.gz": "eecd65944e24da28b50c3c0d7130dd8d8756559c7b6f26dcca7cf769f0b51ed3",
    "ltr/experiments/starter/data/tools.json": "0a93e4f52120cf8150cbb88d0cfc1129b460223723f96aec4d10ffd328787c37",
    "ltr/experiments/starter/data/train.jsonl.gz": "6747b2c8248de1aad9c8bd087d83996e46137d175d445ca3f3e36c0503c1fbce",
}
KINDS, FEATURES = ("tools", "graphs"), ("rel", "hist", "coop", "struct")
is_usual_zlib = "ng" not in zlib.ZLIB_RUNTIME_VERSION  # others pack the same content into other bytes


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A directory in which the script has written everything anew, of the large files the first 20 queries or more."""
    folder = tmp_path_factory.mktemp("made")
    make.write_data(folder, queries=20)
    return folder


@pytest.fixture(scope="module")
def sets():
    """Training and test groups of each set."""
    return {
        name: [read_groups(path, tools=None if name == "graphs" else read_tools(CATALOGUES[name])) for path in pair]
        for name, pair in SETS.items()
    }


@pytest.fixture(scope="module")
def told(sets):
    """Of each kind what could betray the right candidate, in training and test data."""
    return {name: [tells(groups.candidates) for groups in sets[name]] for name in KINDS}


@pytest.fixture(scope="module")
def learned(sets):
    """Of each kind: Top-1 of each test query by each of the specification's columns, and by the trained model."""
    return {name: top1_of_each(name, *sets[name]) for name in KINDS}


def top1_of_each(name, train, test):
    features, phi = fit_features([FeatureConfig(f"{name[:-1]}.{each}") for each in FEATURES], train, "hash")
    model = fit(phi, train.labels, train.offsets, TrainConfig(trainer="newton", l2=1e-5))
    columns = features(test.candidates)
    ranked = dict(zip(FEATURES, columns.T, strict=True)) | {"model": model.scores(columns)}
    return {each: top1(column, test) for each, column in ranked.items()}


def top1(column, groups):
    return evaluate(rank(column, groups.offsets), groups.labels).values["top1_accuracy"]


def by_luck(groups):
    """Mean share of right candidates: the Top-1 of random order."""
    return (np.add.reduceat(groups.labels, groups.offsets[:-1]) / np.diff(groups.offsets)).mean()


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_files_begin_with_what_the_script_writes_and_are_whole(path, made):
    """The script draws one query after the other: a file that begins with its first and has the digest is its own."""
    name = path.relative_to(ROOT).as_posix()
    again = made / name
    assert ContentDigest.of(path).sha256 == CONTENT[name]
    assert content(path).startswith(content(again))
    if is_usual_zlib and name not in CUT:
        assert again.read_bytes() == path.read_bytes()
    assert name in CUT or len(content(again)) == len(content(path))


def content(path):
    """The bytes of a file, unpacked."""
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def test_all_files_together_stay_under_three_megabytes_and_the_starter_under_sixty_kilobytes():
    assert sum(path.stat().st_size for path in FILES) < 3_000_000
    assert sum(path.stat().st_size for path in FILES if "starter" in path.parts) < 60_000


def test_the_chat_log_has_every_trap_and_an_import_says_how_often(tmp_path):
    summary = import_samples("auto", [LOG], tmp_path / "samples.jsonl")
    lines = [json.loads(line) for line in gzip.decompress(LOG.read_bytes()).splitlines()]
    answers = [line["response"]["choices"][0] for line in lines]
    counts = {entry.reason: entry.number for of in (summary.kept, summary.skipped) for entry in of}
    assert summary.format == "openai"
    assert len({line["metadata"]["conversation_id"] for line in lines}) == 200
    assert sum(counts.values()) == len(lines)
    assert counts["answers that were cut off"] == sum(answer["finish_reason"] == "length" for answer in answers)
    assert counts["refusals"] == sum("refusal" in answer["message"] for answer in answers)
    strangers = [call["function"]["name"] for answer in answers for call in answer["message"].get("tool_calls", ())]
    assert counts["answers that called only tools that are not on the table"] == strangers.count("ask_the_boss")
    for reason in (
        "decisions for one tool",
        "decisions for several tools",
        "decisions for no tool",
        "answers without a call after an earlier answer or result: the work is done",
        "answers that call again what failed",
        "decisions that the log repeats",
    ):
        assert counts[reason] > 10, reason
    text = (tmp_path / "samples.jsonl").read_text()
    assert "[mail]" in text
    assert chat_log.ADDRESS not in text
    assert chat_log.KEY not in text


@pytest.mark.parametrize("name, train, test", [("tools", 900, 350), ("graphs", 900, 350), ("starter", 150, 60)])
def test_each_set_has_the_promised_number_of_queries(sets, name, train, test):
    for groups, promised in zip(sets[name], (train, test), strict=True):
        assert promised <= len(groups.offsets) - 1 < promised + 5  # the last trace is whole


@pytest.mark.parametrize("name", SETS)
def test_each_query_has_8_to_12_candidates_and_one_or_two_are_right(sets, name):
    for groups in sets[name]:
        assert set(np.diff(groups.offsets)) <= set(range(8, 13))
        assert set(np.add.reduceat(groups.labels, groups.offsets[:-1])) <= {1, 2}


@pytest.mark.parametrize("name", SETS)
def test_each_trace_has_2_to_5_queries_and_training_and_test_share_no_trace_and_no_query(sets, name):
    train, test = (groups.candidates for groups in sets[name])
    for candidates in (train, test):
        assert set(np.bincount(candidates.traces)) <= {2, 3, 4, 5}
        assert len({text.lower() for text in candidates.query_texts}) == len(candidates.node_ids)
    assert not set(train.trace_ids) & set(test.trace_ids)
    assert not {text.lower() for text in train.query_texts} & {text.lower() for text in test.query_texts}


@pytest.mark.parametrize("name", KINDS)
def test_queries_are_one_word_or_many(sets, name):
    words = [len(text.split()) for groups in sets[name] for text in groups.candidates.query_texts]
    assert min(words) == 1
    assert max(words) > 15


def test_the_catalogue_knows_each_tool_and_each_tool_is_offered(sets):
    tools = read_tools(CATALOGUES["tools"])
    assert len(tools) >= 60
    for groups in sets["tools"]:
        assert {groups.candidates.name_texts[code] for code in groups.candidates.names} == set(tools)


def test_teams_have_1_to_7_different_agents_of_the_catalogue(sets):
    agents = set(read_tools(CATALOGUES["graphs"]))
    assert len(agents) >= 12
    for groups in sets["graphs"]:
        for graph in groups.candidates.distinct_graphs:
            assert 1 <= len(graph.names) == len(set(graph.names)) <= 7
            assert set(graph.names) <= agents


def test_graph_ids_are_opaque_and_no_team_stands_twice_in_a_list(sets):
    for groups in sets["graphs"]:
        candidates = groups.candidates
        assert set(candidates.name_texts) == {f"g{place}" for place in range(12)}
        for start, end in zip(groups.offsets[:-1], groups.offsets[1:], strict=True):
            listed = [candidates.distinct_graphs[code] for code in candidates.graphs[start:end]]
            assert len({parts(each) for each in listed}) == end - start


@pytest.mark.parametrize("part", [0, 1], ids=["train", "test"])
@pytest.mark.parametrize("name", KINDS)
def test_nothing_tells_the_right_candidate_without_the_query(sets, told, name, part):
    groups = sets[name][part]
    luck = by_luck(groups)
    for tell, column in told[name][part].items():
        assert top1(column, groups).mean() < luck + 0.08, tell
        assert top1(-column, groups).mean() < luck + 0.08, f"{tell}, upside down"


@pytest.mark.parametrize("name", KINDS)
def test_a_model_that_sees_no_query_stays_near_luck(sets, told, name):
    both = list(zip(sets[name], told[name], strict=True))
    for learned_from, measured_on in (both, both[::-1]):
        groups = measured_on[0]
        assert top1(fitted(*learned_from, *measured_on), groups).mean() <= 1.5 * by_luck(groups)


@pytest.mark.parametrize("part", [0, 1], ids=["train", "test"])
def test_the_type_of_a_team_is_independent_of_its_label(sets, part):
    groups = sets["graphs"][part]
    types, is_right = groups.candidates.types, groups.labels > 0
    counted = [np.bincount(types[rows], minlength=types.max() + 1) for rows in (is_right, ~is_right)]
    assert chi2_contingency(counted).pvalue > 0.01


@pytest.mark.parametrize("name", KINDS)
def test_relevance_alone_is_right_for_40_to_70_percent_and_no_column_always(learned, name):
    assert 0.4 < learned[name]["rel"].mean() < 0.7
    assert all(learned[name][each].mean() < 0.9 for each in FEATURES)


def test_history_of_tools_is_clearly_better_than_luck(sets, learned):
    assert learned["tools"]["hist"].mean() > by_luck(sets["tools"][1]) + 0.08


@pytest.mark.parametrize("name", KINDS)
def test_cooperation_carries_some_signal(sets, learned, name):
    assert learned[name]["coop"].mean() > by_luck(sets[name][1])


@pytest.mark.parametrize("name", KINDS)
def test_the_trained_model_beats_the_best_column_beyond_chance(sets, learned, name):
    best = max(FEATURES, key=lambda each: learned[name][each].mean())
    traces = sets[name][1].candidates.traces
    lead = bootstrap_difference(learned[name]["model"], learned[name][best], np.random.default_rng(0), clusters=traces)
    assert lead.low > 0
