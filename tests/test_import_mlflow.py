"""Traces of MLflow: attributes that are texts of JSON, three kinds of ids, outcomes and assessments."""

import json
from pathlib import Path

import pytest

from ltr.errors import DataError
from ltr.importers import recognise
from tests import reasons as why
from tests.chats import labels
from tests.spans import counts, importing, schema

SECOND = 10**9
TOOLS = [json.loads(schema("weather", "Rain.")), json.loads(schema("mail"))]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def span(number, kind, inputs, outputs, *, code="STATUS_CODE_OK", name="", **attributes):
    """A span as it is written now: ids in base64, and every attribute a text of JSON."""
    told = {"mlflow.traceRequestId": "tr-1", "mlflow.spanType": kind, "mlflow.spanInputs": inputs}
    told |= {"mlflow.spanOutputs": outputs} | {key.replace("_", "."): value for key, value in attributes.items()}
    return {
        "trace_id": "q83vASNFZ4mrze8BI0Vniw==",
        "span_id": f"q83vASNFZ4{number:02}=",
        "parent_span_id": "",
        "name": name or kind.lower(),
        "start_time_unix_nano": number * SECOND,
        "end_time_unix_nano": number * SECOND + 5,
        "status": {"code": code, "message": ""},
        "attributes": {key: json.dumps(value) for key, value in told.items()},
    }


def model(number, said, *called, text="", tools=TOOLS, **more):
    calls = [{"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": "{}"}} for name in called]
    answer = {"role": "assistant", "content": text or None, "tool_calls": calls or None}
    outputs = {"choices": [{"index": 0, "finish_reason": "stop", "message": answer}]}
    inputs = {"model": "m", "messages": [{"role": "user", "content": said}]}
    return span(number, "CHAT_MODEL", inputs, outputs, mlflow_chat_tools=tools, **more)


def trace(*spans, **info):
    return {"info": {"trace_id": "tr-1", "state": "OK"} | info, "data": {"spans": [*spans]}}


imported = importing("mlflow")


FIXTURE = trace(
    model(5, "tell Ann", "mail", "weather"),  # kept; later than what follows
    span(1, "AGENT", {"input": "rain?"}, "3 mm"),
    model(2, "rain?", "weather"),  # kept
    span(3, "TOOL", {"city": "Oslo"}, "3 mm", name="weather"),
    model(4, "thanks", text="Welcome."),  # kept: none of the tools
    model(6, "rain?", "search"),  # skipped: not on the table
    model(7, "rain?", "mail", code="ERROR"),  # skipped: an error
    model(8, "rain?", "mail", tools=[]),  # skipped: no tools
)


def test_the_fixture_gives_the_groups_and_reasons_counted_by_hand():
    summary, groups = imported(FIXTURE, {"info": {}})
    assert [(group["query"], labels(group), group.get("previous"), group["time"]) for group in groups] == [
        ("rain?", {"weather": 1, "mail": 0}, None, 2.0),
        ("thanks", {"weather": 0, "mail": 0, "none": 1}, ["weather"], 4.0),
        ("tell Ann", {"weather": 1, "mail": 1}, ["weather"], 5.0),
    ]
    assert (groups[0]["trace_id"], groups[0]["node_id"]) == ("tr-1", "q83vASNFZ402=")
    assert counts(summary.skipped) == {
        why.NO_TRACE_OF_MLFLOW: 1,
        "answers that called only tools that are not on the table": 1,
        "answers that ended in an error": 1,
        "answers without tools on the table": 1,
    }
    assert "mlflow" in recognise("log.jsonl")


def test_older_traces_have_their_ids_in_a_context():
    older = json.loads(json.dumps(FIXTURE))
    older["info"] = {"request_id": "r1"}
    for entry in older["data"]["spans"]:
        entry["context"] = {"trace_id": "0xab", "span_id": entry.pop("span_id")}
        entry["parent_id"] = entry.pop("parent_span_id") or None
        entry["start_time"], entry["end_time"] = entry.pop("start_time_unix_nano"), entry.pop("end_time_unix_nano")
        entry["status_code"] = entry.pop("status")["code"]
        entry.pop("trace_id")
    of_now, of_then = imported(FIXTURE)[1], imported(older)[1]
    assert of_then == [{**group, "trace_id": "r1"} for group in of_now]


def test_a_failed_tool_is_a_bad_outcome():
    failed = trace(model(2, "rain?", "weather"), span(3, "TOOL", {}, None, name="weather", code="STATUS_CODE_ERROR"))
    assert labels(imported(failed, outcome="span-status")[1][0]) == {"weather": 0, "mail": 0}


@pytest.mark.parametrize("more", [{}, {"span_id": "q83vASNFZ402="}])
def test_assessments_of_users_are_feedback(more):
    def assessed(kind, value):
        assessment = {"name": "good", "source": {"source_type": kind}, "feedback": {"value": value}} | more
        return imported(trace(model(2, "rain?", "weather"), assessments=[assessment]), outcome="feedback")[1]

    assert labels(assessed("HUMAN", False)[0])["weather"] == 0
    assert labels(assessed("HUMAN", True)[0])["weather"] == 1
    assert labels(assessed("LLM_JUDGE", False)[0])["weather"] == 1


def test_a_file_without_a_trace_says_so():
    with pytest.raises(DataError, match=why.NO_TRACE_OF_MLFLOW):
        imported({"info": {}, "data": {"spans": 7}})


def test_the_answer_after_a_call_teaches_no_none_where_spans_do_not_repeat_the_history(cli):
    spans = (model(1, "rain?", "weather"), span(2, "TOOL", {}, "3 mm", name="weather"), model(3, "rain?", text="3 mm."))
    Path("log.jsonl").write_text(json.dumps(trace(*spans)))
    cli.good("import", "mlflow", "log.jsonl", "-o", "x.jsonl")
    assert [labels(json.loads(line)) for line in Path("x.jsonl").read_text().splitlines()] == [
        {"weather": 1, "mail": 0}
    ]
