"""Choices drawn from known weights, logged in two ways: what a training with --negatives makes of the weights."""

import json
import runpy
from pathlib import Path

import numpy as np
import pytest

from tests import warm
from tests.made import written

pytestmark = pytest.mark.contract

TRUE_W = np.array([1.6, 0.8])
TOOLS, QUERIES, OFFERED, NAMED = 60, 1500, 8, 6
COLUMNS = """
import numpy as np


def numbers(query):
    \"\"\"Two numbers for each tool, by the number of the query; the tools it names have more of the first.\"\"\"
    number, *named = (int(word.strip("qt")) for word in query.split())
    phi = np.random.default_rng(number).normal(size=(60, 2))
    phi[named, 0] += 1
    return phi
"""
PLUGIN = f"""
import ltr
{COLUMNS}

def column(place):
    def of(candidates, state, context):
        queries = np.repeat(candidates.queries, np.diff(candidates.offsets)).tolist()
        tools = [int(candidates.name_texts[name].strip("t")) for name in candidates.names.tolist()]
        phi = [numbers(text)[:, place] for text in candidates.query_texts]
        return np.array([phi[query][tool] for query, tool in zip(queries, tools)])

    of.__doc__ = "A number."
    return of


for place in (0, 1):
    ltr.feature(f"tool.number{{place}}", "rel")(column(place))
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Two logs: in one any tool could be chosen, and those that the query names are near; in the other one of eight."""
    home, rng = tmp_path_factory.mktemp("choices"), np.random.default_rng(0)
    (home / "numbers.py").write_text(COLUMNS, encoding="utf-8")
    numbers = runpy.run_path(str(home / "numbers.py"))["numbers"]
    (home / "plugin.py").write_text(PLUGIN, encoding="utf-8")
    tools = {"tools": {f"t{tool}": {"description": f"does t{tool}"} for tool in range(TOOLS)}}
    (home / "tools.json").write_text(json.dumps(tools), encoding="utf-8")
    alone, several = [], []
    for number in range(QUERIES):
        key = {"trace_id": str(number), "node_id": "n"}
        query = f"q{number} {' '.join(f't{tool}' for tool in rng.permutation(TOOLS)[:NAMED])}"
        utility = numbers(query) @ TRUE_W + rng.gumbel(size=TOOLS)
        alone.append(key | {"query": query, "tool": f"t{utility.argmax()}", "label": 1})
        utility = numbers(f"q{number}") @ TRUE_W + rng.gumbel(size=TOOLS)
        offered = rng.permutation(TOOLS)[:OFFERED]
        right = offered[utility[offered].argmax()]
        rows = [{"tool": f"t{tool}", "label": int(tool == right)} for tool in offered]
        several.append(key | {"query": f"q{number}", "candidates": rows})
    written(home / "alone.jsonl", alone)
    written(home / "several.jsonl", several)
    return home


def trained(home, samples, *negatives):
    """The weights that a training finds, and what it says."""
    flags = ("--features", "tool.number0,tool.number1", "--code", "plugin.py", "--encoder", "hash")
    given = (f"{samples}.jsonl", "--tools", "tools.json", "--trainer", "newton", "--l2", "0", "-o", "run")
    done = warm.command("train", *given, *flags, *negatives, "--overwrite", "-q", cwd=home)
    assert done.returncode == 0, done.stderr
    return np.array(json.loads(Path(home, "run", "model.json").read_bytes())["weights"]), done.stderr.decode()


@pytest.mark.parametrize("negatives", ["12", "catalogue"])
def test_where_any_tool_could_be_chosen_offsets_give_the_weights_that_chose(home, negatives):
    w, said = trained(home, "alone", "--negatives", negatives)
    np.testing.assert_allclose(w, TRUE_W, atol=0.15)
    assert "offset" not in said


def test_where_the_log_offers_several_its_own_lists_give_the_weights_that_chose(home):
    np.testing.assert_allclose(trained(home, "several")[0], TRUE_W, atol=0.15)


@pytest.mark.parametrize("negatives", [1, 4, 12])
def test_where_the_log_offers_several_what_is_drawn_gets_no_offset_and_that_is_said(home, negatives):
    """The drawn tools could not be chosen: the weights shrink with their number, and keep their ratio.

    Offsets would count each drawn tool as (60 - 8) / N that were there and never chosen: with 1 they made 2.48 of 1.6.
    """
    w, said = trained(home, "several", "--negatives", negatives)
    assert 0.65 * TRUE_W[0] < w[0] < 1.05 * TRUE_W[0]
    assert w[0] / w[1] == pytest.approx(2, abs=0.3)
    if negatives == 1:
        np.testing.assert_allclose(w, TRUE_W, atol=0.2)
    assert "negatives: the log offers several candidates in 1,500 of 1,500 queries" in said
    assert "gets no offset" in said
