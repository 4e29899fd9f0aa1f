"""The recipes of docs/serving.md for agents, run with stubs in the place of language models."""

import contextlib
import io
import re
import sys
from pathlib import Path

import pytest

import ltr
from tests.made import WORDS, tool_rows, written

pytestmark = pytest.mark.contract

DOCUMENT = (Path(__file__).parent.parent / "docs" / "serving.md").read_text(encoding="utf-8")
SECTION = DOCUMENT.partition("## Inside an agent")[2].partition("\n## ")[0]
PLAIN, OPENAI = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)
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


def test_no_recipe_needs_more_than_ltr(home):
    before = set(sys.modules)
    ran(OPENAI)
    assert not {name.partition(".")[0] for name in set(sys.modules) - before} & {"openai", "mcp"}
