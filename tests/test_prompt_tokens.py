"""Tokens that the first k tools save, and queries whose right tool is still there."""

import json
import math

import numpy as np
import pytest

import ltr
from ltr import rank
from ltr.catalogues import ToolText
from ltr.results.tools import PromptSums, tool_tokens
from tests.made import WORDS, graph_rows, tool_rows, written


def test_a_token_is_four_bytes_of_the_json_of_a_tool():
    document = '{"name":"größe","description":"misst"}'
    assert tool_tokens("größe", ToolText("misst")) == math.ceil(len(document.encode()) / 4)


def test_the_curve_is_that_of_plain_counting():
    scores, labels = [3.0, 1.0, 2.0, 5.0, 4.0], [0, 1, 0, 0, 1]
    tokens = np.array([10, 20, 30, 1, 2])
    ranking = rank(scores, [0, 3, 5])
    curve = PromptSums.of(ranking, np.array(labels) > 0, tokens, np.array([True, True])).curve()
    assert curve["k"] == [1, 2, 3]
    assert curve["right_there"] == [0, 1 / 2, 1]
    assert curve["tokens"] == [(10 + 1) / 2, (40 + 3) / 2, (60 + 3) / 2]


def test_queries_that_do_not_count_are_left_out_and_parts_add_up():
    scores = np.random.default_rng(0).normal(size=40)
    is_right, tokens = np.arange(40) % 4 == 0, np.arange(40)
    is_counted = np.arange(10) % 3 > 0
    whole = PromptSums.of(rank(scores, np.arange(11) * 4), is_right, tokens, is_counted)
    halves = [
        PromptSums.of(rank(scores[rows], np.arange(6) * 4), is_right[rows], tokens[rows], is_counted[queries])
        for rows, queries in ((slice(20), slice(5)), (slice(20, 40), slice(5, 10)))
    ]
    assert (halves[0] + halves[1]).curve() == whole.curve()
    assert whole.queries == 6


@pytest.mark.parametrize("is_whole, tools", [(False, 5), (True, 10)])
def test_a_run_keeps_the_curve_and_draws_it(tmp_path, is_whole, tools):
    from ltr import RunConfig
    from tests.made import DataConfig, EvaluateConfig, save_run

    train = written(tmp_path / "train.jsonl", tool_rows(range(25)))
    test = written(tmp_path / "test.jsonl", tool_rows(range(30, 50), seed=1))
    catalogue = written(tmp_path / "tools.jsonl", [{"name": f"get_{word}", "description": "x"} for word in WORDS])
    data = DataConfig(train=str(train), test=str(test), tools=str(catalogue))
    evaluate = EvaluateConfig(catalogue=is_whole)
    save_run(RunConfig(data=data, evaluate=evaluate, encoder="hash"), tmp_path / "run")
    curve = json.loads((tmp_path / "run" / "curves.json").read_text(encoding="utf-8"))["prompt_tokens"]
    assert curve["k"][-1] == tools
    assert curve["right_there"][-1] == 1
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text(encoding="utf-8"))["metrics"]
    name = "top1_accuracy@catalogue" if is_whole else "top1_accuracy"
    assert curve["right_there"][0] == pytest.approx(metrics[name])
    assert curve["tokens"] == sorted(curve["tokens"])
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "Tokens saved" in page
    assert "A token is taken as 4 bytes" in page


def test_graphs_have_no_such_curve(tmp_path):
    samples = written(tmp_path / "graphs.jsonl", graph_rows(range(9)))
    ltr.train(samples, out=tmp_path / "run", encoder="hash")
    assert "prompt_tokens" not in (tmp_path / "run" / "curves.json").read_text(encoding="utf-8")
    assert "Tokens saved" not in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
