"""A Document becomes a frozen dataclass, or an error that names everything that is wrong with it.

One pydantic TypeAdapter checks the types; the places and the words of the errors are ours. A range belongs to the
dataclass: its __post_init__ raises ValueError("l2 must be at least 0"), one argument for each thing that is
wrong, each starting with the field it is about.
"""

import json
import math
from collections.abc import Iterable, Iterator, Set
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import PurePath
from types import GenericAlias, NoneType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from ltr.configtext.parsed_document import Document, KeyPath, Value, path_text, value_text
from ltr.configtext.type_error_messages import complaint, expected, is_container, members
from ltr.errors import ConfigError, Problem, suggestion

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError
    from pydantic_core import ErrorDetails

Config = TypeVar("Config")

MOST_COMPLAINTS = 1_000
LONGEST_GUESSED = 60  # a guess at what a longer key meant costs time and helps nobody


class Mistake(NamedTuple):
    """What is wrong with the value at a path."""

    path: KeyPath
    message: str


def as_dataclass(document: Document, kind: type[Config]) -> Config:
    """The document as the dataclass; a ConfigError with all its mistakes, in the order of their lines.

    A __post_init__ runs only once all fields have their types. So that a wrong type hides no wrong range, the document
    is checked again without the keys that are wrong, until nothing more is found.
    """
    from pydantic import ValidationError

    mistakes, left_out = list(_not_finite((), document.value)), set[KeyPath]()
    while True:
        value = _without(document.value, left_out)
        try:
            config: Config = _validated(kind, value)
            break
        except ValidationError as error:
            wrong_paths = left_out | {mistake.path for mistake in mistakes}
            for mistake in _mistakes(kind, value, error):
                above = (mistake.path[:length] for length in range(1, len(mistake.path) + 1))
                if mistake not in mistakes and wrong_paths.isdisjoint(above):
                    mistakes.append(mistake)
        wrong_keys = {_key_of(mistake.path) for mistake in mistakes} - {()}
        if wrong_keys <= left_out or len(mistakes) >= MOST_COMPLAINTS:
            break
        left_out |= wrong_keys
    if mistakes:
        problems = [Problem(document.place(path), path_text(path), message) for path, message in mistakes]
        raise ConfigError(in_order(document, problems))
    return config


def _key_of(path: KeyPath) -> KeyPath:
    """The path up to its last key: a list is left out as a whole, because its other entries would move up."""
    while path and isinstance(path[-1], int):
        path = path[:-1]
    return path


def _without(value: Value, left_out: Set[KeyPath], here: KeyPath = ()) -> Any:
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
    """The mistakes that pydantic reports; at a union of types, only those of the type that fits best."""
    unions: set[KeyPath] = set()
    for detail in error.errors(include_url=False)[:MOST_COMPLAINTS]:
        location = detail["loc"][1:]
        path, inner = _walk(kind, location)
        if path == location:
            yield from _explained(kind, value, detail)
        elif path not in unions:
            unions.add(path)
            yield from (Mistake((*path, *rest), why) for rest, why in _mistakes_of_best(inner, _at(value, path)))


def _walk(kind: Any, location: KeyPath) -> tuple[KeyPath, Any]:
    """The path up to the first union of types, and the type there; behind it pydantic's locations name types."""
    for length, key in enumerate(location):
        union = [member for member in members(kind) if member is not NoneType]
        if len(union) > 1:
            return location[:length], kind
        outer, inner = union[0], get_args(union[0])
        is_fixed = get_origin(outer) is tuple and Ellipsis not in inner
        if is_dataclass(outer):
            kind = get_type_hints(outer, include_extras=True).get(str(key), Any)  # Any: an unknown key
        elif not inner:
            kind = Any
        elif isinstance(key, str):
            kind = inner[-1]  # the values of a mapping
        else:
            kind = inner[key if is_fixed else 0]
    return location, kind


def _explained(kind: Any, value: Value, detail: "ErrorDetails") -> Iterator[Mistake]:
    """One error of pydantic in plain words; a __post_init__ can report several mistakes at once."""
    path = detail["loc"][1:]
    inner = _walk(kind, path)[1]
    match detail["type"]:
        case "missing":
            yield Mistake(path, f"missing; {expected(inner)} is needed")
        case "unexpected_keyword_argument":
            names, key = _field_names(_walk(kind, path[:-1])[1]), str(path[-1])
            near = suggestion(key, names) if len(key) <= LONGEST_GUESSED else ""
            yield Mistake(path, f"unknown key{near or '; known: ' + ', '.join(names)}")
        case "value_error":
            for message in map(str, detail["ctx"]["error"].args):
                name, _, rest = message.partition(" ")
                keys = name.rstrip(":").split(".")
                is_field = keys[0] in _field_names(inner)
                yield Mistake((*path, *keys), rest) if is_field else Mistake(path, message)
        case "too_long":
            limit = f"{detail['ctx']['actual_length']} entries; at most {detail['ctx']['max_length']}"
            yield Mistake(path, limit)
        case "finite_number":
            yield Mistake(path, f"{value_text(_at(value, path))} is not a finite number")
        case _:
            yield Mistake(path, complaint(inner, _at(value, path)))


def _field_names(kind: Any) -> list[str]:
    return [field.name for member in members(kind) if is_dataclass(member) for field in fields(member)]


def _mistakes_of_best(kind: Any, value: Value) -> list[Mistake]:
    """What is wrong with a value that no type of a union takes; of a mapping or list, by the type nearest to it."""
    from pydantic import ValidationError

    by_type: list[list[Mistake]] = []
    for member in members(kind):
        if is_container(member, value):
            try:
                _validated(member, value)
                by_type.append([])
            except ValidationError as error:
                by_type.append(list(_mistakes(member, value, error)))
    return min(by_type, key=len) if by_type else [Mistake((), complaint(kind, value))]


def _not_finite(path: KeyPath, value: Value) -> Iterator[Mistake]:
    """Every infinite or undefined number, also where any value is allowed."""
    if isinstance(value, float) and not math.isfinite(value):
        yield Mistake(path, f"{value_text(value)} is not a finite number")
    if isinstance(value, dict | list):
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        for key, entry in entries:
            yield from _not_finite((*path, key), entry)


def _at(value: Value, path: KeyPath) -> Value:
    for key in path:
        value = value[key]  # type: ignore[index]
    return value


def in_order(document: Document, problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """The problems in the order of the file, those of flags last."""

    def position(problem: Problem) -> tuple[bool, int, int, str]:
        place = problem.place
        return place.source != document.source, place.line, place.column, problem.path

    return tuple(sorted(problems, key=position))


def not_text(config: Any) -> list[str]:
    """What is wrong with texts that no UTF-8 file can hold, each beginning with the path of its field."""
    return [
        f"{path} is {value_text(text)}, which is not text: half of a character pair stands alone in it"
        for path, text in _texts(config, "")
        if not text.isascii() and text.encode(errors="ignore").decode() != text
    ]


def _texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Every text of a config, keys of mappings included, with the path of the field that holds it."""
    if is_dataclass(value):
        for field in fields(value):
            yield from _texts(getattr(value, field.name), f"{path}.{field.name}".lstrip("."))
    elif isinstance(value, dict):
        yield from _texts([*value, *value.values()], path)
    elif isinstance(value, tuple | list):
        for entry in value:
            yield from _texts(entry, path)
    elif isinstance(value, str | PurePath):
        yield path, str(value)
