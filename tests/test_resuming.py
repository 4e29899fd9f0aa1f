"""Trainings killed by the system go on where they stood, and end in the same bytes."""

import hashlib
import itertools
import json
import os
import signal
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from ltr import RunConfig, TrainConfig, fit, run_batch
from ltr.errors import FileError, ResumeError, RunError, UsageError
from ltr.experiments.batch import BatchOptions, planned
from ltr.experiments.single_run import run_and_save
from ltr.training import Progress
from tests.builders import tool_lines, write_lines
from tests.faults import in_fork
from tests.made import DataConfig, tool_rows, written

UNLIKE = ("run.json", "log.jsonl")  # they tell the time


def noting(epochs):
    """A function that appends the number of each epoch."""
    return lambda step: epochs.append(step.epoch.number) if step.epoch else None


def ticking():
    """A clock that moves a second each time it is read."""
    ticks = itertools.count()
    return lambda: float(next(ticks))


@pytest.fixture
def config(tmp_path):
    data = DataConfig(train=str(write_lines(tmp_path / "train.jsonl", tool_lines(seed=3, traces=12))), valid=0.25)
    train = TrainConfig(epochs=40, learning_rate=0.05, patience=12, standardize=True)
    return RunConfig(name="killed", data=data, encoder="hash", train=train)


def kept(home):
    """Every file of a run that does not tell the time, and its bytes."""
    files = (path for path in sorted(home.rglob("*")) if path.is_file() and path.name not in UNLIKE)
    return {str(path.relative_to(home)): path.read_bytes() for path in files}


def killed(config, home, epoch):
    """The run, killed by the system in that epoch."""

    def on_progress(step):
        if step.epoch and step.epoch.number == epoch:
            os.kill(os.getpid(), signal.SIGKILL)

    work = partial(run_and_save, config, home, on_progress=on_progress, clock=ticking())
    assert in_fork(work) == -signal.SIGKILL


@pytest.fixture
def complete(config, tmp_path, filled):
    """The directory of a run that was not killed."""

    def whole_run():
        run_and_save(config, tmp_path / "complete", clock=ticking())

    filled(tmp_path / "complete", whole_run)
    return tmp_path / "complete"


@pytest.fixture
def broken_off(config, tmp_path, filled):
    """The directory of a run that was killed in its fifth epoch."""

    def killed_run():
        killed(config, tmp_path / "a", 5)

    filled(tmp_path / "a", killed_run)
    return tmp_path / "a"


@pytest.mark.parametrize("epoch", [1, 7, 23])
def test_a_killed_run_ends_in_the_bytes_of_one_that_was_not(config, complete, tmp_path, epoch):
    killed(config, tmp_path / "a", epoch)
    assert not (tmp_path / "a" / "run.json").exists()
    run_and_save(config, tmp_path / "a", resume=True, clock=ticking())
    assert kept(tmp_path / "a") == kept(complete)


def test_a_resumed_run_does_not_repeat_its_epochs(config, broken_off):
    seen = []
    run_and_save(config, broken_off, resume=True, on_progress=noting(seen))
    assert seen[0] == 6


def test_a_complete_run_that_is_resumed_stays_as_it_is(config, tmp_path):
    for clock in (ticking(), lambda: 0.0):
        run_and_save(config, tmp_path / "a", overwrite=True, clock=clock)
        before = kept(tmp_path / "a")
        run_and_save(config, tmp_path / "a", resume=True, clock=clock)
        assert kept(tmp_path / "a") == before


def test_what_is_kept_does_not_depend_on_the_time_it_took(config, complete, tmp_path):
    run_and_save(config, tmp_path / "a", clock=lambda: 0.0)
    assert kept(tmp_path / "a") == kept(complete)
    assert not (tmp_path / "a" / "checkpoints").exists()


@pytest.mark.parametrize("made", ["complete", "broken_off"])
def test_another_config_is_not_resumed_and_each_difference_is_told(config, request, made):
    changed = replace(config, seed=4, train=replace(config.train, epochs=50))
    with pytest.raises(ResumeError) as told:
        run_and_save(changed, request.getfixturevalue(made), resume=True)
    assert told.value.lines()[1:] == ["config.seed: 0 became 4", "config.train.epochs: 40 became 50"]


def test_a_run_that_was_renamed_goes_on_and_ends_in_the_bytes_of_that_name(config, broken_off, tmp_path):
    broken_off.rename(tmp_path / "b")
    renamed, seen = replace(config, name="b"), []
    run_and_save(renamed, tmp_path / "b", resume=True, on_progress=noting(seen))
    assert seen[0] == 6
    run_and_save(renamed, tmp_path / "c", clock=ticking())
    assert kept(tmp_path / "b") == kept(tmp_path / "c")


def test_other_data_are_not_resumed(config, broken_off, tmp_path):
    write_lines(tmp_path / "train.jsonl", tool_lines(seed=4, traces=12))
    with pytest.raises(ResumeError, match=r"inputs\.\.\./train\.jsonl: '\w+' became '\w+'"):
        run_and_save(config, broken_off, resume=True)


def test_a_run_that_was_broken_off_is_not_begun_anew_unasked(config, broken_off):
    with pytest.raises(UsageError, match="holds a training that was broken off; add --resume to go on, or --overwrite"):
        run_and_save(config, broken_off)


def test_what_lies_in_a_folder_of_that_name_and_is_not_ours_is_left_alone(config, tmp_path):
    theirs = tmp_path / "a" / "checkpoints" / "weights.pt"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("theirs")
    with pytest.raises(UsageError, match="holds other things, such as 'checkpoints/weights.pt'"):
        run_and_save(config, tmp_path / "a", overwrite=True)
    assert theirs.read_text() == "theirs"


@pytest.mark.parametrize(
    "content", ["", "{}", '{"format": "other", "w": [1], "history": [], "watched": [], "best": null}']
)
def test_a_checkpoint_that_is_none_is_refused(config, broken_off, content):
    (broken_off / "checkpoints" / "progress.json").write_text(content)
    with pytest.raises(FileError, match=r"progress.json: not a checkpoint"):
        run_and_save(config, broken_off, resume=True)


def test_a_checkpoint_with_another_number_in_it_is_refused(config, broken_off):
    path = broken_off / "checkpoints" / "progress.json"
    progress = json.loads(path.read_text())
    path.write_text(json.dumps(progress | {"w": [1.0, *progress["w"][1:]]}))
    with pytest.raises(FileError, match=r"progress.json: its checksum does not fit its numbers: damaged"):
        run_and_save(config, broken_off, resume=True)


@pytest.mark.parametrize(
    "change, problem",
    [
        (lambda known: {"w": [*known["w"], 1.0]}, "5 weights, 4 are learned"),
        (lambda known: {"best": known["best"][:2]}, "2 weights, 4 are learned"),
        (lambda known: {"history": [1.0] * 41, "watched": [1.0] * 41}, "41 epochs, 40 are asked for"),
        (lambda known: {"watched": known["watched"][1:]}, "4 values of validation data, 5 are needed"),
        (lambda known: {"watched": [], "best": None}, "0 values of validation data, 5 are needed"),
        (lambda known: {"best": None}, "no best w, for 5 values of validation data"),
    ],
)
def test_a_checkpoint_of_another_training_is_refused_though_its_checksum_is_right(config, broken_off, change, problem):
    path = broken_off / "checkpoints" / "progress.json"
    known = json.loads(path.read_text())
    known |= change(known)
    numbers = [known[key] for key in ("w", "history", "watched", "best")]
    checksum = hashlib.sha256(json.dumps(numbers, separators=(",", ":")).encode()).hexdigest()
    path.write_text(json.dumps(known | {"checksum": checksum}))
    with pytest.raises(FileError, match=f"progress.json: {problem}: damaged, or of another training; add --overwrite"):
        run_and_save(config, broken_off, resume=True)


def test_values_of_validation_data_that_are_not_there_are_refused():
    progress = Progress(np.ones(1), (1.0,), (0.5,), np.ones(1))
    with pytest.raises(FileError, match="progress: 1 values of validation data, 0 are needed"):
        fit([[1.0], [0.0]], [1, 0], [0, 2], progress=progress)


@pytest.mark.parametrize("name", ["task.json", "progress.json"])
def test_a_damaged_checkpoint_is_overwritten_on_demand(config, complete, broken_off, name):
    (broken_off / "checkpoints" / name).write_text("{")
    with pytest.raises(FileError, match=f"{name}: not a checkpoint"):
        run_and_save(config, broken_off, resume=True, clock=ticking())
    run_and_save(config, broken_off, overwrite=True, clock=ticking())
    assert kept(broken_off) == kept(complete)


def test_a_second_process_is_refused_while_one_writes_the_run(config, tmp_path):
    def on_progress(step):
        with pytest.raises(RunError, match=r"a: another process is writing there; wait, or name another directory"):
            run_and_save(config, tmp_path / "a", overwrite=True)

    run_and_save(config, tmp_path / "a", on_progress=on_progress, clock=lambda: 0.0)
    run_and_save(config, tmp_path / "a", overwrite=True)


def test_a_training_that_fails_leaves_no_directories(config, tmp_path):
    with pytest.raises(UsageError, match="of 12 traces is .*: nothing is left to"):
        run_and_save(replace(config, data=replace(config.data, valid=0.01)), tmp_path / "deep" / "a")
    assert not (tmp_path / "deep").exists()


def test_runs_of_several_configs_are_resumed_where_they_were(config, tmp_path):
    other = replace(config, name="other")
    (tmp_path / "runs").mkdir()
    killed(config, tmp_path / "runs" / "killed", 5)
    plan = planned([config, other], tmp_path / "runs")
    ended, _ = run_batch(plan, tmp_path / "runs", BatchOptions(resume=True))
    assert [(each.planned.directory.name, each.error) for each in ended] == [("killed", None), ("other", None)]


def test_a_complete_run_is_left_as_it_is_and_returned(config, tmp_path):
    made = run_and_save(config, tmp_path / "a")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "a").rglob("*")}
    epochs = []
    again = run_and_save(config, tmp_path / "a", resume=True, on_progress=epochs.append)
    assert (again.is_untouched, made.is_untouched) == (True, False)
    assert (again.directory, epochs) == (made.directory, [])
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "a").rglob("*")} == before


def test_a_complete_run_whose_files_are_gone_is_made_again(config, complete):
    before = kept(complete)
    (complete / "history.jsonl").unlink()
    assert not run_and_save(config, complete, resume=True).is_untouched
    assert kept(complete) == before


@pytest.mark.parametrize("shown", ["json", "tsv"])
def test_a_complete_run_is_left_alone_and_its_result_shown_again(cli, shown):
    written("s.jsonl", tool_rows(range(8)))
    command = ("train", "s.jsonl", "-o", "r", "--encoder", "hash", "--format", shown)
    said = cli.good(*command)
    before = {path: path.stat().st_mtime_ns for path in Path("r").iterdir()}
    assert cli.good(*command, "--resume") == said
    assert cli.err == "r/ was complete\n"
    cli.good(*command, "--resume", "--dry-run")
    assert cli.err == "r/: complete, stays as it is\n"
    assert {path: path.stat().st_mtime_ns for path in Path("r").iterdir()} == before
    Path("r/history.jsonl").unlink()
    cli.good(*command, "--resume")
    assert Path("r/history.jsonl").exists()


def test_the_command_line_ends_with_5_and_a_line_for_each_difference(cli):
    written("s.jsonl", tool_rows(range(8)))
    cli.good("train", "s.jsonl", "-o", "r", "--encoder", "hash")
    assert cli.run("train", "s.jsonl", "-o", "r", "--encoder", "hash", "--resume", "--l2", "0.5") == 5
    lines = cli.err.splitlines()
    assert lines[0].startswith("error: r: cannot resume, the work there was started with other settings")
    assert lines[1:] == ["error: config.train.l2: 0.001 became 0.5"]


def test_the_record_of_a_run_tells_its_task(complete):
    task = json.loads((complete / "run.json").read_text())["task"]
    assert task["config"]["train"]["epochs"] == 40
    assert list(task["inputs"]) == ["../train.jsonl"]
    assert set(task["versions"]) == {"ltr", "numpy", "numba"}
