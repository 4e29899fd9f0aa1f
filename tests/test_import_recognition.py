"""ltr import knows every format that it reads by the beginning of a file, and takes none for another."""

import json
from pathlib import Path

import pytest

from ltr.importers import IMPORTERS, recognise
from tests.spans import document, inference, span
from tests.test_import_atif import FIXTURE as TRAJECTORY
from tests.test_import_langfuse import FIXTURE as OBSERVATIONS
from tests.test_import_langsmith import FIXTURE as RUNS
from tests.test_import_lists import FOUR, SHAPES
from tests.test_import_mlflow import FIXTURE as TRACE
from tests.test_import_otel import PHOENIX

MESSAGES = {"messages": [{"role": "user", "content": "q"}]}
BEGINNINGS = {
    "openai": MESSAGES | {"tools": []},
    "anthropic": MESSAGES | {"tools": [{"name": "mail", "input_schema": {}}]},
    "otel": document(span("LLM", 1, inference("q", "mail"))),
    "otel of Phoenix": PHOENIX | {"context": {"span_id": "s", "trace_id": "t"}},
    "otel of a Phoenix table": PHOENIX | {"context.span_id": "s", "context.trace_id": "t"},
    "langfuse": OBSERVATIONS[0],
    "langfuse trace": {"id": "t", "observations": []},
    "langfuse table": "id,traceId,type,parentObservationId,name,input\n",
    "langsmith": RUNS[0],
    "mlflow": TRACE,
    "atif": TRAJECTORY,
    "lists": FOUR[0],
    "lists in one object": SHAPES["one object"][0],
    "csv": "query,tool,label\n",
    "letor": "1 qid:1 1:0.5\n",
    "letor with a side file": "1 1:0.5\n",
    "trec": "301 Q0 d1 1 2.5 run\n",
    "trec qrels": "301 0 d1 -1\n",
}


@pytest.mark.parametrize("name", BEGINNINGS)
def test_a_file_is_of_one_format(name, tmp_path):
    beginning = BEGINNINGS[name]
    text = beginning if isinstance(beginning, str) else json.dumps(beginning) + "\n"
    Path(tmp_path, "file").write_text(text)
    assert list(recognise(tmp_path / "file")) == [name.split()[0]]


def test_every_format_but_that_of_two_files_is_tried_here():
    assert {name.split()[0] for name in BEGINNINGS} == set(IMPORTERS.names()) - {"calling-trees"}
