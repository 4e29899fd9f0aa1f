"""The encoder hash against plain loops over its n-grams."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ltr.encoders import HashEncoder
from ltr.encoders.hash import BUCKETS
from ltr.errors import DataError
from ltr.states import refuse_other_type

TEXTS = ["Get the weather", "weather of Paris, please", "", "  ", "写一封邮件", "send e-mail", "Ünïcödé ☂", "a"]


def dense(vectors):
    """The rows of sparse vectors written out."""
    rows = np.zeros((len(vectors.starts) - 1, vectors.dimensions))
    for row, (first, last) in enumerate(zip(vectors.starts[:-1], vectors.starts[1:], strict=True)):
        rows[row, vectors.columns[first:last]] = vectors.numbers[first:last]
    return rows


def grams(text):
    """Every n-gram that counts, by a plain loop."""
    padded = f" {' '.join(text.lower().split())} " if text.strip() else ""
    found = [padded[i : i + n] for n in (3, 4, 5) for i in range(len(padded) - n + 1)]
    cjk = lambda gram: all("\u3040" <= c <= "\u30ff" or "\u4e00" <= c <= "\u9fff" for c in gram)  # noqa: E731
    return found + [gram for n in (1, 2) for i in range(len(padded) - n + 1) if cjk(gram := padded[i : i + n])]


def bucket_of(gram):
    """The bucket a gram falls into, found by encoding it inside blanks-free text of its own."""
    hashed, mask = len(gram), (1 << 64) - 1
    for character in gram:
        hashed = ((hashed ^ ord(character)) * 0x9E3779B97F4A7C15) & mask
        hashed ^= hashed >> 29
    return ((hashed * 0x9E3779B97F4A7C15) & mask) >> 50


def naive_rows(fitted_on, texts):
    """TF-IDF by plain loops and dictionaries."""
    documents = list(dict.fromkeys(fitted_on))
    df = Counter(bucket for text in documents for bucket in {bucket_of(gram) for gram in grams(text)})
    rows = np.zeros((len(texts), BUCKETS))
    for row, text in enumerate(texts):
        for bucket, times in Counter(bucket_of(gram) for gram in grams(text)).items():
            rows[row, bucket] = (1 + math.log(times)) * (1 + math.log((1 + len(documents)) / (1 + df[bucket])))
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)


def test_hash_rows_are_those_of_the_plain_loop():
    encoder = HashEncoder.fitted(TEXTS)
    np.testing.assert_allclose(dense(encoder.encode(TEXTS, "query")), naive_rows(TEXTS, TEXTS), atol=1e-12)


def test_hash_counts_documents_once_each_and_each_text_once():
    assert HashEncoder.fitted(TEXTS * 3).state["documents"] == len(TEXTS)
    np.testing.assert_array_equal(HashEncoder.fitted(TEXTS * 3).frequencies, HashEncoder.fitted(TEXTS).frequencies)


def test_hash_knows_texts_it_was_not_fitted_on():
    encoder = HashEncoder.fitted(TEXTS)
    np.testing.assert_allclose(dense(encoder.encode(["wether"], "query")), naive_rows(TEXTS, ["wether"]), atol=1e-12)


@settings(max_examples=30)
@given(st.lists(st.text(max_size=40), min_size=1, max_size=8))
def test_hash_rows_have_length_one_or_zero_whatever_the_text(texts):
    lengths = np.linalg.norm(dense(HashEncoder.fitted(texts).encode(texts, "query")), axis=1)
    for text, length in zip(texts, lengths, strict=True):
        assert length == pytest.approx(1 if grams(text) else 0, abs=1e-12)


def test_a_text_has_the_same_row_alone_and_among_many():
    encoder, many = HashEncoder.fitted(TEXTS), ["x" * 50_000, *TEXTS, "y" * 300_000, *TEXTS]
    alone = dense(encoder.encode([TEXTS[1]], "query"))[0]
    rows = encoder.encode(many, "query")
    np.testing.assert_array_equal(dense(rows)[2], alone)
    np.testing.assert_array_equal(dense(rows)[len(TEXTS) + 3], alone)


def test_no_gram_crosses_from_one_text_into_the_next():
    counted = HashEncoder.counts(["abc", "def"])
    assert set(counted.columns[counted.owners == 0].tolist()) == {bucket_of(gram) for gram in grams("abc")}


def test_the_state_of_hash_gives_the_same_rows_and_revision_again():
    encoder = HashEncoder.fitted(TEXTS)
    again = HashEncoder.restored(encoder.state)
    assert again.revision == encoder.revision
    np.testing.assert_array_equal(dense(again.encode(TEXTS, "query")), dense(encoder.encode(TEXTS, "query")))


def test_other_training_texts_give_another_revision():
    assert HashEncoder.fitted(TEXTS).revision != HashEncoder.fitted(TEXTS[1:]).revision


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"documents": 1, "frequencies": np.zeros(3, dtype=np.int64)},
        {"documents": 1, "frequencies": np.full(BUCKETS, -1)},
        {"documents": 1.5, "frequencies": np.zeros(BUCKETS, dtype=np.int64)},
        {"documents": 1, "frequencies": np.zeros(BUCKETS)},
        {"documents": 1, "frequencies": [[1], [2, 3]]},
    ],
)
def test_a_state_that_cannot_be_is_refused(state):
    with pytest.raises(DataError, match="^state"):
        refuse_other_type(state, HashEncoder.state_type, "state")


def test_more_texts_with_a_gram_than_texts_are_refused():
    with pytest.raises(DataError, match="counted in 2 of 1 texts"):
        HashEncoder.restored({"documents": 1, "frequencies": np.full(BUCKETS, 2)})


def test_no_texts_give_no_rows():
    assert HashEncoder.fitted([]).encode([], "query").starts.tolist() == [0]
