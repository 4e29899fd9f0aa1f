"""Text nobody would write by mistake: read or refused, quickly, and with a place."""

import random

import pytest

from ltr.config import as_dataclass
from ltr.config.text import parse
from ltr.errors import ConfigError, Problem
from tests.tables import Config

GOOD = [
    "name: a\nseed: 3\ntrain:\n  learning_rate: 1e-3\n  l2: 0.1\n  betas: [0.5, 0.9]\n",
    "features:\n- tool.rel\n- {name: tool.hist, k: 3}\n- name: tool.coop\n",
    "# comment\nsweep: &s\n  train.l2: [1, 2]\noptions: {a: *s, b: 'x: y', c: \"\\u00e9\"}\n",
    "files: [a.jsonl, b.jsonl]\ndata: d/x\noptions:\n  t: |\n    two\n    lines\n  f: >-\n    a\n    b\n",
]
SNIPPETS = [
    *(
        "\n",
        " ",
        "\t",
        ":",
        ": ",
        "- ",
        "[",
        "]",
        "{",
        "}",
        ",",
        "&a ",
        "*a",
        "*s",
        "!!str ",
        "!!python/name:os.x ",
    ),
    *(
        "<<: ",
        "? ",
        "|",
        ">",
        "'",
        '"',
        "#",
        "%",
        "@",
        "`",
        "---\n",
        "...\n",
        "\0",
        "\x1b",
        "\ufeff",
        "\u2028",
    ),
    *(
        "\x85",
        "\ud800",
        "é",
        "😀",
        ".nan",
        ".inf",
        "1e999",
        "9" * 400,
        "0x",
        "null",
        "true",
        "yes",
        "\\x",
        "\r",
    ),
    *(
        "%YAML 1.3\n",
        "%TAG ! x\n",
        "=",
        "~",
        "name: b\n",
        "train: {}\n",
        "train:\n",
        "a" * 2000,
        "\\U00110000",
    ),
]


def mutated(generator: random.Random) -> str:
    text = generator.choice(GOOD)
    for _ in range(generator.randint(1, 4)):
        first, last = sorted(generator.choices(range(len(text) + 1), k=2))
        last = min(last, first + generator.choice([0, 0, 1, 3, 20]))
        text = text[:first] + generator.choice([*SNIPPETS, text[first:last] * 2, ""]) + text[last:]
    return text


def laughs(levels: int, width: int) -> str:
    lines = [f"k{i}: &k{i} [{', '.join([f'*k{i - 1}'] * width)}]" for i in range(1, levels)]
    return "\n".join(["k0: &k0 [x, x, x, x, x, x, x, x, x]", *lines])


HOSTILE = {
    "billion laughs": laughs(9, 9),
    "quadratic laughs": "a: &a [" + "x, " * 300 + "]\nb: [" + "*a, " * 30_000 + "]",
    "text laughs": f"a: &a {'x' * 100_000}\nb: [{'*a, ' * 50_000}]",
    "key laughs": "a: &a {" + "x" * 1000 + ": 1}\nb: [" + "*a, " * 40_000 + "]",
    "map laughs": "a: &a {b: 1, c: 2}\n" + "".join(f"m{i}: &m{i} {{x: *a, y: *a}}\n" for i in range(6_000)),
    "deep flow lists": "a: " + "[" * 100_000,
    "deep flow maps": "a: " + "{a: " * 100_000,
    "deep block lists": "a:\n " + "- " * 50_000,
    "deep questions": "? " * 50_000,
    "deep indentation": "".join(" " * i + "a:\n" for i in range(1_000)),
    "deep aliases": "a: &0 []\n" + "".join(f"b{i}: &{i + 1} [*{i}]\n" for i in range(5_000)),
    "recursive list": "a: &a [*a]",
    "recursive map": "a: &a {b: *a}",
    "recursive root": "&a\nb: *a",
    "merge bomb": "a: &a {x: 1}\n" + "".join(f"b{i}:\n  <<: [*a, *a]\n" for i in range(5_000)),
    "object apply": "a: !!python/object/apply:os.system ['touch /tmp/ltr-was-here']",
    "object new": "a: !!python/object/new:subprocess.Popen [['ls']]",
    "python name": "a: !!python/name:os.system",
    "python module": "a: !!python/module:os",
    "python tuple key": "? !!python/tuple [1, 2]\n: 3",
    "full tag": "a: !<tag:yaml.org,2002:python/object/apply:eval> ['1']",
    "tag handle": "%TAG !p! tag:yaml.org,2002:python/\n---\na: !p!name:os.system",
    "binary": "a: !!binary aGVsbG8=",
    "set": "a: !!set {b, c}",
    "huge integer": "seed: " + "9" * 1_000_000,
    "huge hex": "seed: 0x" + "f" * 1_000_000,
    "huge integer for a float": "train: {l2: -" + "9" * 299 + "}",
    "huge exponent": "train: {l2: 1e" + "9" * 200 + "}",
    "huge version": "%YAML " + "9" * 5_000 + ".1\n---\na: 1",
    "tabs": "train:\n\tl2: 1",
    "nul": "name: a\0b",
    "escaped nul": 'name: "a\\0b"',
    "half a byte order mark": b"\xef\xbbname: a",
    "utf-16": "name: a".encode("utf-16"),
    "latin-1": "name: é".encode("latin-1"),
    "overlong utf-8": b"name: \xc0\xaf",
    "surrogate": "name: \ud800",
    "escaped surrogate": 'name: "\\ud800"',
    "bad escape": 'name: "\\UFFFFFFFF"',
    "duplicate keys": "a: 1\n" * 20_000,
    "a million brackets": "[]" * 500_000,
    "many values": "a: [" + "1," * 101_000 + "]",
    "many unknown keys": "".join(f"k{i}: 1\n" for i in range(8_000)),
    "many bad choices": "features: [" + "{}, " * 8_000 + "]",
    "one long key": "k" * 1_000 + ": 1",
    "one huge key": "? " + "k" * 900_000 + "\n: 1",
    "a billion anchors": "".join(f"a{i}: &a{i} 1\n" for i in range(10_000)),
    "open quote": 'name: "' + "x\n" * 100_000,
    "many documents": "---\n" * 100_000,
    "nan in lists": "sweep: {a: [" + ".nan, " * 8_000 + "]}",
}


def is_refused(text: str | bytes) -> bool:
    """Whether there was a ConfigError; reading did not blow up, and each problem has its place."""
    problems: tuple[Problem, ...] = ()
    try:
        as_dataclass(parse(text, "c.yaml"), Config)
    except ConfigError as error:
        problems = error.problems
    assert all(problem.place.line >= 1 and problem.place.column >= 1 for problem in problems)
    assert all(len(str(problem)) < 1_000 for problem in problems)
    return bool(problems)


@pytest.mark.parametrize("payload", HOSTILE)
def test_hostile_text_is_refused_with_a_place(payload):
    assert is_refused(HOSTILE[payload])


def test_mutated_configs_are_read_or_refused_and_nothing_else():
    generator = random.Random(20261118)
    refused = sum(is_refused(mutated(generator)) for _ in range(2_000))
    assert 500 < refused < 2_000


def test_mutated_configs_are_safe_with_the_slow_parser_too(monkeypatch):
    monkeypatch.delattr("yaml.CSafeLoader", raising=False)
    generator = random.Random(7)
    refused = sum(is_refused(mutated(generator)) for _ in range(300))
    assert 50 < refused < 300


def test_good_configs_of_the_mutations_are_good():
    assert not any(is_refused(text) for text in GOOD)
