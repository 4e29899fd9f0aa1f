"""Spans of agents' traces, whatever wrote them, become groups: one for each answer of a model with tools on the table.

A dialect gives spans in any order, those of a trace scattered over lines and files. They are kept in a temporary
file and put together trace by trace: memory holds one trace, of the others about 250 bytes each and 8 a span. Inside
a trace time orders spans. What spans say of their parents decides two things only: that a call stands in two spans, and
which agent's tools were on the table where the span of the model does not say it.

Many tracers write the user's message into a span and not what was called since. Such calls come from the other spans:
those made since that message was first answered stand after it, so that the answer to their results is no decision.
"""

import os
import tempfile
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from operator import itemgetter
from typing import NamedTuple

import msgspec

from ltr.errors import DiskError, reason
from ltr.importers.conversations import LONGEST_PAST, SEEN_BEFORE, Call, Conversation, Group, Message, Tool, decisions
from ltr.importers.frame import Imported, Opening, Tally, importer
from ltr.importers.logs import NANOSECONDS
from ltr.importers.messages import last_user_text
from ltr.importers.outcomes import Outcomes, outcomes_of
from ltr.importers.spans import Kind, Span

Moment = tuple[int, int, int]  # when it happened, when its span began, the number of the span in the log
Read = Callable[[Sequence[str], Tally], Iterator[Span]]

LENGTH_BYTES = 8
BUFFER = 1 << 20

NO_ID = "spans without the id of a trace or of their own"
NO_ANSWER = "model spans without an answer"
REPEATED = "spans that the log repeats"
FROM_AGENT = "answers whose tools on the table are those of the agent above them"
FROM_ROOT = "queries taken from the input of the whole trace"
BAD_CALLS = "calls with a bad outcome: not right"
NO_OUTCOME = "calls without an outcome: taken to be right"
UNKNOWN = "decisions left without a right tool: unknown"


def tracer(name: str, *, title: str, looks_like: Callable[[Opening], bool]) -> Callable[[Read], Read]:
    """Return a decorator that registers an importer, whose samples are the groups of the spans that a function reads.

    Its option `outcome`, span-status, feedback or evaluation:FILE, decides which calls were right, instead of all
    that were made.
    """

    def register(read: Read) -> Read:
        def convert(files: Sequence[str], *, outcome: str = "") -> Imported:
            tally, outcomes = Tally(), outcomes_of(outcome)
            return Imported(_groups(read(files, tally), tally, outcomes), outcomes.notes(outcome), tally)

        convert.__doc__, convert.__module__ = read.__doc__, read.__module__
        importer(name, title=title, looks_like=looks_like)(convert)
        return read

    return register


def _groups(spans: Iterable[Span], tally: Tally, outcomes: Outcomes) -> Iterator[Group]:
    """The decisions of all traces, in the order in which the traces first appear; inside a trace by time."""
    encode, decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder(Span).decode
    verdict: _Verdict | None = None  # of the last conversation, whose group comes before the next one is asked for
    with Spool() as spool:
        for span in spans:
            if span.trace_id and span.span_id:
                spool.add(span.trace_id, encode(span))
            else:
                tally.skip(NO_ID, span.place)

        def conversations() -> Iterator[Conversation]:
            nonlocal verdict
            for trace_id, places in spool.items():
                trace = _Trace(trace_id, outcomes)
                for place in places:
                    trace.see(decode(spool.record(place)), place, tally)
                trace.close()
                for place in trace.models():
                    span = decode(spool.record(place))
                    trace.begin(span)
                    if span.answer is None:
                        tally.skip(NO_ANSWER, span.place)
                        continue
                    verdict = trace.verdict(span) if outcomes.source else None
                    yield _conversation(span, span.answer, trace, tally)

        for group in decisions(conversations(), tally):
            yield group if verdict is None else _relabelled(group, verdict, tally)


class _Event(msgspec.Struct):
    """What a trace keeps of a span while its others are read."""

    at: Moment
    place: int
    kind: Kind
    span_id: str
    parent_id: str
    calls: tuple[Call, ...]  # of a model's answer; the one of a tool's span
    is_good: bool | None  # None: not known


class _Verdict(NamedTuple):
    """How the calls of an answer turned out; a call that is in neither is unknown."""

    good: frozenset[str]  # tools of which a call did
    bad: frozenset[str]  # of which each known call did not
    is_bad: bool  # the answer as a whole
    unknown: int  # calls
    where: str


class _Turn(msgspec.Struct):
    """A message of the user, from the first model span that has it as its last one."""

    start: Moment
    is_answered: bool = False  # by words alone


class _Trace:
    """The spans of one trace, in order of time: which called what before which, and with what outcome."""

    def __init__(self, trace_id: str, outcomes: Outcomes) -> None:
        self._outcome = outcomes.of
        self._is_good = outcomes.of_trace(trace_id)  # the trace as a whole
        self._events: list[_Event] = []
        self._starts: dict[str, tuple[int, int]] = {}  # of model spans
        self._parents: dict[str, str] = {}  # of all spans
        self._tables: dict[str, tuple[Tool, ...]] = {}  # of agents
        self._user_text: tuple[tuple[int, int], str] | None = None
        self._about: dict[str, bool] = {}  # outcomes that stand apart from their spans
        self._called: list[tuple[Moment, str]] = []
        self._turns: dict[str, _Turn] = {}  # by the user's message
        self._turn: _Turn | None = None  # of the span at hand
        self._outcomes: dict[str, list[bool | None]] = {}  # of the calls of model spans

    def see(self, span: Span, place: int, tally: Tally) -> None:
        """Take in the next span as the log has it."""
        if span.span_id in self._parents:
            tally.skip(SEEN_BEFORE if span.kind == "model" else REPEATED, span.place)
            return
        self._parents[span.span_id] = span.parent_id
        start = span.start if span.start is not None else span.end
        before = (start if start is not None else 0, len(self._parents))
        is_good = self._outcome(span)
        if span.kind == "other":
            if span.user_text and (self._user_text is None or before < self._user_text[0]):
                self._user_text = before, span.user_text
            if span.tools:
                self._tables[span.span_id] = span.tools
            if is_good is not None and span.about:
                self._about[span.about] = is_good
            elif is_good is not None and not span.tool:
                self._is_good = is_good
            if not span.tool:
                return
        ended = before[0]
        calls: tuple[Call, ...] = (Call(span.tool, id=span.call_id),)
        if span.kind == "model":
            self._starts[span.span_id] = before
            ended = ended if span.end is None else max(ended, span.end)
            calls = span.answer.calls if span.answer else ()
        self._events.append(_Event((ended, *before), place, span.kind, span.span_id, span.parent_id, calls, is_good))

    def close(self) -> None:
        """Match the spans of tools with the calls of models: every span was seen."""
        events = sorted(self._events, key=lambda event: event.at)
        for event in events:
            event.is_good = self._about.get(event.span_id, event.is_good)
        of_id = {event.span_id: event for event in events}
        models = [event for event in events if event.kind == "model"]
        runs = [event for event in events if event.kind != "model" and not _is_inner(event, of_id.get(event.parent_id))]
        places = [(event, number) for event in models for number in range(len(event.calls))]
        calls = [Used(event.at, call.name, call.id) for event in models for call in event.calls]
        ran = [Used(event.at, event.calls[0].name, event.calls[0].id) for event in runs]
        call_of_run = match_calls(calls, ran)
        self._outcomes = {event.span_id: [event.is_good] * len(event.calls) for event in models}
        for number, event in enumerate(runs):
            if number in call_of_run and event.is_good is not None:
                owner, place = places[call_of_run[number]]
                self._outcomes[owner.span_id][place] = event.is_good
            elif number not in call_of_run and event.kind == "other" and event.is_good is not None:
                self._is_good = event.is_good
        alone = [used for number, used in enumerate(ran) if number not in call_of_run and runs[number].kind == "tool"]
        # by time alone: calls of one answer are made at one moment, and stay in the order in which it makes them
        self._called = sorted(((used.at, used.name) for used in (*calls, *alone)), key=itemgetter(0))

    def models(self) -> list[int]:
        """Return where the records of model spans begin, the earliest span first."""
        spans = [event for event in self._events if event.kind == "model"]
        return [event.place for event in sorted(spans, key=lambda event: self._starts[event.span_id])]

    def begin(self, span: Span) -> None:
        """Begin or go on with the turn of a model span; they are asked for in order of time.

        Words that come again belong to the turn that they began, unless it was answered and others came between.
        """
        asked = last_user_text(span.messages) or self.user_text_before(span)
        turn = self._turns.get(asked)
        if turn is None or (turn.is_answered and turn is not self._turn):
            turn = self._turns[asked] = _Turn(self._began(span))
        turn.is_answered = span.answer is not None and not (span.answer.calls or span.answer.no_decision)
        self._turn = turn

    def called_before(self, span: Span, number: int) -> list[tuple[bool, str]]:
        """Return the last tools, at most so many, called before the span began, and whether it was in its turn."""
        turn = self._turn.start if self._turn else self._began(span)
        end = bisect_left(self._called, self._began(span), key=itemgetter(0))
        return [(at >= turn, name) for at, name in self._called[max(0, end - number) : end]]

    def table_above(self, span: Span) -> tuple[Tool, ...]:
        """Return the tools of the nearest span above that lists some; parents in a circle end the search."""
        above, seen = span.parent_id, {span.span_id}
        while above not in seen and above not in self._tables:
            seen.add(above)
            above = self._parents.get(above, "")
        return self._tables.get(above, ())

    def user_text_before(self, span: Span) -> str:
        """Return the input of the earliest span that has one, if that began before the span."""
        return self._user_text[1] if self._user_text and self._user_text[0] < self._starts[span.span_id] else ""

    def verdict(self, span: Span) -> _Verdict:
        """Return how the calls of a model span turned out."""
        calls = span.answer.calls if span.answer else ()
        outcomes = [
            (call.name, self._is_good if is_good is None else is_good)
            for call, is_good in zip(calls, self._outcomes[span.span_id], strict=True)
        ]
        good = frozenset(name for name, is_good in outcomes if is_good)
        bad = frozenset(name for name, is_good in outcomes if is_good is False) - good
        own = self._about.get(span.span_id, self._outcome(span))
        is_bad = (self._is_good if own is None else own) is False
        return _Verdict(good, bad, is_bad, sum(is_good is None for _, is_good in outcomes), span.place)

    def _began(self, span: Span) -> Moment:
        start, place = self._starts[span.span_id]
        return start, start, place


def _is_inner(event: _Event, parent: _Event | None) -> bool:
    """Whether the event is the same call as its parent, seen by another instrument."""
    is_below = parent is not None and parent is not event and parent.kind == "tool" == event.kind
    return is_below and parent is not None and parent.calls[0].name == event.calls[0].name


def _conversation(span: Span, answered: Message, trace: _Trace, tally: Tally) -> Conversation:
    """The span's messages and its answer, with the calls of the trace that its messages do not show."""
    messages = list(span.messages)
    if not any(message.role == "user" for message in messages) and (user_text := trace.user_text_before(span)):
        tally.remark(FROM_ROOT, span.place)
        messages.insert(0, Message(role="user", text=user_text))
    asked = max((at for at, message in enumerate(messages, start=1) if message.role == "user"), default=0)
    shown = tuple(
        Counter(call.name for message in part for call in message.calls)
        for part in (messages[:asked], messages[asked:])
    )
    called = trace.called_before(span, LONGEST_PAST + 1 + sum(map(Counter.total, shown)))
    elsewhere = _not_shown(called, shown)
    for is_since, at in ((True, asked), (False, 0)):
        if calls := tuple(Call(name) for is_own, name in elsewhere if is_own is is_since):
            messages.insert(at, Message(role="answer", calls=calls))
    tools = span.tools or trace.table_above(span)
    tally.remark(FROM_AGENT, span.place, int(bool(tools and not span.tools)))
    time = None if span.start is None else span.start / NANOSECONDS
    answer = msgspec.structs.replace(answered, node_id=span.span_id, time=time, tools=tools)
    return Conversation(messages=(*messages, answer), place=span.place, trace_id=span.trace_id, decided=len(messages))


def _not_shown(called: Sequence[tuple[bool, str]], shown: Sequence[Counter[str]]) -> Sequence[tuple[bool, str]]:
    """The calls that the messages do not show: looked for on their own side of the user's message first.

    >>> _not_shown([(False, "mail"), (True, "mail")], [Counter(["mail"]), Counter()])
    [(True, 'mail')]
    """
    for is_other_side in (False, True):
        left: list[tuple[bool, str]] = []
        for is_since, name in reversed(called):
            side = shown[is_since is not is_other_side]
            if side[name]:
                side[name] -= 1
            else:
                left.append((is_since, name))
        called = left[::-1]
    return called


def _relabelled(group: Group, verdict: _Verdict, tally: Tally) -> Group:
    """The group in which no candidate is right whose outcome was bad."""
    candidates: list[Group] = []
    for candidate in group["candidates"]:
        is_bad = verdict.is_bad if candidate.get("none") else candidate.get("tool") in verdict.bad
        candidates.append({**candidate, "label": 0} if candidate["label"] and is_bad else candidate)
    before, after = (sum(entry["label"] > 0 for entry in listed) for listed in (group["candidates"], candidates))
    tally.remark(BAD_CALLS, verdict.where, before - after)
    tally.remark(NO_OUTCOME, verdict.where, verdict.unknown)
    tally.remark(UNKNOWN, verdict.where, int(before > after == 0))
    return {**group, "candidates": candidates}


class Used(NamedTuple):
    """A tool as an answer calls it, or as it ran."""

    at: Moment
    name: str
    call_id: str = ""


KEYS: tuple[tuple[Callable[[Used], tuple[str, ...]], bool], ...] = (  # and whether the run may come before the call
    (lambda used: (used.call_id, used.name) if used.call_id else (), True),
    (lambda used: (used.call_id,) if used.call_id else (), True),
    (lambda used: (used.name,), False),
    (lambda used: (used.name,), True),
)


def match_calls(calls: Sequence[Used], runs: Sequence[Used]) -> dict[int, int]:
    """Return for each run that has one its call; both in order of time, each call with one run at most.

    Ids come before names. Of several calls the latest before the run is taken. One after it comes last: the clocks of
    two machines differ, and a run that is taken for a call of its own would tell the answer before it is given.

    >>> match_calls([Used((1, 1, 1), "mail"), Used((5, 5, 4), "mail")], [Used((6, 6, 5), "mail")])
    {0: 1}
    """
    call_of_run: dict[int, int] = {}
    taken: set[int] = set()
    for key, may_precede in KEYS:
        waiting: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
        for number, call in enumerate(calls):
            if number not in taken and key(call):
                waiting[key(call)].append(number)
        for number, run in enumerate(runs):
            listed = waiting.get(key(run), []) if number not in call_of_run else []
            earlier = bisect_right(listed, run.at, key=lambda call: calls[call].at)
            if listed and (earlier or may_precede):
                call_of_run[number] = listed.pop(earlier - 1 if earlier else 0)
                taken.add(call_of_run[number])
    return call_of_run


class Spool:
    """Records that belong to keys, in whatever order they come: kept in a temporary file, read back key by key.

    In memory: each key, and 8 bytes a record. Keys come back in the order in which they first came.

    >>> with Spool() as spool:
    ...     spool.add("a", b"1")
    ...     spool.add("b", b"2")
    ...     spool.add("a", b"3")
    ...     {key: [spool.record(place) for place in places] for key, places in spool.items()}
    {'a': [b'1', b'3'], 'b': [b'2']}
    """

    def __init__(self) -> None:
        with _writing():
            self._file = tempfile.TemporaryFile(buffering=BUFFER)  # noqa: SIM115  # closed when the spool is
        self._places: dict[str, array[int]] = {}
        self._size = 0

    def __enter__(self) -> "Spool":
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # what it could not write is not asked for any more
            self._file.close()

    def add(self, key: str, record: bytes) -> None:
        """Keep one more record of the key."""
        self._places.setdefault(key, array("Q")).append(self._size)
        with _writing():
            self._file.write(len(record).to_bytes(LENGTH_BYTES, "big") + record)
        self._size += LENGTH_BYTES + len(record)

    def items(self) -> "Iterator[tuple[str, array[int]]]":
        """Yield each key, and where its records begin, in the order in which they came."""
        with _writing():
            self._file.flush()
        yield from self._places.items()

    def record(self, place: int) -> bytes:
        """Return the record that begins there; every record is in the file once the keys are asked for."""
        length = int.from_bytes(os.pread(self._file.fileno(), LENGTH_BYTES, place), "big")
        return os.pread(self._file.fileno(), length, place + LENGTH_BYTES)


@contextmanager
def _writing() -> Iterator[None]:
    """A disk that fails is named, with what was to be written to it."""
    try:
        yield
    except OSError as error:
        problem = f"{reason(error)}; spans wait here until their trace is complete, and TMPDIR names another place"
        raise DiskError(tempfile.gettempdir(), problem) from error
