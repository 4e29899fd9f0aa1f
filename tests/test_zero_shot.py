"""The router that needs no training: ltr rank --tools and ltr.search."""

import json
from pathlib import Path

import numpy as np
import pytest

import ltr
from ltr.errors import UsageError
from ltr.features import FEATURES, ZeroShotWeights
from ltr.features.zero_shot import beside_best
from ltr.samples import Candidates
from ltr.serving import zero_shot_router

TOOLS = [
    {"name": "get_weather", "description": "Weather of a city", "inputs": "city, day"},
    {"name": "sendMail", "description": "Send an email to a person", "inputs": "recipient, subject"},
    {"name": "search_flights", "description": "Find flights between two airports", "inputs": "origin, destination"},
    {"name": "convert_currency", "description": "Convert an amount of money", "inputs": "amount, currency"},
]
ASKED = {
    "is the weather in Lisbon nice?": "get_weather",
    "send Ann an email": "sendMail",
    "flights to Oslo": "search_flights",
    "a recipient and a subject": "sendMail",  # a word of its inputs alone
    "money": "convert_currency",
}


def ranked(query, tools=TOOLS, **options):
    return [choice.candidate for choice in ltr.search(tools, encoder="hash").rank(query, **options)]


@pytest.mark.parametrize("query", ASKED)
def test_tools_are_ranked_without_any_training(query):
    assert ranked(query)[0] == ASKED[query]


def test_the_objects_of_the_caller_come_back():
    assert ltr.search(TOOLS, encoder="hash").rank("send Ann an email", k=1)[0].tool is TOOLS[1]


def test_a_file_of_tools_and_the_same_tools_in_memory_are_ranked_alike(tmp_path):
    path = tmp_path / "tools.json"
    path.write_text(json.dumps({"tools": TOOLS}))
    for query in ASKED:
        in_memory, of_file = (ltr.search(tools, encoder="hash").rank(query) for tools in (TOOLS, path))
        assert [(one.candidate, one.score) for one in in_memory] == [(one.candidate, one.score) for one in of_file]


def test_the_order_of_the_tools_changes_nothing():
    for query in ASKED:
        assert ranked(query) == ranked(query, TOOLS[::-1])


def test_other_tools_may_come_with_the_query():
    others = [{"name": "play_music", "description": "Play a song"}, {"name": "stop_music", "description": "Silence"}]
    answer = ltr.search(TOOLS, encoder="hash").rank("play a song", others)
    assert [choice.candidate for choice in answer] == ["play_music", "stop_music"]


def test_each_column_says_how_near_a_tool_comes_to_the_best_of_its_list():
    router = ltr.search(TOOLS, encoder="hash")
    candidates = Candidates.of_tools("send Ann an email", router.tools)
    phi = router.phi(candidates)
    near = [place for place, name in enumerate(router.names) if name.startswith("tool.near_")]
    assert phi[:, near].max(axis=0) == pytest.approx(1.0)
    assert router.contributions(phi).sum(axis=1) == pytest.approx(router.scores(phi))


def test_columns_of_parts_of_a_list_are_finished_once_it_is_whole():
    router = ltr.search(TOOLS, encoder="hash")
    whole = Candidates.of_tools("a flight, or an email about money?", router.tools)
    names = list(router.tools)
    parts = [
        router.features(
            Candidates.of_tools("a flight, or an email about money?", {name: router.tools[name] for name in some}),
            are_whole_lists=False,
        )
        for some in (names[:1], names[1:])
    ]
    assert router.features.whole(np.concatenate(parts), whole.offsets) == pytest.approx(router.phi(whole))


def test_a_list_in_which_nothing_fits_has_zeros():
    assert beside_best(np.array([-1.0, -2.0, 0.0]), np.array([0, 2, 3])).tolist() == [0.0, 0.0, 0.0]


def test_the_shipped_weights_are_of_registered_columns_and_name_what_made_them():
    shipped = ZeroShotWeights.shipped()
    assert set(shipped.encoders) == {"hash", "static", "minilm"}
    assert all(name in FEATURES for weights in shipped.encoders.values() for name in weights)
    assert len(shipped.made_of) == 9
    assert "tools" not in shipped.made_of  # our own data: their figures are of weights that have not seen them
    assert all(len(digest) == 64 for digest in shipped.made_of.values())


def test_an_encoder_without_weights_is_refused_with_those_that_have_some():
    with pytest.raises(UsageError, match="no weights for the encoder 'mine'; one of hash, static, minilm is needed"):
        ltr.search(TOOLS, encoder="mine")


@pytest.mark.parametrize("tools", [[], {"tools": []}])
def test_no_tools_are_refused(tools):
    with pytest.raises(UsageError, match="no tools to choose from"):
        ltr.search(tools, encoder="hash")


def test_the_command_line_ranks_tools_of_a_file_without_a_model(cli):
    Path("tools.json").write_text(json.dumps({"tools": TOOLS}))
    asked = "rank", "--tools", "tools.json", "send Ann an email", "--encoder", "hash", "-k", 1, "--format", "json"
    assert json.loads(cli.good(*asked))["ranking"][0]["candidate"] == "sendMail"


def test_a_query_may_have_the_name_of_a_directory(cli):
    Path("tools.json").write_text(json.dumps({"tools": TOOLS}))
    Path("weather").mkdir()
    asked = "rank", "--tools", "tools.json", "weather", "--encoder", "hash", "-k", 1, "--format", "json"
    assert json.loads(cli.good(*asked))["ranking"][0]["candidate"] == "get_weather"


@pytest.mark.parametrize(
    "arguments, problem",
    [
        (["anything"], "anything: no such run; name a run before the QUERY, or --tools FILE to rank untrained"),
        (["--tools", "tools.json"], "give a QUERY, or --samples FILE"),
        (["--samples", "x.jsonl"], "name a run or model.json, or --tools FILE to rank untrained"),
        (["--tools", "tools.json", "--graphs", "g.jsonl", "x"], "graphs are ranked by a trained run; name one"),
        (["--tools", "tools.json", "--encoder", "mine", "x"], "without training there are no weights for the encoder"),
        (["run", "x", "--encoder", "hash"], "--encoder is for ranking without a model; a model keeps the encoder"),
    ],
)
def test_a_command_line_that_cannot_be_meant_says_what_is_missing(cli, arguments, problem):
    Path("tools.json").write_text(json.dumps({"tools": TOOLS}))
    code, message = cli.refused("rank", *arguments)
    assert code == 2
    assert problem in message


def test_one_column_says_what_the_router_says():
    router = ltr.search(TOOLS, encoder="hash")
    for query in ASKED:
        candidates = Candidates.of_tools(query, router.tools)
        column = zero_shot_router(candidates, "hash", weights={"tool.zero_shot": 1.0}).phi(candidates)
        assert column[:, 0] == pytest.approx(router.scores(router.phi(candidates)))
