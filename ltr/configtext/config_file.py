"""A config file with its overrides."""

from collections.abc import Sequence

from ltr.configtext.parsed_document import Document
from ltr.configtext.yaml_events import fail_at
from ltr.configtext.yaml_parser import parse, parse_value
from ltr.errors import ConfigError, Place, Problem
from ltr.files.path_arguments import AnyPath, shown
from ltr.files.reading import read_bytes

LARGEST_CONFIG = 1 << 20


def read_document(path: AnyPath | None, overrides: Sequence[str] = ()) -> Document:
    """The config as it is written, an empty one without a path, with what `--set PATH=VALUE` asks for."""
    document = Document("defaults", {}, {})
    if path is not None:
        document = parse(read_bytes(path, limit=LARGEST_CONFIG), shown(path))
    problems: list[Problem] = []
    for override in overrides:
        try:
            document = apply_override(document, override)
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(tuple(problems))
    return document


def apply_override(document: Document, override: str) -> Document:
    """The document with what `--set PATH=VALUE` asks for; the place of the value is `--set PATH`."""
    path, equals, text = override.partition("=")
    source = f"--set {path.strip()}"
    if not equals:
        fail_at(Place(source), "write --set PATH=VALUE, such as --set train.l2=0.01")
    return document.replace(path.strip(), parse_value(text, source), source)
