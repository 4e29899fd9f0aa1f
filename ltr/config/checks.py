"""A document becomes a frozen dataclass, or an error that names everything that is wrong with it.

Types are read off the dataclass, in one walk that knows the path of each value. A range belongs to the dataclass, so
that construction in Python is checked too: its __post_init__ raises ValueError("l2 must be at least 0"), one argument
for each thing that is wrong, each starting with the field it is about. Pydantic writes the schema, and only that: it
checks no range beside a wrong type, and inside a union its places are names of types.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from pathlib import PurePath
from types import GenericAlias, NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from ltr.config.keys import near_path
from ltr.config.text import Document, KeyPath, Value, path_text, scalar, value_text
from ltr.errors import suggestion

if TYPE_CHECKING:
    from pydantic.json_schema import GenerateJsonSchema

Config = TypeVar("Config")
Mistake = tuple[KeyPath, str]

MOST_COMPLAINTS = 1_000
LONGEST_GUESSED = 60  # a guess at what a longer key meant costs time and helps nobody
UNUSABLE = object()  # what a value with mistakes becomes
DRAFT = "https://json-schema.org/draft/2020-12/schema"
NAMES = {str: "text", int: "an integer", float: "a number", bool: "true or false", NoneType: "null"}
SWITCHES: dict[str, bool] = {"yes": True, "on": True, "no": False, "off": False}


def as_dataclass(document: Document, kind: type[Config], others: Iterable[Mistake] = ()) -> Config:
    """Return the document as the dataclass; raise for all its mistakes, with those that others found."""
    reader = _Reader(kind)
    config = reader.read(kind, document.value, ())
    document.refuse(document.problem(path, message) for path, message in (*others, *reader.mistakes))
    return cast(Config, config)


def misfit(kind: Any, value: Any) -> str:
    """Return what is wrong with a value of another type, "" where it fits.

    >>> misfit(float | None, "1e-3"), misfit(float | None, 1)
    ("'1e-3' is not a number or null; write it without quotes", '')
    """
    reader = _Reader(kind)
    reader.read(kind, value, ())
    return _complaint(kind, value) if reader.mistakes else ""


class _Reader:
    """Values become what their types say; what is wrong with any of them is noted."""

    def __init__(self, root: Any) -> None:
        self.root, self.mistakes = root, list[Mistake]()

    def note(self, path: KeyPath, message: str) -> None:
        """Note a mistake."""
        if len(self.mistakes) < MOST_COMPLAINTS and (path, message) not in self.mistakes:
            self.mistakes.append((path, message))

    def read(self, kind: Any, value: Value, path: KeyPath) -> Any:
        """Return the value as the type, or UNUSABLE."""
        if isinstance(value, float) and not math.isfinite(value):
            self.note(path, f"{value_text(value)} is not a finite number")
            return UNUSABLE
        kinds = members(kind)
        if Any in kinds:
            return self.anything(value, path)
        for member in kinds:
            if (taken := _taken(member, value)) is not UNUSABLE:
                return taken
        if float in kinds and type(value) is int:
            return float(value)
        if not (containers := [member for member in kinds if _is_container(member, value)]):
            self.note(path, _complaint(kind, value))
            self.anything(value, path)
            return UNUSABLE
        tries = []
        for member in containers:  # of several, the one that fits best says what is wrong
            reader = _Reader(self.root)
            tries.append((reader, reader.container(member, value, path)))
        best, taken = min(tries, key=lambda pair: len(pair[0].mistakes))
        for mistake in best.mistakes:
            self.note(*mistake)
        return taken

    def anything(self, value: Value, path: KeyPath) -> Any:
        """Return a value of any type; its numbers are finite."""
        entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, entry in entries:
            self.read(Any, entry, (*path, key))
        return value

    def container(self, kind: Any, value: Any, path: KeyPath) -> Any:
        """Return a mapping or list as a dataclass, dict or tuple."""
        if is_dataclass(kind):
            return self.table(cast(type, kind), value, path)
        inner = get_args(kind)
        if isinstance(value, dict):
            entries = {key: self.read(inner[-1], entry, (*path, key)) for key, entry in value.items()}
            return {key: entry for key, entry in entries.items() if entry is not UNUSABLE}
        before = len(self.mistakes)
        if get_origin(kind) is not tuple or Ellipsis in inner:
            inner = (inner[0],) * len(value)
        listed = tuple(self.read(each, entry, (*path, at)) for at, (each, entry) in enumerate(zip(inner, value)))  # noqa: B905
        for missing in range(len(value), len(inner)):
            self.note((*path, missing), f"missing; {expected(inner[missing])} is needed")
        if len(value) > len(inner):
            self.note(path, f"{len(value)} entries; at most {len(inner)}")
        return listed if len(self.mistakes) == before else UNUSABLE

    def table(self, kind: type, value: Mapping[str, Value], path: KeyPath) -> Any:
        """Return a mapping as the dataclass; what its ranges say is noted beside what its types say."""
        hints, own = key_types(kind), dict[str, Any]()
        for key, entry in value.items():
            if key not in hints:
                self.read(Any, entry, (*path, key))
                self.note((*path, key), f"unknown key{self.hint(key, [*hints], path)}")
            elif (taken := self.read(hints[key], entry, (*path, key))) is not UNUSABLE:
                own[key] = taken
        defaults = (MISSING, MISSING)
        required = [each.name for each in fields(kind) if (each.default, each.default_factory) == defaults]
        for key in required:
            if key not in value:
                self.note((*path, key), f"missing; {expected(hints[key])} is needed")
        # without the keys that are wrong, so that one mistake hides no other
        while own.keys() >= set(required):
            try:
                return kind(**own)
            except ValueError as error:
                found = [_addressed(message, hints, path) for message in map(str, error.args)]
            known = {key for wrong, _ in self.mistakes for key in (wrong, _key_of(wrong))}
            for wrong, message in found:
                if known.isdisjoint(wrong[:length] for length in range(1, len(wrong) + 1)):
                    self.note(wrong, message)
            wrong_keys = {wrong[len(path)] for wrong, _ in found if len(wrong) > len(path)}
            if own.keys().isdisjoint(wrong_keys):
                break
            own = {key: entry for key, entry in own.items() if key not in wrong_keys}
        return UNUSABLE

    def hint(self, key: str, names: Sequence[str], above: KeyPath) -> str:
        """Return what an unknown key may have meant: a key beside it, or one elsewhere by its path."""
        known = f"; known: {', '.join(names)}"
        if len(key) > LONGEST_GUESSED:
            return known
        near, paths = suggestion(key, names), [*key_paths(self.root)]
        elsewhere = near_path(key, (path_text(path) for path in paths if len(path) > 1)) if (key,) not in paths else ""
        is_it = elsewhere.rpartition(".")[2] == key and not above  # a key of a table that stands at the top
        return f"; did you mean {elsewhere}?" if elsewhere and (is_it or not near) else near or known


def _taken(kind: Any, value: Value) -> Any:
    """Return a scalar as the type, where it is exactly of that type."""
    if get_origin(kind) is Literal:
        return value if any(type(value) is type(choice) and value == choice for choice in get_args(kind)) else UNUSABLE
    if isinstance(value, str) and _is_a(kind, PurePath):
        return kind(value)
    return value if type(value) is kind else UNUSABLE


def _addressed(message: str, names: Iterable[str], path: KeyPath) -> Mistake:
    """Return what a __post_init__ says, with the path of the field that it begins with."""
    name, _, rest = message.partition(" ")
    keys = name.rstrip(":").split(".")
    return ((*path, *keys), rest) if keys[0] in names else (path, message)


def _key_of(path: KeyPath) -> KeyPath:
    """Return the path up to its last key: a list is wrong as a whole."""
    while path and isinstance(path[-1], int):
        path = path[:-1]
    return path


@cache
def key_types(kind: type) -> Mapping[str, Any]:
    """Return the keys of a dataclass and their types."""
    hints = get_type_hints(kind, include_extras=True)
    return {each.name: hints[each.name] for each in fields(kind)}


def key_paths(kind: Any) -> Iterator[KeyPath]:
    """Yield the path of every key of a config, those of its tables after those of its own."""
    tables = {
        name: member for name, type_ in key_types(kind).items() for member in members(type_) if is_dataclass(member)
    }
    yield from ((name,) for name in key_types(kind) if name not in tables)
    for name, table in tables.items():
        yield from ((name, *path) for path in key_paths(table))


def not_text(config: Any) -> list[str]:
    """Return what is wrong with texts that no UTF-8 file can hold, each beginning with the path of its field."""
    return [
        f"{path} is {value_text(text)}, which is not text: half of a character pair stands alone in it"
        for path, text in _texts(config, "")
        if not text.isascii() and text.encode(errors="ignore").decode() != text
    ]


def _texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield every text of a config, keys of mappings included, with the path of the field that holds it."""
    if is_dataclass(value):
        for each in fields(value):
            yield from _texts(getattr(value, each.name), f"{path}.{each.name}".lstrip("."))
    elif isinstance(value, dict):
        yield from _texts([*value, *value.values()], path)
    elif isinstance(value, tuple | list):
        for entry in value:
            yield from _texts(entry, path)
    elif isinstance(value, str | PurePath):
        yield path, str(value)


def _complaint(kind: Any, value: Value) -> str:
    """Return what is wrong with a value of another type, and how to mend it where one way is likely.

    >>> _complaint(Literal["label", "gain"], "labels")
    "'labels' is not label or gain; did you mean label?"
    """
    kinds, hint = members(kind), ""
    choices = [choice for member in kinds if get_origin(member) is Literal for choice in get_args(member)]
    if isinstance(value, str) and bool in kinds and value.lower() in SWITCHES:
        hint = f"; write {value_text(SWITCHES[value.lower()])}"
    elif isinstance(value, str) and any(
        type(scalar(value)) is member for member in kinds if member in (bool, int, float)
    ):
        hint = "; write it without quotes"
    elif isinstance(value, str):
        hint = suggestion(value, [choice for choice in choices if isinstance(choice, str)])
    elif value is None and NAMES.keys().isdisjoint(kinds):
        hint = "; leave the key out to have its default"
    elif str in kinds and isinstance(value, int | float):
        hint = "; put it in quotes"
    elif int in kinds and isinstance(value, float) and value.is_integer():
        hint = f"; write {value_text(int(value))}"
    return f"{value_text(value)} is not {expected(kind)}{hint}"


def expected(kind: Any) -> str:
    """Return the type in words.

    >>> expected(tuple[float, ...] | Literal["auto"])
    'a list or auto'
    """
    words = list(dict.fromkeys(word for member in members(kind) for word in _words(member)))
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def members(kind: Any) -> tuple[Any, ...]:
    """Return the types a value may have: those of a union, or the type itself.

    >>> members(str | None)
    (<class 'str'>, <class 'NoneType'>)
    """
    if get_origin(kind) is Annotated:
        return members(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        return tuple(inner for member in get_args(kind) for inner in members(member))
    return (kind,)


def _words(kind: Any) -> list[str]:
    if get_origin(kind) is Literal:
        return [value_text(choice).strip("'") for choice in get_args(kind)]
    if is_dataclass(kind) or _is_a(kind, Mapping):
        return ["a mapping"]
    if _is_a(kind, PurePath):
        return ["a path"]
    return [NAMES.get(kind, "a list" if _is_a(kind, Sequence) else getattr(kind, "__name__", str(kind)))]


def _is_container(kind: Any, value: Value) -> bool:
    """Return whether the value is a mapping or a list and the type is made of the same."""
    if isinstance(value, dict):
        return is_dataclass(kind) or _is_a(kind, Mapping)
    return isinstance(value, list) and _is_a(kind, Sequence) and not _is_a(kind, str)


def _is_a(kind: Any, base: type) -> bool:
    plain = get_origin(kind) or kind
    return isinstance(plain, type) and issubclass(plain, base)


def json_schema(kind: type) -> dict[str, Value]:
    """Return the JSON Schema (draft 2020-12) of a config type: its keys, types, defaults, and field docstrings."""
    from pydantic import ConfigDict, TypeAdapter

    settings = ConfigDict(extra="forbid", use_attribute_docstrings=True)
    # Pydantic takes no settings for a bare dataclass; one inside a tuple, and all below it, inherit them
    # (all releases but 2.10.0, pydantic/pydantic#10917).
    adapter: TypeAdapter[Any] = TypeAdapter(cast(Any, GenericAlias(tuple, (kind,))), config=settings)
    wrapped = adapter.json_schema(schema_generator=_generator())
    definitions = wrapped["$defs"]
    root = definitions.pop(wrapped["prefixItems"][0]["$ref"].rpartition("/")[2])
    return {"$schema": DRAFT, **root, **({"$defs": definitions} if definitions else {})}


@cache
def _generator() -> "type[GenerateJsonSchema]":
    from pydantic.json_schema import GenerateJsonSchema

    class Generator(GenerateJsonSchema):
        """Pydantic's schema, with the defaults of factories, without titles that repeat the key."""

        def get_default_value(self, json_schema: Any) -> Any:
            factory = json_schema.get("default_factory")
            return factory() if factory else super().get_default_value(json_schema)

        def field_title_should_be_set(self, json_schema: Any) -> bool:  # noqa: ARG002
            return False

    return Generator
