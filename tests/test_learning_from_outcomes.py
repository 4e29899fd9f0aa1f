"""Outcomes of served queries: what is learned from them, what is counted, and what is refused."""

import json
import pickle
import random
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize

import ltr
from ltr.config.none_and_abstain import NoneConfig
from ltr.config.run import RunConfig
from ltr.data.config import DataConfig
from ltr.errors import DataError, FileError, RunError, UsageError
from ltr.experiments.single_run import run_and_save
from ltr.files.directory_lock import locked
from ltr.files.journal import read_journal
from ltr.reporting.report import report_of
from ltr.serving.outcomes import Outcome
from ltr.serving.pack import pack
from ltr.training.config import TrainConfig
from tests.made import WORDS, graph_rows, tool_rows, written

FEATURES = ("tool.rel", "tool.hist", "tool.lift", "tool.proto")
TOOLS = [f"get_{word}" for word in WORDS]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run of tools with columns that count, and one that learned otherwise."""
    home = tmp_path_factory.mktemp("feedback")
    samples = written(home / "samples.jsonl", tool_rows(range(25)))
    settings = {"trainer": "newton", "standardize": True, "l2": 0.01}
    ltr.train(samples, out=home / "run", features=FEATURES, encoder="hash", **settings)
    return home / "run"


@pytest.fixture
def run(trained, tmp_path):
    """A copy that a test may update."""
    return shutil.copytree(trained, tmp_path / "run")


def outcomes(count, seed=0):
    """Queries that name the tool after the right one."""
    generator = random.Random(seed)
    for number in range(count):
        offered = generator.sample(TOOLS, 4)
        yield Outcome(f"what is the {offered[0][4:]} in {number}?", offered, offered[1])


def test_an_update_moves_the_weights_towards_what_was_right(run):
    router = ltr.load(run)
    before = router.rank("what is the weather?", k=None)
    for _ in range(10):
        update = router.update("what is the weather?", TOOLS[:3], right="get_news")
    after = router.rank("what is the weather?", k=None)
    probability = {choice.candidate: choice.probability for choice in after}
    assert probability["get_news"] > {choice.candidate: choice.probability for choice in before}["get_news"]
    assert (update.outcomes, update.total, update.learned) == (1, 10, 10)
    assert update.distance < 1e-9


def test_a_report_says_that_the_model_has_learned_since_it_was_trained(run):
    sentence = "It has learned from outcomes since: "
    assert sentence not in report_of([run])
    ltr.load(run).update("what is the weather?", TOOLS[:3], right="get_news")
    assert report_of([run]).count(sentence) == report_of([run], is_card=True).count(sentence) == 1


def test_a_router_that_is_loaded_later_has_learned_the_same(run):
    router = ltr.load(run)
    router.update_many(outcomes(20))
    again = ltr.load(run)
    assert np.abs(again.w - router.w).max() < 1e-12
    assert again.rank("mail?", k=None).choices == pytest.approx(router.rank("mail?", k=None).choices)
    copy = pickle.loads(pickle.dumps(router))
    copy.update("mail?", TOOLS[:2], right=TOOLS[0])
    assert copy.update("mail?", TOOLS[:2], right=TOOLS[0]).total == 22


def test_a_router_learns_from_the_outcomes_of_other_processes_when_it_is_updated(run):
    one, other = ltr.load(run), ltr.load(run)
    one.update("mail?", TOOLS[:3], right="get_news")
    assert other.update("mail?", TOOLS[:3], right="get_news").total == 2


def test_counts_of_outcomes_add_to_those_of_training_exactly(run):
    router = ltr.load(run)
    seen = router.features.states[1]["success"]["get_mail"]
    router.update("mail?", ["get_mail", "get_news"], right="get_mail")
    router.update("mail?", ["get_mail", "get_news"], right="get_news")
    assert list(router.features.states[1]["success"]["get_mail"]) == [seen[0] + 1, seen[1] + 2]
    assert router.update("mail?", ["get_mail"], right="get_mail").alone == 1


def test_a_prepared_catalogue_ranks_with_the_new_counts(run):
    router = ltr.load(run)
    router.rank("mail?")
    router.update_many(outcomes(30))
    fresh = ltr.load(run)
    assert [choice.score for choice in router.rank("mail?", k=None)] == pytest.approx(
        [choice.score for choice in fresh.rank("mail?", k=None)], abs=1e-12
    )


def test_only_a_wrong_choice_is_counted_and_teaches_no_weight(run):
    router = ltr.load(run)
    w, seen = router.w.copy(), router.features.states[1]["success"]["get_mail"]
    update = router.update("mail?", ["get_mail", "get_news"], chosen="get_mail")
    assert (update.wrong_only, update.learned) == (1, 0)
    assert np.array_equal(router.w, w)
    assert list(router.features.states[1]["success"]["get_mail"]) == [seen[0], seen[1] + 1]


def test_a_query_for_which_nothing_was_right_is_neither_counted_nor_learned_from(run):
    router = ltr.load(run)
    w, seen = router.w.copy(), dict(router.features.states[1]["success"])
    update = router.update("write a haiku", TOOLS, right="none", chosen="get_mail")
    assert (update.none, update.learned, update.wrong_only) == (1, 0, 0)
    assert np.array_equal(router.w, w)
    assert {name: list(counts) for name, counts in router.features.states[1]["success"].items()} == {
        name: list(counts) for name, counts in seen.items()
    }


@pytest.fixture
def run_with_none(tmp_path):
    """A run that learned P(none) from copies."""
    samples = written(tmp_path / "samples.jsonl", tool_rows(range(25)))
    train, none = TrainConfig(trainer="newton", l2=0.01), NoneConfig(source="removed:0.2", share=0.3)
    data = DataConfig(train=str(samples))
    run_and_save(RunConfig(data=data, features=FEATURES, encoder="hash", train=train, none=none), tmp_path / "run")
    return tmp_path / "run"


def judged_outcomes(count):
    """Outcomes, every third of them of none."""
    for number, outcome in enumerate(outcomes(count)):
        yield replace(outcome, query="write a haiku", right="none") if number % 3 == 0 else outcome


def test_none_after_outcomes_is_the_optimum_that_scipy_finds(run_with_none):
    router, before = ltr.load(run_with_none), ltr.load(run_with_none).none
    update = router.update_many(judged_outcomes(12))
    assert (update.none, update.none_learned, update.learned) == (4, 12, 8)
    (line,) = read_journal(run_with_none / "outcomes.journal").contents
    phi = [np.array(row["columns"]) for row in json.loads(line)["outcomes"]]
    hessian, z, rest = np.array(before.hessian), [], []
    for outcome, table in zip(judged_outcomes(12), phi, strict=True):
        scores = np.sort(table @ router.w)[::-1]
        rest.append(np.log(np.exp(scores).sum()))
        best = table[np.argmax(table @ router.w), router.names.index(before.relevance)]
        words = np.log1p(len(outcome.query.replace("?", "").split()))
        z.append([1, scores[0], scores[1], scores.mean(), rest[-1], best, words])
    is_none = np.array([outcome.right == "none" for outcome in judged_outcomes(12)])
    moved = np.log(0.3 / 0.7) - np.log(before.trained_share / (1 - before.trained_share))

    def objective(b):
        eta = np.array(z)[:, :6] @ b + moved - rest
        apart = b - before.b[:6]
        return apart @ hessian[:6, :6] @ apart / 2 + np.sum(np.logaddexp(0, eta) - is_none * eta)

    units = np.linalg.inv(np.linalg.cholesky(hessian[:6, :6])).T
    start = np.array(before.b[:6])
    best = optimize.minimize(lambda u: objective(start + units @ u), np.zeros(6), method="BFGS", tol=1e-10)
    assert objective(np.array(router.none.b[:6])) == pytest.approx(best.fun, rel=1e-9)
    assert router.none.b[:6] == pytest.approx(start + units @ best.x, rel=1e-4)
    assert not hessian[6].any()  # all queries of the training have as many words: nothing is learned of them
    assert router.none.b[6] == before.b[6] == 0
    assert router.rank("write a haiku").none > replace(router, none=before).rank("write a haiku").none
    assert (router.none.share, update.distance < 1e-8) == (0.3, True)


def test_none_waits_for_the_first_outcome_of_none_and_then_knows_all(run_with_none, tmp_path):
    copy = shutil.copytree(run_with_none, tmp_path / "copy")
    one, at_once = ltr.load(run_with_none), ltr.load(copy)
    before, listed = one.none, list(judged_outcomes(9))
    one.update_many(outcome for outcome in listed if outcome.right != "none")
    assert one.none == before
    for outcome in listed:
        if outcome.right == "none":
            one.update(outcome.query, outcome.offered, right="none")
    at_once.update_many(listed)
    assert one.none.b != before.b
    assert at_once.none.b == pytest.approx(one.none.b, rel=1e-4)  # tool.hist and tool.lift have moved in between


def test_none_that_was_folded_in_is_loaded_packed_and_learns_on(run_with_none, tmp_path):
    router = ltr.load(run_with_none)
    router.update_many(judged_outcomes(9))
    learned = router.none
    router.compact()
    pack(run_with_none, tmp_path / "packed")
    for place in (run_with_none, tmp_path / "packed"):
        again = ltr.load(place)
        assert again.none.b == pytest.approx(learned.b)
        again.update("write a haiku", TOOLS, right="none")
        moved = np.abs(np.array(again.none.b) - learned.b)
        assert 0 < moved.max() < np.abs(np.array(learned.b) - ltr.load(run_with_none / "model.json").none.b).max() * 10


def test_a_model_that_kept_no_curvature_of_none_says_that_it_stays(run_with_none, cli, tmp_path):
    router = ltr.load(run_with_none)
    plain = replace(router, none=replace(router.none, hessian=()))
    plain.save(tmp_path)
    shutil.copy(run_with_none / "update.npz", tmp_path / "update.npz")
    old = ltr.load(tmp_path, tools=[{"name": name} for name in TOOLS])
    update = old.update("write a haiku", TOOLS, right="none")
    assert (old.none.b, update.none_learned, update.none) == (router.none.b, 0, 1)
    said = cli.good("update", run_with_none, written(tmp_path / "o.jsonl", [NONE_OUTCOME]), "--format", "human")
    assert "1 say that nothing offered was right: weights and counts stay, P(none) learned from them" in said


NONE_OUTCOME = {"query": "write a haiku", "offered": TOOLS[:3], "right": "none"}


def test_the_update_names_the_columns_that_counts_move_and_those_that_stay(run):
    update = ltr.load(run).update("mail?", TOOLS[:2], right=TOOLS[0])
    assert update.moved_columns == ("tool.hist", "tool.lift")
    assert update.still_columns == ("tool.proto",)


def test_outcomes_one_by_one_give_the_weights_of_all_at_once_where_columns_stay(tmp_path):
    samples = written(tmp_path / "samples.jsonl", tool_rows(range(25)))
    ltr.train(samples, out=tmp_path / "run", features=("tool.rel", "tool.coop"), encoder="hash", trainer="newton")
    copies = [shutil.copytree(tmp_path / "run", tmp_path / name) for name in ("one", "shuffled", "all")]
    one, shuffled, at_once = map(ltr.load, copies)
    listed = list(outcomes(40))
    for outcome in listed:
        one.update(outcome.query, outcome.offered, right=outcome.right)
    shuffled.update_many(random.Random(1).sample(listed, 40))
    at_once.update_many(listed)
    assert np.abs(one.w - at_once.w).max() < 1e-8
    assert np.abs(shuffled.w - at_once.w).max() < 1e-8


def test_folding_changes_no_weight_and_keeps_the_journal(run):
    router = ltr.load(run)
    router.update_many(outcomes(30))
    journal, w = (run / "outcomes.journal").read_bytes(), router.w.copy()
    update = router.compact()
    assert (update.folded, update.total, update.learned) == (30, 30, 0)
    assert (run / "outcomes.journal").read_bytes() == journal
    assert np.abs(router.w - w).max() < 1e-12
    assert np.abs(ltr.load(run).w - w).max() < 1e-12
    assert ltr.load(run).features.states[1] == router.features.states[1]
    assert router.update("mail?", TOOLS[:2], right=TOOLS[0]).total == 31


def test_folding_removes_what_a_killed_fold_was_writing(run):
    (run / ".ltr-0123456789abcdef.tmp").touch()
    router = ltr.load(run)
    router.update_many(outcomes(3))
    router.compact()
    assert [path.name for path in run.glob(".ltr-*")] == []


def test_what_follows_a_fold_differs_little_from_what_an_unfolded_run_learns(run, tmp_path):
    unfolded = ltr.load(shutil.copytree(run, tmp_path / "unfolded"))
    folded = ltr.load(run)
    for part in (list(outcomes(40)), list(outcomes(10, seed=1))):
        unfolded.update_many(part)
        folded.update_many(part)
        folded.compact()
    moved = np.abs(unfolded.w - ltr.load(tmp_path / "unfolded" / "model.json").w).max()
    assert moved < 1e-12
    start = np.abs(unfolded.w - unfolded.feedback.model.w).max()
    assert np.abs(folded.w - unfolded.w).max() < 0.1 * start


def test_two_processes_that_fold_at_once_do_not_meet(run):
    router = ltr.load(run)
    router.update("mail?", TOOLS[:2], right=TOOLS[0])
    with locked(run):
        code = "import sys, ltr; ltr.load(sys.argv[1]).compact()"
        other = subprocess.run([sys.executable, "-c", code, str(run)], capture_output=True, text=True, check=False)
        assert "another process is writing there" in other.stderr
    assert router.compact().folded == 1


def test_threads_may_rank_and_update_one_router(run):
    router = ltr.load(run)
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(router.rank, "mail?") for _ in range(20)]
        told = [pool.submit(router.update, "mail?", TOOLS[:3], right=TOOLS[1]) for _ in range(20)]
        assert all(len(answer.result()) == 5 for answer in asked)
        assert max(update.result().total for update in told) == 20
    assert np.abs(ltr.load(run).w - router.w).max() < 1e-9


def test_a_journal_that_was_cut_off_costs_the_last_line_alone(run):
    router = ltr.load(run)
    for _ in range(3):
        router.update("mail?", TOOLS[:3], right=TOOLS[1])
    journal = run / "outcomes.journal"
    journal.write_bytes(journal.read_bytes()[:-20])
    again = ltr.load(run)
    update = again.update("mail?", TOOLS[:3], right=TOOLS[1])
    assert update.total == 3
    assert update.skipped == {"damaged lines of the journal": 1}


def test_a_line_that_is_no_outcome_of_this_model_is_left_out_and_counted(run):
    from ltr.files.journal import append_line

    router = ltr.load(run)
    router.update("mail?", TOOLS[:3], right=TOOLS[1])
    line = json.loads((run / "outcomes.journal").read_bytes().split(b" ", 1)[1])
    append_line(run / "outcomes.journal", json.dumps(line | {"model": "sha256:0"}).encode())
    wrong = line["outcomes"][0] | {"columns": [[1.0]]}
    append_line(run / "outcomes.journal", json.dumps(line | {"outcomes": [wrong]}).encode())
    append_line(run / "outcomes.journal", b"[]")
    update = router.update("mail?", TOOLS[:3], right=TOOLS[1])
    assert update.total == 2
    assert update.skipped == {
        "damaged lines of the journal": 1,
        "outcomes of another model": 1,
        "outcomes that do not fit the model": 1,
    }


@pytest.mark.parametrize(
    "arguments, settings, problem",
    [
        (["mail?", ["get_mial"]], {"right": "get_mial"}, "'get_mial' is not in the catalogue; did you mean get_mail"),
        (["mail?", TOOLS[:2]], {"right": "get_mail"}, "right is 'get_mail', which was not offered"),
        (["mail?", TOOLS[:2]], {"chosen": "get_mail"}, "chosen is 'get_mail', which was not offered"),
        (["mail?", TOOLS[:2]], {}, "nothing is known"),
        (["mail?", []], {"right": "a"}, "offered is empty"),
        (["mail?", "get_mail"], {"right": "a"}, "names of tools or tool objects"),
        (["mail?", ["get_mail", "get_mail"]], {"right": "get_mail"}, "'get_mail' is offered twice"),
        (["mail?", [{"name": "a"}, {"name": "a"}]], {"right": "a"}, "names must differ"),
        ([" ", TOOLS[:2]], {"right": TOOLS[0]}, "says nothing"),
        ([7, TOOLS[:2]], {"right": TOOLS[0]}, "a text is needed"),
        (["mail?", TOOLS[:2]], {"right": 7}, "right is 7"),
        (["mail?", TOOLS[:2]], {"right": TOOLS[0], "previous": "x"}, "previous is 'x'"),
        (["mail?", [{"name": f"t{n}"} for n in range(3000)]], {"right": "t1"}, "3,000 tools were offered; at most"),
    ],
)
def test_an_outcome_that_cannot_be_is_refused_in_one_line_and_writes_nothing(run, arguments, settings, problem):
    router = ltr.load(run)
    with pytest.raises(UsageError, match=problem.replace("?", r"\?")):
        router.update(*arguments, **settings)
    assert not (run / "outcomes.journal").exists()


def test_many_outcomes_may_be_dicts_like_the_lines_of_a_file(run, cli, tmp_path):
    rows = [{"query": f"{word}?", "offered": TOOLS, "right": f"get_{word}"} for word in WORDS]
    other = shutil.copytree(run, tmp_path / "other")
    cli.good("update", other, written(tmp_path / "outcomes.jsonl", rows))
    assert ltr.load(run).update_many(rows).learned == len(WORDS)
    assert np.array_equal(ltr.load(run).w, ltr.load(other).w)


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
    with pytest.raises(DataError) as error:
        ltr.load(run).update_many([{"query": "mail?", "offered": TOOLS, "right": TOOLS[0]}, given])
    assert str(error.value).startswith(f"<list>:2: {problem}")
    assert not (run / "outcomes.journal").exists()


def test_a_tool_without_a_description_and_a_query_of_a_megabyte_are_learned_from(run):
    router = ltr.load(run)
    update = router.update("mail " * 200_000, [{"name": "bare"}, {"name": "other"}], right="bare")
    assert update.learned == 1
    assert np.abs(ltr.load(run).w - router.w).max() < 1e-12


def test_routers_that_cannot_learn_say_why(run, tmp_path):
    (run / "update.npz").unlink()
    with pytest.raises(RunError, match="keeps nothing to learn from"):
        ltr.load(run).update("mail?", TOOLS[:2], right=TOOLS[0])
    samples = written(tmp_path / "graphs.jsonl", graph_rows(range(9)))
    ltr.train(samples, out=tmp_path / "graphs", encoder="hash")
    with pytest.raises(UsageError, match="the model ranks graphs"):
        ltr.load(tmp_path / "graphs").update("solve it", ["a"], right="a")
    samples = written(tmp_path / "tools.jsonl", tool_rows(range(9)))
    with pytest.raises(UsageError, match="kept in a run directory"):
        ltr.train(samples, encoder="hash").router.update("q", [{"name": "a"}], right="a")


def test_a_base_that_was_changed_is_refused(run):
    content = bytearray((run / "update.npz").read_bytes())
    content[300] ^= 1
    (run / "update.npz").write_bytes(bytes(content))
    with pytest.raises(FileError, match="update.npz"):
        ltr.load(run).update("mail?", TOOLS[:2], right=TOOLS[0])


def test_a_run_with_outcomes_is_not_overwritten(run):
    ltr.load(run).update("mail?", TOOLS[:2], right=TOOLS[0])
    with pytest.raises(UsageError, match="outcomes.journal"):
        ltr.train(run.parent / "none.jsonl", out=run, overwrite=True)


def test_a_pack_has_learned_and_learns_on(run, tmp_path):
    router = ltr.load(run)
    router.update_many(outcomes(20))
    pack(run, tmp_path / "packed")
    packed = ltr.load(tmp_path / "packed")
    assert np.abs(packed.w - router.w).max() < 1e-12
    for learner in (router, packed):
        update = learner.update("mail?", TOOLS[:3], right=TOOLS[1])
    assert update.total == 1
    assert np.abs(packed.w - router.w).max() < 1e-3 * np.abs(router.w).max()


def test_the_command_learns_from_a_file_and_counts_what_it_leaves_out(run, cli, tmp_path):
    lines = [
        {"query": "mail?", "offered": TOOLS[:3], "right": TOOLS[1]},
        {"query": "mail?", "offered": TOOLS[:3], "chosen": TOOLS[1]},
        {"query": "haiku", "offered": TOOLS[:3], "right": "none"},
        {"query": "mail?", "offered": [*TOOLS[:3], "gone"], "right": TOOLS[1]},
        {"query": "mail?", "offered": TOOLS[:3], "right": "get_train"},
    ]
    update = json.loads(cli.good("update", run, written(tmp_path / "out.jsonl", lines), "--format", "json"))
    counts = {name: update[name] for name in ("outcomes", "total", "learned", "wrong_only", "none", "folded")}
    assert counts == {"outcomes": 3, "total": 3, "learned": 1, "wrong_only": 1, "none": 1, "folded": 0}
    assert update["skipped"] == {"right was not offered": 1, "tools that the catalogue does not have": 1}
    said = cli.good("update", run, "--compact", "--format", "human")
    assert "the run has 3 outcomes, 3 folded in" in said
    assert "approximate: a quadratic stands for the training data" in said
    assert ltr.load(run).w == pytest.approx(ltr.load(run / "model.json").w)


def test_a_file_of_which_nothing_can_be_used_is_counted_on_a_run_without_outcomes(run, cli, tmp_path):
    lines = [{"query": "mail?", "offered": [*TOOLS[:3], "gone"], "right": TOOLS[1]}]
    update = json.loads(cli.good("update", run, written(tmp_path / "out.jsonl", lines), "--format", "json"))
    assert (update["outcomes"], update["total"], update["held"]) == (0, 0, 0)
    assert update["skipped"] == {"tools that the catalogue does not have": 1}
    assert not (run / "outcomes.journal").exists()


@pytest.mark.parametrize(
    "line, problem",
    [
        ("{", "out.jsonl:2: not JSON"),
        ('{"offered": ["a"]}', "out.jsonl:2: query: missing"),
        ('{"query": "q", "offered": "a"}', "out.jsonl:2: offered: found 'a'"),
        ('{"query": " "}', "out.jsonl:2: query: found nothing but blanks"),
        ('{"query": "q", "rihgt": "a"}', "out.jsonl:2: "),
    ],
)
def test_a_file_with_a_line_that_cannot_be_read_writes_nothing(run, cli, tmp_path, line, problem):
    good = json.dumps({"query": "mail?", "offered": TOOLS[:3], "right": TOOLS[1]})
    (tmp_path / "out.jsonl").write_text(f"{good}\n{line}\n", encoding="utf-8")
    assert cli.run("update", run, tmp_path / "out.jsonl") != 0
    assert problem in cli.err
    assert not (run / "outcomes.journal").exists()
    assert cli.run("update", run) == 2
    assert "give OUTCOMES, --compact, or both" in cli.err


def test_a_whole_large_catalogue_is_refused_as_an_offer_and_counted_among_many(run):
    tools = [{"name": f"tool_{number}"} for number in range(2049)]
    router = ltr.load(run, tools=tools)
    with pytest.raises(UsageError, match="2,049 tools were offered; at most 2,048: name those that the agent saw"):
        router.update("mail?", right="tool_5")
    update = router.update_many([Outcome("mail?", right="tool_5"), Outcome("mail?", ["tool_5", "tool_6"], "tool_5")])
    assert (update.outcomes, update.skipped) == (1, {"more tools than an outcome may offer": 1})
