"""Config text becomes PyYAML's events; characters are checked first, errors are in plain words."""

import re
from collections.abc import Iterator
from typing import Any, NoReturn

from ltr.errors import ConfigError, Place, Problem

MOST_CHARACTERS = 1 << 20
NOT_YAML = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

TAB = "a tab cannot indent; use spaces"
COMPLAINTS = {
    "mapping values are not allowed": "a ':' cannot stand here; quote the text, or look at the indentation",
    "end of stream": "the text ends inside quotes that were never closed",
    "',' or ": "a ',' or a closing bracket is missing",
    "node content": "a value or a closing bracket is missing",
    "expected ':'": "a key without ': ' after it",
    "expected key": "does not fit the lines above it; look at the indentation",
    "<block": "does not fit the lines above it; look at the indentation",
    "<document start>": "does not fit the lines above it; look at the indentation",
}


def events(text: str | bytes, source: str) -> Iterator[Any]:
    """The events of the text, one by one; a ConfigError where the text is not YAML."""
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            place = _place_after(error.object[: error.start].decode("utf-8").removeprefix("\ufeff"), source)
            fail_at(place, f"byte 0x{error.object[error.start]:02x} is not UTF-8")
    text = text.removeprefix("\ufeff")
    if len(text) > MOST_CHARACTERS:
        fail_at(Place(source, 1, 1), f"{len(text)} characters; a config has at most {MOST_CHARACTERS}")
    if bad := NOT_YAML.search(text):
        place = _place_after(text[: bad.start()], source)
        fail_at(place, f"{character_name(bad.group())} is not allowed in YAML")
    return _parsed(text, source)


def fail_at(place: Place, message: str) -> NoReturn:
    """Raise for a mistake after which nothing more can be read."""
    raise ConfigError((Problem(place, "", message),))


def character_name(character: str) -> str:
    r"""The name of a character that cannot be printed.

    >>> character_name("\0")
    'character U+0000'
    """
    return f"character U+{ord(character):04X}"


def _place_after(before: str, source: str) -> Place:
    lines = f"{before}.".splitlines()
    return Place(source, len(lines), len(lines[-1]))


def _parsed(text: str, source: str) -> Iterator[Any]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    parsed: Iterator[Any] = yaml.parse(text, Loader=loader)
    place = Place(source, 1, 1)
    try:
        for event in parsed:
            place = Place(source, event.end_mark.line + 1, event.end_mark.column + 1)
            yield event
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = Place(source, mark.line + 1, mark.column + 1) if mark else place
        fail_at(place, _complaint(text, place, error.problem or error.context or "not YAML"))
    except (yaml.YAMLError, ValueError, OverflowError):  # PyYAML converts escapes and versions unchecked
        fail_at(place, "what follows is not YAML")


def _complaint(text: str, place: Place, problem: str) -> str:
    """The error of PyYAML in plain words, where we have them; its two parsers use different words."""
    line = "".join(text.splitlines()[place.line - 1 : place.line])
    character = line[place.column - 1 : place.column]
    if "cannot start any token" in problem:
        return TAB if character == "\t" else f"{character!r} cannot start a value; put it in quotes"
    return next((words for part, words in COMPLAINTS.items() if part in problem), problem)
