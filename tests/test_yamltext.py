import math

import pytest

from ltr.config.text import parse, parse_value
from ltr.errors import ConfigError


def refusal(text):
    with pytest.raises(ConfigError) as error:
        parse(text, "c.yaml")
    return str(error.value)


def test_every_value_has_the_line_and_column_of_its_key():
    document = parse("seed: 1\ntrain:\n  epochs: 5\n  l2: 0.1\nfeatures:\n  - a\n  - {k: 1}\n", "c.yaml")
    expected = {
        (): (1, 1),
        ("seed",): (1, 1),
        ("train",): (2, 1),
        ("train", "epochs"): (3, 3),
        ("train", "l2"): (4, 3),
        ("features",): (5, 1),
        ("features", 0): (6, 5),
        ("features", 1): (7, 5),
        ("features", 1, "k"): (7, 6),
    }
    found = {path: document.place(path) for path in expected}
    assert {path: (place.line, place.column) for path, place in found.items()} == expected


@pytest.mark.parametrize(
    "text, value",
    [
        ("1e-3", 0.001),
        ("1.5E+2", 150.0),
        (".5", 0.5),
        ("1.", 1.0),
        ("010", 10),
        ("-7", -7),
        ("0o17", 15),
        ("0x1F", 31),
        ("True", True),
        ("FALSE", False),
        ("null", None),
        ("~", None),
        ("", None),
        (".inf", math.inf),
        ("-.Inf", -math.inf),
        ("no", "no"),
        ("on", "on"),
        ("Yes", "Yes"),
        ("12:30", "12:30"),
        ("1_000", "1_000"),
        ("0b11", "0b11"),
        ("2026-11-18", "2026-11-18"),
        ("=", "="),
        ("'1'", "1"),
        ('"true"', "true"),
        ("١٢", "١٢"),
        ("[1, a, null]", [1, "a", None]),
        ("{a: 1e3}", {"a": 1000.0}),
        ("|\n  1\n", "1\n"),
    ],
)
def test_scalars_mean_what_yaml_1_2_says_in_a_file_and_in_an_override(text, value):
    in_file = parse(f"a: {text}", "c.yaml").value["a"]
    assert (in_file, type(in_file)) == (value, type(value))
    assert parse_value(text) == value


def test_nan_is_read_as_a_number_and_left_to_the_check_of_values():
    assert math.isnan(parse("a: .nan", "c.yaml").value["a"])


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n", "---\n", "~", "{}", b"", "\ufeff", "---\n...\n"])
def test_an_empty_text_is_an_empty_mapping(text):
    assert parse(text, "c.yaml").value == {}


@pytest.mark.parametrize("text", ["\ufeffa: ä\n", "\ufeffa: ä\n".encode(), b"a: \xc3\xa4\r\n"])
def test_a_byte_order_mark_and_bytes_are_read(text):
    document = parse(text, "c.yaml")
    assert document.value == {"a": "ä"}
    assert str(document.place(("a",))) == "c.yaml:1:1"


def test_an_alias_repeats_its_anchor_and_is_placed_where_it_was_written():
    document = parse("a: &x {k: [1, 2]}\nb: *x\n", "c.yaml")
    assert document.value["b"] == {"k": [1, 2]}
    assert str(document.place(("b",))) == "c.yaml:2:1"
    assert str(document.place(("b", "k", 1))) == "c.yaml:1:15"


@pytest.mark.parametrize(
    "text, message",
    [
        ("t:\n  a: 1\n  b: 2\n  a: 3\n", "c.yaml:4:3: t.a: written twice; first at 2:3"),
        ("a: 1\n'a': 2", "c.yaml:2:1: a: written twice; first at 1:1"),
        ("- a", "c.yaml:1:1: a config is a mapping of keys to values, found a list"),
        ("abc", "c.yaml:1:1: a config is a mapping of keys to values, found 'abc'"),
        ("a: &x {b: 1}\n<<: *x\n", "c.yaml:2:1: merge keys (<<) are not read; write the keys out"),
        ("t:\n  1: a\n", "c.yaml:2:3: t: key 1 is not text; put it in quotes"),
        ("~: a\n", "c.yaml:1:1: key null is not text; put it in quotes"),
        ("[a]: b\n", "c.yaml:1:1: a key is text, not a list, mapping or alias"),
        ("&k a: b\n", "c.yaml:1:1: a key is plain text, without tag or anchor"),
        ("a: !new 1\n", "c.yaml:1:1: a: tag '!new' is not read; write the plain value"),
        ("a: ! 1\n", "c.yaml:1:1: a: tag '!' is not read; write the plain value"),
        (
            "a: !!python/name:os.system\n",
            "c.yaml:1:1: a: tag 'tag:yaml.org,2002:python/name:os.system' is not read; write the plain value",
        ),
        ("a: 1\n---\nb: 2\n", "c.yaml:2:1: a second document starts here; a config is one"),
        ("a: *x\n", "c.yaml:1:1: alias '*x' names no anchor above it"),
        ("a: &x\n  - *x\n", "c.yaml:2:5: alias '*x' stands inside its own anchor"),
        ("a: [" + "[" * 64, "c.yaml:1:68: nested deeper than 64 levels"),
        (
            "a: &0 []\n" + "".join(f"b{i}: &{i + 1} [*{i}]\n" for i in range(70)),
            "c.yaml:65:11: nested deeper than 64 levels",
        ),
        (
            "a: &a [1,1,1,1,1,1,1,1,1]\n"
            + "".join(f"{b}: &{b} [{','.join(9 * ['*' + a])}]\n" for a, b in ("ab", "bc", "cd", "de", "ef")),
            "c.yaml:6:8: more than 100000 values, aliases counted each time",
        ),
        (
            f"a: &a {'x' * 600_000}\nb: [*a]",
            "c.yaml:2:5: more than 1048576 characters, aliases counted each time",
        ),
        ("x" * 1_048_577, "c.yaml:1:1: 1048577 characters; a config has at most 1048576"),
        ("a: " + "9" * 301, "c.yaml:1:1: a: a number of 301 characters; at most 300"),
        (b"a: 1\nb: \xff", "c.yaml:2:4: byte 0xff is not UTF-8"),
        ("a: 1\nb: x\0", "c.yaml:2:5: character U+0000 is not allowed in YAML"),
        ("a: \x1b[31m", "c.yaml:1:4: character U+001B is not allowed in YAML"),
        ("a: \ud800", "c.yaml:1:4: character U+D800 is not allowed in YAML"),
        ('a: "\\e[31m"', "c.yaml:1:1: a: character U+001B is not allowed"),
        ("a:\n\tb: 1", "c.yaml:2:1: a tab cannot indent; use spaces"),
        ("a: @b", "c.yaml:1:4: '@' cannot start a value; put it in quotes"),
        ("a: b: c", "c.yaml:1:5: a ':' cannot stand here; quote the text, or look at the indentation"),
        ("a: 'b", "c.yaml:1:6: the text ends inside quotes that were never closed"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_place(text, message):
    assert refusal(text) == message


def test_everything_that_is_forbidden_is_named_at_once():
    assert refusal("a: 1\na: 2\nb: !x 1\n<<: {c: 1}\n2: d\ne: [1") == "\n".join(
        [
            "c.yaml:2:1: a: written twice; first at 1:1",
            "c.yaml:3:1: b: tag '!x' is not read; write the plain value",
            "c.yaml:4:1: merge keys (<<) are not read; write the keys out",
            "c.yaml:5:1: key 2 is not text; put it in quotes",
            "c.yaml:7:1: a ',' or a closing bracket is missing",
        ]
    )


def test_quoted_merge_signs_and_as_many_levels_as_allowed_are_read():
    assert parse("'<<': 1", "c.yaml").value == {"<<": 1}
    assert parse("a: " + "[" * 64 + "]" * 64, "c.yaml").value["a"] == parse_value("[" * 64 + "]" * 64)


def test_an_override_changes_one_value_and_is_its_place():
    document = parse("train: {l2: 0.1, epochs: 5}", "c.yaml").override("train.l2=1e-3")
    assert document.value == {"train": {"l2": 0.001, "epochs": 5}}
    assert str(document.place(("train", "l2"))) == "--set train.l2"


def test_an_override_may_be_a_list_a_mapping_or_hold_an_equals_sign():
    document = parse("", "c.yaml").override("a={b: [1, x=y]}")
    assert document.value == {"a": {"b": [1, "x=y"]}}
    assert str(document.place(("a", "b", 1))) == "--set a"


@pytest.mark.parametrize(
    "override, message",
    [
        ("train.l2", "--set train.l2: write --set PATH=VALUE, such as --set train.l2=0.01"),
        ("=1", "--set : a path is keys joined by dots, such as train.l2"),
        ("a=*x", "--set a:1:1: alias '*x' names no anchor above it"),
        (
            "a=!!python/name:os.system",
            "--set a:1:1: tag 'tag:yaml.org,2002:python/name:os.system' is not read",
        ),
        ("a={b: 1, b: 2}", "--set a:1:8: b: written twice; first at 1:2"),
    ],
)
def test_an_override_is_as_strict_as_a_file(override, message):
    with pytest.raises(ConfigError) as error:
        parse("", "c.yaml").override(override)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize("text", ["a: 1\na: 2", "a: !x 1", "a: &x [*x]", "a: b: c", 'a: "\\UFFFFFFFF"', "a:\n\tb: 1"])
def test_the_slow_parser_of_pyyaml_refuses_the_same(text, monkeypatch):
    with_c = refusal(text)
    monkeypatch.delattr("yaml.CSafeLoader", raising=False)
    assert refusal(text).partition(" ")[0].split(":")[:2] == with_c.split(":")[:2]
