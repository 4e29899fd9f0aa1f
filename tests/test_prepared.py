"""What a catalogue alone decides is computed once for each tool; columns are the same as pair by pair."""

import numpy as np
import pytest

from ltr import read_groups
from ltr.arrays import Ragged
from ltr.catalogues import ToolText
from ltr.encoders import CachedEncoder, Dense, Postings, Sparse
from ltr.encoders import vectors as vectors_module
from ltr.features import FEATURES, FeatureConfig, FittedFeatures, Tables, fit_states
from ltr.features import vectors as tool_vectors
from ltr.features.protocol import Context
from ltr.features.texts import Clauses
from ltr.features.vectors import ToolVectors
from ltr.samples import Candidates, ToolList, tools_of_rows
from tests.builders import LetterEncoder
from tests.made import written
from tests.plain_columns import COLUMNS, plain_column

WORDS = [
    "weather",
    "city",
    "mail",
    "send",
    "find",
    "flights",
    "train",
    "book",
    "the",
    "of",
    "then",
    "notes",
    "Paris",
    "café",
    "天気",
    "x2",
]


def made_rows(rng, queries, tools, offered):
    """Lines of samples: queries of several clauses, tools with and without a text, one name with two texts."""
    for query in range(queries):
        text = ", then ".join(" ".join(rng.choice(WORDS, rng.integers(1, 6))) for _ in range(rng.integers(1, 4)))
        for place, tool in enumerate(rng.permutation(tools)[:offered].tolist()):
            described = f"{WORDS[tool % len(WORDS)]} {WORDS[tool * 7 % len(WORDS)]} {tool // 3}" if tool % 5 else ""
            yield {
                "trace_id": f"t{query // 2}",
                "node_id": query,
                "query": text if query % 9 else "?",
                "tool": f"{WORDS[tool % len(WORDS)]}_{tool}",
                "tool_description": described + " again" * (tool % 7 == 1 and query % 2),
                "label": int(place == query % 2),
            }


@pytest.fixture(scope="module", params=["hash", "letters"])
def fitted(request, tmp_path_factory):
    """All prepared features, fitted, and other candidates: lists of 4 of 60 tools, and of all of them."""
    home, rng = tmp_path_factory.mktemp("prepared"), np.random.default_rng(0)
    train = read_groups(written(home / "train.jsonl", made_rows(rng, 60, 40, 6)))
    few = read_groups(written(home / "few.jsonl", made_rows(rng, 30, 60, 4))).candidates
    all_of_them = read_groups(written(home / "all.jsonl", made_rows(rng, 12, 60, 60))).candidates
    encoder = CachedEncoder.fitted("hash", train.candidates.query_texts) if request.param == "hash" else LetterEncoder()
    configs = tuple(FeatureConfig(name) for name in COLUMNS)
    return FittedFeatures("tool", configs, fit_states(configs, train, encoder), encoder), {
        "few": few,
        "all": all_of_them,
    }


@pytest.mark.parametrize("lists", ["few", "all"])
def test_columns_are_those_computed_pair_by_pair(fitted, lists):
    features, candidates = fitted[0], fitted[1][lists]
    phi = features(candidates)
    for place, (name, state) in enumerate(zip(features.names, features.states, strict=True)):
        plain = plain_column(name, candidates, state, features.encoder)
        np.testing.assert_allclose(phi[:, place], plain, rtol=0, atol=1e-12, err_msg=name)
        assert np.ptp(plain) > 0, name


def test_every_prepared_feature_is_compared():
    by_outcomes = {"tool.corrections"}  # 0 until outcomes are learned from: tests/test_correction_layer.py
    products = {name for name in FEATURES.names() if FEATURES[name].finish.times}  # of columns that are compared
    assert {name for name in FEATURES.names() if FEATURES[name].prepare} == set(COLUMNS) | by_outcomes | products


@pytest.mark.parametrize("cuts", [[30], [1, 2, 3], [59], list(range(1, 60))])
def test_tools_that_come_later_change_no_bit(fitted, cuts, monkeypatch):
    monkeypatch.setattr(tool_vectors, "MOST_TOOLS", 25)
    features, candidates = fitted[0], fitted[1]["all"]
    tools, rows = tools_of_rows(candidates)
    tables, memo = None, {}
    for part in np.split(np.arange(len(tools.names)), cuts):
        some = ToolList(tuple(tools.names[i] for i in part), tuple(tools.texts[i] for i in part))
        more = features.prepared(some, memo)
        tables = more if tables is None else Tables.extended(tables, more)
    np.testing.assert_array_equal(features(candidates, Tables(tables, rows, {})), features(candidates))


def test_what_is_made_of_a_state_is_made_once(fitted):
    made = []
    context = Context(fitted[0].encoder)
    state = {"a": 1}
    for _ in range(3):
        context.of_state(made.append, state)
    assert made == [state]


def sparse(matrix):
    matrix = np.array(matrix, dtype=float)
    return Sparse.of(*np.nonzero(matrix), matrix[matrix != 0], matrix.shape)


def test_postings_give_the_bits_of_pairs_whether_short_or_long(monkeypatch):
    rng = np.random.default_rng(1)
    tools, asked = (sparse(rng.normal(size=(9, 50)) * (rng.random((9, 50)) < 0.3)) for _ in range(2))
    rows, others = np.repeat(np.arange(9), 9), np.tile(np.arange(9), 9)
    pairs = asked.dots(rows, tools, others).reshape(9, 9)
    for long in (0, 10**9):
        monkeypatch.setattr(vectors_module, "LONG_POSTINGS", long)
        np.testing.assert_array_equal(Postings.of(tools).products(asked), pairs)
    assert Postings.of(tools).vectors().numbers.tolist() == tools.numbers.tolist()


def test_dense_products_give_the_bits_of_pairs():
    rng = np.random.default_rng(2)
    tools, asked = (Dense(rng.normal(size=(7, 64)).astype(np.float32)) for _ in range(2))
    rows, others = np.repeat(np.arange(7), 7), np.tile(np.arange(7), 7)
    np.testing.assert_array_equal(asked.products(tools), asked.dots(rows, tools, others).reshape(7, 7))


def test_a_query_that_meets_few_of_many_tools_leaves_them_as_rows(monkeypatch):
    rng = np.random.default_rng(3)
    matrix = rng.normal(size=(400, 30)) * (rng.random((400, 30)) < 0.3)
    vectors, every = sparse(matrix), np.arange(400)
    held = ToolVectors.of(vectors)
    few = held.products(vectors, np.array([0, 0]), np.array([3, 5]))
    assert not held.blocks[0].is_turned
    many = held.products(vectors, np.zeros(400, dtype=int), every)
    assert held.blocks[0].is_turned
    np.testing.assert_array_equal(many[[3, 5]], few)
    np.testing.assert_allclose(many, matrix @ matrix[0], atol=1e-12)
    np.testing.assert_array_equal(held.products(vectors, np.array([0, 0]), np.array([3, 5])), few)


def test_rows_of_queries_may_stand_in_any_order(fitted):
    features, candidates = fitted[0], fitted[1]["all"]
    table = features.prepared(tools_of_rows(candidates)[0], {})[features.names.index("tool.clause")]
    clauses = Clauses(("a", "b"), Ragged(np.array([0, 1, 2]), np.array([0, 1])))
    vectors = features.encoder.encode(["weather mail", "send"], "query")
    queries, tools = np.tile([1, 0], 60), np.repeat(np.arange(60), 2)
    one = [table.products(vectors, np.array([q]), np.array([t]))[0] for q, t in zip(queries, tools, strict=True)]
    np.testing.assert_array_equal(table.best(clauses, vectors, queries, tools), one)


def test_a_tool_without_a_description_and_a_lone_tool_have_columns(fitted):
    features = fitted[0]
    tables = features.prepared(ToolList(("zz",), (ToolText(),)), {})
    candidates = Candidates.of_tools("find the weather", {"zz": ToolText()})
    assert np.isfinite(features(candidates, Tables(tables, np.zeros(1, dtype=int), {}))).all()
