"""YAML text becomes a Document. PyYAML only splits the text into events; their meaning is decided here.

Scalars follow the YAML 1.2 core schema. Refused: tags, merge keys, keys that are not text, keys written
twice, a second document, and text that is small to write but large to read.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ltr.configtext.parsed_document import Document, KeyPath, Value, path_text, value_text
from ltr.configtext.yaml_events import MOST_CHARACTERS, NOT_YAML, character_name, events, fail_at
from ltr.errors import ConfigError, Place, Problem

MOST_NODES = 100_000
DEEPEST = 64
LONGEST_NUMBER = 300  # far below the number of digits from which Python itself refuses to convert

WORDS: dict[str, Value] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
BASES = {"0o": 8, "0x": 16}


def parse(text: str | bytes, source: str) -> Document:
    """The mapping the text describes, with the place of every value; an empty text is an empty mapping."""
    composer = _Composer(source, events(text, source))
    value, places = composer.document(), dict(composer.entries)
    if not isinstance(value, dict) and value is not None:
        fail_at(places[()], f"a config is a mapping of keys to values, found {value_text(value)}")
    return Document(source, value or {}, places)


def parse_value(text: str, source: str = "value") -> Value:
    """The value the text describes, by the same rules as a file.

    >>> [parse_value(text) for text in ("1e-3", "no", "12:30", "010", "[1, 2.5]", "")]
    [0.001, 'no', '12:30', 10, [1, 2.5], None]
    """
    return _Composer(source, events(text, source)).document()


def is_text(text: str) -> bool:
    """Whether a plain word means the text itself, so that it needs no quotes."""
    return not (text in WORDS or INTEGER.fullmatch(text) or FLOAT.fullmatch(text))


def scalar(text: str) -> Value:
    """What a plain word means in YAML 1.2: null, a boolean, an integer, a float, or the text itself.

    >>> [scalar(text) for text in ("~", "on", "True", "0x1F", "1_000", "-.5e3", "2026-11-18")]
    [None, 'on', True, 31, '1_000', -500.0, '2026-11-18']
    """
    if text in WORDS:
        return WORDS[text]
    if INTEGER.fullmatch(text):
        return int(text, BASES.get(text[:2], 10))
    if FLOAT.fullmatch(text):
        return float(text.replace(".", "") if text[-1].isalpha() else text)  # .inf, .nan
    return text


@dataclass(frozen=True, slots=True)
class _Anchor:
    """A value that has a name: where its entries lie, and how many characters each use of it adds."""

    value: Value
    path: KeyPath
    entries: slice
    characters: int


@dataclass(slots=True)
class _Composer:
    """Events become values, with the path and place of each. Problems are noted, and raised together at the end."""

    source: str
    events: Iterator[Any]
    entries: list[tuple[KeyPath, Place]] = field(default_factory=list)
    anchors: dict[str, _Anchor | None] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    characters: int = 0

    def document(self) -> Value:
        """The value of the only document; None for a text without one. Raises all problems that were noted."""
        fatal: tuple[Problem, ...] = ()
        value: Value = None
        try:
            starts = self.until("StreamEnd", only="DocumentStart")
            if next(starts, None) is not None:
                value = self.value(next(self.events), ())
                if second := next(starts, None):
                    fail_at(self.place(second), "a second document starts here; a config is one")
        except ConfigError as error:
            fatal = error.problems
        if self.problems or fatal:
            problems = [*self.problems, *fatal]
            raise ConfigError(tuple(sorted(problems, key=lambda problem: (problem.place.line, problem.place.column))))
        return value

    def value(self, event: Any, path: KeyPath, place: Place | None = None) -> Value:
        """The value that starts with the event; its place is its key's, or its own in a list."""
        place = place or self.place(event)
        start, characters = len(self.entries), self.characters
        self.entries.append((path, place))
        self.check_size(place, len(path))
        if _name(event) == "Alias":
            return self.alias(event, path, place)
        if event.tag is not None:
            self.note(place, path, f"tag {value_text(event.tag)} is not read; write the plain value")
        if event.anchor:
            self.anchors[event.anchor] = None
        if _name(event) == "MappingStart":
            value = self.mapping(path)
        elif _name(event) == "SequenceStart":
            value = [self.value(entry, (*path, index)) for index, entry in enumerate(self.until("SequenceEnd"))]
        else:
            value = self.scalar(event, path, place)
        if event.anchor:
            span = slice(start, len(self.entries))
            self.anchors[event.anchor] = _Anchor(value, path, span, self.characters - characters)
        return value

    def mapping(self, path: KeyPath) -> Value:
        value: dict[str, Value] = {}
        first: dict[str, Place] = {}
        for event in self.until("MappingEnd"):
            place = self.place(event)
            key = self.key(event, path, place)
            if key in first:
                self.note(place, (*path, key), f"written twice; first at {first[key].line}:{first[key].column}")
            first.setdefault(key, place)
            value[key] = self.value(next(self.events), (*path, key), place)
        return value

    def key(self, event: Any, path: KeyPath, place: Place) -> str:
        """The text of a key. One that is not plain text is noted, and gets a name that no other key has."""
        if _name(event) != "Scalar":
            self.value(event, (*path, "?"))
            self.note(place, path, "a key is text, not a list, mapping or alias")
            return f"?{len(self.entries)}"
        key = self.scalar(event, path, place)
        if event.tag is not None or event.anchor:
            self.note(place, path, "a key is plain text, without tag or anchor")
        if key == "<<" and event.implicit[0]:
            self.note(place, path, "merge keys (<<) are not read; write the keys out")
            return f"<<{len(self.entries)}"
        if not isinstance(key, str):
            self.note(place, path, f"key {value_text(key)} is not text; put it in quotes")
        return str(key)

    def alias(self, event: Any, path: KeyPath, place: Place) -> Value:
        """The anchored value again, every path in it placed where it was written."""
        name = value_text(f"*{event.anchor}")
        anchor = self.anchors.get(event.anchor)
        if anchor is None:
            is_inside = event.anchor in self.anchors
            fail_at(
                place,
                f"alias {name} {'stands inside its own anchor' if is_inside else 'names no anchor above it'}",
            )
        repeated = self.entries[anchor.entries][1:]
        depth = max((len(inner) for inner, _ in repeated), default=len(anchor.path))
        self.characters += anchor.characters
        self.check_size(place, len(path) + depth - len(anchor.path), len(repeated))
        self.entries += [((*path, *inner[len(anchor.path) :]), where) for inner, where in repeated]
        return anchor.value

    def scalar(self, event: Any, path: KeyPath, place: Place) -> Value:
        text: str = event.value
        self.characters += len(text)
        if bad := NOT_YAML.search(text):  # an escape can write what the text itself cannot hold
            self.note(place, path, f"{character_name(bad.group())} is not allowed")
        if not event.implicit[0] or is_text(text):
            return text
        if len(text) > LONGEST_NUMBER:
            self.note(place, path, f"a number of {len(text)} characters; at most {LONGEST_NUMBER}")
            return 0
        return scalar(text)

    def check_size(self, place: Place, depth: int, more: int = 0) -> None:
        if depth > DEEPEST:
            fail_at(place, f"nested deeper than {DEEPEST} levels")
        if len(self.entries) + more > MOST_NODES:
            fail_at(place, f"more than {MOST_NODES} values, aliases counted each time")
        if self.characters > MOST_CHARACTERS:
            fail_at(place, f"more than {MOST_CHARACTERS} characters, aliases counted each time")

    def until(self, end: str, *, only: str = "") -> Iterator[Any]:
        for event in self.events:
            if _name(event) == end:
                return
            if not only or _name(event) == only:
                yield event

    def place(self, event: Any) -> Place:
        return Place(self.source, event.start_mark.line + 1, event.start_mark.column + 1)

    def note(self, place: Place, path: KeyPath, message: str) -> None:
        self.problems.append(Problem(place, path_text(path), message))


def _name(event: Any) -> str:
    return type(event).__name__.removesuffix("Event")
