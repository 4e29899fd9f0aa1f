"""A router that learns at once refits in the background: nobody waits, nothing is lost, and failures are told."""

import json
import sys
import threading
from contextlib import contextmanager

import pytest

import ltr
from ltr.errors import LtrError
from ltr.features import FEATURES
from tests.made import WORDS, tool_rows, written

TOOLS = [f"get_{word}" for word in WORDS]
CORRECTION = {"query": "what is the weather?", "offered": TOOLS[:3], "right": "get_news"}


class Gate:
    """A feature whose fit waits until it is let through."""

    def __init__(self):
        self.at_work, self.may_go, self.problem = threading.Event(), threading.Event(), None
        self.in_column = lambda: None  # what the main thread does in the column
        self.may_go.set()

    def column(self, candidates, state, context):
        if threading.current_thread() is threading.main_thread():
            self.in_column()
        return candidates.names * 0.0

    def fit(self, groups, context):
        self.at_work.set()
        assert self.may_go.wait(60)
        if self.problem:
            raise ValueError(self.problem)
        return {}

    @contextmanager
    def shut(self):
        """The fits that begin meanwhile wait until the end."""
        self.at_work.clear()
        self.may_go.clear()
        try:
            yield
        finally:
            self.may_go.set()


@pytest.fixture
def gate():
    gate = Gate()
    ltr.feature("tool.gate", "hist", fit=gate.fit)(gate.column)
    yield gate
    gate.may_go.set()
    FEATURES._own.pop("tool.gate")


@pytest.fixture
def run(tmp_path, gate):
    samples = written(tmp_path / "samples.jsonl", tool_rows(range(12)))
    features = ("tool.rel", "tool.lift", "tool.gate")
    ltr.train(samples, out=tmp_path / "run", features=features, encoder="hash", trainer="newton")
    return tmp_path / "run"


def told(number, right=0):
    return {"id": f"o{number}", "query": f"what about {number}?", "offered": TOOLS[:3], "right": TOOLS[right]}


def best(router, query):
    return router.rank(query, k=1)[0].candidate


def test_columns_and_weights_follow_in_the_background_and_the_router_ranks_by_them(run):
    router = ltr.load(run)
    before = router.w.copy()
    router.learn([told(number) for number in range(8)])
    router.wait()
    assert router.w[: len(before)].tolist() != before.tolist()
    assert router.learn([]).is_refit
    loaded = ltr.load(run)
    assert loaded.w == pytest.approx(router.w, abs=1e-12)
    for query in ("what about 3?", "mail?"):
        scores = [{choice.candidate: choice.score for choice in some.rank(query, k=None)} for some in (router, loaded)]
        assert scores[0] == pytest.approx(scores[1], abs=1e-9)


def test_nobody_waits_for_a_refit_and_what_comes_meanwhile_leads_to_one_more(run, gate, caplog):
    caplog.set_level("INFO")
    router = ltr.load(run)
    with gate.shut():
        router.learn(CORRECTION)
        assert gate.at_work.wait(60)
        for number in range(5):
            assert router.learn(told(number)).total == number + 2
            assert best(router, f"what about {number}?") == TOOLS[0]
    router.wait()
    assert caplog.text.count("training took") == 2
    assert json.loads((run / "updated" / "outcomes.json").read_text())["outcomes"] == 6


def test_a_refit_that_fails_is_told_with_the_next_outcome_and_costs_none(run, gate, caplog):
    router = ltr.load(run)
    gate.problem = "no memory left"
    assert router.learn(told(1)).failure == ""
    with pytest.raises(LtrError, match="tool.gate failed: ValueError: no memory left"):
        router.wait()
    assert "a refit in the background failed" in caplog.text
    assert best(router, "what about 1?") == TOOLS[0]
    gate.problem = None
    update = router.learn(told(2))
    assert (update.total, update.first) == (2, 2)
    assert "no memory left" in update.failure
    router.wait()
    assert router.learn([]).failure == ""
    assert router.learn([]).is_refit


def test_what_another_process_has_refit_is_taken_up_and_not_made_again(run, gate, caplog):
    router = ltr.load(run)
    with gate.shut():
        router.learn(told(1))
        assert gate.at_work.wait(60)
        other = ltr.load(run)
        other.learn(told(2))
    router.wait()
    other.wait()
    caplog.set_level("INFO")
    assert router.learn(told(2)).is_refit
    router.wait()
    assert "training took" not in caplog.text
    assert router.w == pytest.approx(other.w, abs=1e-12)


def test_readers_meet_no_half_model_while_models_change_places(run):
    router, is_over, problems = ltr.load(run), threading.Event(), []

    def read():
        while not is_over.is_set():
            choices = router.rank("what about 1?", k=3)
            problems.extend(
                choice for choice in choices if abs(sum(choice.contributions.values()) - choice.score) > 1e-9
            )

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for number in range(6):
        router.learn(told(number, number % 3))
        router.wait()
    is_over.set()
    for reader in readers:
        reader.join()
    assert problems == []


def test_a_pack_learns_at_once_and_refits_nothing(run, cli, tmp_path):
    cli.good("pack", run, "-o", tmp_path / "packed")
    router = ltr.load(tmp_path / "packed")
    assert router.learn(CORRECTION).first == 1
    router.wait()
    assert not (tmp_path / "packed" / "updated").exists()


def test_plugins_of_two_threads_leave_standard_output_where_it_was(run, gate):
    router, output = ltr.load(run), sys.stdout

    def outlive():
        gate.in_column = lambda: None
        gate.may_go.set()
        router.wait()  # the plug-in of the other thread ends before this one

    with gate.shut():
        router.learn(told(1))
        assert gate.at_work.wait(60)
        gate.in_column = outlive
        router.rank("what about 1?")
    assert sys.stdout is output
