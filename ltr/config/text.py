"""Config text: strict YAML with the place of every value, in and out.

PyYAML only splits a text into events; what they mean is decided here, by the YAML 1.2 core schema. Its own composer
does not serve: it forgets where an alias stands and which tags were written, stops at the first mistake, and the one
in C crashes on deep nesting. Refused: tags, merge keys, keys that are not text, keys written twice, a second
document, and text that is small to write but large to read.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, cached_property
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeAlias, cast

from ltr.errors import ConfigError, Place, Problem
from ltr.files import read_bytes
from ltr.paths import STDIN, AnyPath, shown

if TYPE_CHECKING:
    import yaml

Scalar: TypeAlias = bool | int | float | str | None
Value: TypeAlias = Scalar | list["Value"] | dict[str, "Value"]
KeyPath: TypeAlias = tuple[str | int, ...]

LARGEST_CONFIG = MOST_CHARACTERS = 1 << 20
MOST_NODES = 100_000
DEEPEST = 64
LONGEST_NUMBER = 300  # far below the number of digits from which Python itself refuses to convert
LONGEST_SHOWN = 60
WIDEST = 1 << 20  # long text stays on its line

WORDS: dict[str, Value] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
NOT_YAML = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
MISFIT = "does not fit the lines above it; look at the indentation"
COMPLAINTS = {  # PyYAML's two parsers use different words
    "mapping values are not allowed": "a ':' cannot stand here; quote the text, or look at the indentation",
    "end of stream": "the text ends inside quotes that were never closed",
    "',' or ": "a ',' or a closing bracket is missing",
    "node content": "a value or a closing bracket is missing",
    "expected ':'": "a key without ': ' after it",
    **dict.fromkeys(("expected key", "<block", "<document start>"), MISFIT),
}


class Node(NamedTuple):
    """A value and where it was written. Nodes may be shared: write to none."""

    place: Place
    value: "Scalar | list[Node] | dict[str, Node]"

    def plain(self) -> Value:
        """Return the value without places."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        return [node.plain() for node in self.value] if isinstance(self.value, list) else self.value

    def child(self, key: str | int) -> "Node | None":
        """Return the entry of a mapping or list, None where there is none."""
        if isinstance(self.value, dict):
            return self.value.get(str(key))
        is_entry = isinstance(self.value, list) and isinstance(key, int) and key < len(self.value)
        return cast(list[Node], self.value)[cast(int, key)] if is_entry else None


def node_of(value: Any, place: Place) -> Node:
    """Return the value with one place for all that is in it."""
    if isinstance(value, dict):
        return Node(place, {key: node_of(entry, place) for key, entry in value.items()})
    if isinstance(value, list | tuple):
        return Node(place, [node_of(entry, place) for entry in value])
    plain = next((kind for kind in (bool, int, float, str) if isinstance(value, kind)), None)  # numpy has kinds of them
    return Node(place, value if plain is None else plain(value))


@dataclass(frozen=True)
class Document:
    """A config as it was written: a mapping with places, and the directory that its relative paths start from."""

    source: str
    root: Node
    base: Path = Path()

    @classmethod
    def of(cls, value: Mapping[str, Any], source: str = "defaults") -> "Document":
        """Return a document of plain values."""
        return cls(source, node_of(dict(value), Place(source, 1, 1)))

    @classmethod
    def read(cls, path: AnyPath | None, overrides: Sequence[str] = ()) -> "Document":
        """Read a file (`-` is stdin), nothing without a path, with what `--set PATH=VALUE` asks for."""
        document, problems = cls.of({}), list[Problem]()
        if path is not None:
            text, base = read_bytes(path, limit=LARGEST_CONFIG), Path() if str(path) == STDIN else Path(path).parent
            document = parse(text, shown(path), base)
        for override in overrides:
            try:
                document = document.override(override)
            except ConfigError as error:
                problems += error.problems
        if problems:
            raise ConfigError(tuple(problems))
        return document

    @cached_property
    def value(self) -> dict[str, Value]:
        """The config as plain values."""
        return cast(dict[str, Value], self.root.plain())

    def get(self, *path: str | int) -> Value:
        """Return the value at the path; None where there is none."""
        node: Node | None = self.root
        for key in path:
            node = node and node.child(key)
        return node.plain() if node else None

    def place(self, path: KeyPath) -> Place:
        """Return the place of a value; of a missing one, that of the nearest mapping or list around it."""
        node = self.root
        for key in path:
            if (child := node.child(key)) is None:
                break
            node = child
        return node.place

    def override(self, override: str) -> "Document":
        """Return the document with what `--set PATH=VALUE` asks for; the place of the value is `--set PATH`."""
        path, equals, text = override.partition("=")
        source = f"--set {path.strip()}"
        if not equals:
            _fail(Place(source), "write --set PATH=VALUE, such as --set train.l2=0.01")
        return self.replace(path.strip(), parse_value(text, source), source)

    def replace(self, path: str, value: Value, source: str | Place) -> "Document":
        """Return the document with one value changed and placed at `source`; mappings on the way are made.

        >>> changed = Document.of({"train": {"l2": 0.1}}).replace("train.epochs", 5, "--epochs")
        >>> changed.value, str(changed.place(("train", "epochs")))
        ({'train': {'l2': 0.1, 'epochs': 5}}, '--epochs')
        """
        place = source if isinstance(source, Place) else Place(source)
        keys = re.sub(r"\[(\d+)\]", r".\1", path).split(".")
        if not all(keys):
            raise ConfigError((Problem(place, path, "a path is keys joined by dots, such as train.l2"),))
        return Document(self.source, _replaced(self.root, keys, node_of(value, place), ()), self.base)

    def without(self, *keys: str) -> "Document":
        """Return the document without keys of its top level."""
        entries = cast(dict[str, Node], self.root.value).items()
        root = Node(self.root.place, {key: node for key, node in entries if key not in keys})
        return Document(self.source, root, self.base)

    def problem(self, path: KeyPath, message: str) -> Problem:
        """Return what is wrong with the value at a path."""
        return Problem(self.place(path), path_text(path), message)

    def refuse(self, problems: Iterable[Problem]) -> None:
        """Raise for problems, if there are any: in the order of the file, those of flags last."""

        def position(problem: Problem) -> tuple[bool, int, int, str]:
            place = problem.place
            return place.source != self.source, place.line, place.column, problem.path

        if ordered := tuple(sorted(problems, key=position)):
            raise ConfigError(ordered)


def _replaced(node: Node, keys: Sequence[str], new: Node, above: KeyPath) -> Node:
    """Return the node with another value at the keys; raise where it cannot have such a key."""
    if not keys:
        return new
    key, old = keys[0], {} if node.value is None else node.value
    if isinstance(old, dict):
        child = _replaced(old.get(key, Node(new.place, None)), keys[1:], new, (*above, key))
        return Node(node.place, {**old, key: child})
    if not isinstance(old, list):
        _fail(new.place, f"{path_text(above)} is {value_text(old)}, not a mapping")
    if not re.fullmatch(r"[0-9]{1,9}", key) or int(key) >= len(old):
        _fail(new.place, f"{path_text(above)} has {len(old)} entries, numbered from 0")
    changed = _replaced(old[int(key)], keys[1:], new, (*above, int(key)))
    return Node(node.place, [changed if place == int(key) else entry for place, entry in enumerate(old)])


def parse(text: str | bytes, source: str, base: Path = Path()) -> Document:
    """Return the mapping that the text describes; an empty text is an empty mapping."""
    root = _Composer(source, _events(text, source)).root()
    if root is None or root.value is None:
        return Document(source, node_of({}, Place(source, 1, 1)), base)
    if not isinstance(root.value, dict):
        _fail(root.place, f"a config is a mapping of keys to values, found {value_text(root.plain())}")
    return Document(source, root, base)


def parse_value(text: str, source: str = "value") -> Value:
    """Return the value that the text describes, by the same rules as a file.

    >>> [parse_value(text) for text in ("1e-3", "no", "12:30", "010", "[1, 2.5]", "")]
    [0.001, 'no', '12:30', 10, [1, 2.5], None]
    """
    root = _Composer(source, _events(text, source)).root()
    return root.plain() if root else None


def is_text(text: str) -> bool:
    """Return whether a plain word means the text itself, so that it needs no quotes."""
    return not (text in WORDS or INTEGER.fullmatch(text) or FLOAT.fullmatch(text))


def scalar(text: str) -> Value:
    """Return what a plain word means in YAML 1.2: null, a boolean, an integer, a float, or the text itself.

    >>> [scalar(text) for text in ("~", "on", "True", "0x1F", "1_000", "-.5e3", "2026-11-18")]
    [None, 'on', True, 31, '1_000', -500.0, '2026-11-18']
    """
    if text in WORDS:
        return WORDS[text]
    if INTEGER.fullmatch(text):
        return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))
    if FLOAT.fullmatch(text):
        return float(text.replace(".", "") if text[-1].isalpha() else text)  # .inf, .nan
    return text


class _Composer:
    """Events become nodes. Problems are noted, and raised together at the end."""

    def __init__(self, source: str, events: Iterator[Any]) -> None:
        self.source, self.events = source, events
        self.anchors: dict[str, Node | None] = {}  # None while its value is read
        self.problems: list[Problem] = []
        self.nodes = self.characters = 0

    def root(self) -> Node | None:
        """Return the only document; None for a text without one. Raise all problems that were noted."""
        root: Node | None = None
        try:
            starts = (event for event in self.until("StreamEnd") if _name(event) == "DocumentStart")
            if next(starts, None) is not None:
                root = self.node(next(self.events), ())
                if second := next(starts, None):
                    _fail(self.place(second), "a second document starts here; a config is one")
        except ConfigError as error:
            self.problems += error.problems
        if self.problems:
            raise ConfigError(tuple(sorted(self.problems, key=lambda wrong: (wrong.place.line, wrong.place.column))))
        return root

    def node(self, event: Any, path: KeyPath, place: Place | None = None) -> Node:
        """Return the value that starts with the event; its place is its key's, or its own in a list."""
        place = place or self.place(event)
        if _name(event) == "Alias":
            return Node(place, self.alias(event.anchor, path, place))
        self.count(place, len(path))
        if event.tag is not None:
            self.note(place, path, f"tag {value_text(event.tag)} is not read; write the plain value")
        if event.anchor:
            self.anchors[event.anchor] = None
        value: Scalar | list[Node] | dict[str, Node]
        match _name(event):
            case "MappingStart":
                value = self.mapping(path)
            case "SequenceStart":
                value = [self.node(entry, (*path, at)) for at, entry in enumerate(self.until("SequenceEnd"))]
            case _:
                value = self.scalar(event, path, place)
        if event.anchor:
            self.anchors[event.anchor] = Node(place, value)
        return Node(place, value)

    def mapping(self, path: KeyPath) -> dict[str, Node]:
        value: dict[str, Node] = {}
        for event in self.until("MappingEnd"):
            place = self.place(event)
            key = self.key(event, path, place)
            first = value[key].place if key in value else place
            if key in value:
                self.note(place, (*path, key), f"written twice; first at {first.line}:{first.column}")
            value[key] = self.node(next(self.events), (*path, key), place)._replace(place=first)
        return value

    def key(self, event: Any, path: KeyPath, place: Place) -> str:
        """Return the text of a key. One that is not plain text is noted, and gets a name that no other key has."""
        if _name(event) != "Scalar":
            self.node(event, (*path, "?"))
            self.note(place, path, "a key is text, not a list, mapping or alias")
            return f"?{self.nodes}"
        key = self.scalar(event, path, place)
        if event.tag is not None or event.anchor:
            self.note(place, path, "a key is plain text, without tag or anchor")
        if key == "<<" and event.implicit[0]:
            self.note(place, path, "merge keys (<<) are not read; write the keys out")
            return f"<<{self.nodes}"
        if not isinstance(key, str):
            self.note(place, path, f"key {value_text(key)} is not text; put it in quotes")
        return str(key)

    def alias(self, name: str, path: KeyPath, place: Place) -> Any:
        """Return the anchored value again; all that is in it keeps the places where it was written."""
        node = self.anchors.get(name)
        if node is None:
            where = "stands inside its own anchor" if name in self.anchors else "names no anchor above it"
            _fail(place, f"alias {value_text('*' + name)} {where}")
        self.count_again(node, place, len(path))
        return node.value

    def count_again(self, node: Node, place: Place, depth: int) -> None:
        """Count all that an alias repeats."""
        self.count(place, depth, len(node.value) if isinstance(node.value, str) else 0)
        for key, entry in node.value.items() if isinstance(node.value, dict) else ():
            self.count(place, depth, len(key), nodes=0)
            self.count_again(entry, place, depth + 1)
        for entry in node.value if isinstance(node.value, list) else ():
            self.count_again(entry, place, depth + 1)

    def scalar(self, event: Any, path: KeyPath, place: Place) -> Any:
        text: str = event.value
        self.characters += len(text)
        if bad := NOT_YAML.search(text):  # an escape can write what the text itself cannot hold
            self.note(place, path, f"{_character(bad)} is not allowed")
        if not event.implicit[0] or is_text(text):
            return text
        if len(text) > LONGEST_NUMBER:
            self.note(place, path, f"a number of {len(text)} characters; at most {LONGEST_NUMBER}")
            return 0
        return scalar(text)

    def count(self, place: Place, depth: int, characters: int = 0, *, nodes: int = 1) -> None:
        """Count what was read; raise where it is too much."""
        self.nodes, self.characters = self.nodes + nodes, self.characters + characters
        if depth > DEEPEST:
            _fail(place, f"nested deeper than {DEEPEST} levels")
        if self.nodes > MOST_NODES:
            _fail(place, f"more than {MOST_NODES} values, aliases counted each time")
        if self.characters > MOST_CHARACTERS:
            _fail(place, f"more than {MOST_CHARACTERS} characters, aliases counted each time")

    def until(self, end: str) -> Iterator[Any]:
        for event in self.events:
            if _name(event) == end:
                return
            yield event

    def place(self, event: Any) -> Place:
        return Place(self.source, event.start_mark.line + 1, event.start_mark.column + 1)

    def note(self, place: Place, path: KeyPath, message: str) -> None:
        self.problems.append(Problem(place, path_text(path), message))


def _events(text: str | bytes, source: str) -> Iterator[Any]:
    """Yield the events of the text; raise where it is not YAML, in plain words."""
    import yaml

    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            before = error.object[: error.start].decode("utf-8").removeprefix("\ufeff")
            _fail(_place_after(before, source), f"byte 0x{error.object[error.start]:02x} is not UTF-8")
    text = text.removeprefix("\ufeff")
    if len(text) > MOST_CHARACTERS:
        _fail(Place(source, 1, 1), f"{len(text)} characters; a config has at most {MOST_CHARACTERS}")
    if bad := NOT_YAML.search(text):
        _fail(_place_after(text[: bad.start()], source), f"{_character(bad)} is not allowed in YAML")
    place = Place(source, 1, 1)
    try:
        for event in cast(Iterator[Any], yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))):
            place = Place(source, event.end_mark.line + 1, event.end_mark.column + 1)
            yield event
    except yaml.MarkedYAMLError as error:
        mark, problem = error.problem_mark, error.problem or error.context or "not YAML"
        place = Place(source, mark.line + 1, mark.column + 1) if mark else place
        if "cannot start any token" in problem:
            at = "".join(text.splitlines()[place.line - 1 : place.line])[place.column - 1 : place.column]
            is_tab = at == "\t"
            _fail(
                place, "a tab cannot indent; use spaces" if is_tab else f"{at!r} cannot start a value; put it in quotes"
            )
        _fail(place, next((words for part, words in COMPLAINTS.items() if part in problem), problem))
    except (yaml.YAMLError, ValueError, OverflowError):  # PyYAML converts escapes and versions unchecked
        _fail(place, "what follows is not YAML")


def _fail(place: Place, message: str) -> NoReturn:
    """Raise for a mistake after which nothing more can be read."""
    raise ConfigError((Problem(place, "", message),))


def _place_after(before: str, source: str) -> Place:
    lines = f"{before}.".splitlines()
    return Place(source, len(lines), len(lines[-1]))


def _character(bad: re.Match[str]) -> str:
    return f"character U+{ord(bad.group()):04X}"


def _name(event: Any) -> str:
    return type(event).__name__.removesuffix("Event")


def path_text(path: KeyPath) -> str:
    """Return the path as a user writes it.

    >>> path_text(("features", 0, "name"))
    'features[0].name'
    """
    keys = (f"[{key}]" if isinstance(key, int) else f".{_key_text(key)}" for key in path)
    return "".join(keys).removeprefix(".")


def _key_text(key: str) -> str:
    return _shortened(key) if key.isprintable() and key else repr(_shortened(key))


def value_text(value: Any) -> str:
    """Return a value as YAML would show it, short enough for a message.

    >>> value_text(True), value_text(None), value_text("a" * 99), value_text([1, 2]), value_text(0.5)
    ('true', 'null', "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...'", 'a list', '0.5')
    """
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str():
            return repr(_shortened(value))
        case list():
            return "a list"
        case dict():
            return "a mapping"
    return _shortened(repr(value))


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "..."


def plain_values(value: Any) -> Any:
    """Return a config as mappings, lists and scalars.

    >>> plain_values({"path": PurePath("a/b"), "values": (1, None)})
    {'path': 'a/b', 'values': [1, None]}
    """
    if is_dataclass(value):
        return {field.name: plain_values(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {key: plain_values(entry) for key, entry in value.items()}
    if isinstance(value, tuple | list):
        return [plain_values(entry) for entry in value]
    return value.as_posix() if isinstance(value, PurePath) else value


def yaml_text(config: Any) -> str:
    """Return a config as YAML text: every key, in the order of the fields; reading it gives an equal config."""
    import yaml

    options: dict[str, Any] = {"sort_keys": False, "allow_unicode": True, "width": WIDEST}
    return cast(str, yaml.dump(plain_values(config), Dumper=_dumper(), default_flow_style=False, **options))


@cache
def _dumper() -> "type[yaml.SafeDumper]":
    """Return PyYAML's writer, without aliases, with quotes where YAML 1.1 or 1.2 reads anything but text."""
    import yaml

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
            return True

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        quotes = None if is_text(value) else "'"
        if not value.isprintable():
            quotes = '"'  # in single quotes PyYAML folds line breaks that it cannot read back
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=quotes)

    def listing(dumper: yaml.SafeDumper, value: list[Any]) -> yaml.SequenceNode:
        is_short = not any(isinstance(entry, list | dict) for entry in value)
        return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=is_short)

    Dumper.add_representer(str, text)
    Dumper.add_representer(list, listing)
    return Dumper
