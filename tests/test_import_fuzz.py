"""Logs with garbage of every type in every field, and bytes cut anywhere: a rule of the summary, never a traceback."""

import copy
import json
import random

import pytest

from ltr import import_samples, read_groups
from ltr.errors import LtrError
from ltr.importers import IMPORTERS
from ltr.importers.frame import Opening
from tests import test_import_anthropic as anthropic
from tests import test_import_calling_trees as trees
from tests import test_import_openai as openai
from tests.chats import call, exchange, result, said, user

ODD = [None, True, -1, 0.5, 1 << 70, 1e308, "", " ", "x", "{", "\u0000", [], [1], [[]], ["x"], [None], {}, {"a": 1}]
ODD += [{"type": 7}, [{"type": None}], {"type": "tool_use"}, {"name": []}, [{"function": []}], {"body": {"body": "{}"}}]
DEEP = "[" * 2000 + "]" * 2000
CHATS = [
    exchange(
        [user("a"), said(call("mail")), result("x"), user("b")], said(call("weather"), call("mail")), response_id="1"
    ),
    {
        "messages": [user("a"), said(call("mail")), result("error"), said(call("mail")), said(content="c")],
        "tools": openai.TOOLS,
    },
    openai.response(
        [openai.function_call("mail"), openai.MESSAGE], given=[user("a"), openai.OUTPUT], metadata={"trace_id": 1}
    ),
    openai.response(
        [openai.MESSAGE], "resp_2", previous_response_id="resp_1", tool_choice={"type": "allowed_tools", "tools": []}
    ),
]
MESSAGES = [
    anthropic.exchange([user("a"), anthropic.said(anthropic.use("mail"))], anthropic.TEXT, anthropic.use("weather")),
    {
        "messages": [user("a"), anthropic.said(anthropic.use("mail")), anthropic.results(anthropic.result("x"))],
        "tools": anthropic.TOOLS,
    },
]
TREES = [{"traces": [trees.trace([trees.decision("a", "mail"), trees.decision("b", ["search"])])]}, trees.trace([])]
GOOD = {"openai": CHATS, "anthropic": MESSAGES, "calling-trees": TREES}


def places(value, path=()):
    """The path of every value inside the value."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in inner:
        yield from places(entry, (*path, key))


def mutated(value, draw):
    """The value with something odd in the place of one of its parts, or a part gone."""
    value = copy.deepcopy(value)
    path = draw.choice(list(places(value)))
    if not path:
        return draw.choice(ODD)
    *above, last = path
    owner = value
    for key in above:
        owner = owner[key]
    if draw.random() < 0.2:
        del owner[last]
    else:
        owner[last] = copy.deepcopy(draw.choice(ODD))
    return value


def checked(name, content, directory):
    """Import the content; what is written is whole, or the error names the file."""
    log, out = directory / "log.json", directory / "out.jsonl"
    log.write_bytes(content)
    try:
        summary = import_samples(name, [log], out, overwrite=True)
    except LtrError as error:
        return 0 * str(error).index("log.json")  # fails where the place is not named
    assert len(read_groups(out).offsets) - 1 == summary.groups
    groups = [json.loads(line) for line in out.read_text().splitlines()]
    assert sum(entry.number for entry in summary.kept) == len(groups) == summary.groups
    assert len({(group["trace_id"], group["node_id"]) for group in groups}) == len(groups)
    for group in groups:
        assert group["trace_id"]
        assert group["query"].strip()
        names = [candidate.get("tool") for candidate in group["candidates"]]
        assert len(set(names)) == len(names)
        assert any(candidate["label"] for candidate in group["candidates"])
    return len(groups)


@pytest.mark.parametrize("name", GOOD)
def test_garbage_in_any_field_ends_in_a_rule_of_the_summary(name, tmp_path):
    draw = random.Random(15)
    written = 0
    for _ in range(120):
        lines = [value for value in GOOD[name] for value in (mutated(value, draw), mutated(mutated(value, draw), draw))]
        text = "\n".join(map(json.dumps, lines)) if draw.random() < 0.5 else json.dumps(lines, indent=1)
        written += checked(name, text.encode(), tmp_path)
        looks = IMPORTERS[name].looks_like
        for line in lines:
            assert looks(Opening("log", b"", line)) in (True, False)
    assert written > 120


@pytest.mark.parametrize("name", GOOD)
def test_a_log_cut_off_anywhere_or_with_broken_bytes_is_read_up_to_there(name, tmp_path):
    draw = random.Random(16)
    for value in GOOD[name]:
        content = json.dumps([value, value], indent=draw.choice([None, 1])).encode()
        for _ in range(12):
            broken = bytearray(content)
            broken[draw.randrange(len(broken))] = draw.randrange(256)
            checked(name, bytes(broken), tmp_path)
            checked(name, content[: draw.randrange(1, len(content))], tmp_path)


@pytest.mark.parametrize("name", GOOD)
def test_values_nested_too_deep_are_counted(name, tmp_path):
    good = json.dumps(GOOD[name][0])
    for field in ("messages", "response", "tools", "traces"):
        checked(name, f'{good}\n{{"{field}": {DEEP}}}\n'.encode(), tmp_path)
        inner = good.replace("[", f"[{DEEP},", 1)
        checked(name, inner.encode(), tmp_path)
