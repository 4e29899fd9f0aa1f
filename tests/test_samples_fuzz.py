"""Damaged samples files: read in full or refused with one clear error, never anything else.

LTR_FUZZ_CASES sets the number of damaged files (2,000 without it).
"""

import gzip
import json
import os
import random
from collections.abc import Callable

import pytest

from ltr import read_groups
from ltr.errors import LtrError, SampleError
from ltr.files import write_file
from ltr.files.reading import zstd_module

CASES = int(os.environ.get("LTR_FUZZ_CASES", "1000"))

Mutator = Callable[[random.Random, list[bytes]], list[bytes]]


def sound_lines(generator: random.Random) -> list[bytes]:
    """A small sound file: tools or graphs, flat or grouped, with or without features."""
    kind, has_features = generator.choice(["tool", "graph"]), generator.random() < 0.5
    lines = []
    for group in range(generator.randrange(1, 4)):
        key = {"trace_id": generator.choice([group, f"t{group}"]), "node_id": "n", "query": f"q {group} é天"}
        candidates = [sound_candidate(generator, kind, name, has_features) for name in range(3)]
        is_grouped = generator.random() < 0.3
        rows = [key | {"candidates": candidates}] if is_grouped else [key | row for row in candidates]
        lines += [json.dumps(row, ensure_ascii=generator.random() < 0.5).encode() for row in rows]
    return lines


def sound_candidate(generator: random.Random, kind: str, name: int, has_features: bool) -> dict[str, object]:
    nodes = [{"id": n, "name": f"node {n}"} for n in range(3)]
    tree = {"nodes": nodes, "edges": [[0, 1], {"source": 1, "target": 2}]}
    own = {"tool": f"tool_{name}"} if kind == "tool" else {"candidate_id": f"g{name}", "tree": tree}
    features = {"features": [generator.random(), name]} if has_features else {}
    return own | features | {"label": int(name == 0)}


def on_one_line(change: Callable[[random.Random, bytes], bytes]) -> Mutator:
    def mutate(generator: random.Random, lines: list[bytes]) -> list[bytes]:
        place = generator.randrange(len(lines))
        return [*lines[:place], change(generator, lines[place]), *lines[place + 1 :]]

    return mutate


def on_one_value(change: Callable[[random.Random], bytes]) -> Mutator:
    """Put raw JSON, or what others take for it, in the place of one value."""

    def mutate(generator: random.Random, line: bytes) -> bytes:
        sample = json.loads(line)
        holder = generator.choice(sample["candidates"]) if "candidates" in sample else sample
        holder = generator.choice([sample, holder])
        holder[generator.choice(list(holder))] = "@@@"
        return json.dumps(sample).encode().replace(b'"@@@"', change(generator))

    return on_one_line(mutate)


def truncate(generator: random.Random, line: bytes) -> bytes:
    return line[: generator.randrange(len(line))]


def flip_bit(generator: random.Random, line: bytes) -> bytes:
    damaged = bytearray(line)
    damaged[generator.randrange(len(line))] ^= 1 << generator.randrange(8)
    return bytes(damaged)


def insert(*texts: bytes) -> Callable[[random.Random, bytes], bytes]:
    def mutate(generator: random.Random, line: bytes) -> bytes:
        place = generator.randrange(len(line) + 1)
        return line[:place] + generator.choice(texts) + line[place:]

    return mutate


def drop_key(generator: random.Random, line: bytes) -> bytes:
    sample = json.loads(line)
    del sample[generator.choice(list(sample))]
    return json.dumps(sample).encode()


def repeat_key(generator: random.Random, line: bytes) -> bytes:
    name, value = generator.choice(list(json.loads(line).items()))
    return line[:-1] + b"," + json.dumps({name: value}).encode()[1:]


def add_key(generator: random.Random, line: bytes) -> bytes:
    return line[:-1] + b"," + json.dumps({f"other{generator.random()}": [None, {"a": "é"}]}).encode()[1:]


def shuffle(generator: random.Random, lines: list[bytes]) -> list[bytes]:
    return generator.sample(lines, len(lines))


def repeat_line(generator: random.Random, lines: list[bytes]) -> list[bytes]:
    return [*lines, generator.choice(lines)]


def reencode(generator: random.Random, lines: list[bytes]) -> list[bytes]:
    encoding = generator.choice(["utf-16", "utf-16-le", "utf-32", "utf-8-sig", "gb18030"])
    return b"\n".join(lines).decode().encode(encoding).split(b"\n")


def blank_lines(generator: random.Random, lines: list[bytes]) -> list[bytes]:
    place = generator.randrange(len(lines) + 1)
    return [*lines[:place], *generator.sample([b"", b" \t\r", b"\r", b""], 2), *lines[place:]]


def giant(generator: random.Random, line: bytes) -> bytes:
    return line + b" " * generator.choice([1 << 16, 3 << 20]) + generator.choice([b"", b"x"])


def one_of(*texts: bytes) -> Callable[[random.Random], bytes]:
    return lambda generator: generator.choice(texts)


MUTATORS: dict[str, Mutator] = {
    "truncate": on_one_line(truncate),
    "duplicate": repeat_line,
    "swap": shuffle,
    "bit flip": on_one_line(flip_bit),
    "type change": on_one_value(one_of(b"null", b"true", b"[]", b"{}", b'""', b'"x"', b"1.5", b"-1", b"[[1]]")),
    "deep nest": on_one_value(one_of(b"[" * 10, b"[" * 5000, b"[" * 500 + b"]" * 500, b"[" * 3000 + b"]" * 3000)),
    "huge number": on_one_value(one_of(b"1e999", b"-1e999", b"9" * 5000, b"1e308", b"9" * 400)),
    "nan": on_one_value(one_of(b"NaN", b"Infinity", b"-Infinity", b"nan")),
    "encoding": reencode,
    "crlf": lambda _, lines: [line + b"\r" for line in lines],
    "u2028": on_one_line(insert("\u2028".encode(), "\u2029".encode(), "\x85".encode(), b"\x0c")),
    "nul": on_one_line(insert(b"\0", b"\x1b", b"\x7f")),
    "lone surrogate": on_one_value(one_of(b'"\\ud800"', b'"\\udfffx"', b'"\xed\xa0\x80"')),
    "duplicate key": on_one_line(repeat_key),
    "missing key": on_one_line(drop_key),
    "extra key": on_one_line(add_key),
    "blank line": blank_lines,
    "concatenated objects": on_one_line(lambda _, line: line + line),
    "giant line": on_one_line(giant),
    "bad bytes": on_one_line(insert(b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf8")),
}


def rows_present(lines: list[bytes]) -> int:
    """Candidates that the standard library counts in a file it can read."""
    samples = [
        json.loads(line) for line in b"\n".join(lines).removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip()
    ]
    rows = [
        (str(sample["trace_id"]), str(sample["node_id"]), {**sample, **candidate, "candidates": None})
        for sample in samples
        for candidate in sample.get("candidates") or [sample]
    ]
    right = [json.dumps(row, sort_keys=True) for row in rows if row[-1]["label"]]  # of them each counts once
    return len(rows) - len(right) + len(set(right))


def test_a_damaged_file_is_read_in_full_or_refused_with_a_line_of_it(tmp_path):
    generator, path = random.Random(20), tmp_path / "s.jsonl"
    outcomes = {name: [0, 0] for name in MUTATORS}
    for case in range(CASES):
        name = list(MUTATORS)[case % len(MUTATORS)]
        lines = MUTATORS[name](generator, sound_lines(generator))
        path.write_bytes(b"\n".join(lines))
        is_read = check(path, lines)
        outcomes[name][is_read] += 1
    assert all(read for name, (_, read) in outcomes.items() if name in {"swap", "crlf", "extra key", "blank line"})
    assert all(refused for name, (refused, _) in outcomes.items() if name in {"truncate", "nan", "bit flip", "nul"})


def check(path, lines: list[bytes]) -> bool:
    """Whether the file was read; anything but rows in full or an error of ours fails the test."""
    try:
        groups = read_groups(path)
    except LtrError as error:
        text = str(error)
        assert text.startswith(str(path))
        assert len(text) < 500 + len(str(path)) * 2
        assert "\n" not in text
        if isinstance(error, SampleError):
            assert 1 <= error.args[1] <= b"\n".join(lines).count(b"\n") + 1  # noqa: PT017
        return False
    assert groups.offsets[-1] == len(groups.labels) == rows_present(lines)
    return True


@pytest.mark.parametrize("extension", ["gz", "zst"])
def test_a_damaged_compressed_file_is_never_read_short(tmp_path, extension):
    generator = random.Random(21)
    path = tmp_path / f"s.jsonl.{extension}"
    zstd = zstd_module()
    checked = {zstd.CompressionParameter.checksum_flag: 1}
    for _ in range(CASES // 10):
        lines = sound_lines(generator)
        content = b"\n".join(lines)
        packed = gzip.compress(content) if extension == "gz" else zstd.compress(content, options=checked)
        cut = generator.randrange(1, len(packed))
        write_file(path, packed[:cut] if generator.random() < 0.5 else flip_bit(generator, packed))
        check(path, lines)
