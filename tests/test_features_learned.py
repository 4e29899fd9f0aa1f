"""Each learned feature of tools against a loop written from its formula."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from ltr import read_groups
from ltr.encoders import HashEncoder
from ltr.errors import DataError, UsageError
from ltr.features import FeatureConfig, clauses, stemmed_words, words
from ltr.features.texts import plain_tool_text
from tests.builders import column_of, state_of, tool_lines, write_lines

TRAIN = 14  # traces of LINES that states are fitted on
HALF = 5e-4  # of a number in half precision


def several_asks(lines):
    """The lines with queries of one to three clauses."""
    for place, line in enumerate(lines):
        number = place // 4 % 3
        yield {**line, "query": line["query"] + ", then list my old files. And draw one map for me"[: 25 * number]}


LINES = [*several_asks(tool_lines(seed=3, traces=20)), {"trace_id": "t19", "node_id": 9, "query": "", "tool": "x"}]
LINES[-1]["label"] = 1
SEEN = [line for line in LINES if int(line["trace_id"][1:]) < TRAIN]


@pytest.fixture(scope="module")
def groups(tmp_path_factory):
    return read_groups(write_lines(tmp_path_factory.mktemp("learned") / "samples.jsonl", LINES))


def values(name, groups, **options):
    """The column of all rows, its state fitted on the first traces."""
    config = FeatureConfig(name, options)
    seen = [trace for trace, text in enumerate(groups.candidates.trace_ids) if int(text[1:]) < TRAIN]
    state = state_of(config, groups.select(np.flatnonzero(np.isin(groups.candidates.traces, seen))))
    return column_of(config, groups.candidates, state)


def values_of_all(name, groups):
    """The column of the rows that its state was fitted on."""
    config = FeatureConfig(name)
    return column_of(config, groups.candidates, state_of(config, groups))


def vector(text):
    """The letter counts of a text, of length 1."""
    counts = np.array([text.lower().count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"], dtype=float)
    return counts / max(np.linalg.norm(counts), 1e-12)


def said(line):
    return plain_tool_text(line["tool"], line.get("tool_description", ""))


def answered():
    """Of each tool the lines it answered, one for each trace and query."""
    kept = {(line["trace_id"], line["query"], line["tool"]): line for line in SEEN if line["label"]}
    found = {}
    for line in kept.values():
        found.setdefault(line["tool"], []).append(line)
    return found


def catalogue():
    """The distinct texts of the tools that were seen."""
    return list(dict.fromkeys(said(line) for line in SEEN))


def idf(word):
    texts = catalogue()
    return math.log((len(texts) + 1) / (sum(word in stemmed_words(text) for text in texts) + 0.5))


def parts(query):
    asked = clauses(query)
    return [query, *asked] if len(asked) > 1 else [query]


def test_the_queries_of_these_tests_have_several_clauses():
    assert {len(clauses(line["query"])) for line in LINES} == {1, 2, 3}


@pytest.mark.parametrize("query", [" " * 100_000 + "x", "go there now, " * 20_000, "a" + "\n \t" * 30_000 + "and b"])
def test_clauses_of_a_query_that_never_ends_are_found(query):
    # a pattern that is tried from each blank takes a minute
    assert len(clauses(query)) <= 8


def test_tool_proto_pulls_the_text_towards_the_clauses_the_tool_answered(groups):
    by_hand = []
    for line in LINES:
        total = 3 * vector(said(line))
        for asked in answered().get(line["tool"], []):
            nearest = max(clauses(asked["query"]), key=lambda clause: vector(clause) @ vector(said(asked)))
            total = total + vector(nearest)
        by_hand.append(max(vector(part) @ total for part in parts(line["query"])) / np.linalg.norm(total))
    np.testing.assert_allclose(values("tool.proto", groups), by_hand, atol=HALF)


def test_tool_query_proto_knows_no_clauses(groups):
    by_hand = []
    for line in LINES:
        total = 3 * vector(said(line)) + sum(vector(asked["query"]) for asked in answered().get(line["tool"], []))
        by_hand.append(vector(line["query"]) @ total / np.linalg.norm(total))
    np.testing.assert_allclose(values("tool.query_proto", groups), by_hand, atol=HALF)
    assert np.abs(values("tool.proto", groups) - by_hand).max() > 0.01


def test_a_tool_that_was_never_right_keeps_its_text(groups):
    never = [place for place, line in enumerate(LINES) if line["tool"] not in answered()]
    assert len(never) > 10
    np.testing.assert_allclose(values("tool.proto", groups)[never], values("tool.clause", groups)[never], atol=1e-12)


def test_prototypes_of_another_encoder_are_refused(groups):
    config = FeatureConfig("tool.proto")
    state = state_of(config, groups)
    other = HashEncoder.fitted(["a text"])
    with pytest.raises(DataError, match="belongs to another encoder, revision 1, not to hash at revision"):
        column_of(config, groups.candidates, state, other)


def test_with_too_many_numbers_the_prototypes_of_the_most_right_tools_stay(groups, monkeypatch):
    right = {tool: len(lines) for tool, lines in answered().items()}
    monkeypatch.setattr("ltr.features.vectors.MOST_NUMBERS", 26 * (len(right) - 1))
    state = state_of(FeatureConfig("tool.proto"), groups)
    assert state["tools"]["support"].min() > 1
    assert state["directions"]["numbers"].size <= 26 * (len(right) - 1)


def test_tool_clause_is_the_best_cosine_of_the_query_and_its_clauses(groups):
    by_hand = [max(vector(part) @ vector(said(line)) for part in parts(line["query"])) for line in LINES]
    np.testing.assert_allclose(values("tool.clause", groups), by_hand, atol=1e-12)


def lifts(strength):
    """ln of wins against those of a blind choice, both with the strength added."""
    for line in LINES:
        offers = [each for each in SEEN if each["tool"] == line["tool"]]
        wins = sum(each["label"] for each in offers)
        yield math.log((wins + strength) / (len(offers) / 4 + strength))  # four candidates, one of them right


def test_tool_lift_compares_wins_with_blind_choice(groups):
    by_hand = list(lifts(5))
    np.testing.assert_allclose(values("tool.lift", groups, strength=5.0), by_hand, atol=1e-12)
    assert 0.0 in by_hand


def test_the_strength_of_tool_lift_follows_from_how_much_more_than_chance_wins_vary(tmp_path):
    rows = [
        {"trace_id": f"t{query}", "node_id": 0, "query": "do it", "tool": tool, "label": int(tool == right)}
        for query, right in enumerate("aaaaaabc")
        for tool in "abcd"
    ]
    wins, chance = np.array([6, 1, 1, 0]), np.array([2.0, 2, 2, 2])
    strength = 1 / ((((wins - chance) ** 2).sum() - chance.sum()) / (chance**2).sum())
    served = values_of_all("tool.lift", read_groups(write_lines(tmp_path / "popular.jsonl", rows)))
    np.testing.assert_allclose(served[:4], np.log((wins + strength) / (chance + strength)), atol=1e-12)


def test_where_tools_differ_no_more_than_by_chance_tool_lift_is_0(tmp_path):
    rows = [
        {"trace_id": f"t{query}", "node_id": 0, "query": "do it", "tool": tool, "label": int(tool == right)}
        for query, right in enumerate("abcdabcd")
        for tool in "abcd"
    ]
    assert set(values_of_all("tool.lift", read_groups(write_lines(tmp_path / "equal.jsonl", rows)))) == {0.0}


@pytest.mark.parametrize("name", ["known", "ridge", "proto", "query_proto", "words", "clause_words"])
def test_where_no_tool_is_right_twice_nothing_tells_which_were_right(tmp_path, name):
    rows = [
        {"trace_id": f"t{query}", "node_id": 0, "query": f"do {right}x", "tool": tool, "label": int(tool == right)}
        for query, right in enumerate("abcd")
        for tool in "abcd"
    ]
    once = read_groups(write_lines(tmp_path / "once.jsonl", rows))
    never = replace(once, labels=np.zeros(len(rows)))
    config = FeatureConfig(f"tool.{name}")
    expected = column_of(config, once.candidates, state_of(config, never))
    np.testing.assert_array_equal(values_of_all(config.name, once), expected)
    recurring = replace(once, labels=np.tile([1.0, 0, 0, 0], 4))  # always the first
    assert (column_of(config, once.candidates, state_of(config, recurring)) != expected).any()


@pytest.mark.parametrize(
    "name, option",
    [
        ("tool.lift", "strength"),
        ("tool.words", "strength"),
        ("tool.clause_words", "strength"),
        ("tool.proto", "own"),
        ("tool.query_proto", "own"),
    ],
)
def test_an_option_that_leaves_values_undefined_is_refused(groups, name, option):
    with pytest.raises(UsageError, match=f"feature {name}: {option} is 0; a number above 0 is needed"):
        values(name, groups, **{option: 0})


def test_tool_known_marks_what_was_right_before(groups):
    by_hand = [float(line["tool"] in answered()) for line in LINES]
    assert values("tool.known", groups).tolist() == by_hand


def test_tool_char_is_the_tf_idf_cosine_with_the_idf_of_the_tools(groups):
    encoder, by_hand = HashEncoder.fitted(catalogue()), []
    for line in LINES:
        pair = encoder.encode([line["query"], said(line)], "query")
        by_hand.append(pair.dots(np.array([0]), pair, np.array([1]))[0])
    np.testing.assert_allclose(values("tool.char", groups), by_hand, atol=1e-12)


def test_tool_name_is_the_share_of_the_names_words_that_the_query_has(groups):
    by_hand = []
    for line in LINES:
        pieces, asked = set(stemmed_words(line["tool"])), set(stemmed_words(line["query"]))
        found = sum(idf(word) for word in pieces & asked) / sum(idf(word) for word in pieces) if pieces else 0
        by_hand.append(1.0 if line["tool"].lower() in line["query"].lower() else found)
    np.testing.assert_allclose(values("tool.name", groups), by_hand, atol=1e-12)


def test_a_query_that_holds_the_whole_name_counts_one(tmp_path):
    lines = [{"trace_id": "t0", "node_id": 0, "query": "Use THE_Tool!", "tool": "the_tool", "label": 1}]
    groups = read_groups(write_lines(tmp_path / "samples.jsonl", lines))
    assert values("tool.name", groups).tolist() == [1.0]


def test_tool_bm25_is_okapi_with_the_statistics_of_the_tools(groups):
    texts = [stemmed_words(text) for text in catalogue()]
    mean = sum(map(len, texts)) / len(texts)
    by_hand = []
    for line in LINES:
        text, total = Counter(stemmed_words(said(line))), 0.0
        for word in set(stemmed_words(line["query"])) & set(text):
            spread = 1.2 * (0.25 + 0.75 * text.total() / mean)
            total += idf(word) * text[word] * 2.2 / (text[word] + spread)
        by_hand.append(total)
    np.testing.assert_allclose(values("tool.bm25", groups), by_hand, atol=1e-12)


def likeness_of_words(line, least=1):
    """tool.words of one line, from pairs that occur at least so often."""
    queries = dict.fromkeys(line["query"] for line in SEEN)
    every = Counter(word for query in queries for word in stemmed_words(query))
    own = Counter(word for each in answered().get(line["tool"], []) for word in stemmed_words(each["query"]))
    asked = stemmed_words(line["query"])
    if not asked or not own:
        return 0.0
    total = 0.0
    for word in asked:
        share, count = every[word] / every.total(), own[word] if own[word] >= least else 0
        ratio = (count + 20 * share) / ((own.total() + 20) * share) if share and count else 20 / (own.total() + 20)
        total += math.log(ratio)
    return total / len(asked)


def test_tool_words_is_the_log_likelihood_ratio_of_the_querys_words(groups):
    np.testing.assert_allclose(values("tool.words", groups), [likeness_of_words(line) for line in LINES], atol=1e-12)


def test_with_too_many_pairs_of_words_the_most_frequent_stay(groups, monkeypatch):
    monkeypatch.setattr(words, "MOST_PAIRS", 150)
    by_hand = [likeness_of_words(line, least=2) for line in LINES]
    np.testing.assert_allclose(values("tool.words", groups), by_hand, atol=1e-12)
    assert by_hand != [likeness_of_words(line) for line in LINES]


def test_tool_clause_char_is_the_best_of_query_and_clauses(groups):
    encoder, by_hand = HashEncoder.fitted(catalogue()), []
    for line in LINES:
        found = encoder.encode([said(line), *parts(line["query"])], "query")
        others = np.arange(1, len(parts(line["query"])) + 1)
        by_hand.append(found.dots(others, found, np.zeros_like(others)).max())
    np.testing.assert_allclose(values("tool.clause_char", groups), by_hand, atol=1e-12)


def test_tool_clause_words_is_the_best_of_query_and_clauses_over_the_root_of_their_length(groups):
    by_hand = [
        max(
            math.sqrt(len(stemmed_words(part))) * likeness_of_words({**line, "query": part})
            for part in parts(line["query"])
        )
        for line in LINES
    ]
    np.testing.assert_allclose(values("tool.clause_words", groups), by_hand, atol=1e-12)


def test_tool_talk_adds_up_how_words_of_queries_meet_words_of_right_tools(groups):
    answers = [
        (set(stemmed_words(line["query"])), set(stemmed_words(said(line))))
        for lines in answered().values()
        for line in lines
    ]

    def gain(word, tool_word):
        both = sum(word in asked and tool_word in text for asked, text in answers)
        expected = sum(word in asked for asked, _ in answers) * sum(tool_word in text for _, text in answers)
        return math.log((both + 1) / (expected / len(answers) + 1)) if both >= 2 else 0.0

    by_hand = []
    for line in LINES[::7]:
        asked, text = set(stemmed_words(line["query"])), set(stemmed_words(said(line)))
        total = sum(gain(word, tool_word) for word in asked for tool_word in text)
        by_hand.append(total / math.sqrt(max(len(asked) * len(text), 1)))
    np.testing.assert_allclose(values("tool.talk", groups)[::7], by_hand, atol=1e-6)
    assert max(by_hand) > 0


@pytest.mark.parametrize(
    "name", ["tool.char", "tool.talk", "tool.clause_words", "tool.name", "tool.bm25", "tool.proto", "tool.words"]
)
def test_a_row_has_its_value_whatever_else_is_ranked_beside_it(groups, name):
    config = FeatureConfig(name)
    state = state_of(config, groups)
    whole = column_of(config, groups.candidates, state)
    alone = groups.select(np.array([7]))
    np.testing.assert_allclose(column_of(config, alone.candidates, state), whole[28:32], atol=1e-12)
