"""Logs as they should not be: long messages, secrets, two ids, equal bytes, equal words."""

import json

import pytest

from ltr import import_samples
from tests import reasons as why
from tests.chats import TOOLS, call, exchange, imported, result, said, user

pytestmark = pytest.mark.contract

KEY = "sk-proj-abcdefghij0123456789"
MAIL = "ann.lee@example.org"


def test_a_message_of_10_mb_is_cut_and_counted(tmp_path):
    long = "rain in Oslo? " * 750_000
    lines = [
        exchange([user(long)], said(call("mail"))),
        exchange([user("a"), said(call("search")), result(long), user("b")], said(call("mail"))),
    ]
    groups, kept, _, remarks = imported("openai", lines, tmp_path)
    assert why.LONGEST_QUERY - 20 < len(groups[0]["query"]) <= why.LONGEST_QUERY
    assert len(groups[1]["context"]) <= why.LONGEST_CONTEXT
    assert (kept, remarks) == ({why.ONE_TOOL: 2}, {why.QUERY_CUT: 1, why.CONTEXT_CUT: 1, why.HISTORY: 1})


def test_secrets_reach_the_output_neither_from_texts_nor_from_arguments_nor_from_descriptions(tmp_path):
    tools = json.loads(json.dumps(TOOLS).replace("mails something", f"Write to {MAIL} with {KEY}"))
    secret = json.dumps({"key": KEY, "to": MAIL})
    messages = [
        user(f"use {KEY}"),
        said(call("search", secret), content=f"I use {KEY}"),
        result(MAIL),
        user(f"to {MAIL}"),
    ]
    line = exchange(messages, said(call("mail", secret), content=KEY), tools=tools)
    groups, *_, remarks = imported("openai", [line], tmp_path)
    text = json.dumps(groups)
    assert KEY not in text
    assert MAIL not in text
    assert groups[0]["query"] == "to [mail]"
    assert groups[0]["context"] == "user: use [key]\nassistant: I use [key]\ntool: [mail]"
    assert groups[0]["candidates"][1]["tool_description"] == "Write to [mail] with [key]"
    assert remarks == {"mail addresses replaced by [mail]": 3, "keys replaced by [key]": 3, why.HISTORY: 1}


@pytest.mark.parametrize("shift", range(12))
def test_a_cut_never_leaves_half_a_secret(tmp_path, shift):
    """Whatever stands at the edge of a cut is whole, and so redaction knows it, or is gone."""
    words = ("x " * why.LONGEST_QUERY)[: why.LONGEST_QUERY - 24 + 2 * shift]
    groups, *_ = imported("openai", [exchange([user(f"{words} {KEY} {KEY}")], said(call("mail")))], tmp_path)
    assert "sk-" not in groups[0]["query"]
    assert set(groups[0]["query"].replace("[key]", "")) <= {"x", " "}


def test_the_same_files_give_the_same_bytes_and_their_order_is_kept(tmp_path):
    for name, text in (("a", "first"), ("b", "second")):
        (tmp_path / name).write_text(json.dumps(exchange([user(text)], said(call("mail")))))
    written = []
    for out in ("1.jsonl", "2.jsonl"):
        import_samples("openai", [tmp_path / "b", tmp_path / "a"], tmp_path / out)
        written.append((tmp_path / out).read_bytes())
    assert written[0] == written[1]
    assert [json.loads(line)["query"] for line in written[0].splitlines()] == ["second", "first"]


def test_one_line_in_two_files_is_one_decision_and_equal_words_with_ids_of_their_own_are_two(tmp_path):
    lines = [exchange([user("a")], said(call("mail")), response_id=name) for name in ("1", "2")]
    for name in ("a", "b"):
        (tmp_path / name).write_text("\n".join(map(json.dumps, lines)))
    assert import_samples("openai", [tmp_path / "a", tmp_path / "b"], tmp_path / "out.jsonl").groups == 2
