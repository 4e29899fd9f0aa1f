"""A router inside a program: tools in memory, many queries, threads, event loops, pickles, and nonsense."""

import asyncio
import pickle
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pydantic
import pytest

import ltr
from ltr import RunConfig
from ltr.encoders import HashEncoder, VectorCache
from ltr.errors import DataError, UsageError
from ltr.features import FEATURES
from ltr.paths import cache_directory
from ltr.samples import Candidates
from ltr.serving import catalogue, router
from tests.made import DataConfig, graph_rows, save_run, tool_rows, written

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
QUERIES = ["what is the weather?", "send a mail, then book a flight", "news of today", "?"]


class McpTool(pydantic.BaseModel):
    name: str
    description: str | None = None
    inputSchema: dict  # noqa: N815  # as the protocol spells it


class McpAnswer(pydantic.BaseModel):
    tools: list[McpTool]


class Function(pydantic.BaseModel):
    name: str
    description: str
    parameters: dict


class OpenAiTool(pydantic.BaseModel):
    type: str = "function"
    function: Function


@dataclass
class Described:
    name: str
    description: str
    input_schema: dict


SHAPES = [
    {"name": "get_weather", "description": "Weather of a city", "inputSchema": SCHEMA},
    {"type": "function", "function": {"name": "get_weather", "description": "Weather of a city", "parameters": SCHEMA}},
    {"type": "function", "name": "get_weather", "description": "Weather of a city", "parameters": SCHEMA},
    {"name": "get_weather", "description": "Weather of a city", "input_schema": SCHEMA},
    McpTool(name="get_weather", description="Weather of a city", inputSchema=SCHEMA),
    OpenAiTool(function=Function(name="get_weather", description="Weather of a city", parameters=SCHEMA)),
    Described("get_weather", "Weather of a city", SCHEMA),
    SimpleNamespace(name="get_weather", description="Weather of a city", parameters=SCHEMA),
]
OTHER = {"name": "get_mail", "description": "Reads mail"}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Runs: the recommended columns, with those of the specification that encode texts, and graphs."""
    home = tmp_path_factory.mktemp("in-memory")
    samples = written(home / "tools.jsonl", tool_rows(range(25)))
    features = ("recommended", "tool.rel", "tool.hist", "tool.coop")
    save_run(RunConfig(data=DataConfig(train=str(samples)), features=features, encoder="hash"), home / "tools")
    graphs = written(home / "graphs.jsonl", graph_rows(range(25)))
    save_run(RunConfig(data=DataConfig(train=str(graphs))), home / "graphs")
    return home


@pytest.fixture
def loaded(home):
    return ltr.load(home / "tools")


def facts(answer):
    """What is compared of an answer: all but the objects."""
    return [(choice.candidate, choice.probability, choice.score, choice.contributions) for choice in answer]


@pytest.mark.parametrize("tool", SHAPES, ids=lambda tool: type(tool).__name__)
def test_tools_of_every_shape_rank_alike_and_come_back(loaded, tool):
    answer = loaded.rank("what is the weather?", [OTHER, tool])
    assert facts(answer) == facts(loaded.rank("what is the weather?", [OTHER, SHAPES[0]]))
    assert {choice.candidate: choice.tool for choice in answer}["get_weather"] is tool
    assert answer[0].candidate == "get_weather"


def test_the_own_tools_given_in_memory_rank_as_the_catalogue(home, loaded):
    tools = [{"name": name, "description": text.description} for name, text in loaded.tools.items()]
    for query in QUERIES:
        assert facts(loaded.rank(query, tools, k=None)) == facts(loaded.rank(query, k=None))
    assert facts(ltr.load(home / "tools", tools=tools).rank("mail?")) == facts(loaded.rank("mail?"))


def test_scores_are_those_of_columns_computed_for_the_query_alone(loaded):
    for query in QUERIES:
        candidates = Candidates.of_tools(query, loaded.tools)
        scores = dict(zip(candidates.name_texts, loaded.scores(loaded.features(candidates)), strict=True))
        for choice in loaded.rank(query, k=None):
            assert choice.score == pytest.approx(scores[choice.candidate], abs=1e-12)


def test_a_tool_that_comes_later_is_prepared_alone(loaded, monkeypatch):
    loaded.rank("mail?")
    prepared = []
    kind = type(loaded.features)
    before = kind.prepared

    def counting(self, tools, of_states):
        prepared.append(tools.names)
        return before(self, tools, of_states)

    monkeypatch.setattr(kind, "prepared", counting)
    tools = [{"name": name, "description": text.description} for name, text in loaded.tools.items()]
    loaded.rank("mail?", [*tools, {"name": "new_one", "description": "x"}])
    assert prepared == [("new_one",)]


def test_a_service_that_meets_too_many_tools_starts_anew(home, loaded, monkeypatch):
    monkeypatch.setattr(catalogue, "MOST_TOOLS", 12)
    for number in range(30):
        tools = [{"name": f"mail_{number}"}, OTHER]
        assert facts(loaded.rank("mail?", tools)) == facts(ltr.load(home / "tools").rank("mail?", tools))
    assert len(loaded.known._rows) <= 12


def test_at_least_drops_what_is_less_probable(loaded):
    every = loaded.rank("what is the weather?", k=None)
    bound = every[1].probability
    assert facts(loaded.rank("what is the weather?", k=None, at_least=bound)) == facts(every)[:2]
    assert len(loaded.rank("what is the weather?", at_least=1.0)) == 0


def test_many_queries_are_ranked_as_each_alone(loaded, monkeypatch):
    monkeypatch.setattr(router, "ROWS_AT_ONCE", 25)
    queries = [*QUERIES, QUERIES[0]]
    assert [facts(answer) for answer in loaded.rank_many(queries)] == [facts(loaded.rank(query)) for query in queries]
    assert [answer.query for answer in loaded.rank_many(queries)] == queries
    assert loaded.rank_many([]) == []


def test_an_event_loop_goes_on_while_a_query_is_ranked(loaded, monkeypatch):
    started, go_on = threading.Event(), threading.Event()
    before = type(loaded).rank

    def slow(self, *arguments, **options):
        started.set()
        assert go_on.wait(20)
        return before(self, *arguments, **options)

    monkeypatch.setattr(type(loaded), "rank", slow)

    async def both():
        ranking = asyncio.create_task(loaded.arank("mail?", [OTHER, SHAPES[0]], at_least=0.0))
        while not started.is_set():
            await asyncio.sleep(0)
        go_on.set()  # only reached if the loop goes on
        return await ranking

    assert asyncio.run(both())[0].candidate == "get_mail"


def test_threads_share_a_router(home):
    tools = [
        [{"name": f"tool_{n}", "description": f"{QUERIES[n % 3]} {n}"} for n in range(m, m + 6)] for m in range(20)
    ]
    alone = [facts(ltr.load(home / "tools").rank(QUERIES[n % 3], some)) for n, some in enumerate(tools)]
    shared = ltr.load(home / "tools")
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda n: facts(shared.rank(QUERIES[n % 3], tools[n])), list(range(20)) * 3))
    assert together == alone * 3


def test_a_router_is_pickled(loaded):
    expected = facts(loaded.rank("what is the weather?"))
    again = pickle.loads(pickle.dumps(loaded))
    assert facts(again.rank("what is the weather?")) == expected


def test_a_router_with_other_weights_ranks_by_them(loaded):
    loaded.rank("mail?")
    flat = replace(loaded, w=0 * loaded.w)
    assert {choice.score for choice in flat.rank("mail?")} == {0.0}


def test_what_a_query_says_is_held_nowhere(loaded):
    loaded.rank("what is the weather?")
    held = len(pickle.dumps(loaded.features.encoder.__dict__["_places"]))
    for number in range(20):
        loaded.rank(f"a secret {number}")
    assert len(pickle.dumps(loaded.features.encoder.__dict__["_places"])) == held
    assert VectorCache(cache_directory()).info().vectors == 0


def test_a_query_is_encoded_once_however_many_features_read_it(loaded, monkeypatch):
    loaded.rank("mail?")
    texts, encode = [], HashEncoder.encode

    def noted(encoder, asked, role):
        texts.extend(asked)
        return encode(encoder, asked, role)

    monkeypatch.setattr(HashEncoder, "encode", noted)
    whole = "find a flight to Paris, then book a cheap hotel"
    loaded.rank(whole)
    assert texts == [whole, "find a flight to Paris", "then book a cheap hotel"]


def test_what_was_used_before_reaches_the_columns(loaded, monkeypatch):
    met = []

    def seen(self, candidates, tables=None):
        met.append((candidates.previous.tolist(), candidates.previous_lists))
        return before(self, candidates, tables)

    kind = type(loaded.features)
    before = kind.__call__
    monkeypatch.setattr(kind, "__call__", seen)
    loaded.rank_many(["mail?", "news?"], previous=["get_mail", "get_news"])
    assert met == [([0, 0], (("get_mail", "get_news"),))]


def test_an_empty_list_gives_an_empty_answer(loaded):
    answer = loaded.rank("mail?", [])
    assert (len(answer), answer.offered, answer.scored) == (0, 0, 0)


def test_a_tool_without_a_description_is_ranked_by_its_name(loaded):
    assert loaded.rank("what is the weather?", [{"name": "weather_x"}, {"name": "zz"}])[0].candidate == "weather_x"


@pytest.mark.parametrize(
    "tools, message",
    [
        ("get_weather", "tools is 'get_weather'; a list of tool objects"),
        ({"name": "a"}, "tools is {\"name\": \"a\"}; a list of tool objects"),
        (3, "tools is 3; a list of tool objects"),
        (object(), "tools is an object of the type object; a list"),
        ([None], "tools[0]: found null; an object such as"),
        ([OTHER, "get_weather"], "tools[1]: found 'get_weather'; an object such as"),
        ([object()], "tools[0]: found an object of the type object; an object such as"),
        ([int], "tools[0]: found an object of the type type; an object such as"),
        ([{}], "tools[0].name: missing; the name of a tool is needed"),
        ([{"name": " "}], "tools[0].name: found ' '; the name of a tool is needed"),
        ([{"name": object()}], "tools[0].name: found an object of the type object; the name of a tool is needed"),
        ([{"name": "a", "description": 5}], "tools[0].description: found 5 for the tool 'a'; a text is needed"),
        ([{"name": "a", "parameters": [1]}], "tools[0].parameters: found [1] for the tool 'a'; a JSON Schema"),
        ([OTHER, {"function": OTHER}], "tools[1]: found 'get_mail' again; tools[0] has that name"),
    ],
)  # fmt: skip
def test_unusable_tools_are_refused_in_one_line(loaded, tools, message):
    with pytest.raises(UsageError) as caught:
        loaded.rank("mail?", tools)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"query": None}, "the query is null; a text is needed"),
        ({"query": b"mail?"}, "the query is an object of the type bytes; a text is needed"),
        ({"query": ["mail?"]}, 'the query is ["mail?"]; a text is needed'),
        ({"query": "\n"}, "says nothing; a text is needed"),
        ({"k": 0}, "k is 0; at least 1 is needed"),
        ({"k": "3"}, "k is '3'; a whole number is needed"),
        ({"k": 2.0}, "k is 2.0; a whole number is needed"),
        ({"k": True}, "k is true; a whole number is needed"),
        ({"at_least": 1.5}, "at_least is 1.5; a probability from 0 to 1 is needed"),
        ({"at_least": float("nan")}, "at_least is NaN; a probability from 0 to 1 is needed"),
        ({"at_least": "0.5"}, "at_least is '0.5'; a probability"),
        ({"previous": "get_mail"}, "previous is 'get_mail'; a list of names is needed"),
        ({"previous": [1]}, "previous is [1]; a list of names is needed"),
    ],
)
def test_wrong_types_are_refused_in_one_line(loaded, options, message):
    with pytest.raises(UsageError) as caught:
        loaded.rank(**{"query": "mail?", **options})
    assert message in str(caught.value)


@pytest.mark.parametrize("queries", ["mail?", None, 3])
def test_many_queries_are_a_list(loaded, queries):
    with pytest.raises(UsageError, match="a list of texts is needed"):
        loaded.rank_many(queries)


def test_numbers_of_numpy_are_numbers(loaded):
    assert len(loaded.rank("mail?", k=np.int64(2), at_least=np.float64(0.0))) == 2


@pytest.mark.parametrize("query", ["weather " * 32768, "x" * (1 << 18), "a, b! " * 42500, "\ud800", "\x00"])
def test_a_query_of_a_quarter_of_a_megabyte_or_of_odd_characters_is_ranked(loaded, query):
    answer = loaded.rank(query, k=None)
    assert len(answer) == 10
    assert sum(choice.probability for choice in answer) == pytest.approx(1)


def test_a_router_of_graphs_refuses_tools(home):
    with pytest.raises(UsageError, match="the model ranks graphs; tools were given"):
        ltr.load(home / "graphs").rank("solve it", [OTHER])


def test_a_model_of_ready_numbers_says_so(loaded):
    with pytest.raises(DataError, match="trained on ready numbers"):
        replace(loaded, features=None).rank("mail?")


def test_ranking_loads_no_library_of_the_extras(home):
    program = (
        f"import sys, ltr; ltr.load({str(home / 'tools')!r}).rank('mail?', [{{'name': 'get_mail'}}]);"
        "print([name for name in ('torch', 'sentence_transformers', 'numba', 'wordllama', 'sklearn', 'scipy')"
        " if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_answer_of_an_mcp_server_is_its_list(home):
    tools = [SHAPES[0], OTHER]
    answers = [
        ltr.load(home / "tools").rank("what is the weather?", of)
        for of in (
            tools,
            {"tools": tools, "nextCursor": None},
            McpAnswer(tools=[SHAPES[4], {**OTHER, "inputSchema": {}}]),
        )
    ]
    assert len({tuple((choice.candidate, choice.score) for choice in answer) for answer in answers}) == 1
    assert answers[1][0].tool is SHAPES[0]


@pytest.mark.parametrize("tools", [{"tools": {"get_mail": OTHER}}, {"tools": 3}, {"name": "get_mail"}])
def test_an_object_without_a_list_of_tools_is_refused(home, tools):
    with pytest.raises(UsageError, match="a list of tool objects"):
        ltr.load(home / "tools").rank("mail?", tools)


def test_an_option_that_there_is_not_is_named(home):
    with pytest.raises(UsageError, match="rank has no option exakt; did you mean exact"):
        ltr.load(home / "tools").rank("mail?", [OTHER], exakt=True)


def test_what_a_feature_makes_of_its_state_alone_is_made_once_however_many_queries_follow(tmp_path):
    made = []

    def table_of(state):
        made.append(state["wins"])
        return float(state["wins"])

    @ltr.feature("tool.of_state", "hist", fit=lambda groups, context: {"wins": float(groups.labels.sum())})
    def column(candidates, state, context):
        return np.full(len(candidates.names), context.of_state(table_of, state))

    try:
        samples = written(tmp_path / "s.jsonl", tool_rows(range(12)))
        config = RunConfig(data=DataConfig(train=str(samples)), features=("tool.rel", "tool.of_state"), encoder="hash")
        served = ltr.run(config).router
        made.clear()
        for query in QUERIES:
            served.rank(query, SHAPES[:1])
            served.rank(query, [OTHER])
        assert len(made) == 1
    finally:
        del FEATURES._own["tool.of_state"]


def test_a_notebook_shows_of_a_run_a_router_and_an_answer_what_a_person_wants_to_know(tmp_path):
    samples = written(tmp_path / "s.jsonl", tool_rows(range(6)))
    result = ltr.train(samples, encoder="hash", out=tmp_path / "run")
    answer = result.router.rank("what is the map?", k=2)
    assert re.fullmatch(r"<RunResult 'run': top1_accuracy \d\.\d{3}, mrr \d\.\d{3}, 12 queries>", repr(result))
    assert repr(result.router) == "<Router: ranks 10 tools by 4 features>"
    first, second = (f"{choice.candidate} {choice.probability:.3f}" for choice in answer)
    assert repr(answer) == f"<Answer 'what is the map?': {first}, {second}>"
    assert repr(replace(answer, choices=())) == "<Answer 'what is the map?': none>"
    loaded = ltr.load(tmp_path / "run", tools=[{"name": "get_map"}, {"name": "get_mail"}])
    assert repr(loaded) == "<Router 'run': ranks 2 tools by 4 features>"


def test_what_a_notebook_shows_is_one_short_line_whatever_it_holds(tmp_path, cli):
    samples = written(tmp_path / "s.jsonl", tool_rows(range(6)))
    cli.good("featurize", samples, "-o", "columns/", "--encoder", "hash", "-q")
    result = ltr.train("columns/", test=samples, trainer="newton")
    hostile = [{"name": f"tool\n{number}"} for number in range(100)]
    answer = result.router.rank("a map\n" * 1000, hostile, k=None)
    for shown in map(repr, (result, result.router, answer)):
        assert len(shown) < 300
        assert "\n" not in shown
    assert repr(answer).endswith(", and 95 more>")
