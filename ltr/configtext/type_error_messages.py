"""Types of config values in plain words: what was expected, what was found, how to mend it."""

from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from pathlib import PurePath
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from ltr.configtext.parsed_document import Value, value_text
from ltr.configtext.yaml_parser import scalar
from ltr.errors import suggestion

NAMES = {str: "text", int: "an integer", float: "a number", bool: "true or false", NoneType: "null"}
SWITCHES: dict[str, bool] = {"yes": True, "on": True, "no": False, "off": False}


def complaint(kind: Any, value: Value) -> str:
    """What is wrong with a value of another type.

    >>> complaint(float | None, "1e-3")
    "'1e-3' is not a number or null; write it without quotes"
    >>> complaint(Literal["label", "gain"], "labels")
    "'labels' is not label or gain; did you mean label?"
    """
    return f"{value_text(value)} is not {expected(kind)}{_hint(kind, value)}"


def expected(kind: Any) -> str:
    """The type in words.

    >>> expected(tuple[float, ...] | Literal["auto"])
    'a list or auto'
    """
    words = list(dict.fromkeys(word for member in members(kind) for word in _words(member)))
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def members(kind: Any) -> tuple[Any, ...]:
    """The types a value may have: those of a union, or the type itself.

    >>> members(str | None)
    (<class 'str'>, <class 'NoneType'>)
    """
    if get_origin(kind) is Annotated:
        return members(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        return tuple(inner for member in get_args(kind) for inner in members(member))
    return (kind,)


def is_container(kind: Any, value: Value) -> bool:
    """Whether the value is a mapping or a list and the type is made of the same."""
    if isinstance(value, dict):
        return is_dataclass(kind) or _is_a(kind, Mapping)
    return isinstance(value, list) and _is_a(kind, Sequence) and not _is_a(kind, str)


def _words(kind: Any) -> list[str]:
    if get_origin(kind) is Literal:
        return [str(value_text(choice)).strip("'") for choice in get_args(kind)]
    if is_dataclass(kind) or _is_a(kind, Mapping):
        return ["a mapping"]
    if _is_a(kind, PurePath):
        return ["a path"]
    return [NAMES.get(kind, "a list" if _is_a(kind, Sequence) else getattr(kind, "__name__", str(kind)))]


def _is_a(kind: Any, base: type) -> bool:
    plain = get_origin(kind) or kind
    return isinstance(plain, type) and issubclass(plain, base)


def _hint(kind: Any, value: Value) -> str:
    """How to mend a value of the wrong type, where one way is likely."""
    kinds = members(kind)
    if isinstance(value, str):
        if bool in kinds and value.lower() in SWITCHES:
            return f"; write {value_text(SWITCHES[value.lower()])}"
        if any(isinstance(scalar(value), member) for member in kinds if member in (bool, int, float)):
            return "; write it without quotes"
        choices = [choice for member in kinds if get_origin(member) is Literal for choice in get_args(member)]
        return suggestion(value, [choice for choice in choices if isinstance(choice, str)])
    if value is None and not any(member in NAMES for member in kinds):
        return "; leave the key out to have its default"
    if str in kinds and isinstance(value, int | float):
        return "; put it in quotes"
    if int in kinds and isinstance(value, float) and value.is_integer():
        return f"; write {value_text(int(value))}"
    return ""
