"""A config file with its overrides."""

from collections.abc import Sequence

from ltr.configtext import yaml_parser
from ltr.configtext.parsed_document import Document
from ltr.errors import ConfigError, Problem
from ltr.files.path_arguments import AnyPath, shown
from ltr.files.reading import read_bytes

LARGEST_CONFIG = 1 << 20


def read_document(path: AnyPath | None, overrides: Sequence[str] = ()) -> Document:
    """The config as it is written, an empty one without a path, with what `--set PATH=VALUE` asks for."""
    document = Document("defaults", {}, {})
    if path is not None:
        document = yaml_parser.parse(read_bytes(path, limit=LARGEST_CONFIG), shown(path))
    problems: list[Problem] = []
    for override in overrides:
        try:
            document = yaml_parser.apply_override(document, override)
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(tuple(problems))
    return document
