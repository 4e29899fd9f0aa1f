"""An update that lets folds choose anew, when settings look old, and a router that begins with tools alone."""

import json

import numpy as np
import pytest

import ltr
from ltr.errors import LtrError
from tests.made import WORDS, tool_rows, written
from tests.test_learning_from_outcomes import as_sample, first, outcomes, scores

pytestmark = pytest.mark.contract

TOOLS = [f"get_{word}" for word in WORDS]
OFFERED = [{"name": name, "description": f"gives the {name[4:]} of a place"} for name in TOOLS]
NEWS = {"query": "what is up in the world?", "right": "get_news"}


def asked(number, right):
    """An outcome whose query names the tool after the right one, so that texts alone mislead."""
    wrong = WORDS[(WORDS.index(right) + 1) % len(WORDS)]
    return {"id": f"{number}", "query": f"the {wrong} number {number}?", "right": f"get_{right}"}


def test_a_fresh_choice_is_the_recommended_training_on_samples_and_outcomes(tmp_path, cli):
    samples = written(tmp_path / "samples.jsonl", tool_rows(range(25)))
    ltr.train(samples, out=tmp_path / "run", features=("tool.rel", "tool.lift"), encoder="hash", l2=0.5)
    told = written(tmp_path / "told.jsonl", outcomes(12))
    update = json.loads(cli.good("update", tmp_path / "run", told, "--choose", "--format", "json"))
    tools = {row["tool"]: row.get("tool_description", "") for row in tool_rows(range(25))}
    more = written(tmp_path / "more.jsonl", [as_sample(outcome, tools) for outcome in outcomes(12)])
    ltr.train([samples, more], out=tmp_path / "both", recommended=True, encoder="hash")
    chosen, both = ltr.load(tmp_path / "run"), ltr.load(tmp_path / "both")
    assert chosen.names == both.names
    assert np.abs(chosen.w - both.w).max() < 1e-8
    assert scores(chosen, "mail?") == pytest.approx(scores(both, "mail?"), abs=1e-8)
    assert (update["chosen_on"], update["settings_look_old"]) == (update["queries"], False)
    ltr.update(tmp_path / "run")  # holds what was chosen
    assert ltr.load(tmp_path / "run").names == both.names
    assert np.abs(ltr.load(tmp_path / "run").w - both.w).max() < 1e-8


def test_settings_look_old_with_a_quarter_more_queries_than_they_were_chosen_on(tmp_path, cli):
    samples = written(tmp_path / "samples.jsonl", tool_rows(range(20)))
    ltr.train(samples, out=tmp_path / "run", recommended=True, encoder="hash")
    few = ltr.update(tmp_path / "run", [ltr.Outcome(**outcome) for outcome in outcomes(9)])
    assert (few.settings.chosen_on, few.settings.queries, few.settings.look_old) == (40, 49, False)
    last = written(tmp_path / "last.jsonl", outcomes(1, seed=1))
    assert "settings were chosen on 40 queries, and there are 50" in cli.good(
        "update", tmp_path / "run", last, "--format", "human"
    )
    assert "settings were" not in cli.good("update", tmp_path / "run", "--choose", "--format", "human")


def test_nothing_can_be_chosen_where_no_training_queries_are_kept(tmp_path, cli):
    samples = written(tmp_path / "samples.jsonl", tool_rows(range(9)))
    ltr.train(samples, out=tmp_path / "run", encoder="hash")
    cli.good("pack", tmp_path / "run", "-o", tmp_path / "packed")
    assert cli.run("update", tmp_path / "packed", "--choose") == 1
    assert "keeps no training queries, among which settings could be chosen" in cli.err


def test_a_router_of_tools_alone_learns_into_a_directory_that_every_command_opens(tmp_path, cli):
    router = ltr.search(OFFERED, encoder="hash", into=tmp_path / "agent")
    before = scores(router, "mail for me?")
    assert first(router, NEWS["query"]) != "get_news"
    assert router.learn({**NEWS, "id": "a"}).first == 1
    assert first(router, NEWS["query"]) == "get_news"
    router.wait()
    for again in (ltr.search(OFFERED, encoder="hash", into=tmp_path / "agent"), ltr.load(tmp_path / "agent")):
        assert first(again, NEWS["query"]) == "get_news"
        assert scores(again, "mail for me?") == pytest.approx(before, abs=1e-3)
        assert again.learn({**NEWS, "id": "a"}).known == 1
        again.wait()
    ranked = json.loads(cli.good("rank", tmp_path / "agent", NEWS["query"], "--format", "json"))
    assert ranked["ranking"][0]["candidate"] == "get_news"
    cli.good("validate", tmp_path / "agent")
    told = written(tmp_path / "told.jsonl", [{"query": "any mail?", "right": "get_mail"}])
    assert "until 50 queries or more have a right tool" in cli.good(
        "update", tmp_path / "agent", told, "--format", "human"
    )


def test_it_is_trained_once_there_is_enough_and_folds_rank_better_than_texts_alone(tmp_path):
    router = ltr.search(OFFERED, encoder="hash", into=tmp_path / "agent")
    told = [asked(number, WORDS[number % len(WORDS)]) for number in range(80)]
    router.learn(told[:49])
    router.wait()
    assert router.training.groups == 0
    router.learn(told[49:])
    router.wait()
    assert router.training.groups == 80
    new = [asked(number, WORDS[number % len(WORDS)]) for number in range(80, 120)]
    assert sum(first(router, one["query"]) == one["right"] for one in new) >= 36
    again = ltr.search(OFFERED, encoder="hash", into=tmp_path / "agent")
    assert again.names == router.names
    assert scores(again, "the mail?") == pytest.approx(scores(router, "the mail?"), abs=1e-9)
    settings = ltr.update(tmp_path / "agent").settings
    assert (settings.chosen_on, settings.queries) == (80, 80)
    router.forget(*(one["id"] for one in told))
    router.wait()
    assert scores(router, "mail?") == scores(ltr.search(OFFERED, encoder="hash"), "mail?")


def test_another_encoder_or_what_is_no_run_is_refused_in_one_line(tmp_path, monkeypatch):
    ltr.search(OFFERED, encoder="hash", into=tmp_path / "agent")
    with pytest.raises(LtrError, match="learns with the encoder hash, found 'static'; name another directory"):
        ltr.search(OFFERED, encoder="static", into=tmp_path / "agent")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("mine")
    with pytest.raises(LtrError, match="thesis.txt"):
        ltr.search(OFFERED, encoder="hash", into=tmp_path / "other")
