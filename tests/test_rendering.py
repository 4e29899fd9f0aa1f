import random
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from ltr.config import as_dataclass, json_schema, yaml_text
from ltr.config.text import parse
from tests.tables import FeatureConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainConfig:
    learning_rate: float = 0.01
    """Length of a step."""
    l2: float | None = None
    targets: Literal["onehot", "label"] = "label"


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    name: str
    """What the run is called."""
    data: Path | None = None
    features: tuple[str | FeatureConfig, ...] = ("tool.rel",)
    train: TrainConfig = field(default_factory=TrainConfig)
    """How w is learned."""
    options: dict[str, Any] = field(default_factory=dict)


def test_a_rendered_config_has_every_key_in_the_order_of_the_fields():
    config = Config(name="a", data=Path("d/x.jsonl"), features=("tool.rel", FeatureConfig(name="tool.hist")))
    assert yaml_text(config) == (
        "name: a\n"
        "data: d/x.jsonl\n"
        "features:\n"
        "- tool.rel\n"
        "- name: tool.hist\n"
        "  k: 5\n"
        "train:\n"
        "  learning_rate: 0.01\n"
        "  l2: null\n"
        "  targets: label\n"
        "options: {}\n"
    )


def test_lists_of_scalars_stay_on_one_line():
    assert "\nfeatures: [a, b]\n" in yaml_text(Config(name="x", features=("a", "b")))


TEXTS = [
    *(
        "",
        " ",
        "no",
        "on",
        "Yes",
        "true",
        "null",
        "~",
        "1",
        "010",
        "0o17",
        "0x1F",
        "1e-3",
        "1_000",
        "12:30",
        "0b1",
    ),
    *(
        "2026-11-18",
        ".inf",
        ".nan",
        "=",
        "<<",
        "*a",
        "&a",
        "!a",
        "- a",
        "a: b",
        "a #b",
        "#",
        "[a",
        "{a",
        "%",
        "@",
    ),
    *(
        "'",
        '"',
        "\\",
        "two\nlines",
        "trailing\n",
        "\n",
        " lead",
        "trail ",
        "é😀",
        "?",
        ":",
        "|",
        ">",
        "a,b",
        "---",
    ),
    *("\t", "\x85", "a\x85b", "\x85 x" * 99, "\u2028", "\ufeffa", "x" * 300, "word " * 100),
]


@pytest.mark.parametrize("text", TEXTS)
def test_any_text_survives_as_value_as_entry_and_as_key(text):
    config = Config(name=text, features=(text,), options={text: [text, {"k": text}]})
    assert as_dataclass(parse(yaml_text(config), "c.yaml"), Config) == config


def test_random_configs_read_back_equal():
    generator = random.Random(3)
    for _ in range(200):
        number = generator.uniform(-1, 1) * 10.0 ** generator.randint(-300, 300)
        feature = FeatureConfig(name=generator.choice(TEXTS), k=generator.randint(-(2**70), 2**70))
        train = TrainConfig(learning_rate=number, l2=generator.choice([None, 0.0, -0.0, 1e22, 5e-324]))
        config = Config(name="x", features=(feature,), train=train, options={"a": [number, [True, None]]})
        text = yaml_text(config)
        assert as_dataclass(parse(text, "c.yaml"), Config) == config
        assert yaml_text(as_dataclass(parse(text, "c.yaml"), Config)) == text


def test_text_that_older_yaml_takes_for_something_else_is_quoted():
    assert "options:\n  a: ['no', '1e-3', '12:30', '0o17']\n" in yaml_text(
        Config(name="x", options={"a": ["no", "1e-3", "12:30", "0o17"]})
    )


def test_the_schema_has_keys_types_defaults_and_descriptions():
    assert json_schema(Config) == {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Config",
        "type": "object",
        "additionalProperties": False,
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "description": "What the run is called."},
            "data": {"anyOf": [{"type": "string", "format": "path"}, {"type": "null"}], "default": None},
            "features": {
                "type": "array",
                "items": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/FeatureConfig"}]},
                "default": ["tool.rel"],
            },
            "train": {
                "$ref": "#/$defs/TrainConfig",
                "default": {"learning_rate": 0.01, "l2": None, "targets": "label"},
                "description": "How w is learned.",
            },
            "options": {"type": "object", "additionalProperties": True, "default": {}},
        },
        "$defs": {
            "FeatureConfig": {
                "title": "FeatureConfig",
                "type": "object",
                "additionalProperties": False,
                "required": ["name"],
                "properties": {"name": {"type": "string"}, "k": {"type": "integer", "default": 5}},
            },
            "TrainConfig": {
                "title": "TrainConfig",
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "learning_rate": {"type": "number", "default": 0.01, "description": "Length of a step."},
                    "l2": {"anyOf": [{"type": "number"}, {"type": "null"}], "default": None},
                    "targets": {"type": "string", "enum": ["onehot", "label"], "default": "label"},
                },
            },
        },
    }


def test_a_flat_type_has_a_schema_without_definitions():
    assert "$defs" not in json_schema(FeatureConfig)


def test_importing_the_readers_loads_neither_yaml_nor_pydantic():
    readers = "ltr.config.checks, ltr.config.text"
    code = f"import sys, {readers}; print({{'yaml', 'pydantic', 'numpy'}} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
