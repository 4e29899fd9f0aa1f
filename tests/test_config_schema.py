"""The schema that editors read: every key is described, and what a key may be is listed where not everything may."""

import json
from pathlib import Path

import pytest

import ltr.config
import ltr.rerankers.config
import ltr.training.trainers
from ltr.config import Document
from ltr.errors import ConfigError

NEEDED = {"data": {"samples": "s.jsonl"}, "rerankers": ["random"]}  # without which a bench is none
RUNS = (ltr.config.run_schema, ltr.config.run_config, {})
BENCHES = (
    ltr.rerankers.config.bench_schema,
    ltr.rerankers.config.bench_config,
    NEEDED,
)
NONE_SUCH = "none-such"


def keys(schema, part, above=()):
    """The path of every key below the part of a schema, with what the schema says of it."""
    for name, described in part.get("properties", {}).items():
        path = (*above, name)
        yield path, described
        if "$ref" in described:
            yield from keys(schema, schema["$defs"][described["$ref"].rpartition("/")[2]], path)


def listed(described):
    """The values that the schema lists."""
    yield from described.get("enum", [described["const"]] if "const" in described else [])
    yield from described.get("examples", [])
    for member in (*described.get("anyOf", []), described.get("items", {})):
        yield from listed(member) if member else ()


def types(described):
    """The types that a value may have, those of the entries of a list among them."""
    members = [described, *described.get("anyOf", []), described.get("items", {})]
    return {each["type"] for each in members if "type" in each} | {
        kind for each in members[1:] if each for kind in types(each)
    }


def problem(check, base, path, value):
    """What is said of the value at the path; "" where it may stand there."""
    config = json.loads(json.dumps(base))
    section = config
    for key in path[:-1]:
        section = section.setdefault(key, {})
    section[path[-1]] = value
    try:
        check(Document.of(config, "config.yaml"))
    except ConfigError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("schema, check, base", [RUNS, BENCHES], ids=["run", "bench"])
def test_every_key_is_described(schema, check, base):
    described = schema()
    parts = [described, *described["$defs"].values()]
    assert [name for part in parts for name, key in part["properties"].items() if not key.get("description")] == []


@pytest.mark.parametrize("schema, check, base", [RUNS, BENCHES], ids=["run", "bench"])
def test_a_key_that_does_not_take_every_text_lists_what_it_takes(schema, check, base):
    described = schema()
    enumerated = []
    for path, key in keys(described, described):
        is_list = "array" in types(key)
        if "string" in types(key) and problem(check, base, path, [NONE_SUCH] if is_list else NONE_SUCH):
            enumerated.append(".".join(path))
            values = list(listed(key))
            assert values, f"{path} lists nothing"
            for value in values:
                assert problem(check, base, path, [value] if is_list else value) == "", path
    wanted = {
        "run": "kind data.split data.negatives data.previous features encoder train.trainer train.l2_rule train.recipe "
        "train.choose train.prior train.targets train.metric none.source abstain.rule evaluate.metrics "
        "evaluate.preset evaluate.probability evaluate.ties evaluate.no_relevant engine.name",
        "bench": "rerankers metrics ties",
    }
    assert sorted(enumerated) == sorted(wanted["bench" if base else "run"].split())


def test_the_schema_lists_the_plug_ins_of_a_file(cli):
    Path("own.py").write_text(
        "from ltr.training import TRAINERS\n"
        "@TRAINERS.register('own')\ndef own(groups, geometry, config, on_epoch): ...\n",
        encoding="utf-8",
    )
    try:
        described = json.loads(cli.good("config", "schema", "--code", "own.py"))
    finally:
        ltr.training.trainers.TRAINERS._own.pop("own", None)
    assert described["$defs"]["TrainConfig"]["properties"]["trainer"]["enum"] == ["descent", "newton", "own"]


def test_the_schema_of_a_bench_is_shown_as_well(cli):
    assert json.loads(cli.good("config", "schema", "--bench")) == ltr.rerankers.config.bench_schema()
