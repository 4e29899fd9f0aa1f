import random
import struct
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ltr.config import as_dataclass
from ltr.config.text import parse
from ltr.errors import ConfigError
from tests.tables import Config, FeatureConfig, TrainConfig


@dataclass(frozen=True, kw_only=True)
class NeedsName:
    feature: FeatureConfig
    other: FeatureConfig | TrainConfig = field(default_factory=TrainConfig)


def config(text: str) -> Config:
    return as_dataclass(parse(text, "c.yaml"), Config)


def refusal(text: str, kind: type = Config) -> str:
    with pytest.raises(ConfigError) as error:
        as_dataclass(parse(text, "c.yaml"), kind)
    return str(error.value)


def test_an_empty_config_has_every_default():
    assert config("") == Config()


def test_values_arrive_as_the_types_of_the_fields():
    assert config(
        "data: a/b.jsonl\nfeatures: [tool.rel, {name: tool.hist, k: 3}]\nfiles: [a, b]\n"
        "train: {learning_rate: 1, l2: null, betas: [0, 1e-3], start: 2}\nsweep: {train.l2: [1, 2.5]}\n"
        "options: {a: [1, {b: no}]}\n"
    ) == Config(
        data=Path("a/b.jsonl"),
        features=("tool.rel", FeatureConfig(name="tool.hist", k=3)),
        files=("a", "b"),
        train=TrainConfig(learning_rate=1.0, l2=None, betas=(0.0, 0.001), start=2.0),
        sweep={"train.l2": (1.0, 2.5)},
        options={"a": [1, {"b": "no"}]},
    )
    assert type(config("train: {learning_rate: 1}").train.learning_rate) is float


@pytest.mark.parametrize(
    "text, message",
    [
        (
            "train:\n  learning_rat: 1",
            "c.yaml:2:3: train.learning_rat: unknown key; did you mean learning_rate?",
        ),
        ("features:\n- {name: a, kk: 1}", "c.yaml:2:13: features[0].kk: unknown key; did you mean k?"),
        (
            "zzz: 1",
            "c.yaml:1:1: zzz: unknown key; known: name, seed, data, features, train, sweep, options, files",
        ),
        ("train:\n  learning_rate: abc", "c.yaml:2:3: train.learning_rate: 'abc' is not a number"),
        (
            "train: {learning_rate: '1e-3'}",
            "c.yaml:1:9: train.learning_rate: '1e-3' is not a number; write it without quotes",
        ),
        ("train: {learning_rate: true}", "c.yaml:1:9: train.learning_rate: true is not a number"),
        ("train: {l2: abc}", "c.yaml:1:9: train.l2: 'abc' is not a number or null"),
        ("train: {epochs: 1.5}", "c.yaml:1:9: train.epochs: 1.5 is not an integer"),
        ("train: {epochs: 1e2}", "c.yaml:1:9: train.epochs: 100.0 is not an integer; write 100"),
        ("train: {epochs: true}", "c.yaml:1:9: train.epochs: true is not an integer"),
        ("train: {epochs: null}", "c.yaml:1:9: train.epochs: null is not an integer"),
        (
            "train: {standardize: yes}",
            "c.yaml:1:9: train.standardize: 'yes' is not true or false; write true",
        ),
        (
            "train: {standardize: Off}",
            "c.yaml:1:9: train.standardize: 'Off' is not true or false; write false",
        ),
        ("train: {standardize: 1}", "c.yaml:1:9: train.standardize: 1 is not true or false"),
        ("name: 12", "c.yaml:1:1: name: 12 is not text; put it in quotes"),
        ("data: 12", "c.yaml:1:1: data: 12 is not a path or null"),
        (
            "train: {targets: labels}",
            "c.yaml:1:9: train.targets: 'labels' is not onehot, label or gain; did you mean label?",
        ),
        ("train: {start: one}", "c.yaml:1:9: train.start: 'one' is not ones or a number; did you mean ones?"),
        ("train: {start: [1]}", "c.yaml:1:9: train.start: a list is not ones or a number"),
        ("train:\n", "c.yaml:1:1: train: null is not a mapping; leave the key out to have its default"),
        ("train: 3", "c.yaml:1:1: train: 3 is not a mapping"),
        ("features: a", "c.yaml:1:1: features: 'a' is not a list"),
        ("features: [[a]]", "c.yaml:1:12: features[0]: a list is not text or a mapping"),
        ("features: [{k: 1}]", "c.yaml:1:12: features[0].name: missing; text is needed"),
        ("files: [a, 1]", "c.yaml:1:12: files[1]: 1 is not text; put it in quotes"),
        ("sweep: {a: [1, b]}", "c.yaml:1:16: sweep.a[1]: 'b' is not a number"),
        ("train: {betas: [1]}", "c.yaml:1:9: train.betas[1]: missing; a number is needed"),
        ("train: {betas: [1, 2, 3]}", "c.yaml:1:9: train.betas: 3 entries; at most 2"),
        ("train: {l2: .inf}", "c.yaml:1:9: train.l2: inf is not a finite number"),
        ("train: {l2: .nan}", "c.yaml:1:9: train.l2: nan is not a finite number"),
        ("train: {l2: 1e999}", "c.yaml:1:9: train.l2: inf is not a finite number"),
        ("options:\n  a: [1, .nan]", "c.yaml:2:10: options.a[1]: nan is not a finite number"),
        ("train: {l2: -1}", "c.yaml:1:9: train.l2: must be at least 0, found -1.0"),
        ("train:\n  learning_rate: 13", "c.yaml:1:1: train: the whole table is unlucky"),
        ("seed: 7\ntrain:\n  epochs: 7", "c.yaml:3:3: train.epochs: must differ from the seed"),
    ],
)
def test_a_mistake_is_told_in_plain_words_with_its_place(text, message):
    assert refusal(text) == message


def test_all_mistakes_are_told_at_once_in_the_order_of_the_lines():
    text = "nam: a\ntrain:\n  epochs: x\n  l2: .inf\n  betas: 3\nseed: x\nfeatures: [1, {nam: a}]\n"
    assert refusal(text) == "\n".join(
        [
            "c.yaml:1:1: nam: unknown key; did you mean name?",
            "c.yaml:3:3: train.epochs: 'x' is not an integer",
            "c.yaml:4:3: train.l2: inf is not a finite number",
            "c.yaml:5:3: train.betas: 3 is not a list",
            "c.yaml:6:1: seed: 'x' is not an integer",
            "c.yaml:7:12: features[0]: 1 is not text or a mapping; put it in quotes",
            "c.yaml:7:15: features[1].name: missing; text is needed",
            "c.yaml:7:16: features[1].nam: unknown key; did you mean name?",
        ]
    )


def test_several_ranges_of_one_table_are_told_at_once():
    assert refusal("train: {l2: -1, epochs: 0}") == "\n".join(
        [
            "c.yaml:1:9: train.l2: must be at least 0, found -1.0",
            "c.yaml:1:17: train.epochs: must be at least 1, found 0",
        ]
    )


def test_a_key_without_default_is_asked_for():
    assert refusal("", NeedsName) == "c.yaml:1:1: feature: missing; a mapping is needed"


def test_between_two_tables_the_nearer_one_complains():
    text = "feature: {name: a}\nother: {epochs: 5, l2: x}"
    assert refusal(text, NeedsName) == "c.yaml:2:20: other.l2: 'x' is not a number or null"


@pytest.mark.parametrize(
    "override, message",
    [
        ("train.l2=abc", "--set train.l2: 'abc' is not a number or null"),
        ("train.l2=-1", "--set train.l2: must be at least 0, found -1.0"),
        ("train.learning_rat=1", "--set train.learning_rat: unknown key; did you mean learning_rate?"),
        ("train={l2: abc}", "--set train: train.l2: 'abc' is not a number or null"),
    ],
)
def test_an_override_is_checked_like_the_file_and_names_itself(override, message):
    with pytest.raises(ConfigError) as error:
        as_dataclass(parse("train: {epochs: 3}", "c.yaml").override(override), Config)
    assert str(error.value) == message


def test_mistakes_of_overrides_come_after_those_of_the_file():
    with pytest.raises(ConfigError) as error:
        as_dataclass(parse("seed: x", "c.yaml").override("name=1"), Config)
    assert [problem.path for problem in error.value.problems] == ["seed", "name"]


def test_nested_plain_dataclasses_inherit_strictness_and_stay_plain():
    assert not any(hasattr(kind, "__pydantic_config__") for kind in (Config, TrainConfig, FeatureConfig))
    assert "c.yaml:1:9: train.x: unknown key" in refusal("train: {x: 1}")


def test_floats_are_read_to_the_last_bit():
    generator = random.Random(5)
    numbers = [struct.unpack("d", generator.randbytes(8))[0] for _ in range(2_000)]
    finite = [number for number in numbers if abs(number) < 1e308]
    text = "sweep: {a: [" + ", ".join(map(repr, finite)) + "]}"
    assert config(text).sweep["a"] == tuple(finite)


def test_of_thousands_of_mistakes_some_are_told_and_the_others_counted():
    message = refusal("train: {" + ", ".join(f"learning_rate{index}: 1" for index in range(20_000)) + "}")
    assert message.endswith("and 950 more")
