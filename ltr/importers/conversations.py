"""What a conversation is, and what a decision is, for every importer of logs: from messages to groups of samples.

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

from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Any, Literal, NamedTuple

import msgspec

from ltr.errors import UsageError, suggestion
from ltr.importers.frame import Tally
from ltr.jsonl import FAILURES

Role = Literal["instruction", "user", "answer", "result"]
Group = dict[str, Any]

ONCE = "once"
RULES = (ONCE, "all")  # for decisions that a log repeats

LONGEST_QUERY = 10_000  # characters, as below
LONGEST_MESSAGE = 2_000  # of a context
LONGEST_CONTEXT = 10_000
LONGEST_WORD = 256
LONGEST_PAST = 1_000  # messages of a context, names in `previous`, calls that wait for their results or failed
ID_BYTES = 8
SPEAKERS = {"user": "user", "answer": "assistant", "result": "tool"}

# Why an answer is no decision, in the words of the summary: what the log says, for `Message.no_decision`.
REFUSED = "refusals"
FAILED = "answers that ended in an error"
CUT_OFF = "answers that were cut off"
FORCED = "answers that had to call one tool, or none (tool_choice)"
UNFINISHED = "answers that had not ended"
NAMELESS = "answers whose calls have no name"
# And what follows from the conversation around it.
DONE = "answers without a call after an earlier answer or result: the work is done"
GOES_ON = "answers without a call that go on in the next message"
NO_QUERY = "answers without a text of a user before them"
NO_TABLE = "answers without tools on the table"
NOT_ON_TABLE = "answers that called only tools that are not on the table"
RETRIED = "answers that call again what failed"
SEEN_BEFORE = "decisions that the log repeats"

ONE_TOOL, SEVERAL_TOOLS, NO_TOOL = "decisions for one tool", "decisions for several tools", "decisions for no tool"
REPEATS_COUNTED = "identical requests without an id, counted each time (--repeats once: one)"
LONE = "decisions with one tool on the table: they cannot train as they are"
CALL_DROPPED = "calls of a tool that is not on the table, left out beside others"
NOT_JSON = "calls with arguments that are not JSON"
QUERY_CUT = f"queries cut to their first {LONGEST_QUERY:,} characters"
CONTEXT_CUT = (
    f"contexts cut to their last {LONGEST_CONTEXT:,} characters, or a message of theirs to {LONGEST_MESSAGE:,}"
)
PREVIOUS_CUT = f"previous calls cut to the last {LONGEST_PAST:,}"


class Tool(msgspec.Struct, frozen=True):
    """A tool on the table."""

    name: str
    description: str = ""


class Call(msgspec.Struct, frozen=True):
    """A tool that an answer calls. The arguments are compared with those of other calls, and never written."""

    name: str
    arguments: str = ""  # as they stand in the log; JSON, if all is well
    id: str = ""


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One message. Fields below a comment belong to messages of that role only."""

    role: Role
    text: str = ""
    # answer
    calls: tuple[Call, ...] = ()
    no_decision: str = ""  # why it is no decision, whatever it called: a reason for the summary
    tools: tuple[Tool, ...] | None = None  # on the table for this answer; None: those of the conversation
    node_id: str = ""  # its id in the log; "": made from what was said so far
    time: float | str | None = None
    # result
    call_id: str = ""
    name: str = ""  # of the tool
    is_error: bool = False


class Conversation(msgspec.Struct, frozen=True, kw_only=True):
    """Messages in order, and where they stand in the log."""

    messages: tuple[Message, ...]
    place: str  # "log.jsonl:7"
    trace_id: str = ""  # "": conversations that begin with the same message of a user are one trace
    tools: tuple[Tool, ...] = ()  # on the table for every answer that has none of its own
    decided: int = 0  # so many messages at the start are history: other places of the log hold their decisions
    before: "Past | None" = None  # what other places of the log hold of it, which is history as well


class Past:
    """What a conversation has said so far, as far as its next answer needs it: bounded, however long it has grown.

    It grows message by message. A copy grows on its own: two responses may go on from one.

    >>> past = Past()
    >>> for message in (Message(role="user", text="rain?"), Message(role="answer", calls=(Call("weather"),))):
    ...     past.see(message)
    >>> past.query.text, list(past.previous), past.is_first
    ('rain?', ['weather'], False)
    """

    def __init__(self) -> None:
        self.opening: str | None = None  # the first message of a user
        self.query: Message | None = None  # the last one
        self.is_first = False  # no answer has followed it
        self.messages: deque[Message] = deque(maxlen=LONGEST_PAST)
        self.previous: deque[str] = deque(maxlen=LONGEST_PAST + 1)  # called tools, one more than a group may hold
        self._digest = blake2b(digest_size=ID_BYTES)
        self._open: list[Call] = []
        self._failed: deque[tuple[str, str]] = deque(maxlen=LONGEST_PAST)  # since the last message of a user

    def copy(self) -> "Past":
        """Return a past with what this one has seen; the work is bounded, however much that is."""
        copied = Past()
        copied.opening, copied.query, copied.is_first = self.opening, self.query, self.is_first
        copied.messages, copied.previous = self.messages.copy(), self.previous.copy()
        copied._digest = self._digest.copy()
        copied._open, copied._failed = self._open.copy(), self._failed.copy()
        return copied

    def see(self, message: Message) -> None:
        """Take in the next message."""
        self._digest = self.digest_with(message)
        self.messages.append(message)
        if message.role == "user":
            self.opening = message.text if self.opening is None else self.opening
            self.query, self.is_first = message, True
            self._open.clear()
            self._failed.clear()
        elif message.role == "result":
            self.is_first = False
            self._see_result(message)
        elif message.role == "answer":
            self.is_first = False
            self._open = list(message.calls[:LONGEST_PAST])
            self.previous += [call.name for call in message.calls]

    def digest_with(self, message: Message) -> "blake2b":
        """Return the digest of everything so far and of a message more, but for instructions: they may hold a date."""
        digest = self._digest.copy()
        if message.role != "instruction":
            calls = [text for call in message.calls for text in (call.name, call.arguments)]
            digest.update(digest_of(message.role, message.text, *calls))
        return digest

    def has_failed(self, calls: Sequence[Call]) -> bool:
        """Whether there are calls, and each has failed since the last message of a user, with the same arguments."""
        return bool(calls) and all((call.name, call.arguments) in self._failed for call in calls)

    def _see_result(self, result: Message) -> None:
        """The result of an open call: the one with its id, else with its name, else the first."""
        answered = next((call for call in self._open if call.id and call.id == result.call_id), None)
        answered = answered or next((call for call in self._open if call.name == result.name), None)
        answered = answered or next(iter(self._open), None)
        if answered is None:
            return
        self._open.remove(answered)
        if result.is_error:
            self._failed.append((answered.name, answered.arguments))


def digest_of(*texts: str) -> bytes:
    """Return a short digest of texts, in which the place of each text counts."""
    return blake2b(msgspec.json.encode(texts), digest_size=ID_BYTES).digest()


def repeat_rule(option: str) -> str:
    """Return what the option names: once, all, or "" for what ids tell, and without them how the log grows."""
    if option and option not in RULES:
        raise UsageError(f"repeats {option!r}{suggestion(option, RULES)}; {' or '.join(RULES)} is needed")
    return option


def decisions(conversations: Iterable[Conversation], tally: Tally, repeats: str = "") -> Iterator[Group]:
    """Yield the groups of all conversations, in the order of their decisions; the tally counts every answer.

    `repeats` is a rule of `repeat_rule`.

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


class _Answer(NamedTuple):
    """An answer of a conversation, and what was said before it."""

    message: Message
    past: Past  # as it was before the message
    node_id: str
    goes_on: bool


def _answers(conversation: Conversation) -> Iterator[_Answer]:
    """The answers that are not history, each with its past, which the next one goes on from."""
    messages = conversation.messages
    past = conversation.before.copy() if conversation.before else Past()
    for at, message in enumerate(messages):
        if message.role == "answer" and at >= conversation.decided:
            node_id = message.node_id or past.digest_with(message).hexdigest()
            goes_on = at + 1 < len(messages) and messages[at + 1].role == "answer"
            yield _Answer(message, past, node_id, goes_on)
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
    past, calls = answer.past, answer.message.calls
    query = past.query.text if past.query else ""
    group: Group = {"query": _cut(query, LONGEST_QUERY)}
    context, is_cut = _context(message for message in reversed(past.messages) if message is not past.query)
    if context:
        group["context"] = context
    if past.previous:
        group["previous"] = list(past.previous)[-LONGEST_PAST:]
    if answer.message.time is not None:
        group["time"] = answer.message.time
    called, names = {call.name for call in calls}, {tool.name for tool in table}
    group["candidates"] = _candidates(table, called)
    tally.keep(NO_TOOL if not called else ONE_TOOL if len(called & names) == 1 else SEVERAL_TOOLS, place)
    tally.remark(LONE, place, int(len(group["candidates"]) == 1))
    tally.remark(CALL_DROPPED, place, len(called - names))
    tally.remark(NOT_JSON, place, sum(not _is_json_or_blank(call.arguments) for call in calls))
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
