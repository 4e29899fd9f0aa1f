"""Spans of agents' traces, whatever wrote them, become groups: one for each answer of a model with tools on the table.

An importer gives spans in any order, those of a trace scattered over lines and files. They are kept in a temporary
file and put together trace by trace: memory holds one trace, of the others about 250 bytes each and 8 a span. Inside
a trace time orders spans. What spans say of their parents decides two things only: that a call stands in two spans, and
which agent's tools were on the table where the span of the model does not say it.

Many tracers write the user's message into a span and not what was called since. Such calls come from the other spans:
those made since that message was first answered stand after it, so that the answer to their results is no decision.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

import msgspec

from ltr.data.importers.call_outcomes import CallOutcomes, call_outcomes, outcome_note
from ltr.data.importers.call_span_matching import Moment, Used, match_calls
from ltr.data.importers.conversations import Call, Conversation, Message, Tool, last_user_text
from ltr.data.importers.groups_from_conversations import SEEN_BEFORE, Group, decisions
from ltr.data.importers.log_timestamps import NANOSECONDS
from ltr.data.importers.past import LONGEST_PAST
from ltr.data.importers.registry import Imported
from ltr.data.importers.span import Kind, Span
from ltr.data.importers.spool import Spool
from ltr.data.importers.tally import Tally

NO_ID = "spans without the id of a trace or of their own"
NO_ANSWER = "model spans without an answer"
REPEATED = "spans that the log repeats"
FROM_AGENT = "answers whose tools on the table are those of the agent above them"
FROM_ROOT = "queries taken from the input of the whole trace"
BAD_CALLS = "calls with a bad outcome: not right"
NO_OUTCOME = "calls without an outcome: taken to be right"
UNKNOWN = "decisions left without a right tool: unknown"


def import_spans(
    read: Callable[[Sequence[str], Tally], Iterable[Span]], files: Sequence[str], outcome: str
) -> Imported:
    """Return the groups of the spans that an importer reads of its files; `outcome` says which calls were right."""
    tally, judged = Tally(), call_outcomes(outcome)
    return Imported(groups_of_spans(read(files, tally), tally, judged), outcome_note(outcome), tally)


def groups_of_spans(spans: Iterable[Span], tally: Tally, outcomes: CallOutcomes | None = None) -> Iterator[Group]:
    """The decisions of all traces, in the order in which the traces first appear; inside a trace by time."""
    encode, decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder(Span).decode
    with Spool() as spool:
        for span in spans:
            if span.trace_id and span.span_id:
                spool.add(span.trace_id, encode(span))
            else:
                tally.skip(NO_ID, span.place)
        judged: dict[tuple[str, str], _Verdict] = {}

        def conversations() -> Iterator[Conversation]:
            for trace_id in spool:
                judged.clear()
                trace = _Trace(outcomes)
                for place in spool.places(trace_id):
                    trace.see(decode(spool.record(place)), place, tally)
                trace.close()
                for place in trace.models():
                    span = decode(spool.record(place))
                    trace.begin(span)
                    if span.answer is None:
                        tally.skip(NO_ANSWER, span.place)
                        continue
                    if outcomes:
                        judged[trace_id, span.span_id] = trace.verdict(span)
                    yield _conversation(span, span.answer, trace, tally)

        for group in decisions(conversations(), tally):
            verdict = judged.get((group["trace_id"], group["node_id"]))
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


@dataclass(frozen=True, slots=True)
class _Verdict:
    """How the calls of an answer turned out; a call that is in neither is unknown."""

    good: frozenset[str]  # tools of which a call did
    bad: frozenset[str]  # of which each known call did not
    is_bad: bool  # the answer as a whole
    unknown: int  # calls
    where: str


@dataclass(slots=True)
class _Turn:
    """A message of the user, from the first model span that has it as its last one."""

    start: Moment
    is_answered: bool = False  # by words alone


@dataclass(slots=True)
class _Trace:
    """The spans of one trace, in order of time: which called what before which, and with what outcome."""

    outcomes: CallOutcomes | None
    _events: list[_Event] = field(default_factory=list)
    _starts: dict[str, tuple[int, int]] = field(default_factory=dict)  # of model spans
    _parents: dict[str, str] = field(default_factory=dict)  # of all spans
    _tables: dict[str, tuple[Tool, ...]] = field(default_factory=dict)  # of agents
    _user_text: tuple[tuple[int, int], str] | None = None
    _is_good: bool | None = None  # the trace as a whole
    _about: dict[str, bool] = field(default_factory=dict)  # outcomes that stand apart from their spans
    _called: list[tuple[Moment, str]] = field(default_factory=list)
    _turns: dict[str, _Turn] = field(default_factory=dict)  # by the user's message
    _turn: _Turn | None = None  # of the span at hand
    _outcomes: dict[str, list[bool | None]] = field(default_factory=dict)  # of the calls of model spans

    def see(self, span: Span, place: int, tally: Tally) -> None:
        """Take in the next span as the log has it."""
        if span.span_id in self._parents:
            tally.skip(SEEN_BEFORE if span.kind == "model" else REPEATED, span.place)
            return
        self._parents[span.span_id] = span.parent_id
        number = len(self._parents)
        start = span.start if span.start is not None else span.end
        before = (start if start is not None else 0, number)
        if self.outcomes:
            self._is_good = self._is_good if self._is_good is not None else self.outcomes.of_trace(span.trace_id)
        is_good = self.outcomes.of_span(span) if self.outcomes else None
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
        if span.kind == "model":
            self._starts[span.span_id] = before
        is_model = span.kind == "model"
        calls = (span.answer.calls if span.answer else ()) if is_model else (Call(span.tool, id=span.call_id),)
        ended = max(before[0], span.end) if is_model and span.end is not None else before[0]
        at = (ended, *before)
        self._events.append(_Event(at, place, span.kind, span.span_id, span.parent_id, calls, is_good))

    def close(self) -> None:
        """Every span was seen: match the spans of tools with the calls of models."""
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
        """Where the records of model spans begin, the earliest span first."""
        spans = [event for event in self._events if event.kind == "model"]
        return [event.place for event in sorted(spans, key=lambda event: self._starts[event.span_id])]

    def begin(self, span: Span) -> None:
        """The turn of a model span; they are asked for in order of time.

        Words that come again belong to the turn that they began, unless it was answered and others came between.
        """
        asked = last_user_text(span.messages) or self.user_text_before(span)
        turn = self._turns.get(asked)
        if turn is None or (turn.is_answered and turn is not self._turn):
            turn = self._turns[asked] = _Turn(self._began(span))
        turn.is_answered = span.answer is not None and not (span.answer.calls or span.answer.no_decision)
        self._turn = turn

    def called_before(self, span: Span, number: int) -> list[tuple[bool, str]]:
        """The last tools, at most so many, that were called before the span began; whether it was in its turn."""
        turn = self._turn.start if self._turn else self._began(span)
        end = bisect_left(self._called, self._began(span), key=itemgetter(0))
        return [(at >= turn, name) for at, name in self._called[max(0, end - number) : end]]

    def _began(self, span: Span) -> Moment:
        start, place = self._starts[span.span_id]
        return start, start, place

    def table_above(self, span: Span) -> tuple[Tool, ...]:
        """The tools of the nearest span above that lists some; parents that lead round in a circle end the search."""
        above, seen = span.parent_id, {span.span_id}
        while above not in seen and above not in self._tables:
            seen.add(above)
            above = self._parents.get(above, "")
        return self._tables.get(above, ())

    def user_text_before(self, span: Span) -> str:
        """The input of the earliest span that has one, if that began before the span."""
        return self._user_text[1] if self._user_text and self._user_text[0] < self._starts[span.span_id] else ""

    def verdict(self, span: Span) -> _Verdict:
        """How the calls of a model span turned out."""
        calls = span.answer.calls if span.answer else ()
        outcomes = [
            (call.name, self._is_good if is_good is None else is_good)
            for call, is_good in zip(calls, self._outcomes[span.span_id], strict=True)
        ]
        good = frozenset(name for name, is_good in outcomes if is_good)
        own = self._about.get(span.span_id, self.outcomes.of_span(span) if self.outcomes else None)
        return _Verdict(
            good=good,
            bad=frozenset(name for name, is_good in outcomes if is_good is False) - good,
            is_bad=(self._is_good if own is None else own) is False,
            unknown=sum(is_good is None for _, is_good in outcomes),
            where=span.place,
        )


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
    number = _right(group["candidates"]) - _right(candidates)
    tally.remark(BAD_CALLS, verdict.where, number)
    tally.remark(NO_OUTCOME, verdict.where, verdict.unknown)
    tally.remark(UNKNOWN, verdict.where, int(number > 0 and not _right(candidates)))
    return {**group, "candidates": candidates}


def _right(candidates: Sequence[Group]) -> int:
    return sum(candidate["label"] > 0 for candidate in candidates)
