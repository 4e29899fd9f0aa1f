"""Outcomes of served queries: what is learned from them, what is counted, and what is refused."""

import json
import pickle
import random
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import ltr
from ltr.errors import LtrError
from tests.made import WORDS, tool_rows, written

FEATURES = ("tool.rel", "tool.hist", "tool.lift", "tool.proto", "tool.ridge")
TOOLS = [f"get_{word}" for word in WORDS]
SETTINGS = {"trainer": "newton", "standardize": True, "l2": 0.01}
TOOLS_OFFERED = [{"name": name} for name in TOOLS[:3]]
CORRECTION = {"query": "what is the weather?", "offered": TOOLS[:3], "right": "get_news"}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run of tools, with columns that count and columns that read texts."""
    home = tmp_path_factory.mktemp("outcomes")
    samples = written(home / "samples.jsonl", tool_rows(range(25)))
    test = written(home / "test.jsonl", tool_rows(range(25, 40)))
    ltr.train(samples, out=home / "run", features=FEATURES, encoder="hash", test=test, **SETTINGS)
    return home / "run"


@pytest.fixture
def run(trained, tmp_path):
    """A copy that a test may update."""
    shutil.copy(trained.parent / "samples.jsonl", tmp_path)
    shutil.copy(trained.parent / "test.jsonl", tmp_path)
    return shutil.copytree(trained, tmp_path / "run")


def outcomes(count, seed=0):
    """Queries that name the tool after the right one."""
    generator = random.Random(seed)
    for number in range(count):
        offered = generator.sample(TOOLS, 4)
        query = f"what is the {offered[0][4:]} in {number}?"
        yield {"id": f"o{seed}-{number:03}", "query": query, "offered": offered, "right": offered[1]}


def as_sample(outcome, tools):
    """The outcome as a line of samples: a trace of its own, marked with its id."""
    right = outcome.get("right")
    candidates = [
        {"tool": name, "tool_description": tools.get(name, ""), "label": int(name == right)}
        for name in outcome["offered"]
    ]
    ids = {"trace_id": outcome["id"], "node_id": "", "outcome": outcome["id"]}
    ids |= {"weight": outcome["weight"]} if "weight" in outcome else {}
    return {**ids, "query": outcome["query"], "candidates": candidates}


def scores(router, query):
    return {choice.candidate: choice.score for choice in router.rank(query, k=None)}


def first(router, query):
    return router.rank(query, k=1)[0].candidate


def test_a_correction_is_first_at_once_and_after_the_refit(run):
    router = ltr.load(run)
    assert first(router, CORRECTION["query"]) == "get_weather"
    update = router.learn(CORRECTION)
    assert (update.outcomes, update.total, update.corrected, update.first) == (1, 1, 1, 1)
    assert first(router, CORRECTION["query"]) == "get_news"
    ltr.update(run)
    assert first(ltr.load(run), CORRECTION["query"]) == "get_news"


def test_a_correction_leaves_other_queries_as_they_were_until_the_refit(run):
    router = ltr.load(run)
    before = scores(router, "mail for me")
    router.learn(CORRECTION)
    assert scores(router, "mail for me") == pytest.approx(before, abs=1e-3)


def test_a_score_is_the_sum_of_its_contributions_and_the_term_of_corrections_is_one(run):
    router = ltr.load(run)
    router.learn(CORRECTION)
    best = router.rank(CORRECTION["query"], k=1)[0]
    assert best.contributions["tool.corrections"] > 1
    assert sum(best.contributions.values()) == pytest.approx(best.score)


def test_an_explained_ranking_names_the_outcome_it_comes_from(run, cli):
    ltr.load(run).learn([{**CORRECTION, "id": "thumb-17"}, {"query": "any mail?", "right": "get_mail", "id": "o2"}])
    asked = ("rank", run, CORRECTION["query"], "--explain", "--format")
    answer = json.loads(cli.good(*asked, "json"))
    best = answer["ranking"][0]
    assert max(answer["outcomes"], key=answer["outcomes"].get) == "thumb-17"
    assert sum(answer["outcomes"].values()) == pytest.approx(best["contributions"]["tool.corrections"])
    assert "tool.corrections of the first: thumb-17 +" in cli.good(*asked, "human")
    assert "outcomes" not in json.loads(cli.good(*asked[:3], "--format", "json"))


def test_the_refit_is_the_training_on_samples_and_outcomes(run, tmp_path):
    told = [*outcomes(12), {"id": "w", "query": "mail or news?", "offered": TOOLS[:3], "wrong": TOOLS[0]}]
    ltr.load(run).learn(told)
    ltr.update(run)
    tools = {row["tool"]: row.get("tool_description", "") for row in tool_rows(range(25))}
    more = written(tmp_path / "outcomes.jsonl", [as_sample(outcome, tools) for outcome in told])
    both = ltr.train(
        [tmp_path / "samples.jsonl", more], out=tmp_path / "both", features=FEATURES, encoder="hash", **SETTINGS
    )
    updated = ltr.load(run)
    assert updated.names == both.router.names == (*FEATURES, "tool.corrections")
    assert np.abs(updated.w - both.router.w).max() < 1e-8
    trained = ltr.load(tmp_path / "both")
    for query in ("mail?", told[0]["query"], "what is the weather?"):
        assert scores(updated, query) == pytest.approx(scores(trained, query), abs=1e-8)


def test_outcomes_among_the_training_samples_count_on_when_more_are_learned(run, tmp_path):
    tools = {row["tool"]: row.get("tool_description", "") for row in tool_rows(range(25))}
    early = [{**outcome, "id": f"a{number}"} for outcome in outcomes(4) for number in range(3)]
    early = [{**outcome, "id": f"{outcome['id']}-{place}"} for place, outcome in enumerate(early)]
    late = list(outcomes(8, seed=1))
    some = written(tmp_path / "early.jsonl", [as_sample(outcome, tools) for outcome in early])
    more = written(tmp_path / "late.jsonl", [as_sample(outcome, tools) for outcome in late])
    settings = {"features": FEATURES, "encoder": "hash", **SETTINGS}
    ltr.train([tmp_path / "samples.jsonl", some], out=tmp_path / "first", **settings)
    ltr.train([tmp_path / "samples.jsonl", some, more], out=tmp_path / "both", **settings)
    router = ltr.load(tmp_path / "first")
    at_once = router.learn([*late, early[0]])
    assert at_once.corrected == at_once.first == 12
    ltr.update(tmp_path / "first")
    updated, trained = ltr.load(tmp_path / "first"), ltr.load(tmp_path / "both")
    assert np.abs(updated.w - trained.w).max() < 1e-8
    for query in ("mail?", early[0]["query"], late[0]["query"]):
        assert scores(updated, query) == pytest.approx(scores(trained, query), abs=1e-8)


def test_neither_pieces_nor_order_nor_repetition_of_ids_changes_the_refit(run, tmp_path):
    told = list(outcomes(12))
    pieces = ltr.load(shutil.copytree(run, tmp_path / "pieces"))
    for outcome in random.Random(1).sample(told, 12):
        pieces.learn([outcome, outcome])
        pieces.learn(outcome)
    ltr.update(tmp_path / "pieces")
    at_once = ltr.load(run)
    at_once.learn(told)
    ltr.update(run)
    one, other = ltr.load(run), ltr.load(tmp_path / "pieces")
    assert np.abs(one.w - other.w).max() < 1e-8
    assert scores(one, told[3]["query"]) == pytest.approx(scores(other, told[3]["query"]), abs=1e-8)


def test_what_is_said_often_counts_once_in_columns_and_weights_and_more_in_the_layer(run, tmp_path):
    shutil.copytree(run, tmp_path / "often")
    ltr.load(run).learn({**CORRECTION, "id": "a"})
    often = ltr.load(tmp_path / "often")
    assert often.learn([{**CORRECTION, "id": f"a{number}"} for number in range(30)]).total == 30
    once, many = ltr.update(run), ltr.update(tmp_path / "often")
    assert (once.update.corrected, many.update.corrected) == (1, 1)
    one, other = ltr.load(run), ltr.load(tmp_path / "often")
    assert one.w[:-1] == pytest.approx(other.w[:-1], abs=1e-8)
    margin = [router.rank(CORRECTION["query"], k=1)[0].probability for router in (one, other)]
    assert margin[1] > margin[0]


def test_two_answers_for_one_query_share_by_how_often_they_were_given(run):
    router = ltr.load(run)
    other = {**CORRECTION, "right": TOOLS[2]}
    router.learn([{**CORRECTION, "id": "1"}, {**CORRECTION, "id": "2"}, {**other, "id": "3"}])
    probabilities = {choice.candidate: choice.probability for choice in router.rank(CORRECTION["query"], k=None)}
    assert probabilities["get_news"] > probabilities[TOOLS[2]] > probabilities["get_weather"]


def test_a_weight_is_of_the_layer_alone(run, tmp_path):
    tools = {row["tool"]: row.get("tool_description", "") for row in tool_rows(range(25))}
    told = [
        {**CORRECTION, "id": "a", "weight": 30},
        {"query": "mail?", "offered": TOOLS[:3], "right": TOOLS[2], "id": "b"},
    ]
    settings = {"features": FEATURES, "encoder": "hash", **SETTINGS}
    for name, weight in (("light", 1), ("heavy", 30)):
        ltr.load(shutil.copytree(run, tmp_path / name)).learn([{**told[0], "weight": weight}, told[1]])
        ltr.update(tmp_path / name)
        more = written(
            tmp_path / f"{name}.jsonl", [as_sample({**told[0], "weight": weight}, tools), as_sample(told[1], tools)]
        )
        ltr.train([tmp_path / "samples.jsonl", more], out=tmp_path / f"{name}-both", **settings)
    light, heavy, both = (ltr.load(tmp_path / name) for name in ("light", "heavy", "heavy-both"))
    assert heavy.w[:-1] == pytest.approx(light.w[:-1], abs=1e-8)
    sure = [router.rank(CORRECTION["query"], TOOLS_OFFERED, k=1)[0].probability for router in (light, heavy)]
    assert sure[1] > sure[0]
    assert scores(heavy, CORRECTION["query"]) == pytest.approx(scores(both, CORRECTION["query"]), abs=1e-8)


def test_a_weight_in_the_layer_is_as_many_times_the_same(run, tmp_path):
    shutil.copytree(run, tmp_path / "often")
    once, often = ltr.load(run), ltr.load(tmp_path / "often")
    once.learn({**CORRECTION, "weight": 7})
    often.learn([{**CORRECTION, "id": f"a{number}"} for number in range(7)])
    assert scores(once, CORRECTION["query"]) == pytest.approx(scores(often, CORRECTION["query"]), abs=1e-8)


@pytest.mark.parametrize("weight", [1e-6, 1e6])
def test_small_and_large_weights_are_learned(run, weight):
    router = ltr.load(run)
    assert router.learn([{**CORRECTION, "weight": weight}, {"query": "mail?", "right": TOOLS[2]}]).corrected == 2
    assert ltr.update(run).update.corrected == 2


def test_an_outcome_that_is_forgotten_leaves_no_trace(run):
    before = ltr.load(run)
    router = ltr.load(run)
    router.learn({**CORRECTION, "id": "mistake"})
    router.forget("mistake")
    assert scores(router, CORRECTION["query"]) == scores(before, CORRECTION["query"])
    ltr.update(run)
    assert scores(ltr.load(run), CORRECTION["query"]) == pytest.approx(scores(before, CORRECTION["query"]), abs=1e-8)


def test_only_a_wrong_choice_is_counted_as_offered_and_teaches_no_weight(run):
    router = ltr.load(run)
    seen = router.features.states[1]["success"]["get_mail"]
    update = router.learn({"query": "mail?", "offered": ["get_mail", "get_news"], "wrong": "get_mail"})
    assert (update.wrong, update.right, update.corrected) == (1, 0, 0)
    ltr.update(run)
    assert list(ltr.load(run).features.states[1]["success"]["get_mail"]) == [seen[0], seen[1] + 1]


def test_outcomes_of_none_teach_the_probability_of_none(run):
    router = ltr.load(run)
    haikus = [{"id": str(n), "query": f"write a haiku {n}", "offered": TOOLS, "none": True} for n in range(5)]
    assert router.learn(haikus).none == 5
    ltr.update(run)
    assert ltr.load(run).rank("write a haiku").none > ltr.load(run).rank("what is the weather?").none


@pytest.mark.parametrize("settings", [["--set", "data.previous=from_labels"], ["--set", "train.trainer=descent"]])
def test_runs_with_a_past_of_labels_or_made_by_descent_learn_anew(cli, tmp_path, settings):
    samples = written(tmp_path / "samples.jsonl", tool_rows(range(25)))
    features = ("--features", "tool.rel,tool.follows,tool.proto")
    cli.good("train", samples, "-o", tmp_path / "run", "--encoder", "hash", *features, *settings, "-q")
    told = written(tmp_path / "told.jsonl", [CORRECTION])
    assert json.loads(cli.good("update", tmp_path / "run", told, "--format", "json"))["is_refit"]
    assert first(ltr.load(tmp_path / "run"), CORRECTION["query"]) == "get_news"


def test_a_router_that_is_loaded_later_has_learned_the_same(run):
    router = ltr.load(run)
    router.learn(outcomes(20))
    again = ltr.load(run)
    assert scores(again, "mail?") == pytest.approx(scores(router, "mail?"), abs=1e-12)
    copy = pickle.loads(pickle.dumps(router))
    assert copy.learn(CORRECTION).total == 21
    assert first(copy, CORRECTION["query"]) == "get_news"


def test_a_router_learns_from_the_outcomes_of_other_processes_when_it_learns(run):
    one, other = ltr.load(run), ltr.load(run)
    one.learn(CORRECTION)
    assert other.learn({**CORRECTION, "query": "mail?"}).total == 2
    assert first(other, CORRECTION["query"]) == "get_news"


def test_a_report_says_that_the_model_has_learned_since_it_was_trained(run):
    from ltr.report.files import report_of

    sentence = "It has learned from outcomes since: "
    assert sentence not in report_of([run])
    ltr.load(run).learn(CORRECTION)
    assert report_of([run]).count(sentence) == report_of([run], is_card=True).count(sentence) == 1


def test_threads_may_rank_learn_and_refit_one_run(run):
    router = ltr.load(run)
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(router.rank, "mail?") for _ in range(40)]
        told = [pool.submit(router.learn, outcome) for outcome in outcomes(20)]
        refit = pool.submit(ltr.update, run)
        assert all(len(answer.result()) == 5 for answer in asked)
        assert max(update.result().total for update in told) == 20
        refit.result()
    ltr.update(run)
    router.learn(CORRECTION)
    assert scores(ltr.load(run), "mail?") == pytest.approx(scores(router, "mail?"), abs=1e-9)


def test_a_router_takes_up_a_refit_when_it_learns_again(run):
    router = ltr.load(run)
    router.learn(outcomes(10))
    ltr.update(run)
    router.learn(CORRECTION)
    assert router.w == pytest.approx(ltr.load(run).w, abs=1e-12)


PROCESS = """
import sys, ltr
for number in range(int(sys.argv[3])):
    id = f"{sys.argv[2]}-{number}"
    outcome = {"id": id, "query": f"what about {id}?", "offered": ["get_mail", "get_news"], "right": "get_news"}
    ltr.load(sys.argv[1]).learn(outcome)
    print(id, flush=True)
    ltr.update(sys.argv[1])
"""


def test_two_writers_that_are_killed_and_a_reader_see_no_half_state_and_lose_nothing_they_were_told(run):
    writers = [
        subprocess.Popen([sys.executable, "-c", PROCESS, str(run), name, "50"], stdout=subprocess.PIPE, text=True)
        for name in "ab"
    ]
    told = [writer.stdout.readline().strip() for _ in range(2) for writer in writers]
    for _ in range(20):
        assert len(ltr.load(run).rank("mail?")) == 5
    for writer in writers:
        writer.kill()
    told += [line.strip() for writer in writers for line in writer.communicate()[0].splitlines()]
    journal = (run / "outcomes.journal").read_text(encoding="utf-8")
    assert all(f'"{name}"' in journal for name in told)
    update = ltr.update(run).update
    assert update.is_refit
    assert update.first == update.corrected == update.total >= len(told)


def test_a_journal_that_was_cut_off_costs_the_last_line_alone(run):
    router = ltr.load(run)
    for outcome in outcomes(3):
        router.learn(outcome)
    journal = run / "outcomes.journal"
    journal.write_bytes(journal.read_bytes()[:-20])
    update = ltr.load(run).learn(CORRECTION)
    assert update.total == 3
    assert sum(update.skipped.values()) == 1


@pytest.mark.parametrize(
    "changed, problem",
    [
        ({"offered": ["get_mial"], "right": "get_mial"}, "'get_mial' is not in the catalogue; did you mean get_mail"),
        ({"right": "get_mail"}, "right is 'get_mail', which was not offered"),
        ({"right": None, "wrong": "get_mail"}, "wrong is 'get_mail', which was not offered"),
        ({"right": None}, "nothing is known"),
        ({"none": True}, "none says that nothing is"),
        ({"wrong": "get_news"}, "said to be right and to be wrong"),
        ({"offered": []}, "offered is empty"),
        ({"offered": "get_mail"}, "names of tools or tool objects"),
        ({"offered": ["get_mail", "get_mail"]}, "'get_mail' is offered twice"),
        ({"offered": [{"name": "a"}, {"name": "a"}]}, "names must differ"),
        ({"query": " "}, "says nothing"),
        ({"query": 7}, "query"),
        ({"right": 7}, "right"),
        ({"previous": "x"}, "previous"),
        ({"time": "soon"}, "time"),
        ({"weight": 0}, "weight is 0; a number above 0, at most 1,000,000, is needed"),
        ({"weight": float("nan")}, "weight is NaN"),
        ({"weight": "much"}, "weight is 'much'"),
        ({"rihgt": "x"}, "rihgt"),
        ({"offered": [{"name": f"t{n}"} for n in range(3000)], "right": "t1"}, "3,000 tools were offered; at most"),
    ],
)
def test_an_outcome_that_cannot_be_is_refused_in_one_line_and_writes_nothing(run, changed, problem):
    offered = {"offered": ["get_weather", "get_news"]}
    with pytest.raises(LtrError, match=problem) as refused:
        ltr.load(run).learn({**CORRECTION, **offered, **changed})
    assert "\n" not in str(refused.value)
    assert not (run / "outcomes.journal").exists()


@pytest.mark.parametrize(
    "given, problem",
    [
        ("mail?", "found 'mail?'; an object such as"),
        ({"offered": TOOLS}, "found {"),
        ({"query": "mail?", "righ": TOOLS[0]}, "righ: unknown key; did you mean right?"),
        ({"query": "mail?", 7: 1}, "7: unknown key"),
    ],
)
def test_what_is_no_outcome_is_refused_with_its_place_and_writes_nothing(run, given, problem):
    with pytest.raises(LtrError) as error:
        ltr.load(run).learn([CORRECTION, given])
    assert str(error.value).startswith(f"<list>:2: {problem}")
    assert not (run / "outcomes.journal").exists()


def test_a_tool_without_a_description_and_a_query_of_a_megabyte_are_learned_from(run):
    router = ltr.load(run)
    router.learn({"query": "mail " * 200_000, "offered": [{"name": "bare"}, {"name": "other"}], "right": "bare"})
    assert ltr.update(run).update.first == 1


def test_routers_that_cannot_learn_say_why(run, tmp_path):
    (run / "training.npz").unlink()
    with pytest.raises(LtrError, match="keeps nothing to learn from"):
        ltr.load(run).learn(CORRECTION)
    samples = written(tmp_path / "tools.jsonl", tool_rows(range(9)))
    with pytest.raises(LtrError, match="kept in a run directory"):
        ltr.train(samples, encoder="hash").router.learn({"query": "q", "offered": [{"name": "a"}], "right": "a"})


def test_training_groups_that_were_changed_are_refused(run):
    content = bytearray((run / "training.npz").read_bytes())
    content[300] ^= 1
    (run / "training.npz").write_bytes(bytes(content))
    with pytest.raises(LtrError, match="training.npz"):
        ltr.load(run).learn(CORRECTION)


def test_a_run_with_outcomes_is_not_overwritten(run):
    ltr.load(run).learn(CORRECTION)
    ltr.update(run)
    with pytest.raises(LtrError, match="outcomes.journal"):
        ltr.train(run.parent / "samples.jsonl", out=run, overwrite=True)


def test_a_pack_has_learned_and_learns_on_without_any_training_query(run, cli, tmp_path):
    router = ltr.load(run)
    router.learn(outcomes(20))
    cli.good("pack", run, "-o", tmp_path / "packed")
    packed = ltr.load(tmp_path / "packed")
    assert scores(packed, "mail?") == pytest.approx(scores(router, "mail?"), abs=1e-12)
    assert packed.learn(CORRECTION).first == 1
    assert first(packed, CORRECTION["query"]) == "get_news"
    content = b"".join(path.read_bytes() for path in (tmp_path / "packed").glob("*.npz"))
    assert b"what is the" not in content
    assert "corrections alone" in cli.good("update", tmp_path / "packed", "--format", "human")


def test_a_pack_that_is_asked_to_learn_is_refit_as_the_run_is(run, cli, tmp_path):
    ltr.load(run).learn([*outcomes(12), {"id": "mistake", "query": "mail?", "right": "get_map"}])
    ltr.load(run).forget("mistake", "t3")
    cli.good("pack", run, "-o", tmp_path / "packed", "--learns")
    shutil.move(run.parent / "samples.jsonl", tmp_path / "elsewhere.jsonl")
    told = [ltr.Outcome(**outcome) for outcome in outcomes(3, seed=1)]
    assert ltr.update(tmp_path / "packed", told).update.is_refit
    ltr.update(run, told)
    one, other = ltr.load(run), ltr.load(tmp_path / "packed")
    assert np.abs(one.w - other.w).max() < 1e-8
    assert scores(one, "mail?") == pytest.approx(scores(other, "mail?"), abs=1e-8)
    cli.good("validate", tmp_path / "packed")
    cli.good("pack", run, "-o", tmp_path / "packed.zip", "--learns")
    cli.good("update", tmp_path / "packed", "--choose", "-v")


def test_a_run_that_keeps_no_queries_cannot_be_packed_to_learn(cli, tmp_path):
    samples = written(tmp_path / "samples.jsonl", tool_rows(range(25)))
    cli.good("train", samples, "--out", tmp_path / "run", "--encoder", "hash", "--no-texts", "-q")
    assert cli.run("pack", tmp_path / "run", "-o", tmp_path / "packed", "--learns") == 2
    assert "keeps no training queries" in cli.err


def test_a_run_without_texts_counts_names_anew_and_says_which_columns_stay(run, cli, tmp_path):
    features = ("--features", ",".join(FEATURES), "--encoder", "hash", "--set", "train.trainer=newton")
    cli.good("train", run.parent / "samples.jsonl", "--out", tmp_path / "bare", *features, "--no-texts", "-q")
    told = written(tmp_path / "told.jsonl", [CORRECTION, *outcomes(9)])
    before = ltr.load(tmp_path / "bare")
    said = cli.good("update", tmp_path / "bare", told, "--format", "human")
    assert "counts of names, and corrections; tool.proto, tool.ridge and the weights stay: no texts of" in said
    cli.good("update", run, told)
    bare, whole = ltr.load(tmp_path / "bare"), ltr.load(run)
    for name in ("tool.hist", "tool.lift"):
        place = FEATURES.index(name)
        for key, numbers in whole.features.states[place].items():
            assert repr(bare.features.states[place][key]) == repr(numbers)
        assert repr(bare.features.states[place]) != repr(before.features.states[place])
    assert bare.w[: len(FEATURES)].tolist() == before.w.tolist()
    assert first(bare, CORRECTION["query"]) == "get_news"
    assert not any(b"what is" in path.read_bytes() for path in (tmp_path / "bare").glob("*.npz"))
    assert cli.run("update", tmp_path / "bare", "--choose") == 1
    assert "keeps no texts of training queries, among which settings could be chosen" in cli.err


def test_the_command_learns_from_a_file_and_counts_what_it_leaves_out(run, cli, tmp_path):
    lines = [
        {"query": "mail?", "offered": TOOLS[:3], "right": TOOLS[1]},
        {"query": "mail?", "offered": TOOLS[:3], "wrong": TOOLS[1]},
        {"query": "haiku", "offered": TOOLS[:3], "none": True},
        {"query": "mail?", "offered": [*TOOLS[:3], "gone"], "right": TOOLS[1]},
        {"query": "mail?", "offered": TOOLS[:3], "right": "get_train"},
    ]
    told = written(tmp_path / "out.jsonl", lines)
    update = json.loads(cli.good("update", run, told, "--format", "json"))
    counts = {name: update[name] for name in ("outcomes", "known", "total", "right", "wrong", "none", "first")}
    assert counts == {"outcomes": 3, "known": 0, "total": 3, "right": 1, "wrong": 1, "none": 1, "first": 1}
    assert update["skipped"] == {"right was not offered": 1, "tools that the catalogue does not have": 1}
    assert update["is_refit"]
    assert update["test_queries"] == 30
    assert update["test_decided"] <= 1
    said = cli.good("update", run, told, "--format", "human")
    assert "wrote 0 outcomes, 3 known before; the run has 3 outcomes" in said
    assert "the right tool is first for 1 of 1 corrected query" in said
    assert "30 test queries: top-1" in said
    same = written(tmp_path / "same.jsonl", [{**row, "query": "mail?"} for row in tool_rows([40])])
    cli.run("evaluate", run, same, "--format", "human")
    assert "corrections decided which candidate is first for" in cli.err


@pytest.mark.parametrize(
    "line, problem",
    [
        ("{", "out.jsonl:2: not JSON"),
        ('{"offered": ["a"]}', "out.jsonl:2: query: missing"),
        ('{"query": "q", "offered": "a"}', "out.jsonl:2: offered: found 'a'"),
        ('{"query": " "}', "out.jsonl:2: query: found nothing but blanks"),
        ('{"query": "q", "rihgt": "a"}', "out.jsonl:2: "),
        ('{"query": "q", "time": "soon"}', "out.jsonl:2: time: found 'soon'"),
    ],
)
def test_a_file_with_a_line_that_cannot_be_read_writes_nothing(run, cli, tmp_path, line, problem):
    good = json.dumps({"query": "mail?", "offered": TOOLS[:3], "right": TOOLS[1]})
    (tmp_path / "out.jsonl").write_text(f"{good}\n{line}\n", encoding="utf-8")
    assert cli.run("update", run, tmp_path / "out.jsonl") == 3
    assert problem in cli.err
    assert not (run / "outcomes.journal").exists()
