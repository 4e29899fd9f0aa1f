"""Batches: many runs that share what they can, fail alone, and go on where they were."""

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

import ltr
from ltr import RunConfig, columns, flow, run_batch
from ltr.encoders import ENCODERS
from ltr.errors import DataError, ResumeError, UsageError
from ltr.experiments.batch import BatchOptions, forecast, planned
from ltr.experiments.single_run import run_and_save
from ltr.features import FEATURES
from ltr.report.files import report_of
from ltr.training import TRAINERS
from tests.builders import LetterEncoder
from tests.made import ENVIRONMENT, DataConfig, tool_rows, written

UNLIKE = ("run.json", "log.jsonl")  # they tell the time
SWEEP = """
name: s
data: {train: train.jsonl, test: test.jsonl}
encoder: hash
train: {trainer: newton}
sweep:
  features: [[tool.rel, tool.hist], [tool.coop, tool.hist]]
  train.l2: [0.01, 0.1, 1]
"""


@pytest.fixture
def sweep(tmp_path):
    """The path of a config of six runs of two sets of features."""
    written(tmp_path / "train.jsonl", tool_rows(range(12)))
    written(tmp_path / "test.jsonl", tool_rows(range(100, 104), seed=1))
    (tmp_path / "s.yaml").write_text(SWEEP)
    return tmp_path / "s.yaml"


def made(sweep, root, **options):
    return run_batch(planned(ltr.sweep(sweep), root), root, BatchOptions(**options))


@pytest.fixture
def runs(sweep, tmp_path, filled):
    """The directory of that batch once it is complete."""

    def six_runs():
        made(sweep, tmp_path / "runs")

    filled(tmp_path / "runs", six_runs)
    return tmp_path / "runs"


def kept(root):
    """Every file that does not tell the time, and its bytes."""
    files = (path for path in sorted(root.rglob("*")) if path.is_file() and path.name not in UNLIKE)
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


def times(root):
    return {path: path.stat().st_mtime_ns for path in root.rglob("*") if path.is_file() and path.parent != root}


def test_the_runs_of_a_batch_are_those_that_are_made_alone(sweep, tmp_path):
    ended, board = made(sweep, tmp_path / "runs")
    assert [each.error for each in ended] == [None] * 6
    assert [row.place for row in board.rows] == [1, 2, 3, 4, 5, 6]
    (tmp_path / "alone").mkdir()
    for each in ended:
        run_and_save(each.planned.config, tmp_path / "alone" / each.planned.directory.name)
    batch = {name: content for name, content in kept(tmp_path / "runs").items() if "/" in name}
    assert batch == kept(tmp_path / "alone")


def test_processes_change_no_byte(sweep, runs):
    before = kept(runs)
    shutil.rmtree(runs)
    made(sweep, runs, jobs=2)
    assert kept(runs) == before


@pytest.mark.parametrize("folds", [None, 3])
def test_runs_that_differ_in_l2_alone_read_and_featurise_once(sweep, tmp_path, monkeypatch, folds):
    calls = []
    for module, name in ((flow, "read_data"), (columns, "CrossFitting")):
        own = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *a, own=own, name=name, **k: calls.append(name) or own(*a, **k))
    plan = planned(
        ltr.sweep(sweep, ["sweep.features=[[tool.rel], [tool.coop]]", f"train.folds={folds or 'null'}"]), "r"
    )
    run_batch([replace(each, directory=tmp_path / each.directory) for each in plan], tmp_path / "r")
    assert calls.count("read_data") == 1
    assert calls.count("CrossFitting") == 2 * (1 + (folds or 0))


def test_a_run_that_fails_leaves_the_others_alone(sweep, tmp_path):
    good, bad = RunConfig(name="good", encoder="hash", data=DataConfig(train=str(tmp_path / "train.jsonl"))), None
    bad = replace(good, name="bad", data=DataConfig(train=str(tmp_path / "absent.jsonl")))
    ended, board = run_batch(planned([bad, good], tmp_path / "runs"), tmp_path / "runs")
    assert isinstance(ended[0].error, DataError)
    assert [(row.run, row.status) for row in board.rows] == [("good", "complete"), ("bad", "failed")]
    assert not (tmp_path / "runs" / "bad").exists()


def test_complete_runs_are_left_untouched_and_no_sample_is_read(sweep, tmp_path, monkeypatch):
    _, board = made(sweep, tmp_path / "runs")
    before = times(tmp_path / "runs")
    monkeypatch.setattr(flow, "read_data", None)
    ended, again = made(sweep, tmp_path / "runs", resume=True)
    assert all(each.is_untouched for each in ended)
    assert times(tmp_path / "runs") == before
    assert again == board


def test_a_run_whose_file_is_gone_is_made_again(sweep, runs):
    before = kept(runs)
    next(runs.glob("*/model.json")).unlink()
    ended, _ = made(sweep, runs, resume=True)
    assert [each.is_untouched for each in ended].count(False) == 1
    assert kept(runs) == before


def test_a_sweep_that_grows_makes_only_what_is_not_there(sweep, runs):
    before = times(runs)
    sweep.write_text(SWEEP.replace("[0.01, 0.1, 1]", "[0.001, 0.01, 0.1, 1]"))
    ended, board = made(sweep, runs, resume=True)
    assert [each.is_untouched for each in ended] == [False, True, True, True] * 2
    assert times(runs).items() >= before.items()
    assert len(board.rows) == 8


def test_other_data_fail_each_run_with_the_difference_and_touch_nothing(sweep, runs, tmp_path):
    before = times(runs)
    written(tmp_path / "train.jsonl", tool_rows(range(25)))
    ended, _ = made(sweep, runs, resume=True)
    assert all(isinstance(each.error, ResumeError) for each in ended)
    assert re.match(r"inputs\.\.\./\.\./train\.jsonl: '\w+' became '\w+'", ended[0].error.lines()[1])
    assert times(runs) == before


def test_a_file_that_a_glob_finds_anew_is_other_data(sweep, tmp_path):
    sweep.write_text(SWEEP.replace("train.jsonl", '"tr*.jsonl"'))
    made(sweep, tmp_path / "runs")
    written(tmp_path / "trial.jsonl", tool_rows(range(30, 34)))
    assert all(isinstance(each.error, ResumeError) for each in made(sweep, tmp_path / "runs", resume=True)[0])


def test_a_metric_that_no_run_has_is_refused_before_the_first(sweep, tmp_path):
    plan = planned(ltr.sweep(sweep), tmp_path / "runs")
    for metric, told in (("ndcg@5", "no run measures ndcg@5; add it to"), ("mr", "unknown metric 'mr'")):
        with pytest.raises(UsageError, match=told):
            run_batch(plan, tmp_path / "runs", metric=metric)
    assert not (tmp_path / "runs").exists()


def test_a_leaderboard_of_somebody_else_is_not_replaced(sweep, tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "leaderboard.md").write_text("mine")
    with pytest.raises(UsageError, match=r"leaderboard.md: not a leaderboard of ours"):
        made(sweep, tmp_path / "runs")


def test_after_a_kill_while_the_leaderboard_was_replaced_the_batch_goes_on_and_has_its_page(sweep, tmp_path):
    root = tmp_path / "runs"
    plan = planned(ltr.sweep(sweep)[:1], root)
    run_batch(plan, root)
    for go_on in (lambda: run_batch(plan, root, BatchOptions(resume=True)), lambda: report_of([root])):
        (root / ".leaderboard.json.old-files").mkdir()
        (root / "leaderboard.json").rename(root / ".leaderboard.json.old-files" / "leaderboard.json")
        go_on()
        assert (root / "leaderboard.json").exists()
        assert not (root / ".leaderboard.json.old-files").exists()


def test_several_runs_cannot_read_stdin(sweep, tmp_path):
    with pytest.raises(UsageError, match="reads stdin, which several runs cannot; name a file"):
        planned(ltr.sweep(sweep, ['data.test="-"']), tmp_path)


@pytest.mark.parametrize("name", ["leaderboard.json", "Leaderboard.TSV", "report.html"])
def test_a_run_is_not_kept_where_the_leaderboard_will_be(name, tmp_path):
    with pytest.raises(UsageError, match="the leaderboard is kept there; give the config another name"):
        planned([RunConfig(name=name)], tmp_path)


# ---- the command line


def test_the_exit_code_is_that_of_the_first_failure(cli):
    written("train.jsonl", tool_rows(range(12)))
    for name, train in (("good", "train.jsonl"), ("bad", "absent.jsonl")):
        Path(f"{name}.yaml").write_text(f"name: {name}\nencoder: hash\ndata: {{train: {train}}}\n")
    assert cli.run("run", "bad.yaml", "good.yaml", "-q") == 3
    assert cli.err == "error: bad: absent.jsonl: no such file or directory\n"
    assert [line.split("\t")[1:3] for line in cli.out.splitlines()[1:]] == [["good", "complete"], ["bad", "failed"]]
    assert cli.run("run", "bad.yaml", "good.yaml", "-q", "--resume", "--set", "train.l2=1") == 3
    assert cli.run("run", "good.yaml", "-q", "--resume", "--set", "train.l2=1") == 5
    assert cli.err.splitlines()[1] == "error: good: config.train.l2: 0.001 became 1.0"
    assert cli.out == ""


def test_the_plan_says_what_stays_what_goes_on_and_what_is_made(sweep, cli):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(sweep.parent)
        cli.good("run", "s.yaml", "-q", "--set", "sweep.train.l2=[0.01, 0.1]", "--format", "json")
        before = times(Path("runs"))
        said = cli.good("run", "s.yaml", "--dry-run", "--resume").splitlines()
        assert len(said) == 6
        assert said[1].endswith("-l2-0.1/: complete, stays as it is")
        assert said[2].endswith("-l2-1/: is to be made: learns from 24 groups, is measured on 8 test groups")
        assert times(Path("runs")) == before


class StoredEvaluation(LetterEncoder):
    """An encoder whose vectors are kept between runs."""

    name = "kept"

    def identity(self, role):
        return ("kept", role)


def test_the_plan_says_which_queries_need_no_encoder(sweep, monkeypatch, tmp_path):
    monkeypatch.setenv("LTR_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setitem(ENCODERS._own, "kept", StoredEvaluation)
    plan = planned([replace(each.config, encoder="kept") for each in ltr.sweep(sweep)[:2]], tmp_path / "runs")
    queries = len({row["query"] for row in tool_rows(range(12))})
    told = [text.partition("; ")[2] for _, text in forecast(plan, BatchOptions())]
    assert told == [f"vectors of 0 of {queries} queries are in the cache"] * 2
    assert not (tmp_path / "cache").exists()
    run_batch(plan[:1], tmp_path / "runs")
    told = [text.partition("; ")[2] for _, text in forecast(plan, BatchOptions(resume=True))]
    assert told == ["", f"vectors of {queries} of {queries} queries are in the cache"]


def test_the_leaderboard_is_shown_by_another_metric(sweep, cli):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(sweep.parent)
        board = json.loads(cli.good("run", "s.yaml", "-q", "--sort", "top1_accuracy", "--format", "json", "-j", "2"))
        assert board == json.loads(Path("runs/leaderboard.json").read_text())
        assert board["metric"] == "top1_accuracy"
        human = cli.good("run", "s.yaml", "-q", "--resume", "--format", "human")
        assert human.count("oracle") == 1  # what needs no training is the same for both runs
        assert " against " in human


HOLDING = """
import sys
from ltr.files import locked
with locked('runs'):
    print(flush=True)
    sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="directories cannot be locked there")
def test_a_second_batch_is_refused_while_one_writes_there_and_not_after_it_was_killed(cli):
    written("train.jsonl", tool_rows(range(8)))
    Path("s.yaml").write_text("data: {train: train.jsonl}\nencoder: hash\n")
    options = {"env": ENVIRONMENT, "stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", HOLDING], **options) as other:
        other.stdout.readline()
        said = "runs: another process is writing there; wait, or name another directory"
        assert cli.refused("run", "s.yaml") == (1, said)
        other.kill()
    cli.good("run", "s.yaml", "-q")
    assert cli.refused("run", "s.yaml")[0] == 2  # it holds a result, and nothing else is wrong


def test_an_interrupt_ends_cleanly_and_what_was_made_stays(sweep, tmp_path):
    slow = ["--set", "train.trainer=descent", "--set", "train.epochs=1000", "--set", "sweep.seed=[0, 1, 2, 3]"]
    command = [sys.executable, "-m", "ltr", "run", "s.yaml", *slow]
    options = {"cwd": tmp_path, "env": ENVIRONMENT, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    batches = [
        subprocess.Popen([*command, "-j", jobs, "-o", f"by-{jobs}"], text=True, start_new_session=True, **options)
        for jobs in ("1", "2")
    ]
    first = []
    for batch in batches:
        first.append(batch.stderr.readline())
        time.sleep(0.05)
        batch.send_signal(signal.SIGINT)
    assert [line.partition(" ")[0] for line in first] == ["kept", "kept"]
    for batch, jobs in zip(batches, (1, 2), strict=True):
        with batch:
            out, err = batch.communicate(timeout=60)
        assert batch.returncode == 130
        assert (out, "Traceback" in err) == ("", False)
        assert not list((tmp_path / f"by-{jobs}").rglob(".ltr-*"))
        made_before = len(list((tmp_path / f"by-{jobs}").rglob("run.json")))
        assert 0 < made_before < 24


DEADLY = """
import os, signal
import numpy as np
import ltr
from ltr.training import Fitted

@ltr.trainer("deadly")
def deadly(groups, geometry, config, on_epoch):
    "w = 1; with a penalty of 3 its process is killed."
    if config.penalty == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return Fitted(np.ones(groups.phi.shape[1]), history=np.zeros(0), epochs=0)
"""


@pytest.fixture
def cli_here(sweep, cli):
    """The command line where the sweep lies; the plug-ins of these tests are forgotten after each."""
    yield cli
    TRAINERS._own.pop("deadly", None)
    FEATURES._own.pop("tool.length", None)


def test_a_process_that_is_killed_costs_its_run_alone(cli_here):
    Path("deadly.py").write_text(DEADLY)
    penalties = ", ".join(map(str, range(8)))
    rest = (
        "--set",
        "train.trainer=deadly",
        "--set",
        "sweep={train.l2: [" + penalties + "]}",
        "--set",
        "features=[tool.hist]",
        "--set",
        "evaluate.baselines=false",  # one is better than these weights, which would be told
    )
    assert cli_here.run("run", "s.yaml", "--jobs", 2, "--code", "deadly.py", *rest, "-q") == 1
    (error,) = cli_here.err.splitlines()
    assert error == "error: s-l2-3: its process ended with -9: too little memory, or killed"
    assert len(list(Path("runs").glob("*/run.json"))) == 7


def test_plug_ins_reach_the_processes(cli_here):
    Path("plug.py").write_text(
        "import numpy as np\nfrom ltr import feature\n\n"
        "@feature('tool.length', 'struct')\ndef length(candidates, state, context):\n"
        "    return np.array([float(len(name)) for name in candidates.name_texts])[candidates.names]\n"
    )
    arguments = ["-j", 2, "--code", "plug.py", "--set", "sweep.features=[[tool.length], [tool.rel, tool.length]]"]
    arguments += ["--set", "evaluate.baselines=false"]  # tool.rel alone is better, which would be told
    assert (cli_here.run("run", "s.yaml", "-q", *arguments), cli_here.err) == (0, "")


def test_a_batch_of_one_run_says_how_far_it_is_ahead_of_its_best_column_and_tests_nothing(tmp_path):
    written(tmp_path / "train.jsonl", tool_rows(range(24)))
    (tmp_path / "one.yaml").write_text("name: one\ndata: {train: train.jsonl, test: 0.3}\nencoder: hash\n")
    made(tmp_path / "one.yaml", tmp_path / "runs")
    page, lines = (tmp_path / "runs" / "report.html").read_text(), (tmp_path / "runs" / "leaderboard.md").read_text()
    assert "one beside BM25: top-1 " in page
    assert "top-1 over best" in page
    assert "were not tested against each other" not in page + lines
