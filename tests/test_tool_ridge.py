"""tool.ridge against the dense normal equations, and what bounds its state."""

import gc
import math
import re
import tracemalloc
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ltr import read_groups
from ltr.encoders import CachedEncoder, Dense, HashEncoder
from ltr.errors import DataError, UsageError
from ltr.features import (
    FEATURES,
    TOKEN,
    Counted,
    FeatureConfig,
    encoded_texts,
    equations,
    fit_features,
    fit_states,
    stemmed_words,
)
from ltr.features import ridge as ridge_module
from ltr.features.fitted import reading
from ltr.features.learning import Shard, counted, state_of
from ltr.features.texts import Lexicon
from ltr.splits import hash_blocks
from ltr.tables import digests, merged
from tests.builders import LetterEncoder, column_of, tool_lines, write_lines

RIDGE = FeatureConfig("tool.ridge")
LINES = [
    *tool_lines(seed=4, traces=10),
    *[{**line, "trace_id": f"again {line['trace_id']}"} for line in tool_lines(seed=4, traces=3)],  # asked twice
    {"trace_id": "e", "node_id": 0, "query": "", "tool": "x", "label": 1},
    {"trace_id": "f", "node_id": 0, "query": "Flüge 东京 to find, to find", "tool": "x", "label": 1},
]


@pytest.fixture
def groups(tmp_path):
    return read_groups(write_lines(tmp_path / "samples.jsonl", LINES))


HASH = HashEncoder.fitted(["a text", "another text"])
ENCODERS = {"letters": LetterEncoder(), "hash": HASH}


def fitted(groups, config=RIDGE, encoder=HASH):
    return fit_states([config], groups, encoder)[0]


def values(groups, fitted_on, config=RIDGE, encoder=HASH):
    return column_of(config, groups.candidates, fitted(fitted_on, config, encoder), encoder)


def vector(query, encoder):
    """The encoder's vector, every number written out."""
    encoded = encoder.encode([query], "query")
    if isinstance(encoded, Dense):
        return encoded.numbers[0]
    numbers = np.zeros(encoded.dimensions)
    numbers[encoded.columns] = encoded.numbers
    return numbers


def grams(query):
    """Words and pairs of neighbours, as written and as stems."""
    listed = []
    for side, words in (("written", TOKEN.findall(query.lower())), ("stems", stemmed_words(query))):
        listed += [(side, word) for word in words]
        listed += [(side, *pair) for pair in zip(words, words[1:], strict=False)]
    return Counter(listed)


def by_hand(lines, fitted_on, encoder, penalty=0.25, asked=()):
    """w of each tool from X'TX w + penalty w = X't, every matrix written out; asked: lines that say what is rare."""
    right = [line for line in fitted_on if line["label"]]
    times = Counter(query for _, query in {(line["trace_id"], line["query"]) for line in right})
    queries = sorted(times)
    vocabulary = sorted({gram for line in [*lines, *fitted_on] for gram in grams(line["query"])})

    def row(query):
        weights = np.zeros(len(vocabulary))
        for gram, count in grams(query).items():
            rarity = 1 + math.log((1 + len(counted)) / (1 + frequency[gram]))
            weights[vocabulary.index(gram)] = (1 + math.log(count)) * rarity
        for side in ("written", "stems"):
            own = [place for place, gram in enumerate(vocabulary) if gram[0] == side]
            length = np.linalg.norm(weights[own])
            weights[own] /= length if length else 1
        return np.concatenate([weights, vector(query, encoder)]) / math.sqrt(3)

    counted = {line["query"] for line in asked} or set(queries)
    frequency = Counter(gram for query in counted for gram in set(grams(query)))
    x, t = np.array([row(query) for query in queries]), np.array([times[query] for query in queries])
    is_used = x.any(axis=0)
    x = x[:, is_used]
    inverse = np.linalg.inv(x.T @ (t[:, None] * x) + penalty * np.eye(x.shape[1]))
    answered = {(line["trace_id"], line["query"], line["tool"]) for line in right}
    column = []
    for line in lines:
        wins = np.array([sum(line["tool"] == tool and query == q for _, q, tool in answered) for query in queries])
        column.append(row(line["query"])[is_used] @ inverse @ (x.T @ wins))
    return column


@pytest.mark.parametrize("name", ["letters", "hash"])
def test_tool_ridge_solves_the_normal_equations(groups, name):
    encoder, first = ENCODERS[name], np.flatnonzero(groups.candidates.traces < 8)
    seen = {groups.candidates.trace_ids[trace] for trace in range(8)}
    expected = by_hand(LINES[::5], [line for line in LINES if line["trace_id"] in seen], encoder)
    served = values(groups, groups.select(first), encoder=encoder)
    np.testing.assert_allclose(served[::5], expected, atol=3e-3)  # half precision
    assert max(expected) > 0.3


def test_a_query_asked_in_several_traces_counts_as_often(groups):
    expected = by_hand(LINES[::9], LINES, LetterEncoder(), penalty=2.0)
    option = FeatureConfig("tool.ridge", {"penalty": 2.0})
    np.testing.assert_allclose(values(groups, groups, option, LetterEncoder())[::9], expected, atol=3e-3)


def cross_fitted(groups, config=RIDGE):
    return fit_features([config], groups, "hash")[1][:, 0]


@pytest.mark.parametrize("penalty", [0.25, 2.0])
def test_training_values_are_those_of_regressions_without_the_fold_where_rare_is_what_all_queries_say(
    tmp_path, penalty
):
    often = [{**line, "trace_id": f"also {n}", "label": n % 3} for n in range(4) for line in LINES[:6]]  # in many folds
    never = [{**line, "trace_id": "never", "query": f"never {line['query']}", "label": 0} for line in LINES[:4]]
    lines = [*LINES, *often, *never]
    groups = read_groups(write_lines(tmp_path / "more.jsonl", lines))
    own = cross_fitted(groups, FeatureConfig("tool.ridge", {"penalty": penalty}))
    encoder = CachedEncoder.fitted("hash", encoded_texts(groups.candidates))
    for fold in range(2):
        others = [line for line in lines if hash_blocks([line["trace_id"]], 10)[0] != fold]
        rows = [place for place, line in enumerate(lines) if hash_blocks([line["trace_id"]], 10)[0] == fold][::3]
        expected = by_hand([lines[row] for row in rows], others, encoder, penalty, asked=lines)
        np.testing.assert_allclose(own[rows], expected, atol=2e-5)


def test_values_of_a_training_query_do_not_change_with_the_answers_of_its_trace(groups):
    whole = cross_fitted(groups)
    for trace in (0, 3):
        rows = np.repeat(groups.candidates.traces == trace, np.diff(groups.offsets))
        for labels in (np.where(rows, 0, groups.labels), np.where(rows, 1, groups.labels)):
            np.testing.assert_allclose(cross_fitted(replace(groups, labels=labels))[rows], whole[rows], atol=1e-7)


def test_too_many_queries_to_solve_at_once_have_nearly_the_same_training_values(groups, monkeypatch):
    whole = cross_fitted(groups)
    monkeypatch.setattr(equations, "MOST_AT_ONCE", 3)
    assert np.corrcoef(cross_fitted(groups), whole)[0, 1] > 0.99


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("penalty", [1e-6, 1e-10, 1e-16, 1e-20])
def test_a_penalty_that_vanishes_beside_queries_that_are_alike_is_refused(tmp_path, penalty):
    lines = [
        {"trace_id": f"t{n}", "node_id": 0, "query": "hello" + " " * n, "tool": f"x{n % 2}", "label": 1}
        for n in range(9)
    ]
    groups = read_groups(write_lines(tmp_path / "samples.jsonl", lines))
    with pytest.raises(UsageError, match=r"^the feature tool\.ridge: its penalty is too small"):
        fitted(groups, FeatureConfig("tool.ridge", {"penalty": penalty}))


def test_what_was_learned_with_another_encoder_is_refused(groups):
    with pytest.raises(DataError, match="belongs to another encoder"):
        column_of(RIDGE, groups.candidates, fitted(groups), LetterEncoder())


def test_a_tool_that_was_never_right_has_0(groups):
    right = {line["tool"] for line in LINES if line["label"]}
    never = [place for place, line in enumerate(LINES) if line["tool"] not in right]
    assert len(never) > 10
    assert set(values(groups, groups)[never].tolist()) == {0.0}


def test_any_cut_into_traces_gives_the_same_state(groups):
    learner, lexicon, encoder = FEATURES["tool.ridge"].learner, Lexicon(), HASH
    assert isinstance(learner, Counted)
    parts = []
    for remainder in (2, 0, 1):
        shard = groups.select(np.flatnonzero(groups.candidates.traces % 3 == remainder))
        parts.append(counted(RIDGE, Shard(shard, reading([RIDGE], shard.candidates, encoder, lexicon))))
    cut, whole = state_of(RIDGE, merged(parts[0], merged(parts[1], parts[2]))), fitted(groups)
    np.testing.assert_array_equal(cut["coefficients"], whole["coefficients"])
    np.testing.assert_array_equal(cut["grams"]["keys"], whole["grams"]["keys"])


def test_with_too_many_queries_those_that_each_tool_answered_first_stay(groups, monkeypatch):
    answered = {}
    for line in LINES:
        if line["label"]:
            answered.setdefault(line["tool"], set()).add(line["query"])
    first = {min(queries, key=lambda query: digests([query])[0]) for queries in answered.values()}
    monkeypatch.setattr(equations, "MOST_QUERIES", len(first))
    state = fitted(groups)
    stored = state["queries"]["starts"]
    assert len(stored) - 1 == len(first) < len({line["query"] for line in LINES if line["label"]})
    sizes = sorted(len(grams(query)) for query in first)
    assert sorted(np.diff(stored).tolist()) == sizes


def test_with_too_many_coefficients_the_tools_that_answered_most_stay(groups, monkeypatch):
    answers = {(line["query"], line["tool"]) for line in LINES if line["label"]}
    support = Counter(tool for _, tool in answers)
    queries, often = len({query for query, _ in answers}), sum(count > 1 for count in support.values())
    monkeypatch.setattr(equations, "MOST_NUMBERS", queries * often)
    assert fitted(groups)["coefficients"].shape == (often, queries)


def test_a_row_has_its_value_whatever_else_is_ranked_beside_it(groups):
    state, encoder = fitted(groups), HASH
    whole = column_of(RIDGE, groups.candidates, state, encoder)
    alone = groups.select(np.array([7]))
    np.testing.assert_allclose(column_of(RIDGE, alone.candidates, state, encoder), whole[28:32], atol=1e-12)


def test_queries_in_many_blocks_have_the_same_values(groups, monkeypatch):
    whole = values(groups, groups)
    monkeypatch.setattr(ridge_module, "LIKENESSES", 1)
    np.testing.assert_allclose(values(groups, groups), whole, atol=1e-12)


def test_coefficients_of_a_few_tools_at_a_time_are_those_of_all(groups, monkeypatch):
    whole = fitted(groups)["coefficients"]
    monkeypatch.setattr(equations, "LIKENESSES", 1)
    np.testing.assert_allclose(fitted(groups)["coefficients"], whole, rtol=2e-3, atol=1e-7)  # half precision
    assert len(whole) > 4


def part_of_900(tmp_path):
    """What is counted in 900 queries."""
    lines = [
        {"trace_id": f"t{n}", "node_id": 0, "query": f"word{n}", "tool": f"tool{n % 9}", "label": 1} for n in range(900)
    ]
    groups = read_groups(write_lines(tmp_path / "samples.jsonl", lines))
    encoder = LetterEncoder()
    return counted(RIDGE, Shard(groups, reading([RIDGE], groups.candidates, encoder, Lexicon())))


def test_the_equations_take_half_a_matrix(tmp_path, monkeypatch):
    monkeypatch.setattr(equations, "LIKENESSES", 1 << 12)
    part = part_of_900(tmp_path)
    state_of(RIDGE, part)  # loads scipy
    tracemalloc.start()
    state_of(RIDGE, part)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.75 * 900 * 900 * 8


def resident_of_temporary_files():
    """KB of files without a name that are mapped and in memory."""
    blocks = re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", Path("/proc/self/smaps").read_text(), flags=re.MULTILINE)
    files = [block for block in blocks if "(deleted)" in block.partition("\n")[0]]
    return sum(int(re.search(r"^Rss:\s+(\d+)", block, flags=re.MULTILINE)[1]) for block in files)


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="what is in memory is read from /proc")
def test_tables_on_disk_have_left_memory_once_their_equations_are_solved(tmp_path, monkeypatch):
    monkeypatch.setattr("ltr.tables.merging.LARGEST_IN_MEMORY", 1 << 12)
    gc.collect()  # maps of other tests
    before, part = resident_of_temporary_files(), part_of_900(tmp_path)
    assert resident_of_temporary_files() == before
    state_of(RIDGE, part)
    assert resident_of_temporary_files() == before
