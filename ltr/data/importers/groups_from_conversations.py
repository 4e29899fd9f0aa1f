"""What a decision is, for every importer of logs: from conversations to groups of samples, counted by reason.

One group is one decision of a model with tools on the table. Label 1 has each tool that it called; one that called
nothing is a decision for none of the tools if it was the first answer to a message of a user.

- `query` is the last message of a user, `context` what else was said before the answer, without instructions,
  `previous` the tools already called in the conversation. Nothing of the answer itself enters, and no arguments.
- A silent answer after a call or a result means that the work is done, not that no tool fits: it is skipped.
- Refusals, errors, cut-off and forced answers, and a call repeated after it failed, are no decisions: skipped.
- A decision that the log repeats under one id counts once. Without ids, identical requests are those of different users
  and count each time; where a conversation goes on from another one of the log, what both hold counts once.

Memory: one conversation, and about 100 bytes a decision to know it again; 300 where the log has no ids.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from ltr.data.importers.conversations import Conversation, Message, Tool
from ltr.data.importers.past import LONGEST_PAST, Past, digest_of
from ltr.data.importers.tally import Tally
from ltr.data.json_decode_errors import FAILURES
from ltr.errors import UsageError, suggestion

Group = dict[str, Any]

ONCE = "once"
RULES = (ONCE, "all")  # for decisions that a log repeats

LONGEST_QUERY = 10_000  # characters, as below
LONGEST_MESSAGE = 2_000  # of a context
LONGEST_CONTEXT = 10_000
LONGEST_WORD = 256
SPEAKERS = {"user": "user", "answer": "assistant", "result": "tool"}

ONE_TOOL, SEVERAL_TOOLS, NO_TOOL = "decisions for one tool", "decisions for several tools", "decisions for no tool"
DONE = "answers without a call after an earlier answer or result: the work is done"
GOES_ON = "answers without a call that go on in the next message"
NO_QUERY = "answers without a text of a user before them"
NO_TABLE = "answers without tools on the table"
NOT_ON_TABLE = "answers that called only tools that are not on the table"
RETRIED = "answers that call again what failed"
SEEN_BEFORE = "decisions that the log repeats"
REPEATS_COUNTED = "identical requests without an id, counted each time (--repeats once: one)"
LONE = "decisions with one tool on the table: they cannot train as they are"
CALL_DROPPED = "calls of a tool that is not on the table, left out beside others"
NOT_JSON = "calls with arguments that are not JSON"
QUERY_CUT = f"queries cut to their first {LONGEST_QUERY:,} characters"
CONTEXT_CUT = (
    f"contexts cut to their last {LONGEST_CONTEXT:,} characters, or a message of theirs to {LONGEST_MESSAGE:,}"
)
PREVIOUS_CUT = f"previous calls cut to the last {LONGEST_PAST:,}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """An answer of a conversation, and what was said before it."""

    message: Message
    past: Past  # as it was before the message
    node_id: str
    goes_on: bool


def repeat_rule(option: str) -> str:
    """What the option names: once, all, or "" for what the ids of a log tell, and where it has none how it grows."""
    if option and option not in RULES:
        raise UsageError(f"repeats {option!r}{suggestion(option, RULES)}; {' or '.join(RULES)} is needed")
    return option


def decisions(conversations: Iterable[Conversation], tally: Tally, repeats: str = "") -> Iterator[Group]:
    """The groups of all conversations, in the order of their decisions; the tally counts every answer.

    `repeats` is a rule of `repeat_rule`.

    >>> from ltr.data.importers.conversations import Call
    >>> messages = Message(role="user", text="rain?"), Message(role="answer", calls=(Call("weather"),))
    >>> talk = Conversation(messages=messages, place="log:1", tools=(Tool("weather"), Tool("mail")))
    >>> next(decisions([talk], Tally()))["candidates"]
    [{'tool': 'weather', 'label': 1}, {'tool': 'mail', 'label': 0}]
    """
    counted, growth = Counter[bytes](), _Growth()
    for conversation in conversations:
        trace_id, place = conversation.trace_id or _trace_of(conversation), conversation.place
        grows = not repeats and not conversation.trace_id
        known = growth.known([answer.node_id for answer in _answers(conversation)]) if grows else 0
        for number, answer in enumerate(_answers(conversation)):
            table = conversation.tools if answer.message.tools is None else answer.message.tools
            reason = _why_skipped(answer, table)
            key = digest_of(trace_id, answer.node_id)
            has_id = bool(answer.message.node_id or (conversation.trace_id and not repeats))
            counts_once = has_id or repeats == ONCE or number < known
            if reason or (counts_once and counted[key]):
                tally.skip(reason or SEEN_BEFORE, place)
                continue
            counted[key] += 1
            tally.remark(REPEATS_COUNTED, place, int(counted[key] > 1))
            node_id = f"{answer.node_id}-{counted[key]}" if counted[key] > 1 else answer.node_id
            yield {"trace_id": trace_id, "node_id": node_id, **_group(answer, table, tally, place)}


class _Growth:
    """Which conversations of a log without ids are one that has grown, by what they hold up to each answer."""

    def __init__(self) -> None:
        self._ends = Counter[str]()  # conversations that may go on
        self._beginnings = Counter[str]()  # of conversations, which may stand alone elsewhere

    def known(self, answers: Sequence[str]) -> int:
        """How many answers of a conversation stand in an earlier one: it goes on from that one, or that one from it."""
        if not answers:
            return 0
        if self._beginnings[answers[-1]]:
            self._beginnings[answers[-1]] -= 1
            return len(answers)
        known = next((at for at in range(len(answers) - 1, 0, -1) if self._ends[answers[at - 1]]), 0)
        if known:
            self._ends[answers[known - 1]] -= 1
        self._ends[answers[-1]] += 1
        self._beginnings.update(answers[known:-1])
        return known


def _answers(conversation: Conversation) -> Iterator[_Answer]:
    """The answers that are not history, each with its past, which the next one goes on from."""
    messages = conversation.messages
    past = conversation.before.copy() if conversation.before else Past()
    for at, message in enumerate(messages):
        if message.role == "answer" and at >= conversation.decided:
            node_id = message.node_id or past.digest_with(message).hexdigest()
            goes_on = at + 1 < len(messages) and messages[at + 1].role == "answer"
            yield _Answer(message=message, past=past, node_id=node_id, goes_on=goes_on)
        past.see(message)


def _why_skipped(answer: _Answer, table: Sequence[Tool]) -> str:
    """The reason for which the answer is no decision; "" if it is one."""
    message, query = answer.message, answer.past.query
    if message.no_decision:
        return message.no_decision
    if not message.calls and answer.goes_on:
        return GOES_ON
    if not message.calls and not answer.past.is_first and query is not None:
        return DONE
    if not table:
        return NO_TABLE
    if query is None or not query.text.strip():
        return NO_QUERY
    if answer.past.has_failed(message.calls):
        return RETRIED
    names = {tool.name for tool in table}
    if message.calls and not any(call.name in names for call in message.calls):
        return NOT_ON_TABLE
    return ""


def _group(answer: _Answer, table: Sequence[Tool], tally: Tally, place: str) -> Group:
    """The decision as a group without its key; the tally counts what it is and what was cut."""
    past = answer.past
    query = past.query.text if past.query else ""
    group: Group = {"query": _cut(query, LONGEST_QUERY)}
    context, is_cut = _context(message for message in reversed(past.messages) if message is not past.query)
    if context:
        group["context"] = context
    if past.previous:
        group["previous"] = list(past.previous)[-LONGEST_PAST:]
    if answer.message.time is not None:
        group["time"] = answer.message.time
    called = {call.name for call in answer.message.calls}
    names = {tool.name for tool in table}
    group["candidates"] = _candidates(table, called)
    right = len(called & names)
    tally.keep(NO_TOOL if not called else ONE_TOOL if right == 1 else SEVERAL_TOOLS, place)
    tally.remark(LONE, place, int(len(group["candidates"]) == 1))
    tally.remark(CALL_DROPPED, place, len(called - names))
    tally.remark(NOT_JSON, place, sum(not _is_json_or_blank(call.arguments) for call in answer.message.calls))
    tally.remark(QUERY_CUT, place, int(len(query) > LONGEST_QUERY))
    tally.remark(CONTEXT_CUT, place, int(is_cut))
    tally.remark(PREVIOUS_CUT, place, int(len(past.previous) > LONGEST_PAST))
    return group


def _candidates(table: Sequence[Tool], called: Collection[str]) -> list[Group]:
    """The tools on the table, right where they were called; none is right where no tool was."""
    described = {tool.name: tool.description for tool in reversed(table)}  # the first of two with one name
    candidates: list[Group] = []
    for name in dict.fromkeys(tool.name for tool in table):
        text = {"tool_description": described[name]} if described[name] else {}
        candidates.append({"tool": name, **text, "label": int(name in called)})
    return candidates if called else [*candidates, {"none": True, "label": 1}]


def _context(backwards: Iterable[Message]) -> tuple[str, bool]:
    """What was said, from its last message back as far as there is room, and whether something was cut.

    A message keeps its beginning, so that no cut hides how a key or an address begins from whoever redacts it.
    """
    lines: list[str] = []
    room, is_cut = LONGEST_CONTEXT, False
    for message in backwards:
        if message.role == "instruction" or not (text := message.text.strip()):
            continue
        speaker = f"{SPEAKERS[message.role]} {message.name}".rstrip()
        line = f"{speaker}: {_cut(text, LONGEST_MESSAGE)}"
        is_cut = is_cut or len(text) > LONGEST_MESSAGE or len(line) > room
        if len(line) > room:
            break
        lines.append(line)
        room -= len(line) + 1
    return "\n".join(reversed(lines)), is_cut


def _cut(text: str, length: int) -> str:
    """The beginning of the text, up to a space rather than inside a word.

    >>> _cut("rain in Paris", 10), _cut("rain", 10)
    ('rain in', 'rain')
    """
    if len(text) <= length:
        return text
    beginning = text[:length]
    words = beginning if text[length].isspace() else beginning.rpartition(" ")[0]
    return words.rstrip() if len(beginning) - len(words) <= LONGEST_WORD else beginning


def _trace_of(conversation: Conversation) -> str:
    """An id made of the first message of a user: however far a conversation has grown, it keeps it."""
    opening = conversation.before.opening if conversation.before else None
    texts = (message.text for message in conversation.messages if message.role == "user")
    return digest_of(next(texts, "") if opening is None else opening).hex()


def _is_json_or_blank(arguments: str) -> bool:
    """Whether arguments are JSON; a call without any may have a blank text."""
    try:
        msgspec.json.decode(arguments)
    except FAILURES:
        return not arguments.strip()
    return True
