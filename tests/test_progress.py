"""The bar of long work."""

import sys
import time

import pytest

from ltr import RunConfig, TrainConfig, run
from ltr.cli.progress import batch_progress, run_progress
from ltr.experiments.batch import Planned
from ltr.progress import Step
from ltr.training import Epoch
from tests.made import DataConfig, tool_rows, written


@pytest.fixture
def on_terminal(monkeypatch):
    """stderr is a terminal; what was told is returned."""
    monkeypatch.setattr(type(sys.stderr), "isatty", lambda stream: True, raising=False)


def drawn(capfd, seconds_before, seconds_an_epoch, epochs=3, runs=1):
    """What stderr shows of runs of so many epochs."""
    now = [0.0]
    with run_progress(quiet=False, clock=lambda: now[0]) as on_progress:
        for _ in range(runs):
            now[0] += seconds_before
            for number in range(1, epochs + 1):
                now[0] += seconds_an_epoch
                on_progress(Step("training", number, epochs, Epoch(number, 0.5, None)))
    return capfd.readouterr().err


def test_long_reading_before_short_epochs_draws_no_bar(on_terminal, capfd):
    assert drawn(capfd, seconds_before=60, seconds_an_epoch=0.1) == ""
    assert drawn(capfd, seconds_before=60, seconds_an_epoch=0.1, runs=2) == ""


def test_long_epochs_draw_a_bar(on_terminal, capfd):
    assert "training" in drawn(capfd, seconds_before=0, seconds_an_epoch=2)


def test_the_bar_ends_with_the_last_epoch(on_terminal, capfd):
    now = [0.0]
    with run_progress(quiet=False, clock=lambda: now[0]) as on_progress:
        for number in (1, 2, 3):
            now[0] += 2
            on_progress(Step("training", number, 3, Epoch(number, 0.5, None)))
        ended = capfd.readouterr().err
        assert ended.endswith("\x1b[2K")  # the line of the bar is cleared
    assert capfd.readouterr().err == ""


def batch_drawn(capfd, runs, seconds_a_run, quiet=False):
    """What stderr shows of a batch of so many runs."""
    now, plan = [0.0], [Planned(RunConfig(), {}, None)] * runs
    with batch_progress(plan, quiet=quiet, clock=lambda: now[0]) as (on_progress, on_run):
        for _ in range(runs):
            now[0] += seconds_a_run
            on_progress(Step("training", 7, None, Epoch(7, 0.5, None)))
            on_run()
    return capfd.readouterr().err


def test_a_long_batch_counts_its_runs_and_tells_the_epoch(on_terminal, capfd):
    shown = batch_drawn(capfd, runs=4, seconds_a_run=2)
    assert "runs" in shown
    assert shown.endswith("\x1b[2K")  # the line of the bar is cleared


def test_a_short_batch_and_a_quiet_one_draw_nothing(on_terminal, capfd):
    assert batch_drawn(capfd, runs=4, seconds_a_run=0.1) == ""
    assert batch_drawn(capfd, runs=4, seconds_a_run=9, quiet=True) == ""


def test_a_batch_draws_nothing_in_a_pipe(capfd):
    assert batch_drawn(capfd, runs=4, seconds_a_run=9) == ""


def test_a_batch_of_one_run_counts_its_epochs(on_terminal, capfd):
    assert "training" in batch_drawn(capfd, runs=1, seconds_a_run=9)


def test_a_long_stage_that_reports_no_parts_is_shown_by_its_name(on_terminal, capfd):
    shown, limit = "", time.monotonic() + 60
    with run_progress(quiet=False, patience=0.5) as on_progress:
        on_progress(Step("reading"))
        while "reading" not in shown and time.monotonic() < limit:
            time.sleep(0.05)
            shown += capfd.readouterr().err
        on_progress(Step("featurising"))
    assert "reading" in shown
    assert "featurising" not in shown + capfd.readouterr().err


def test_a_run_reports_each_of_its_stages_in_order(tmp_path):
    samples = written(tmp_path / "s.jsonl", tool_rows(range(3)))  # of few traces, each is a fold of its own
    train, steps = TrainConfig(epochs=2, folds=3), []
    run(RunConfig(data=DataConfig(train=str(samples)), encoder="hash", train=train), on_progress=steps.append)
    assert [(step.stage, step.done) for step in steps] == [
        *[("reading", 0), ("featurising", 0), ("featurising", 1), ("featurising", 2), ("featurising", 3)],
        *[("folds", 0), ("folds", 1), ("folds", 2)],
        *[("training", 1), ("training", 2), ("measuring", 0), ("measuring", 1)],
    ]
