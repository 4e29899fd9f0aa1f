"""What a conversation has said so far, as far as its next answer needs it: bounded, however long it has grown."""

from collections import deque
from collections.abc import Sequence
from hashlib import blake2b

import msgspec

from ltr.data.importers.conversations import Call, Message

LONGEST_PAST = 1_000  # messages of a context, names in `previous`, calls that wait for their results or failed
ID_BYTES = 8


class Past:
    """Grows message by message. A copy grows on its own: two responses may go on from one.

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
        """A past with what this one has seen; the work is bounded, however much that is."""
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
        """The digest of everything so far and of one message more; instructions, which may hold the date, left out."""
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
    """A short digest of texts, in which the place of each text counts."""
    content = msgspec.json.encode(texts)
    return blake2b(content, digest_size=ID_BYTES).digest()
