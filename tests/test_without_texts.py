"""data.texts: false (--no-texts): nothing that a run keeps holds the text of a query, and no number changes."""

import json
from pathlib import Path

import pytest

from ltr.results.queries import digest_of
from tests.made import tool_rows, written


@pytest.fixture
def secrets(cli, filled):
    """Runs with and without texts, on samples whose queries bear a mark; one test query stands in both files."""

    def two_runs():
        rows = list(tool_rows(range(25)))
        test = [row | {"trace_id": f"u{row['trace_id']}"} for row in rows[:20]]
        test += tool_rows(range(30, 40), seed=1)
        for name, lines in (("train.jsonl", rows), ("test.jsonl", test)):
            written(name, [row | {"query": f"SECRET {row['query']}", "context": "SECRET before"} for row in lines])
        arguments = ("train", "train.jsonl", "--test", "test.jsonl", "-q")
        cli.good(*arguments, "-o", "plain")
        cli.good(*arguments, "-o", "hashed", "--no-texts")

    filled(Path.cwd(), two_runs)
    return cli


def holding(directory):
    return sorted(path.name for path in Path(directory).iterdir() if b"SECRET" in path.read_bytes())


def test_no_file_of_the_run_holds_a_query(secrets):
    assert {"per_query.jsonl", "examples.jsonl", "report.html", "run.json"} <= set(holding("plain"))
    assert holding("hashed") == []


def test_the_numbers_are_the_same_and_equal_queries_have_equal_hashes(secrets):
    assert (
        json.loads(Path("plain/model.json").read_text())["weights"]
        == (json.loads(Path("hashed/model.json").read_text())["weights"])
    )
    records = [
        [json.loads(line) for line in Path(run, "per_query.jsonl").read_text().splitlines()]
        for run in ("plain", "hashed")
    ]
    for plain, without in zip(*records, strict=True):
        assert without == plain | {"query": digest_of(plain["query"])}


def test_a_warning_that_quotes_a_query_quotes_its_hash(secrets):
    warnings = json.loads(Path("hashed/run.json").read_text())["warnings"]
    assert any("overlap-query" in warning and "such as 'text:" in warning for warning in warnings)


def test_a_config_says_it_too_and_a_batch_takes_the_flag(secrets):
    secrets.good("run", "plain/config.yaml", "--no-texts", "-o", "runs", "-q")
    assert [holding(run) for run in Path("runs").iterdir() if run.is_dir()] == [[]]
    secrets.good("run", "hashed/config.yaml", "-o", "more", "-q")
    assert [holding(run) for run in Path("more").iterdir() if run.is_dir()] == [[]]


def test_runs_without_texts_can_be_compared_and_shown(secrets):
    secrets.good("compare", "plain", "hashed")
    secrets.good("report", "hashed", "-o", "page.html")
    assert "SECRET" not in Path("page.html").read_text()
