"""A Document becomes a frozen dataclass, or an error that names everything that is wrong with it.

The types are checked by one pydantic TypeAdapter; the places and the words are ours. A range belongs to the
dataclass: its __post_init__ raises ValueError("l2 must be at least 0"), one argument for each thing that is
wrong, each starting with the field it is about.
"""

import json
import math
from collections.abc import Iterable, Iterator, Set
from dataclasses import fields, is_dataclass
from functools import cache
from types import GenericAlias, NoneType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from ltr.configtext.document import Document, Path, Value, path_text, shown
from ltr.configtext.wording import complaint, expected, is_container, members
from ltr.errors import ConfigError, Problem, suggestion

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError
    from pydantic_core import ErrorDetails

Config = TypeVar("Config")

MOST_COMPLAINTS = 1_000
LONGEST_GUESSED = 60  # a guess at what a longer key meant costs time and helps nobody


class Mistake(NamedTuple):
    """What is wrong with the value at a path."""

    path: Path
    message: str


def read(document: Document, kind: type[Config]) -> Config:
    """The document as the dataclass; a ConfigError with all its mistakes, in the order of their lines.

    A __post_init__ runs once all fields are of their types. So that nothing hides what it would say, the document is
    read again without the keys that are wrong.
    """
    from pydantic import ValidationError

    mistakes, left_out = list(_not_finite((), document.value)), set[Path]()
    while True:
        try:
            config: Config = _validated(kind, _without(document.value, left_out))
            break
        except ValidationError as error:
            known = left_out | {mistake.path for mistake in mistakes}
            for mistake in _mistakes(kind, _without(document.value, left_out), error):
                above = (mistake.path[:length] for length in range(1, len(mistake.path) + 1))
                if mistake not in mistakes and known.isdisjoint(above):
                    mistakes.append(mistake)
        wrong = {_key_of(mistake.path) for mistake in mistakes} - {()}
        if wrong <= left_out or len(mistakes) >= MOST_COMPLAINTS:
            break
        left_out |= wrong
    if mistakes:
        raise ConfigError(_placed(document, mistakes))
    return config


def _key_of(path: Path) -> Path:
    """The path up to its last key: an entry is left out with its list, where the others would move up without it."""
    while path and isinstance(path[-1], int):
        path = path[:-1]
    return path


def _without(value: Value, left_out: Set[Path], here: Path = ()) -> Any:
    """The value without the keys at those paths."""
    if not left_out:
        return value
    if isinstance(value, dict):
        entries = ((key, (*here, key), entry) for key, entry in value.items())
        return {key: _without(entry, left_out, path) for key, path, entry in entries if path not in left_out}
    if isinstance(value, list):
        return [_without(entry, left_out, (*here, place)) for place, entry in enumerate(value)]
    return value


@cache
def adapter(kind: Any, *, documented: bool = False) -> "TypeAdapter[tuple[Any]]":
    """The strict check of one value of the type, wrapped in a tuple.

    Pydantic takes no settings for a bare dataclass; one inside a tuple, and all below it, inherit them
    (all releases but 2.10.0, pydantic/pydantic#10917).
    """
    from pydantic import ConfigDict, TypeAdapter

    strict = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, use_attribute_docstrings=documented)
    wrapped: Any = GenericAlias(tuple, (kind,))
    return TypeAdapter(wrapped, config=strict)


def _validated(kind: Any, value: Value) -> Any:
    # as JSON, strict takes a mapping for a dataclass and a list for a tuple, and still no text for a number
    return adapter(kind).validate_json(json.dumps([value]))[0]


def _mistakes(kind: Any, value: Value, error: "ValidationError") -> Iterator[Mistake]:
    """What pydantic found; in a choice between types, only what the likeliest of them has to say."""
    choices: set[Path] = set()
    for detail in error.errors(include_url=False)[:MOST_COMPLAINTS]:
        location = detail["loc"][1:]
        path, inner = _walk(kind, location)
        if path == location:
            yield from _explained(kind, value, detail)
        elif path not in choices:
            choices.add(path)
            yield from (Mistake((*path, *rest), why) for rest, why in _wrong_choice(inner, _at(value, path)))


def _walk(kind: Any, location: Path) -> tuple[Path, Any]:
    """The path up to the first choice between types, and the type there: behind it pydantic names types."""
    for length, key in enumerate(location):
        choice = [member for member in members(kind) if member is not NoneType]
        if len(choice) > 1:
            return location[:length], kind
        kind = _inside(choice[0], key)
    return location, kind


def _inside(kind: Any, key: str | int) -> Any:
    """The type of a field or entry; Any for one that is not declared."""
    if is_dataclass(kind):
        return get_type_hints(kind, include_extras=True).get(str(key), Any)
    inner = get_args(kind)
    if isinstance(key, str):
        return inner[-1] if inner else Any
    is_fixed = get_origin(kind) is tuple and Ellipsis not in inner
    return inner[key if is_fixed else 0] if inner else Any


def _explained(kind: Any, value: Value, detail: "ErrorDetails") -> Iterator[Mistake]:
    path = detail["loc"][1:]
    inner = _walk(kind, path)[1]
    match detail["type"]:
        case "missing":
            yield Mistake(path, f"missing; {expected(inner)} is needed")
        case "unexpected_keyword_argument":
            yield Mistake(path, _unknown(str(path[-1]), _walk(kind, path[:-1])[1]))
        case "value_error":
            yield from _out_of_range(path, inner, detail["ctx"]["error"])
        case "too_long":
            limit = f"{detail['ctx']['actual_length']} entries; at most {detail['ctx']['max_length']}"
            yield Mistake(path, limit)
        case "finite_number":
            yield Mistake(path, f"{shown(_at(value, path))} is not a finite number")
        case _:
            yield Mistake(path, complaint(inner, _at(value, path)))


def _unknown(key: str, kind: Any) -> str:
    known = _field_names(kind)
    near = suggestion(key, known) if len(key) <= LONGEST_GUESSED else ""
    return f"unknown key{near or '; known: ' + ', '.join(known)}"


def _out_of_range(path: Path, kind: Any, error: ValueError) -> Iterator[Mistake]:
    """What a __post_init__ said, at the field it begins with; at the whole dataclass if it names none."""
    for message in map(str, error.args):
        name, _, rest = message.partition(" ")
        keys = name.rstrip(":").split(".")
        is_field = keys[0] in _field_names(kind)
        yield Mistake((*path, *keys), rest) if is_field else Mistake(path, message)


def _field_names(kind: Any) -> list[str]:
    return [field.name for member in members(kind) if is_dataclass(member) for field in fields(member)]


def _wrong_choice(kind: Any, value: Value) -> list[Mistake]:
    """What is wrong with a value no type takes; inside a mapping or list, by the type that fits it best."""
    alike = [member for member in members(kind) if is_container(member, value)]
    if not alike:
        return [Mistake((), complaint(kind, value))]
    return min((_tried(member, value) for member in alike), key=len)


def _tried(kind: Any, value: Value) -> list[Mistake]:
    from pydantic import ValidationError

    try:
        _validated(kind, value)
    except ValidationError as error:
        return list(_mistakes(kind, value, error))
    return []


def _not_finite(path: Path, value: Value) -> Iterator[Mistake]:
    """Every infinite or undefined number, also where any value is allowed."""
    if isinstance(value, float) and not math.isfinite(value):
        yield Mistake(path, f"{shown(value)} is not a finite number")
    if isinstance(value, dict | list):
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        for key, entry in entries:
            yield from _not_finite((*path, key), entry)


def _at(value: Value, path: Path) -> Value:
    for key in path:
        value = value[key]  # type: ignore[index]
    return value


def _placed(document: Document, mistakes: list[Mistake]) -> tuple[Problem, ...]:
    return in_order(document, [Problem(document.place(path), path_text(path), why) for path, why in mistakes])


def in_order(document: Document, problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """The problems in the order of the file, those of flags last."""

    def position(problem: Problem) -> tuple[bool, int, int, str]:
        place = problem.place
        return place.source != document.source, place.line, place.column, problem.path

    return tuple(sorted(problems, key=position))
