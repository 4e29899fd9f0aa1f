"""A config type as a JSON Schema for editors; a config as YAML text with every default written out."""

from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from ltr.configtext.dataclass_checks import adapter
from ltr.configtext.parsed_document import Value
from ltr.configtext.yaml_parser import is_text

if TYPE_CHECKING:
    import yaml
    from pydantic.json_schema import GenerateJsonSchema

DRAFT = "https://json-schema.org/draft/2020-12/schema"
WIDEST = 1 << 20  # long text stays on its line


def json_schema(kind: type) -> dict[str, Value]:
    """The JSON Schema (draft 2020-12) of a config type: its keys, types, defaults, and field docstrings."""
    wrapped = adapter(kind, documented=True).json_schema(schema_generator=_generator())
    definitions = wrapped["$defs"]
    root = definitions.pop(wrapped["prefixItems"][0]["$ref"].rpartition("/")[2])
    return {"$schema": DRAFT, **root, **({"$defs": definitions} if definitions else {})}


def yaml_text(config: Any) -> str:
    """The config as YAML text: every key, in the order of the fields; reading it gives an equal config."""
    import yaml

    options: dict[str, Any] = {"sort_keys": False, "allow_unicode": True, "width": WIDEST}
    text: str = yaml.dump(plain_values(config), Dumper=_dumper(), default_flow_style=False, **options)
    return text


def plain_values(value: Any) -> Any:
    """The config as mappings, lists and scalars.

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


@cache
def _generator() -> "type[GenerateJsonSchema]":
    from pydantic.json_schema import GenerateJsonSchema

    class Generator(GenerateJsonSchema):
        """Pydantic's schema, with the defaults of factories, without titles that repeat the key."""

        def get_default_value(self, json_schema: Any) -> Any:
            factory = json_schema.get("default_factory")
            return factory() if factory else super().get_default_value(json_schema)

        def field_title_should_be_set(self, json_schema: Any) -> bool:
            return False

    return Generator


@cache
def _dumper() -> "type[yaml.SafeDumper]":
    import yaml

    class Dumper(yaml.SafeDumper):
        """PyYAML's writer, without aliases, with quotes where YAML 1.1 or 1.2 reads anything but text."""

        def ignore_aliases(self, data: Any) -> bool:
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
