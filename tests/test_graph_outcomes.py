"""Outcomes of served teams of agents: learned by a refit, with nothing on top of the model."""

import json
import random
import shutil
import subprocess
import sys
import threading
from contextlib import contextmanager

import numpy as np
import pytest

import ltr
from ltr.errors import LtrError
from ltr.features import FEATURES as REGISTERED
from tests.made import graph_rows, tool_rows, written

FEATURES = ("graph.rel", "graph.hist", "graph.proto", "graph.near_edges", "graph.edges", "graph.cover", "graph.start")
SETTINGS = {"features": FEATURES, "encoder": "hash", "trainer": "newton", "standardize": True, "l2": 0.01}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run of graphs, with columns that count and columns that read texts."""
    home = tmp_path_factory.mktemp("graphs")
    samples = written(home / "samples.jsonl", graph_rows(range(25)))
    written(home / "catalogue.jsonl", graph_rows(range(60, 62), seed=2, labels=False))
    test = written(home / "test.jsonl", graph_rows(range(25, 40), seed=1))
    ltr.train(samples, out=home / "run", test=test, **SETTINGS)
    return home


@pytest.fixture
def run(trained, tmp_path):
    """A copy that a test may update."""
    return shutil.copytree(trained, tmp_path / "home") / "run"


def graph(*names, id, chain=True):
    """A team of agents: the first calls the others in turn, or all of them."""
    nodes = [{"id": place, "name": name} for place, name in enumerate(names)]
    edges = [[place - 1 if chain else 0, place] for place in range(1, len(names))]
    kind = "chain" if chain else "star"
    return {"candidate_id": id, "candidate_type": kind, "tree": {"nodes": nodes, "edges": edges}}


SMALL, LARGE = graph("agent", id="g0"), graph("agent", "agent of one", "agent of two", "agent of three", id="g1")
OUTCOME = {"query": "solve it with one agent", "offered": [SMALL, LARGE], "right": "g0"}


def outcomes(count, seed=0):
    """Queries for which a small graph is right, against what training taught."""
    generator = random.Random(seed)
    for number in range(count):
        sizes = generator.sample(range(1, 7), 3)
        offered = [
            graph(*(f"agent {node} of {number}" for node in range(size)), id=f"g{place}", chain=bool(size % 2))
            for place, size in enumerate(sizes)
        ]
        right = f"g{sizes.index(min(sizes))}"
        yield {"id": f"o{seed}-{number:03}", "query": f"solve {number} alone", "offered": offered, "right": right}


def as_sample(outcome):
    """The outcome as a line of samples: a trace of its own, marked with its id."""
    candidates = [
        {**offered, "label": int(offered["candidate_id"] == outcome.get("right"))} for offered in outcome["offered"]
    ]
    candidates += [{"none": True, "label": 1}] if outcome.get("none") else []
    ids = {"trace_id": outcome["id"], "node_id": "", "outcome": outcome["id"]}
    return {**ids, "query": outcome["query"], "candidates": candidates}


def sample_scores(run, home):
    """The scores of the test samples, by query and graph."""
    answers = ltr.load(run).answers(ltr.read_groups(home / "test.jsonl").candidates)
    return [choice.score for answer in answers for choice in sorted(answer.choices, key=lambda one: one.candidate)]


def test_the_refit_of_graphs_is_the_training_on_samples_and_outcomes(run, tmp_path):
    told = [*outcomes(12), {"id": "w", "query": "which one?", "offered": [SMALL, LARGE], "wrong": "g1"}]
    told += [
        {"id": f"n{number}", "query": f"a haiku {number}", "offered": [SMALL, LARGE], "none": True}
        for number in range(4)
    ]
    before = sample_scores(run, run.parent)
    done = ltr.update(run, [ltr.Outcome(**outcome) for outcome in told])
    assert (done.update.right, done.update.wrong, done.update.none, done.update.is_refit) == (12, 1, 4, True)
    more = written(tmp_path / "outcomes.jsonl", [as_sample(outcome) for outcome in told])
    ltr.train([run.parent / "samples.jsonl", more], out=tmp_path / "both", **SETTINGS)
    updated, both = ltr.load(run), ltr.load(tmp_path / "both")
    assert updated.names == both.names == FEATURES
    assert np.abs(updated.w - both.w).max() < 1e-8
    after = sample_scores(run, run.parent)
    assert after == pytest.approx(sample_scores(tmp_path / "both", run.parent), abs=1e-8)
    assert after != pytest.approx(before, abs=1e-3)
    catalogue = run.parent / "catalogue.jsonl"
    asked = [ltr.load(path, graphs=catalogue).rank("a haiku 9").none for path in (run, tmp_path / "both")]
    assert asked[0] == pytest.approx(asked[1], abs=1e-8)


def test_outcomes_of_graphs_among_the_samples_count_on_when_more_are_learned(run, tmp_path):
    early, late = list(outcomes(4)), list(outcomes(8, seed=1))
    some = written(tmp_path / "early.jsonl", map(as_sample, early))
    more = written(tmp_path / "late.jsonl", map(as_sample, late))
    ltr.train([run.parent / "samples.jsonl", some], out=tmp_path / "first", **SETTINGS)
    ltr.train([run.parent / "samples.jsonl", some, more], out=tmp_path / "both", **SETTINGS)
    ltr.update(tmp_path / "first", [ltr.Outcome(**outcome) for outcome in [*late, early[0]]])
    assert np.abs(ltr.load(tmp_path / "first").w - ltr.load(tmp_path / "both").w).max() < 1e-8
    one, other = (sample_scores(tmp_path / name, run.parent) for name in ("first", "both"))
    assert one == pytest.approx(other, abs=1e-8)


def renamed(outcome, id, prefix):
    """The same outcome of the same graphs, under other ids and with a weight: graphs have no layer that it is of."""
    offered = [{**one, "candidate_id": prefix + one["candidate_id"]} for one in outcome["offered"]]
    return {**outcome, "id": id, "offered": offered[::-1], "right": prefix + outcome["right"], "weight": 7}


def test_neither_pieces_nor_order_nor_repetitions_nor_ids_of_graphs_change_the_refit(run, tmp_path):
    told = list(outcomes(10))
    pieces = ltr.load(shutil.copytree(run, tmp_path / "pieces"))
    for number, outcome in enumerate(random.Random(1).sample(told, 10)):
        assert pieces.learn([outcome, outcome]).total == 2 * number + 1
        pieces.learn(renamed(outcome, f"again-{number}", "x"))
    ltr.update(tmp_path / "pieces")
    ltr.update(run, [ltr.Outcome(**outcome) for outcome in told])
    one, other = ltr.load(run), ltr.load(tmp_path / "pieces")
    assert np.abs(one.w - other.w).max() < 1e-8
    assert sample_scores(run, run.parent) == pytest.approx(sample_scores(tmp_path / "pieces", run.parent), abs=1e-8)


def test_graphs_of_the_same_ids_that_hold_something_else_are_other_outcomes(run):
    others = {**OUTCOME, "offered": [{**LARGE, "candidate_id": "g0"}, {**SMALL, "candidate_id": "g1"}]}
    update = ltr.load(run).learn([OUTCOME, others])
    assert (update.outcomes, update.corrected) == (2, 1)
    assert ltr.load(run).learn({**OUTCOME, "offered": [SMALL, {**LARGE, "candidate_type": "star"}]}).corrected == 2


@pytest.fixture
def gate():
    """A feature whose fits wait while the gate is shut."""
    gate = Gate()
    ltr.feature("graph.gate", "hist", fit=gate.fit)(lambda candidates, state, context: candidates.graphs * 0.0)
    yield gate
    gate.may_go.set()
    REGISTERED._own.pop("graph.gate")


class Gate:
    def __init__(self):
        self.may_go = threading.Event()
        self.may_go.set()

    def fit(self, groups, context):
        assert self.may_go.wait(60)
        return {}

    @contextmanager
    def shut(self):
        self.may_go.clear()
        try:
            yield
        finally:
            self.may_go.set()


def test_learning_from_graphs_corrects_nothing_at_once_and_says_so_and_the_refit_does(run, gate, tmp_path):
    home, catalogue = tmp_path / "gated", run.parent / "catalogue.jsonl"
    ltr.train(run.parent / "samples.jsonl", out=home, **SETTINGS | {"features": (*FEATURES, "graph.gate")})
    router = ltr.load(home, graphs=catalogue)
    query = "solve task 60 with several agents"
    before = catalogue_scores(router, query)
    with gate.shut():
        update = router.learn({"query": query, "right": min(before, key=before.get), "id": "thumb"})
        assert not update.at_once
        assert (update.outcomes, update.right, update.corrected, update.first) == (1, 1, 1, 0)
        assert catalogue_scores(router, query) == before
    router.wait()
    after = catalogue_scores(router, query)
    assert after != pytest.approx(before, abs=1e-6)
    assert catalogue_scores(ltr.load(home, graphs=catalogue), query) == pytest.approx(after, abs=1e-12)
    router.forget("thumb")
    router.wait()
    assert catalogue_scores(router, query) == pytest.approx(before, abs=1e-8)


def catalogue_scores(router, query):
    return {choice.candidate: choice.score for choice in router.rank(query, k=None)}


def test_a_catalogue_of_graphs_gives_the_names_that_are_offered_as_a_ranking_shows_them(run, cli, tmp_path):
    catalogue = run.parent / "catalogue.jsonl"
    shown = json.loads(cli.good("rank", run, "one alone", "--graphs", catalogue, "-k", "2", "--format", "json"))
    names = [choice["candidate"] for choice in shown["ranking"]]
    assert names[0].count("/") == 2  # both traces have a g0: names are whole keys
    told = written(tmp_path / "told.jsonl", [{"query": "one alone", "offered": names, "right": names[1]}])
    said = cli.good("update", run, told, "--graphs", catalogue, "--format", "human")
    assert "wrote 1 outcome; the run has 1 outcome" in said
    assert "1 with the right graph" in said
    assert "learned anew: columns and weights alone: graphs have no layer of corrections on top" in said
    assert "the right graph is first for " in said
    assert "15 test queries: top-1" in said
    assert "corrections decided" not in said
    assert json.loads(cli.good("update", run, "--format", "json"))["is_refit"]


PROCESS = """
import sys, ltr
for number in range(int(sys.argv[3])):
    id = f"{sys.argv[2]}-{number}"
    offered = [{"candidate_id": n, "tree": {"nodes": [{"id": 0, "name": f"agent {n} of {id}"}]}} for n in "ab"]
    ltr.load(sys.argv[1]).learn({"id": id, "query": f"what about {id}?", "offered": offered, "right": "b"})
    print(id, flush=True)
    ltr.update(sys.argv[1])
"""


def test_writers_that_are_killed_lose_no_outcome_of_graphs_that_they_were_told(run):
    writers = [
        subprocess.Popen([sys.executable, "-c", PROCESS, str(run), name, "50"], stdout=subprocess.PIPE, text=True)
        for name in "ab"
    ]
    told = [writer.stdout.readline().strip() for _ in range(2) for writer in writers]
    for writer in writers:
        writer.kill()
    told += [line.strip() for writer in writers for line in writer.communicate()[0].splitlines()]
    journal = (run / "outcomes.journal").read_text(encoding="utf-8")
    assert all(f'"{name}"' in journal for name in told)
    update = ltr.update(run).update
    assert update.is_refit
    assert update.corrected == update.total >= len(told)


@pytest.mark.parametrize(
    "changed, problem",
    [
        ({"offered": [SMALL, SMALL]}, "offered[1].candidate_id: found 'g0' again; ids must differ"),
        ({"offered": [{"candidate_id": "g0"}]}, "offered[0].tree: missing; an object"),
        ({"offered": [{"name": "g0"}]}, "offered[0].candidate_id: missing; a text or an integer is needed"),
        ({"offered": [SMALL, 7]}, "offered[1]: found 7; an object with candidate_id and tree is needed"),
        ({"offered": [SMALL, {1, 2}]}, "offered[1]: found an object of the type set; an object with"),
        ({"offered": [SMALL, {"candidate_id": object()}]}, "offered[1]: cannot be written as JSON: "),
        ({"offered": [SMALL, {"candidate_id": 1.5}]}, "offered[1].candidate_id: found 1.5; a text or an integer is"),
        ({"offered": [{"candidate_id": "a", "tree": {"edges": [[0, 1]]}}]}, "offered[0].tree.edges[0]: found 0"),
        ({"offered": ["g0", "g1"]}, "the graph 'g0' is not in the catalogue"),
        ({"offered": None}, "no graphs were offered: name them, or load the router with a catalogue"),
        ({"offered": "g0"}, "offered is 'g0'; names of graphs or graph objects are needed"),
        ({"right": "g7"}, "right is 'g7', which was not offered"),
        ({"right": 7}, "right is 7; the name of a tool or the id of a graph is needed"),
    ],
)
def test_an_outcome_of_graphs_that_cannot_be_is_refused_in_one_line_and_writes_nothing(run, changed, problem):
    with pytest.raises(LtrError) as refused:
        ltr.load(run).learn({**OUTCOME, **changed})
    assert problem in str(refused.value)
    assert "\n" not in str(refused.value)
    assert not (run / "outcomes.journal").exists()


def test_tools_are_no_candidates_of_a_run_of_graphs(run):
    router = ltr.load(run, tools=[{"name": "a"}, {"name": "b"}])
    for offered, problem in ((["a", "b"], "the graph 'a' is not in the catalogue"), (None, "no graphs were offered")):
        with pytest.raises(LtrError, match=problem):
            router.learn({"query": "mail?", "offered": offered, "right": "a"})


def test_a_journal_of_tools_or_of_graphs_that_cannot_be_is_left_out_and_counted(run, tmp_path):
    samples = written(tmp_path / "tools.jsonl", tool_rows(range(9)))
    ltr.train(samples, out=tmp_path / "tools", encoder="hash")
    ltr.load(tmp_path / "tools").learn({"query": "mail?", "offered": [{"name": "a"}, {"name": "b"}], "right": "a"})
    ltr.load(run).learn(OUTCOME)
    journal = run / "outcomes.journal"
    shutil.copy(tmp_path / "tools" / "outcomes.journal", tmp_path / "of-tools")
    shutil.copy(journal, tmp_path / "tools" / "outcomes.journal")
    shutil.copy(tmp_path / "of-tools", journal)
    for home in (run, tmp_path / "tools"):
        update = ltr.update(home).update
        assert update.total == 0
        assert dict(update.skipped) == {"outcomes that cannot be": 1}


def test_a_run_of_graphs_without_texts_keeps_nothing_to_learn_with_because_nodes_repeat_queries(run, cli, tmp_path):
    cli.good("train", run.parent / "samples.jsonl", "-o", tmp_path / "bare", "--encoder", "hash", "--no-texts", "-q")
    assert not (tmp_path / "bare" / "training.npz").exists()
    told = written(tmp_path / "told.jsonl", [OUTCOME])
    assert cli.run("update", tmp_path / "bare", told) == 1
    assert "keeps nothing to learn from outcomes with (training.npz); train it again, from samples and with" in cli.err
    assert not (tmp_path / "bare" / "outcomes.journal").exists()


def test_a_pack_of_graphs_learns_where_it_was_asked_to_alone(run, cli, tmp_path):
    cli.good("pack", run, "-o", tmp_path / "packed")
    with pytest.raises(LtrError, match="keeps nothing to learn from outcomes with"):
        ltr.load(tmp_path / "packed").learn(OUTCOME)
    ltr.update(run, [ltr.Outcome(**outcome) for outcome in outcomes(5)])
    cli.good("pack", run, "-o", tmp_path / "learns", "--learns")
    told = [ltr.Outcome(**outcome) for outcome in outcomes(5, seed=1)]
    for home in (run, tmp_path / "learns"):
        assert ltr.update(home, told).update.is_refit
    one, other = (sample_scores(home, run.parent) for home in (run, tmp_path / "learns"))
    assert one == pytest.approx(other, abs=1e-8)
    cli.good("validate", tmp_path / "learns")


def test_folds_choose_the_settings_of_a_run_of_graphs_anew(run, cli, tmp_path):
    told = written(tmp_path / "told.jsonl", outcomes(8))
    numbers = json.loads(cli.good("update", run, told, "--choose", "--format", "json"))
    assert numbers["is_refit"]
    assert numbers["chosen_on"] == numbers["queries"] == 33
