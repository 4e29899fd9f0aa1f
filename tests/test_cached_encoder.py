"""Each text is encoded once, in a run and on a machine, and nothing about the numbers shows which time it was."""

import sqlite3

import numpy as np
import pytest

from ltr import read_groups
from ltr.encoders import ENCODERS, CachedEncoder, Dense, VectorCache
from ltr.encoders import cache as cached_module
from ltr.encoders.disk import FILE, cache_key
from ltr.features import FeatureConfig, fit_features
from ltr.serving.catalogue import ServedEncoder
from tests.builders import tool_lines, write_lines


class Counting:
    """An encoder with roles, a revision and a count of what reaches it."""

    name = "counting"
    state: dict = {}  # noqa: RUF012

    def __init__(self, revision="1"):
        self.revision, self.encoded, self.loads = revision, [], 0

    def identity(self, role):
        return self.name, self.revision, role

    def encode(self, texts, role):
        self.loads += 1
        self.encoded += [(role, text) for text in texts]
        numbers = [[len(text), sum(map(ord, text)) % 97, role == "query", 1] for text in texts]
        return Dense(np.array(numbers, dtype=np.float32).reshape(len(texts), 4)).unit()


def cached(encoder, directory):
    return CachedEncoder(encoder.name, encoder.revision, {}, lambda: encoder, VectorCache(directory))


def test_each_text_reaches_the_encoder_once_for_each_role(tmp_path):
    encoder = Counting()
    wrapped = cached(encoder, tmp_path)
    wrapped.encode(["a", "b", "a"], "query")
    wrapped.encode(["b", "c"], "query")
    wrapped.encode(["a"], "document")
    assert encoder.encoded == [("query", "a"), ("query", "b"), ("query", "c"), ("document", "a")]


def test_rows_come_in_the_order_asked_from_whichever_call_brought_them(tmp_path):
    encoder = Counting()
    wrapped = cached(encoder, tmp_path)
    for texts in (["a"], ["bb", "ccc"], ["dddd"]):
        wrapped.encode(texts, "query")
    asked = ["dddd", "a", "ccc", "a", "bb", "new"]
    np.testing.assert_array_equal(wrapped.encode(asked, "query").numbers, Counting().encode(asked, "query").numbers)


def test_a_service_encodes_a_tool_once_and_holds_nothing_of_a_query(tmp_path):
    class WithoutIdentity(Counting):
        def identity(self, role):  # as of `hash`: nothing of it is stored on disk
            return None

    encoder = WithoutIdentity()
    wrapped = CachedEncoder(encoder.name, encoder.revision, {}, lambda: encoder)
    served = ServedEncoder(wrapped)
    for query in ("rain?", "rain?"):
        served.encode([query], "query")
        served.encode(["get_weather", "send_mail"], "document")
    asked, tools = [("query", "rain?")], [("document", "get_weather"), ("document", "send_mail")]
    assert encoder.encoded == [*asked, *tools, *asked]
    assert wrapped._places["query"] == {}


def test_no_texts_have_no_rows(tmp_path):
    wrapped = cached(Counting(), tmp_path)
    assert len(wrapped.encode([], "query")) == 0
    wrapped.encode(["a"], "query")
    assert len(wrapped.encode([], "query")) == 0


def test_a_second_run_encodes_nothing_and_has_the_same_bits(tmp_path):
    texts = [f"text {n}" for n in range(50)]
    first = cached(Counting(), tmp_path).encode(texts, "query").numbers
    encoder = Counting()
    second = cached(encoder, tmp_path).encode(texts[::-1], "query").numbers
    assert (encoder.loads, second[::-1].tobytes()) == (0, first.tobytes())


def test_with_a_part_in_the_cache_the_bits_are_those_without_it(tmp_path):
    texts = [f"text {n}" for n in range(50)]
    cached(Counting(), tmp_path / "some").encode(texts[::3], "query")
    found = cached(Counting(), tmp_path / "some").encode(texts, "query").numbers
    assert found.tobytes() == cached(Counting(), tmp_path / "none").encode(texts, "query").numbers.tobytes()


def test_another_revision_is_encoded_anew(tmp_path):
    cached(Counting("1"), tmp_path).encode(["a"], "query")
    encoder = Counting("2")
    cached(encoder, tmp_path).encode(["a"], "query")
    assert encoder.loads == 1


def test_damaged_rows_are_encoded_anew_and_mended(tmp_path):
    texts = [f"text {n}" for n in range(200)]
    whole = cached(Counting(), tmp_path).encode(texts, "query").numbers
    with sqlite3.connect(tmp_path / FILE) as held:
        held.execute("UPDATE vectors SET value = zeroblob(length(value))")
    held.close()
    encoder = Counting()
    assert cached(encoder, tmp_path).encode(texts, "query").numbers.tobytes() == whole.tobytes()
    assert len(encoder.encoded) == 200
    mended = Counting()
    cached(mended, tmp_path).encode(texts, "query")
    assert mended.loads == 0


@pytest.mark.parametrize("asked", [["a", "bb"], ["a", "bb", "ccc"]])
def test_vectors_of_another_width_are_encoded_anew(tmp_path, asked):
    encoder = Counting()
    expected = cached(encoder, tmp_path).encode(["a", "bb"], "query").numbers
    key = cache_key(encoder.identity("query"), "a")
    VectorCache(tmp_path).put({key: np.ones(2, dtype=np.float32)})
    np.testing.assert_array_equal(cached(encoder, tmp_path).encode(asked, "query").numbers[:2], expected)
    assert VectorCache(tmp_path).get([key])[key].shape == (4,)


def test_hash_is_not_kept_on_the_disk(tmp_path):
    cache = VectorCache(tmp_path)
    CachedEncoder.fitted("hash", ["a b c"], cache).encode(["a b c"], "query")
    assert cache.info().vectors == 0


def test_whoever_serves_queries_does_not_grow(tmp_path, monkeypatch):
    monkeypatch.setattr(cached_module, "MOST_TEXTS", 50)
    monkeypatch.setattr(cached_module, "CALLS", 20)
    encoder = Counting()
    wrapped = cached(encoder, tmp_path)
    catalogue = [f"tool {n}" for n in range(10)]
    for number in range(200):
        wrapped.encode(catalogue, "document")
        wrapped.encode([f"query {number}"], "query")
    assert sum(map(len, wrapped._places.values())) <= 50 + 1
    assert [text for role, text in encoder.encoded if role == "document"] == catalogue
    np.testing.assert_array_equal(
        wrapped.encode(catalogue, "document").numbers, Counting().encode(catalogue, "document").numbers
    )


def test_a_text_that_returns_after_it_was_dropped_is_encoded_again(tmp_path, monkeypatch):
    monkeypatch.setattr(cached_module, "MOST_TEXTS", 1)
    monkeypatch.setattr(cached_module, "CALLS", 1)
    wrapped = cached(Counting(), tmp_path)
    for text in ("old", "b", "b", "b"):
        wrapped.encode([text], "query")
    rows = wrapped.encode(["old", "new"], "query").numbers
    np.testing.assert_array_equal(rows, Counting().encode(["old", "new"], "query").numbers)


def test_training_and_test_samples_share_what_was_encoded(tmp_path):
    ENCODERS.add("counting", _Kind)
    try:
        groups = read_groups(write_lines(tmp_path / "samples.jsonl", tool_lines(traces=24)))
        names = ("tool.rel", "tool.hist", "tool.struct")
        fitted, _ = fit_features([FeatureConfig(name) for name in names], groups, "counting")
        fitted(groups.candidates)
        encoded = fitted.encoder.encoder().encoded
    finally:
        ENCODERS._own.pop("counting")
    assert len(encoded) == len(set(encoded)) > 0


class _Kind:
    """What is registered for the counting encoder."""

    name = "counting"

    @staticmethod
    def fitted(texts):
        return Counting()


@pytest.mark.parametrize("name", ["static", pytest.param("minilm", marks=pytest.mark.heavy)])
def test_a_second_featurize_loads_no_model(tmp_path, name):
    """The command itself, in processes of their own: what is loaded cannot hide."""
    import subprocess
    import sys
    from pathlib import Path

    if not ENCODERS[name].is_installed():
        pytest.skip("not installed")
    write_lines(tmp_path / "samples.jsonl", list(tool_lines(traces=2)))
    code = (
        "import sys\nfrom ltr.config.run import DataConfig, RunConfig\n"
        "from ltr.experiments.featurize import featurize_and_save\n"
        f"config = RunConfig(data=DataConfig(train={str(tmp_path / 'samples.jsonl')!r}), encoder={name!r})\n"
        "featurize_and_save(config, sys.argv[1])\nprint(sorted({'torch', 'safetensors'} & set(sys.modules)))"
    )
    told, content = [], []
    for out in ("one.npz", "two.npz"):
        command = [sys.executable, "-W", "ignore", "-c", code, str(tmp_path / out)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parent.parent)
        told.append(done.stdout.strip())
        content.append((tmp_path / out).read_bytes())
    assert told[0] != "[]"
    assert told[1] == "[]"
    assert content[0] == content[1]
