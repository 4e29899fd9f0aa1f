"""A trained run put to work."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import ltr
from ltr import RunConfig, load, read_groups
from ltr.errors import FileError, UsageError
from ltr.results import evaluate_router
from ltr.training import softmax
from tests.made import WORDS, DataConfig, graph_rows, save_run, tool_rows, written


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A run of tools, a run of graphs, and what they were trained on."""
    home = tmp_path_factory.mktemp("routing")
    for name, rows in (("tools", tool_rows(range(25))), ("graphs", graph_rows(range(25)))):
        samples = written(home / f"{name}.jsonl", rows)
        save_run(RunConfig(data=DataConfig(train=str(samples))), home / name)
    return home


def test_a_run_ranks_its_own_tools(home):
    choices = load(home / "tools").rank("what is the weather?", k=None)
    assert [choice.rank for choice in choices] == list(range(1, 11))
    assert choices[0].candidate == "get_weather"
    assert sum(choice.probability for choice in choices) == pytest.approx(1)


def test_a_model_file_finds_the_tools_beside_it(home):
    assert load(home / "tools" / "model.json").rank("mail?") == load(home / "tools").rank("mail?")


def test_the_first_k_have_the_ranks_and_probabilities_they_have_among_all(home):
    router = load(home / "tools")
    assert router.rank("mail?", k=3).choices == router.rank("mail?", k=None)[:3]


def test_another_catalogue_takes_the_place_of_the_own_one(home, tmp_path):
    tools = written(tmp_path / "other.jsonl", [{"name": "get_mail"}, {"name": "unheard_of", "description": "x"}])
    assert {choice.candidate for choice in load(home / "tools", tools=tools).rank("mail?", k=None)} == {
        "get_mail",
        "unheard_of",
    }


def test_equal_candidates_stand_by_name(home, tmp_path):
    tools = written(tmp_path / "same.jsonl", [{"name": name, "description": "x"} for name in ("zz9", "zz1", "zz5")])
    router = load(home / "tools", tools=tools)
    router = replace(router, w=0 * router.w)
    assert [choice.candidate for choice in router.rank("q")] == ["zz1", "zz5", "zz9"]


def test_contributions_add_up_to_the_score(home):
    for choice in load(home / "tools").rank("what is the news?"):
        assert sum(choice.contributions.values()) == pytest.approx(choice.score)


def test_graphs_need_a_catalogue(home):
    with pytest.raises(UsageError, match="no graphs to choose from: name a catalogue"):
        load(home / "graphs").rank("solve it")
    graphs = written(home / "catalogue.jsonl", list(graph_rows(range(1))))
    assert {each.candidate for each in load(home / "graphs", graphs=graphs).rank("solve it", k=None)} == {
        "g0",
        "g1",
        "g2",
        "g3",
    }


def test_graphs_that_share_their_id_are_told_apart_by_their_whole_key(home, tmp_path):
    graphs = written(tmp_path / "two.jsonl", list(graph_rows(range(2))))
    choices = load(home / "graphs", graphs=graphs).rank("solve it", k=None)
    assert {choice.candidate for choice in choices} == {
        f"t{trace}/n/g{place}" for trace in range(2) for place in range(4)
    }


def test_groups_are_answered_in_the_order_of_the_file(home):
    groups = read_groups(home / "tools.jsonl")
    router = load(home / "tools")
    found = list(router.answers(groups.candidates))
    assert [(answer.trace_id, answer.node_id) for answer in found] == [
        (f"t{trace}", f"n{node}") for trace in range(25) for node in range(2)
    ]
    probabilities = softmax(router.scores(router.phi(groups.candidates)), groups.offsets)
    assert found[0].choices[0].probability == pytest.approx(probabilities[:5].max())


@pytest.mark.parametrize("path", ["nowhere", "nowhere/model.json", ""])
def test_what_is_no_model_is_named(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileError, match="model.json|nowhere"):
        load(Path(path))


@pytest.mark.parametrize("query, k", [("", None), (" \t", 3), ("mail?", 0), ("mail?", -1)])
def test_a_query_says_something_and_k_is_at_least_one(home, query, k):
    with pytest.raises(UsageError, match="says nothing; a text is needed|at least 1 is needed"):
        load(home / "tools").rank(query, k=k)


def test_tools_that_were_changed_since_the_run_are_refused(home, tmp_path):
    shutil.copytree(home / "tools", tmp_path / "run")
    with (tmp_path / "run" / "tools.jsonl").open("a") as tools:
        tools.write('{"name": "smuggled"}\n')
    with pytest.raises(FileError, match="tools.jsonl: its checksum is not the one in run.json"):
        load(tmp_path / "run")
    assert load(tmp_path / "run", tools=home / "tools" / "tools.jsonl").rank("mail?")


def test_what_the_commands_do_python_can_do(home, tmp_path):
    bare = [{key: row[key] for key in row if key != "tool_description"} for row in tool_rows(range(5))]
    samples = written(tmp_path / "bare.jsonl", bare)
    router = load(home / "tools")
    groups = router.read(str(samples), DataConfig())
    measured = evaluate_router(router, groups, RunConfig())
    own = read_groups(samples, tools=ltr.read_tools(home / "tools" / "tools.jsonl"))
    assert measured.evaluation.means == evaluate_router(router, own, RunConfig()).evaluation.means
    assert len(list(router.answers(groups.candidates, 1))) == 10


def test_answers_to_samples_carry_the_warnings_about_them(home, tmp_path):
    bare = [{key: row[key] for key in row if key != "tool_description"} for row in tool_rows(range(5))]
    groups = read_groups(written(tmp_path / "bare.jsonl", bare))
    (problem,) = {answer.warnings for answer in load(home / "tools").answers(groups.candidates)}
    assert problem[0].startswith("no-text: 10 of 10 tools have no text")
    assert load(home / "tools").rank("mail?").warnings == ()


def test_rank_gives_five_choices_unless_asked_for_more(home):
    answer = load(home / "tools").rank("mail?")
    assert (answer.query, len(answer), answer[0].rank) == ("mail?", 5, 1)
    assert list(answer) == list(answer.choices)


def test_a_router_that_is_saved_and_loaded_ranks_alike(home, tmp_path):
    router = load(home / "tools")
    router.save(tmp_path)
    again = replace(load(tmp_path), tools=router.tools)
    assert again.rank("mail?", k=None) == router.rank("mail?", k=None)


def test_a_run_ranks_its_whole_catalogue_and_so_does_the_router_that_training_returns(tmp_path):
    samples = written(tmp_path / "s.jsonl", tool_rows(range(25)))
    tools = written(
        tmp_path / "tools.jsonl", [{"name": f"get_{word}", "description": word} for word in (*WORDS, "poem")]
    )
    result = ltr.train(samples, tools=tools, encoder="hash", out=tmp_path / "run")
    for router in (result.router, load(tmp_path / "run")):
        answer = router.rank("a poem", k=None)
        assert len(answer) == len(WORDS) + 1
        assert answer[0].candidate == "get_poem"
