"""bench.json: what is written is what is read, and what is not ltr's own is refused."""

import json

import pytest

from ltr.errors import FileError
from ltr.records.bench import read_bench
from tests.test_report import BENCH


def read(tmp_path, document):
    (tmp_path / "bench.json").write_text(json.dumps(document))
    return read_bench(tmp_path)


def test_a_record_is_read_as_it_was_written(tmp_path):
    bench = read(tmp_path, BENCH)
    assert (bench.name, bench.queries, bench.rules.deciding) == ("small", 5, "ndcg@10")
    assert [(result.name, result.quality["ndcg@10"].mean) for result in bench.rerankers] == [
        ("bm25", 0.5),
        ("hash", 0.7),
    ]
    assert [(missing.name, missing.why) for missing in bench.left_out] == [("minilm", "not installed")]


def test_the_order_of_keys_does_not_matter(tmp_path):
    assert read(tmp_path, dict(reversed(BENCH.items()))) == read(tmp_path, BENCH)


def test_a_record_of_an_earlier_version_says_what_to_do(tmp_path):
    with pytest.raises(FileError, match=r"bench\.json: made by an earlier version; bench again"):
        read(tmp_path, {"format": "ltr-bench/1", "name": "old"})


@pytest.mark.parametrize(
    "document, problem",
    [
        ([], "Expected `object`"),
        ({**BENCH, "queries": "5"}, "Expected `int`, got `str`"),
        ({key: value for key, value in BENCH.items() if key != "rules"}, "missing required field `rules`"),
        ({**BENCH, "rules": {**BENCH["rules"], "metrics": ["mrr"]}}, "bm25 has no quality for mrr"),
    ],
)
def test_what_is_no_record_is_refused_with_its_file(document, problem, tmp_path):
    with pytest.raises(FileError, match=problem) as caught:
        read(tmp_path, document)
    assert str(caught.value).startswith(str(tmp_path / "bench.json"))
