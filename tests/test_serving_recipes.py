"""The recipes of docs/serving.md for agents, run with stubs in the place of language models."""

import contextlib
import io
import re
import sys
from pathlib import Path

import pytest

import ltr
from tests.made import WORDS, tool_rows, written

DOCUMENT = (Path(__file__).parent.parent / "docs" / "serving.md").read_text(encoding="utf-8")
SECTION = DOCUMENT.partition("## Inside an agent")[2].partition("\n## ")[0]
PLAIN, OPENAI, LANGGRAPH = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)
QUERY = "what is the mail in city 3?"


@pytest.fixture
def home(tmp_path, monkeypatch, filled):
    """A directory with a run as the recipes name it, of ten tools."""
    monkeypatch.chdir(tmp_path)

    def run_of_ten_tools():
        samples = written(tmp_path / "samples.jsonl", tool_rows(range(25)))
        ltr.train(samples, out=tmp_path / "runs" / "first", encoder="hash", trainer="newton")

    filled(tmp_path, run_of_ten_tools)
    return tmp_path


def ran(code):
    """What the code of a recipe defines, and what it prints."""
    names, printed = {}, io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "docs/serving.md", "exec"), names)  # our own document
    return names, printed.getvalue()


def test_plain_python_calls_the_function_of_the_first_tool(home):
    code = PLAIN.replace("weather_outlook", "get_mail").replace("flight_search", "get_map")
    code = re.sub(r'query = ".*"', f'query = "{QUERY}"', code)
    assert ran(code)[1] == "rain until noon\n"


def test_no_more_than_the_first_k_openai_tools_reach_the_model_as_they_were(home):
    names, _ = ran(re.sub(r'query = ".*"', f'query = "{QUERY}"', OPENAI))
    assert len(names["tools"]) == len(WORDS)
    assert len(names["fitting"]) == 2
    assert names["fitting"][0]["function"]["name"] == "get_mail"
    assert all(any(tool is own for own in names["tools"]) for tool in names["fitting"])


def test_the_function_for_langgraph_is_what_langgraph_bigtool_asks_for(home):
    """What its StructuredTool.from_function needs: a name, a description, annotated arguments; it returns keys."""
    retrieve = ran(LANGGRAPH)[0]["retrieve_tools"]
    assert retrieve.__name__ == "retrieve_tools"
    assert retrieve.__doc__
    assert retrieve.__annotations__ == {"query": str, "return": list[str]}
    assert retrieve(QUERY)[0] == "get_mail"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("is_async", [False, True])
def test_langgraph_bigtool_binds_the_tools_that_the_router_finds(home, is_async):
    reason = "langgraph-bigtool is not installed: the recipe ran against its interface alone"
    bigtool = pytest.importorskip("langgraph_bigtool", reason=reason)
    import asyncio

    from langchain_core.language_models.chat_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, ChatResult
    from langgraph.store.memory import InMemoryStore

    bound = []

    class Model(BaseChatModel):
        """A stub: it asks for tools, and ends once it has them (0.0.3 calls none with langgraph 1.2)."""

        @property
        def _llm_type(self):
            return "stub"

        def bind_tools(self, tools, **settings):
            bound.append([getattr(tool, "name", getattr(tool, "__name__", "")) for tool in tools])
            return self

        def _generate(self, messages, *others, **settings):
            call = {"name": "retrieve_tools", "args": {"query": QUERY}, "id": "1"}
            asked = [] if any(isinstance(message, AIMessage) for message in messages) else [call]
            return ChatResult(generations=[ChatGeneration(message=AIMessage(content="done", tool_calls=asked))])

    def function_of(word):
        def function(city: str) -> str:
            """Gives it."""
            return f"{word} of {city}"

        function.__name__ = f"get_{word}"
        return function

    from langchain_core.tools import tool

    registry = {f"get_{word}": tool(function_of(word)) for word in WORDS}
    retrieve = ran(LANGGRAPH)[0]["retrieve_tools"]
    agent = bigtool.create_agent(Model(), registry, retrieve_tools_function=retrieve).compile(store=InMemoryStore())
    question = {"messages": [("user", QUERY)]}
    end = asyncio.run(agent.ainvoke(question)) if is_async else agent.invoke(question)
    expected = [choice.candidate for choice in ltr.load("runs/first").rank(QUERY, k=2)]
    assert end["selected_tool_ids"] == expected
    assert bound[0] == ["retrieve_tools"]
    assert bound[1] == ["retrieve_tools", *expected]
    assert end["messages"][-1].content == "done"


def test_no_recipe_needs_more_than_ltr(home):
    before = set(sys.modules)
    ran(LANGGRAPH)
    assert not {name.partition(".")[0] for name in set(sys.modules) - before} & {"langchain_core", "openai", "mcp"}
