"""Whatever stands in a file of another format: samples, or one line that says what is wrong; never a traceback."""

import copy
import json
import random
from pathlib import Path

import pytest

from ltr import import_samples
from ltr.errors import LtrError
from ltr.importers import IMPORTERS, recognise
from tests import test_import_atif, test_import_langfuse, test_import_langsmith, test_import_mlflow, test_import_otel
from tests.mutations import ODD_VALUES, inner_places
from tests.test_import_lists import FOUR, SHAPES

MUTATIONS = 100
PHOENIX = test_import_otel.PHOENIX | {"context": {"trace_id": "t", "span_id": "s"}}
PHOENIX |= {"attributes": test_import_otel.SHAPES["nested attributes"]}
TEXTS = [
    *ODD_VALUES,
    "{",
    '{"a": [',
    "[]",
    "[[[]]]",
    '{"messages": 7}',
    "\ud83d\ude00",
    "0" * 400,
    {"0": {"0": 1}},
    {"role": 3},
]
JSON = {
    "otel": [*test_import_otel.FIXTURE, PHOENIX],
    "langfuse": [*test_import_langfuse.FIXTURE, {"id": "t", "observations": [test_import_langfuse.FIXTURE[0]],
                 "scores": [{"name": "feedback", "value": 1, "observationId": "o5"}]}],
    "langsmith": [*test_import_langsmith.FIXTURE[:4], test_import_langsmith.ROOT | {
        "child_runs": [test_import_langsmith.FIXTURE[2]], "feedback_stats": {"user": {"avg": 0.5}}}],
    "mlflow": [test_import_mlflow.FIXTURE],
    "atif": [test_import_atif.FIXTURE],
    "lists": [*FOUR, *SHAPES["objects"], *SHAPES["one object"]],
}  # fmt: skip
TABLES = {
    "csv": 'query,candidates,label,time,p\n"a, ""b""",x|y,x,1,0.5\nq,"[""x"", ""y""]",,2026-01-01,1\n',
    "letor": "1 qid:1 1:0.5 3:1 # a\n0 qid:1 1:0.1\n",
}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def outcome_of(name, content):
    """What an import raises that is no error for a user; None otherwise."""
    Path("log").write_bytes(content)
    try:
        recognise("log")
        options = {"outcome": "feedback"} if "outcome" in IMPORTERS[name].options else {}
        import_samples(name, ["log"], "x.jsonl", options=options, overwrite=True)
    except LtrError:
        return None
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


@pytest.mark.parametrize("name", JSON)
def test_a_value_changed_anywhere_gives_no_traceback(name):
    draw, text = random.Random(0), json.dumps(JSON[name])
    for number in range(MUTATIONS):
        documents = json.loads(text)
        for _ in range(1 + number % 3):
            parent, key = draw.choice(inner_places(documents))
            change = draw.choice(["odd", "odd", "delete", "wrap", "text"])
            if change == "delete":
                del parent[key]
            else:
                values = {
                    "odd": copy.deepcopy(draw.choice(TEXTS)),
                    "wrap": [parent[key]],
                    "text": json.dumps(parent[key]),
                }
                parent[key] = values[change]
            if not documents:
                break
        content = "".join(json.dumps(entry) + "\n" for entry in documents).encode()
        assert outcome_of(name, content) is None, content


@pytest.mark.parametrize("name", [*JSON, *TABLES])
def test_bytes_changed_anywhere_give_no_traceback(name):
    draw = random.Random(1)
    text = TABLES.get(name) or "".join(json.dumps(entry) + "\n" for entry in JSON.get(name, ()))
    for _ in range(MUTATIONS):
        content = bytearray(text.encode())
        for _ in range(draw.randrange(1, 4)):
            at = draw.randrange(len(content))
            change = draw.randrange(4)
            if change == 0:
                content[at] = draw.randrange(256)
            elif change == 1:
                del content[at : at + draw.choice([1, 5, 100])]
            elif change == 2:
                content[at:at] = draw.choice([b'"', b"\n", b"{", b"]", b"\xff", b"\0", b",,", b"-1e999", b"\\ud800"])
            else:
                del content[at:]
            content = content or bytearray(b"\n")
        assert outcome_of(name, bytes(content)) is None, bytes(content)
