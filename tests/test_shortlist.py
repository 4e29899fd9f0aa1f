"""A large catalogue is cut to a shortlist; the answer says so, and its first ranks are those without the cut."""

from dataclasses import replace

import numpy as np
import pytest

import ltr
from ltr import RunConfig
from ltr.catalogues import ToolText
from ltr.encoders import CachedEncoder
from ltr.features import FeatureConfig, Presets, fit_features
from ltr.samples import Candidates, ToolList
from ltr.serving import catalogue, router
from ltr.serving.catalogue import Shortlist
from tests.builders import LetterEncoder
from tests.made import DataConfig, save_run, tool_rows, written

QUERIES = ["what is the weather?", "send a mail, then book a flight", "tool 17"]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A run with the recommended columns."""
    home = tmp_path_factory.mktemp("cut")
    samples = written(home / "tools.jsonl", tool_rows(range(25)))
    save_run(
        RunConfig(data=DataConfig(train=str(samples)), features=Presets.ALL["tool"], encoder="hash"), home / "tools"
    )
    return home


@pytest.fixture
def large(home, monkeypatch):
    """A router whose catalogue of 310 tools counts as large, and is cut to 20, twice."""
    monkeypatch.setattr(router, "MOST_SCORED", 100)
    monkeypatch.setattr(catalogue, "LISTED", 20)
    monkeypatch.setattr(catalogue, "CUT_AT_ONCE", 64)
    own = ltr.load(home / "tools").tools
    tools = [{"name": name, "description": text.description} for name, text in own.items()]
    more = [{"name": f"tool_{n}", "description": f"does thing {n} of {n % 7} cities"} for n in range(300)]
    return ltr.load(home / "tools", tools=[*tools, *more])


def facts(answer):
    return [(choice.candidate, choice.score) for choice in answer]


def test_the_first_ranks_are_those_of_the_whole_catalogue(large):
    for query in QUERIES:
        cut, exact = large.rank(query, k=3), large.rank(query, k=3, exact=True)
        assert facts(cut) == facts(exact)
        assert (exact.scored, exact.offered) == (310, 310)
        assert cut.offered == 310
        assert 20 <= cut.scored <= 40


def test_probabilities_of_a_cut_sum_over_it(large):
    answer = large.rank("weather", k=None)
    assert len(answer) == answer.scored
    assert sum(choice.probability for choice in answer) == pytest.approx(1)


def test_objects_come_back_from_a_cut(large):
    assert all(choice.tool["name"] == choice.candidate for choice in large.rank("weather", k=None))


def test_a_small_catalogue_is_not_cut(home):
    answer = ltr.load(home / "tools").rank("weather")
    assert (answer.scored, answer.offered) == (10, 10)


def test_many_queries_are_cut_each_alone(large):
    assert [facts(answer) for answer in large.rank_many(QUERIES)] == [facts(large.rank(query)) for query in QUERIES]


def test_too_many_tools_to_hold_are_ranked_part_by_part(large, monkeypatch):
    exact = [facts(large.rank(query, k=None, exact=True)) for query in QUERIES]
    monkeypatch.setattr(catalogue, "MOST_TOOLS", 50)
    monkeypatch.setattr(catalogue, "AT_ONCE", 33)
    assert [facts(answer) for answer in large.rank_many(QUERIES, k=None, exact=True)] == exact


def test_tools_that_training_has_met_are_cut_among_themselves(home, monkeypatch):
    monkeypatch.setattr(catalogue, "LISTED", 10)
    features, own = ltr.load(home / "tools").features, ltr.load(home / "tools").tools
    names = (*(f"weather_{n}" for n in range(90)), *own)
    texts = (*(next(iter(own.values()))._replace(description="what is the weather?") for _ in range(90)), *own.values())
    tools = ToolList(names, texts)
    asked = Candidates.of_tools("what is the weather?", dict(zip(names, texts, strict=True)))
    chosen = {names[place] for place in Shortlist.of(tools, features).best(asked, ltr.load(home / "tools"))}
    assert features.learned_tools() == set(own)
    assert set(own) <= chosen
    assert len(chosen) == 20


def test_a_shortlist_is_what_has_most_from_its_columns_in_the_score(home, monkeypatch):
    router = ltr.load(home / "tools")
    features, own = router.features, router.tools
    others = {f"what_{n}": ToolText(f"what is the number {n} in the city") for n in range(60)}
    tools = others | {f"new_{n}": own["get_weather"] for n in range(3)}  # names that training has not met
    made = Shortlist.of(ToolList(tuple(tools), tuple(tools.values())), features)
    asked = Candidates.of_tools(QUERIES[0], tools)
    (talk,) = made.talk(asked, made.prepared).T
    phi = features(asked)
    assert np.array_equal(talk, phi[:, features.names.index("tool.talk")])
    monkeypatch.setattr(catalogue, "LISTED", 4)
    parts = router.contributions(phi)
    assert made.names == ("tool.clause", "tool.proto")
    score = sum(parts[:, features.names.index(name)] for name in (*made.names, "tool.talk"))
    assert set(made.best(asked, router).tolist()) == set(np.argsort(-score, kind="stable")[:4].tolist())


def test_a_model_without_the_columns_that_cut_is_cut_by_letters_alone(home, monkeypatch):
    router = ltr.load(home / "tools")
    own = router.tools
    tools = {f"new_{n}": ToolText(f"{text.description} {n}") for n, text in enumerate([*own.values()] * 5)}
    made = Shortlist.of(ToolList(tuple(tools), tuple(tools.values())), router.features.only("tool.rel", "tool.lift"))
    monkeypatch.setattr(catalogue, "LISTED", 4)
    best, letters = made.best(Candidates.of_tools(QUERIES[0], tools), router), made.cosines(QUERIES[0])
    assert made.names == ()
    assert best.tolist() == np.sort(np.argsort(-letters, kind="stable")[:4]).tolist()


def test_a_large_catalogue_leaves_less_room_for_tools_that_are_held(large, monkeypatch):
    monkeypatch.setattr(catalogue, "MOST_OF_A_CUT", 45)
    answers = [facts(large.rank(query)) for query in QUERIES]
    assert len(large.known._rows) <= 45
    assert answers == [facts(large.rank(query)) for query in QUERIES]


@pytest.mark.parametrize("column", ["tool.clause_char", "tool.clause", "tool.proto"])
def test_the_column_that_cuts_is_the_largest_cosine_over_query_and_clauses(home, column):
    features = ltr.load(home / "tools").features.only(column)
    tools = {f"new_{n}": text for n, text in enumerate(ltr.load(home / "tools").tools.values())}
    asked = Candidates.of_tools("send a mail to Ann, then book a flight", tools)
    made = Shortlist.of(ToolList(tuple(tools), tuple(tools.values())), features)
    assert made.names == (column,)
    np.testing.assert_allclose(made.cosines(asked.query_texts[0]), features(asked)[:, 0], atol=1e-3)


def test_dense_vectors_cut_as_their_column_does_where_the_encoder_is_quick(tmp_path, monkeypatch):
    monkeypatch.setattr(catalogue, "QUICK", ("letters",))
    samples = written(tmp_path / "tools.jsonl", tool_rows(range(25)))
    tools = {f"new_{n}": ToolText(f"does thing {n} of the weather") for n in range(30)}
    asked = Candidates.of_tools(QUERIES[0], tools)
    fitted, _ = fit_features([FeatureConfig("tool.clause")], ltr.read_groups(samples), "hash")
    fitted = replace(fitted, encoder=CachedEncoder.of(LetterEncoder()))
    listed = ToolList(tuple(tools), tuple(tools.values()))
    made = Shortlist.of(listed, fitted)
    np.testing.assert_allclose(made.cosines(QUERIES[0]), fitted(asked)[:, 0], atol=1e-6)
    monkeypatch.setattr(catalogue, "QUICK", ())
    assert Shortlist.of(listed, fitted).names == (), "its encoder is in no registry, and stores nothing"
    for in_cache, names in ((10, ("tool.clause",)), (9, ())):  # of each ten texts
        monkeypatch.setattr(catalogue, "CUT_AT_ONCE", 10)
        monkeypatch.setattr(CachedEncoder, "count_on_disk", lambda *_, found=in_cache: found)
        assert Shortlist.of(listed, fitted).names == names


def test_tools_that_are_too_many_to_hold_leave_no_vectors(large, monkeypatch):
    monkeypatch.setattr(catalogue, "MOST_TOOLS", 50)
    large.rank(QUERIES[0])
    held = len(large.known._served.encoder._encoder._places["document"])
    large.rank(QUERIES[0], exact=True)
    assert len(large.known._served.encoder._encoder._places["document"]) == held


def test_the_vectors_of_tools_go_with_the_tools_that_are_held(large, monkeypatch):
    monkeypatch.setattr(catalogue, "MOST_OF_A_CUT", 45)
    for query in QUERIES * 3:
        large.rank(query)
    encoder = large.known._served.encoder._encoder
    assert 0 < len(encoder._places["document"]) <= 45
