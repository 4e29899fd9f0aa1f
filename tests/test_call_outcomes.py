"""Outcomes instead of calls: what failed, what an evaluation or a user calls bad, is not right."""

import json
from pathlib import Path

import pytest

from ltr.errors import LtrError, SampleError, UsageError
from tests import reasons as why
from tests.chats import labels
from tests.spans import chat, document, importing, inference, span, tool

pytestmark = pytest.mark.contract

TRACE = "a1" * 16
FIRST, SECOND = f"{10:016x}", f"{30:016x}"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def imported(outcome, *spans):
    summary, groups = importing("otel")(document(*spans), outcome=outcome)
    return summary, list(map(labels, groups))


def counts(summary):
    return {entry.reason: entry.number for entry in summary.remarks}


def traced(*failed):
    """A call of weather, one of weather and mail, and the spans of the tools, of which some failed."""
    return (
        span("LLM", 10, inference("a", "weather")),
        span("weather", 12, tool("weather"), code=2 if 12 in failed else 1),
        span("LLM", 30, chat("b", "weather", "mail")),
        span("weather", 32, tool("weather"), code=2 if 32 in failed else 0),
        span("mail", 33, tool("mail", **{"tool.id": "c-mail"}), code=2 if 33 in failed else 0),
    )


@pytest.mark.parametrize(
    "failed, labels, remarks",
    [
        ((), [{"weather": 1, "mail": 0}, {"weather": 1, "mail": 1}], {}),
        ((12,), [{"weather": 0, "mail": 0}, {"weather": 1, "mail": 1}], {why.BAD_CALLS: 1, why.UNKNOWN: 1}),
        ((32,), [{"weather": 1, "mail": 0}, {"weather": 0, "mail": 1}], {why.BAD_CALLS: 1}),
        ((32, 33), [{"weather": 1, "mail": 0}, {"weather": 0, "mail": 0}], {why.BAD_CALLS: 2, why.UNKNOWN: 1}),
    ],
)
def test_a_call_whose_span_failed_is_not_right(failed, labels, remarks):
    summary, found = imported("span-status", *traced(*failed))
    assert (found, counts(summary)) == (labels, remarks)
    assert summary.notes[0].startswith("outcome span-status: a tool's span without an error is good")


def test_a_call_without_a_span_is_taken_to_be_right_and_counted():
    summary, found = imported("span-status", span("LLM", 10, inference("a", "weather")))
    assert (found, counts(summary)) == ([{"weather": 1, "mail": 0}], {why.NO_OUTCOME: 1})


def test_a_tool_called_twice_is_right_if_one_of_its_calls_was():
    call = [("c1", "mail"), ("c2", "mail")]
    attributes = inference("a")
    for at, (call_id, name) in enumerate(call):
        where = f"llm.output_messages.0.message.tool_calls.{at}.tool_call"
        attributes |= {f"{where}.id": call_id, f"{where}.function.name": name}
    spans = [span("mail", 12 + at, tool("mail", **{"tool.id": call[at][0]}), code=2 * at) for at in (0, 1)]
    assert imported("span-status", span("LLM", 10, attributes), *spans)[1] == [{"weather": 0, "mail": 1}]


EVALUATIONS = {
    "lines": f'{{"trace_id": "{TRACE}", "node_id": "{FIRST}", "score": 0.2}}\n'
    f'{{"trace_id": "{TRACE}", "node_id": "{SECOND}", "score": 0.9}}\n',
    "an array": f'[{{"context.span_id": "{FIRST}", "label": "incorrect"}}, {{"span_id": "{SECOND}", "label": "good"}}]',
    "a table": f"trace_id,node_id,passed\n{TRACE},{FIRST},false\n{TRACE},{SECOND},true\n",
    "spans of tools": f'{{"span_id": "{12:016x}", "score": false}}\n',
}


@pytest.mark.parametrize("text", EVALUATIONS.values(), ids=EVALUATIONS)
def test_an_evaluation_says_which_calls_were_right(text):
    Path("scores").write_text(text)
    assert imported("evaluation:scores", *traced())[1] == [{"weather": 0, "mail": 0}, {"weather": 1, "mail": 1}]


def test_an_evaluation_of_a_trace_is_of_all_its_decisions_but_those_with_one_of_their_own():
    Path("scores").write_text(f'{{"trace_id": "{TRACE}", "score": 0}}\n{{"span_id": "{FIRST}", "score": 1}}\n')
    summary, found = imported("evaluation:scores", *traced(), span("LLM", 50, chat("c", text="No.")))
    assert found == [{"weather": 1, "mail": 0}, {"weather": 0, "mail": 0}, {"weather": 0, "mail": 0, "none": 0}]
    assert counts(summary)[why.UNKNOWN] == 2


def test_feedback_stands_in_attributes_or_events_of_a_span_or_of_the_trace():
    score = {"key": "gen_ai.evaluation.score.value", "value": {"doubleValue": 0.1}}
    event = {"name": "gen_ai.evaluation.result", "attributes": [score]}
    first = imported("feedback", span("LLM", 10, inference("a", "weather"), events=[event]))[1]
    second = imported("feedback", span("LLM", 10, inference("a", "weather") | {"feedback.score": 0}))[1]
    third = imported(
        "feedback", span("agent", 1, {"user.feedback": False}), span("LLM", 10, inference("a", "weather"))
    )[1]
    assert first == second == third == [{"weather": 0, "mail": 0}]


@pytest.mark.parametrize("option", ["status", "evaluation", "evaluation:", "span_status", "feedback:x"])
def test_an_unknown_outcome_is_refused(option):
    with pytest.raises(UsageError, match="span-status, feedback or evaluation:FILE is needed"):
        imported(option)


@pytest.mark.parametrize(
    "text, problem",
    [
        ('{"score": 1}\n', "scores:1: no trace_id and no node_id"),
        ('{"trace_id": "t"}\n', "scores:1: no score"),
        ('{"trace_id": "t", "score": 1}\n{"trace_id": "t", "score": "so so"}\n', "scores:2: score: found 'so so'"),
        ('{"trace_id": "t", "score": {}}\n', "scores:1: score: found {}"),
        ('{"trace_id": [], "score": 1}\n', "scores:1: trace_id: found []"),
        ('{"trace_id": "t", "score": 1}\n{"trace_id"\n', "scores:2: not JSON"),
        ("a,b\n1,2\n", "scores: no column trace_id or node_id"),
        ("", "scores: no line"),
    ],
)
def test_an_evaluation_that_cannot_be_read_is_refused_with_its_place(text, problem):
    Path("scores").write_text(text)
    with pytest.raises(LtrError) as refused:
        imported("evaluation:scores", *traced())
    assert problem in str(refused.value)
    assert isinstance(refused.value, SampleError) or ":" not in problem.partition(" ")[0][:-1]


@pytest.mark.parametrize(
    "value, good",
    [(1, True), (0, False), (0.5, True), (-1, False), (True, True), (False, False), ("Pass", True), ("no", False),
     ("0.7", True), ("incorrect", False)],
)  # fmt: skip
def test_scores_from_one_half_on_and_words_are_good(value, good):
    Path("scores").write_text(json.dumps({"trace_id": TRACE, "score": value}))
    _, (group,) = imported("evaluation:scores", span("LLM", 10, inference("a", "weather")))
    assert group["weather"] == int(good)
